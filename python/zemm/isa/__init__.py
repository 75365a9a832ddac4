# SPDX-License-Identifier: Apache-2.0
"""`python -m zemm.isa`: the machine code of the Xe kernels, judged without hardware (docs/xe.md)."""
