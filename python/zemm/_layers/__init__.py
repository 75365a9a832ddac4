# SPDX-License-Identifier: Apache-2.0
"""The parts of a layer: its calls, and its state in files."""
