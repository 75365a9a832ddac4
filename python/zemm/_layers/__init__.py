# SPDX-License-Identifier: Apache-2.0
"""What a layer is made of: its calls, and its state in files."""
