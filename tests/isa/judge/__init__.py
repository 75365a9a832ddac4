# SPDX-License-Identifier: Apache-2.0
"""`python tests/isa/judge`: judges the machine code of the Xe kernels, without a GPU, and of CPU kernels
(docs/xe.md)."""
