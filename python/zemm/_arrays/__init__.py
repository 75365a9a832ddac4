# SPDX-License-Identifier: Apache-2.0
"""Arrays and tensors of the caller as operands of a matmul or reorder."""
