# SPDX-License-Identifier: Apache-2.0
"""The process of a runtime: runs what contest.py asks it to, and answers."""

import os
from multiprocessing.connection import Connection
from typing import Any

from zemm.benchdnn.peers import limit_spinning
from zemm.models.contestant import Contestant

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


def _made(who: Contestant, *arguments: Any) -> Any:
    limit_spinning()
    if who.kind == "openvino":
        from zemm.models import openvino

        return openvino.Runtime(*arguments)
    from zemm.models import runtime

    return runtime.Runtime(who, *arguments)


def _sentence(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
