# SPDX-License-Identifier: Apache-2.0
"""What a user of `python -m zemm.isa` can act on."""


class IsaError(Exception):
    """A wrong option, a compiler that fails, assembly that cannot be read. The message is a sentence."""
