# SPDX-License-Identifier: Apache-2.0
"""What the program says to its user."""


class ModelsError(Exception):
    """A mistake in the command line; the message is a sentence about it."""


class LeftOut(Exception):
    """A runtime cannot run the model, or is not installed; the message says why. The others go on."""
