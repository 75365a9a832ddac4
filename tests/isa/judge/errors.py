# SPDX-License-Identifier: Apache-2.0
"""The error of the judge."""


class IsaError(Exception):
    """A wrong option, a compiler that fails, or assembly that cannot be parsed. The message is a
    sentence."""
