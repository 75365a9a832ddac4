# SPDX-License-Identifier: Apache-2.0
"""A line while the driver builds a kernel, which takes seconds when it happens for the first time: on the
terminal, and in the log of Python's package logging (logger "zemm", level INFO).

A thread looks at what is being created, so that an ordinary creation costs no more than two
assignments. The terminal shows nothing if stderr is no terminal, or if ZEMM_VERBOSE makes the library
write there.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from zemm._library.locks import Lock

PATIENCE = 0.3  # seconds of a creation before the line appears
_TICK = 0.1
_IDLE = 2.0  # seconds without a creation after which the thread sleeps
_MODULES = sys.modules

is_quiet = False  # set while the program has a display of its own


@dataclass
class _Creation:
    began: float
    name: Callable[[], str]
    is_said: bool = False


class Watch:
    """The primitives that this process creates now, for each thread."""

    def __init__(self) -> None:
        self.running: dict[int, _Creation] = {}
        self.awake = threading.Event()
        self.lock = Lock()
        self.shown = False
        threading.Thread(target=self._look, daemon=True, name="zemm-building").start()

    def _look(self) -> None:
        last = time.monotonic()
        while True:
            time.sleep(_TICK)
            now = time.monotonic()
            for creation in list(self.running.values()):
                last = now
                if now - creation.began > PATIENCE and not creation.is_said:
                    creation.is_said = True
                    self._say(f"building kernel {creation.name()}")
            if now - last > _IDLE:
                self.awake.clear()
                if not self.running:
                    self.awake.wait()
                last = time.monotonic()

    def _say(self, text: str) -> None:
        if logger := _logger():
            logger.info(text)
        with self.lock.current:
            if self.running and not self.shown and _is_terminal():
                self.shown = True
                sys.stderr.write(f"{text} ...")
                sys.stderr.flush()

    def clear(self) -> None:
        """Remove the line."""
        with self.lock.current:
            if self.shown and not self.running:
                self.shown = False
                sys.stderr.write("\r\033[K")
                sys.stderr.flush()


_watch: Watch | None = None


def _forget() -> None:
    """In a child of fork(), which has no thread of its parent."""
    global _watch
    _watch = None


os.register_at_fork(after_in_child=_forget)


def is_watched() -> bool:
    """Whether anybody would see a line."""
    return not is_quiet and (_logger() is not None or _is_terminal())


@contextmanager
def watched(name: Callable[[], str]) -> Iterator[None]:
    """A context in which a kernel may be built. name() is called only if that takes long. An inner context
    has the name of the outer one."""
    global _watch
    me = threading.get_ident()
    if not is_watched() or (_watch and me in _watch.running):
        yield
        return
    watch = _watch = _watch or Watch()
    watch.running[me] = _Creation(time.monotonic(), name)
    watch.awake.set()
    try:
        yield
    finally:
        del watch.running[me]
        watch.clear()


def _logger() -> Any:
    """The logger, if a program has asked for its lines. Such a program has imported logging."""
    logging = _MODULES.get("logging")
    if logging is None:
        return None
    logger = logging.getLogger("zemm")
    return logger if logger.isEnabledFor(logging.INFO) else None


def _is_terminal() -> bool:
    # Programs without a console have no stderr.
    return not os.environ.get("ZEMM_VERBOSE") and sys.stderr is not None and sys.stderr.isatty()
