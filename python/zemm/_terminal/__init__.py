# SPDX-License-Identifier: Apache-2.0
"""What programs and building kernels show on a terminal."""
