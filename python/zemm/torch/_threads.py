# SPDX-License-Identifier: Apache-2.0
"""torch's threads beside those of the CPU device.

GNU's OpenMP, which torch's builds for CPUs use, lets threads spin for some milliseconds after each
parallel region, unless there are more of them than cores. In a model they hold the cores that zemm's
layers need next. libgomp's documentation describes OMP_WAIT_POLICY and GOMP_SPINCOUNT, which must be
in the environment when it is loaded.
"""

import ctypes
import os
import re
import threading
from functools import cache
from pathlib import Path
from typing import Any

import torch

from zemm._library.locks import Lock

_SETTINGS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
_lock = Lock()
_shared_in = 0  # the process in which share_cores() has run


def share_cores() -> bool:
    """Let the threads of torch sleep soon after their work, in place of spinning, for the rest of the
    process.

    They do so when libgomp has more threads than cores, so this makes some that sleep. Returns whether
    it did: not if the environment has OMP_WAIT_POLICY or GOMP_SPINCOUNT, which say what a user wants, and
    not with another OpenMP than GNU's. Loading a model and quantize_() call this.
    """
    global _shared_in
    with _lock.current:
        if _shared_in == os.getpid():
            return True
        gnu = gnu_openmp()
        if gnu is None or any(os.environ.get(name) for name in _SETTINGS):
            return False
        # libgomp counts torch's threads, and of a team all but the first: together one more than the cores.
        count = max(2, len(os.sched_getaffinity(0)) - torch.get_num_threads() + 2)
        ready = threading.Event()
        threading.Thread(
            target=_keep_idle, args=(gnu.GOMP_parallel, count, ready), name="zemm-share-cores", daemon=True
        ).start()
        ready.wait()
        _shared_in = os.getpid()
        return True


def _keep_idle(parallel: Any, count: int, ready: threading.Event) -> None:
    """A team of `count` threads, this one among them, that does nothing: libgomp keeps it as long as this
    thread lives. Each of them runs free(NULL), for libgomp would call Python without its lock."""
    nothing = ctypes.cast(ctypes.CDLL(None).free, ctypes.c_void_p)
    parallel(nothing, None, ctypes.c_uint(count), ctypes.c_uint(0))
    ready.set()
    threading.Event().wait()


@cache
def gnu_openmp() -> Any:
    """The libgomp that torch has loaded; None: torch uses another OpenMP."""
    try:
        paths = re.findall(r"/\S*/libgomp\S*", Path("/proc/self/maps").read_text(encoding="utf-8"))
        return ctypes.CDLL(paths[0], mode=os.RTLD_NOLOAD) if paths else None
    except OSError:
        return None


class _Threads(threading.local):
    """How many threads torch's operators have that this thread calls. torch.set_num_threads() says it for
    those that begin later, too, which would keep the number."""

    _before = 0  # the number to give back; 0: it is theirs now

    def take(self) -> None:
        """One, until give_back()."""
        if not self._before:
            self._before = torch.get_num_threads()
            self._set(1)

    def give_back(self) -> None:
        if self._before:
            self._set(self._before)
            self._before = 0

    def _set(self, count: int) -> None:
        gnu = gnu_openmp()
        (torch.set_num_threads if gnu is None else gnu.omp_set_num_threads)(count)


threads = _Threads()
