# SPDX-License-Identifier: Apache-2.0
"""Times a primitive by benchdnn's rules for the number of runs and for which runs count."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from zemm.benchdnn.arguments import WEI
from zemm.benchdnn.options import Options

_MIN_RUNS = 5
CACHE_BYTES = 256 * 2**20
_MAX_COPIES = 256
_OUTLIER = 2.0
_UNITS = {"M": 2**20, "G": 2**30}
T = TypeVar("T")


@dataclass
class Measured:
    """The milliseconds of the runs that count, and the clock that they were taken with."""

    times_ms: list[float]
    source: str


def measure(zemm: Any, engine: Any, primitive: Any, sets: list[dict[int, Any]], options: Options) -> Measured:
    """Time a primitive after one untimed run. Run i uses the memories sets[i % len(sets)]."""
    stream, profiled = stream_of(zemm, engine)
    evict = np.zeros(tlb_bytes(options.cold_cache), np.uint8)
    primitive.execute(stream, sets[0])
    stream.wait()
    if profiled:
        stream.reset_profiling()
    runs = _gpu_runs if engine.kind == "gpu" else _cpu_runs
    wall = runs(primitive, stream, sets, options, evict)
    device, missing = device_times(stream, steps_of(primitive), profiled)
    has_device = len(device) == len(wall) and min(device) > 0
    times, source = (device, "device clock") if has_device else (wall, f"host clock ({missing})")
    return Measured(_kept(times) if engine.kind == "gpu" else times, source)


def sets_of(
    cold_cache: str, tensors: dict[int, T], size: Callable[[T], int], copied: Callable[[T], T]
) -> list[dict[int, T]]:
    """Sets of tensors, by argument, for runs to take one after the other: the given ones and, with
    --cold-cache, copies of the weights (`wei`) or of all. There are enough copies to fill the
    caches, so that each set is cold at its turn; at most _MAX_COPIES, as small tensors would need
    very many."""
    if cold_cache == "none":
        return [tensors]
    chosen = {arg: t for arg, t in tensors.items() if arg == WEI or not cools_weights_only(cold_cache)}
    total = sum(map(size, chosen.values()))
    count = min(-(-CACHE_BYTES // total), _MAX_COPIES) if total else 0
    return [
        tensors,
        *(tensors | {arg: copied(tensor) for arg, tensor in chosen.items()} for _ in range(count)),
    ]


def cools_weights_only(cold_cache: str) -> bool:
    """Whether src and dst may stay in the caches."""
    return cold_cache.startswith("wei")


def stream_of(zemm: Any, engine: Any) -> tuple[Any, bool]:
    """A stream, and whether it keeps device times of executions."""
    try:
        return zemm.Stream(engine, profiling=True), True
    except (NotImplementedError, ValueError):
        return zemm.Stream(engine), False


def steps_of(primitive: Any) -> int:
    """The number of executions that a run of the primitive submits."""
    return getattr(primitive, "steps", 1)


def device_times(stream: Any, steps: int, profiled: bool) -> tuple[list[float], str]:
    """The milliseconds of each run, of `steps` executions, by the device's clock; and the reason to
    print if there are none."""
    if not profiled:
        return [], "the engine keeps no times"
    try:
        times = [nanoseconds / 1e6 for nanoseconds in stream.profiling_times()]
        return [sum(times[i : i + steps]) for i in range(0, len(times), steps)], "the device gave no times"
    except RuntimeError as error:
        return [], str(error)


def _cpu_runs(
    primitive: Any, stream: Any, sets: list[dict[int, Any]], options: Options, evict: np.ndarray
) -> list[float]:
    """Host times in ms. There are at least five runs, until the budget is used up, or exactly as
    many as --fix-times-per-prb asks for."""
    times: list[float] = []
    while not _enough(times, options):
        evict += 1
        begin = time.perf_counter()
        primitive.execute(stream, sets[len(times) % len(sets)])
        stream.wait()
        times.append(1e3 * (time.perf_counter() - begin))
    return times


def _enough(times: list[float], options: Options) -> bool:
    if options.fix_times_per_prb:
        return len(times) >= options.fix_times_per_prb
    return len(times) >= _MIN_RUNS and sum(times) >= options.budget_ms


def _gpu_runs(
    primitive: Any, stream: Any, sets: list[dict[int, Any]], options: Options, evict: np.ndarray
) -> list[float]:
    """Host times in ms. After one run for an estimate, as many runs as fit into the budget are
    submitted with one wait at the end; each gets their mean time."""
    begin = time.perf_counter()
    primitive.execute(stream, sets[0])
    stream.wait()
    estimate = 1e3 * (time.perf_counter() - begin)
    count = options.fix_times_per_prb or max(_MIN_RUNS, int(options.budget_ms / max(estimate, 1e-3)))
    begin = time.perf_counter()
    for run in range(count):
        primitive.execute(stream, sets[run % len(sets)])
    stream.wait()
    return [estimate] + [1e3 * (time.perf_counter() - begin) / count] * count


def _kept(times: list[float]) -> list[float]:
    """The second half of the times, without those above twice its median."""
    late = times[len(times) // 2 :]
    limit = _OUTLIER * float(np.median(late))
    return [value for value in late if value <= limit]


def tlb_bytes(cold_cache: str) -> int:
    """The bytes of memory that `+tlb[:SIZE]` writes between runs; 1 GB by default, 0 without the
    option."""
    _, found, size = cold_cache.partition("+tlb")
    if not found:
        return 0
    return int(size[1:-1]) * _UNITS[size[-1]] if size else _UNITS["G"]
