# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends a run between two results, never within the output of one."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """Inside of this context SIGINT raises KeyboardInterrupt, as Python does by default; but while
    `held`, not before the end of that."""

    def __init__(self) -> None:
        self._is_held = self._is_pending = False
        self._is_ours = False

    def __enter__(self) -> "Interrupts":
        is_main = threading.current_thread() is threading.main_thread()
        # The signal may be ignored, as in a process that a shell has put into the background.
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._handle)
            self._is_ours = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    @contextmanager
    def held(self) -> Iterator[None]:
        """A context that is not interrupted. KeyboardInterrupt comes at its end."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
        if self._is_pending:
            self._is_pending = False
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self._is_held:
            raise KeyboardInterrupt
        self._is_pending = True
