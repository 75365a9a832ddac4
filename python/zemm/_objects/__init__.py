# SPDX-License-Identifier: Apache-2.0
"""What objects of the C library have in common: how they are copied, and how arrays lie in their bytes."""
