# SPDX-License-Identifier: Apache-2.0
"""Judges the machine code of the CPU kernels by llvm-mca."""
