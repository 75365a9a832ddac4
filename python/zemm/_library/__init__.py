# SPDX-License-Identifier: Apache-2.0
"""The C library, its lists, and checks of arguments."""
