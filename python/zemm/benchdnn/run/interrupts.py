# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends a run between two results, never within the output of one."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """Inside of this context SIGINT raises KeyboardInterrupt, as Python does by default; but while
    `held`, not before the end of that. If it comes where Python cannot raise it, as in the callback of a
    weak reference, it is raised at the end of the next `held`."""

    def __init__(self) -> None:
        self._is_held = self._is_pending = False
        self._is_ours = False
        self._unraisable = sys.unraisablehook

    def __enter__(self) -> "Interrupts":
        is_main = threading.current_thread() is threading.main_thread()
        # The signal may be ignored, as in a process that a shell has put into the background.
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._handle)
            self._is_ours = True
            self._unraisable, sys.unraisablehook = sys.unraisablehook, self._ignore
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.unraisablehook = self._unraisable

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
        self._is_pending = True
        if not self._is_held:
            raise KeyboardInterrupt

    def _ignore(self, unraisable: "sys.UnraisableHookArgs") -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            self._unraisable(unraisable)
