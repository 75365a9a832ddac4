# SPDX-License-Identifier: Apache-2.0
"""How long a model takes to load, and how much memory."""

import time
from collections.abc import Callable
from typing import TypeVar

from zemm.models import process_memory
from zemm.models.contestant import Loaded

T = TypeVar("T")


def measured(load: Callable[[], T], version: str) -> tuple[T, Loaded]:
    """The model that load() returns, and the figures of the call. version: of the runtime."""
    base, began = process_memory.resident(), time.perf_counter()
    made = load()
    seconds = time.perf_counter() - began
    return made, Loaded(seconds, base, process_memory.resident(), process_memory.peak(), version)
