# SPDX-License-Identifier: Apache-2.0
"""The child process of zemm-doctor."""
