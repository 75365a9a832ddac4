# SPDX-License-Identifier: Apache-2.0
"""`python -m zemm.isa`: analyses the machine code of the Xe kernels, without a GPU (docs/xe.md), and
of the CPU kernels (docs/performance.md)."""
