# SPDX-License-Identifier: Apache-2.0
"""The part of `python -m zemm.isa` for CPUs (docs/performance.md)."""
