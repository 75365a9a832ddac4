# SPDX-License-Identifier: Apache-2.0
"""What the program says to its user."""


class ModelsError(Exception):
    """A mistake in the command line, or a model that is none; the message is a sentence about it."""


def first_line(error: Exception) -> str:
    """The sentence of an error, without the pages that may follow."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
