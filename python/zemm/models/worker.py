# SPDX-License-Identifier: Apache-2.0
"""The process of a runtime: runs what contest.py asks it to, and answers."""

import os
from multiprocessing.connection import Connection
from typing import Any

from zemm._programs.usage import first_line
from zemm._terminal import building
from zemm.models.contestant import Contestant, Settings
from zemm.models.model import Model

# Answers: a value, or a sentence why there is none.
VALUE, REASON = "value", "reason"


class Service:
    """Makes a runtime of the first message, and calls its methods by the names in the others. is_alone: the
    process has nothing else to do, so that its settings are the runtime's."""

    def __init__(self, is_alone: bool) -> None:
        self._is_alone = is_alone
        self._runtime: Any = None

    def answer(self, message: tuple[Any, ...]) -> tuple[str, Any]:
        """VALUE and what the method returns, or REASON and a sentence."""
        name, *arguments = message
        try:
            if self._runtime is None:
                self._runtime = self._made(*arguments)
                return VALUE, None
            return VALUE, getattr(self._runtime, name)(*arguments)
        except Exception as error:
            return REASON, first_line(error)

    def _made(self, who: Contestant, model: Model, settings: Settings) -> Any:
        if who.kind == "openvino":
            from zemm.models import openvino

            return openvino.Runtime(model, settings)
        from zemm.models import runtime

        if self._is_alone:
            runtime.settle(who, settings.threads)
        return runtime.Runtime(who, model, settings)


def serve(descriptor: int) -> None:
    """Answer until the other side closes the connection, a file descriptor."""
    link = Connection(descriptor)
    os.dup2(2, 1)  # what libraries print is no part of the table
    building.is_quiet = True
    service = Service(is_alone=True)
    try:
        while True:
            link.send(service.answer(link.recv()))
    except (EOFError, OSError):
        pass  # The other side has gone.
