# SPDX-License-Identifier: Apache-2.0
"""The error of a wrong command line, and the sentence of any other."""


class UsageError(Exception):
    """A mistake in a command line or case file. `exit_code` is the one that benchdnn has for it."""

    def __init__(self, sentence: str, exit_code: int = 1) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


def first_line(error: Exception) -> str:
    """The sentence of an error, without the pages that may follow."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
