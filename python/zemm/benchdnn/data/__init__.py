# SPDX-License-Identifier: Apache-2.0
"""The tensors of a case: their values, their bytes, and what the library should make of them."""
