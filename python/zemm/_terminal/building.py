# SPDX-License-Identifier: Apache-2.0
"""A line on the terminal while the driver builds a kernel, which takes seconds when it happens for
the first time.

A thread looks at what is being created, so that an ordinary creation costs no more than two
assignments. Nothing is shown if stderr is no terminal, or if ZEMM_VERBOSE makes the library write
there.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from zemm._library.locks import Lock

PATIENCE = 0.3  # seconds of a creation before the line appears
_TICK = 0.1
_IDLE = 2.0  # seconds without a creation after which the thread sleeps

is_quiet = False  # set while the program has a display of its own


class Watch:
    """What this process creates now: for each thread the time when it began, and the name."""

    def __init__(self) -> None:
        self.running: dict[int, tuple[float, Callable[[], str]]] = {}
        self.awake = threading.Event()
        self.lock = Lock()
        self.shown = False
        threading.Thread(target=self._look, daemon=True, name="zemm-building").start()

    def _look(self) -> None:
        last = time.monotonic()
        while True:
            time.sleep(_TICK)
            now = time.monotonic()
            for began, name in list(self.running.values()):
                last = now
                if now - began > PATIENCE:
                    self._show(name)
            if now - last > _IDLE:
                self.awake.clear()
                if not self.running:
                    self.awake.wait()
                last = time.monotonic()

    def _show(self, name: Callable[[], str]) -> None:
        with self.lock.current:
            if self.running and not self.shown:
                self.shown = True
                sys.stderr.write(f"building kernel {name()} ...")
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


@contextmanager
def watched(name: Callable[[], str]) -> Iterator[None]:
    """A context in which a kernel may be built. name() is called only if that takes long."""
    global _watch
    if is_quiet or os.environ.get("ZEMM_VERBOSE") or not _is_terminal():
        yield
        return
    watch = _watch = _watch or Watch()
    me = threading.get_ident()
    watch.running[me] = time.monotonic(), name
    watch.awake.set()
    try:
        yield
    finally:
        del watch.running[me]
        watch.clear()


def _is_terminal() -> bool:
    # Programs without a console have no stderr.
    return sys.stderr is not None and sys.stderr.isatty()
