# SPDX-License-Identifier: Apache-2.0
"""The output of programs, and of building kernels, on a terminal."""
