# SPDX-License-Identifier: Apache-2.0
"""What the program says to its user."""


class ModelsError(Exception):
    """A mistake in the command line, or a model that is none; the message is a sentence about it."""
