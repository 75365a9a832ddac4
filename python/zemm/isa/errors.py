# SPDX-License-Identifier: Apache-2.0
"""The errors that `python -m zemm.isa` reports to its user."""


class IsaError(Exception):
    """A wrong option, a compiler that fails, or assembly that cannot be parsed. The message is a
    sentence."""
