# SPDX-License-Identifier: Apache-2.0
"""The process of a runtime: runs what contest.py asks it to, and answers."""

import os
import sys
from multiprocessing.connection import Connection
from typing import Any

# Answers: a value, or a sentence why there is none.
VALUE, REASON = "value", "reason"


def serve(descriptor: int) -> None:
    """Make a runtime of the first message, and call its methods by the names in the others, until the other
    side closes the connection, a file descriptor."""
    link = Connection(descriptor)
    os.dup2(2, 1)  # what libraries print is no part of the table
    runtime: Any = None
    try:
        while True:
            name, *arguments = link.recv()
            try:
                if runtime is None:
                    runtime = _made(*arguments)
                    link.send((VALUE, None))
                else:
                    link.send((VALUE, getattr(runtime, name)(*arguments)))
            except Exception as error:
                link.send((REASON, _sentence(error)))
    except (EOFError, OSError):
        pass  # The other side has gone.


def _made(kind: str, *arguments: Any) -> Any:
    from zemm.benchdnn.peers import limit_spinning

    limit_spinning()
    import transformers

    if not sys.stderr.isatty():
        transformers.logging.disable_progress_bar()
    from zemm.models.runtime import Runtime

    return Runtime(*arguments)


def _sentence(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
