# SPDX-License-Identifier: Apache-2.0
"""The memory of a process, by default of this one (0: the process has ended), and how long a model takes to
load."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from zemm.models.contestant import Loaded

T = TypeVar("T")

_KB = 1024


def resident(process: int | str = "self") -> int:
    """Bytes that are in memory now, pages of mapped files too."""
    return _status(process, "VmRSS")


def peak(process: int | str = "self") -> int:
    """The most bytes that have been in memory at once."""
    return _status(process, "VmHWM")


def measured(load: Callable[[], T], version: str) -> tuple[T, Loaded]:
    """The model that load() returns, and the figures of the call. version: of the runtime."""
    base, began = resident(), time.perf_counter()
    made = load()
    seconds = time.perf_counter() - began
    return made, Loaded(seconds, base, resident(), peak(), version)


def _status(process: int | str, name: str) -> int:
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0
    found = next((line for line in lines if line.startswith(f"{name}:")), "0 0")
    return int(found.split()[1]) * _KB
