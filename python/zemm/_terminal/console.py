# SPDX-License-Identifier: Apache-2.0
"""How the package's programs print: characters that the terminal has not, and what happens when nobody reads
their output any more, as in `zemm-doctor | head -1`."""

import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from io import TextIOWrapper
from typing import ParamSpec

P = ParamSpec("P")

UNREAD = 141  # the code that a shell gives for a program that SIGPIPE has ended


def program(main: Callable[P, int]) -> Callable[P, int]:
    """The function, made to print any text. It is no error for it that the reader of stdout has gone: it
    ends, prints nothing, and returns UNREAD."""

    @wraps(main)
    def run(*args: P.args, **kwargs: P.kwargs) -> int:
        try:
            try:
                with _any_text():
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


@contextmanager
def _any_text() -> Iterator[None]:
    """Prints characters that stdout or stderr cannot encode as escapes. Arguments that are no UTF-8 have
    some."""
    streams = [stream for stream in (sys.stdout, sys.stderr) if isinstance(stream, TextIOWrapper)]
    before = [stream.errors for stream in streams]
    for stream in streams:
        stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        for stream, errors in zip(streams, before, strict=True):
            stream.reconfigure(errors=errors)


def _is_unread() -> bool:
    """Whether stdout is a pipe whose reader has gone."""
    try:
        stdout = sys.stdout.fileno()
    except (OSError, ValueError, AttributeError):  # stdout is no file
        return False
    events = select.poll()
    events.register(stdout, 0)
    return any(what & select.POLLERR for _, what in events.poll(0))
