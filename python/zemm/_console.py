# SPDX-License-Identifier: Apache-2.0
"""How the package's programs end when nobody reads their output any more, as in `zemm-doctor | head -1`."""

import os
import select
import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

P = ParamSpec("P")

UNREAD = 141  # the code that a shell gives for a program that SIGPIPE has ended


def program(main: Callable[P, int]) -> Callable[P, int]:
    """The same function, for which it is no error that the reader of stdout has gone: it ends, prints
    nothing, and returns UNREAD."""

    @wraps(main)
    def run(*args: P.args, **kwargs: P.kwargs) -> int:
        try:
            try:
                return main(*args, **kwargs)
            finally:
                if sys.stdout:
                    sys.stdout.flush()
        except BrokenPipeError:
            if not _is_unread():  # another pipe
                raise
            # Python flushes stdout at exit, so what is left goes to a sink.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return UNREAD

    return run


def _is_unread() -> bool:
    """Whether stdout is a pipe whose reader has gone."""
    try:
        stdout = sys.stdout.fileno()
    except (OSError, ValueError, AttributeError):  # stdout is no file
        return False
    events = select.poll()
    events.register(stdout, 0)
    return any(what & select.POLLERR for _, what in events.poll(0))
