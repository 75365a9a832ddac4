# SPDX-License-Identifier: Apache-2.0
"""Copies of objects of the C library, and arrays in their bytes."""
