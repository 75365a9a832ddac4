# SPDX-License-Identifier: Apache-2.0
"""How long a primitive takes: benchdnn's rules for the number of runs and for the ones that count."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from zemm.benchdnn.arguments import WEI
from zemm.benchdnn.buffers import Buffer
from zemm.benchdnn.options import Options

_MIN_RUNS = 5
_CACHE_BYTES = 256 * 2**20
_MAX_COPIES = 256
_OUTLIER = 2.0
_UNITS = {"M": 2**20, "G": 2**30}


@dataclass
class Measured:
    """Milliseconds of every kept run, and which clock they come from."""

    times_ms: list[float]
    source: str


def measure(zemm: Any, engine: Any, primitive: Any, sets: list[dict[int, Any]], options: Options) -> Measured:
    """Time a primitive after one untimed run; run i takes the tensors of sets[i modulo their number]."""
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


def cold_copies(
    zemm: Any, engine: Any, cold_cache: str, buffers: dict[int, Buffer]
) -> list[dict[int, Buffer]]:
    """Copies of the weights (`wei`) or of all tensors, by argument: so many that each is cold at its turn,
    but no more than _MAX_COPIES, which tensors of a few bytes would need."""
    if cold_cache == "none":
        return []
    chosen = {arg: b for arg, b in buffers.items() if arg == WEI or not cold_cache.startswith("wei")}
    size = sum(buffer.size for buffer in chosen.values())
    count = min(-(-_CACHE_BYTES // size), _MAX_COPIES) if size else 0
    return [{arg: _copied(zemm, engine, buffer) for arg, buffer in chosen.items()} for _ in range(count)]


def _copied(zemm: Any, engine: Any, buffer: Buffer) -> Buffer:
    twin = Buffer(zemm, engine, buffer.memory.md)
    twin.write_raw(buffer.raw())
    return twin


def stream_of(zemm: Any, engine: Any) -> tuple[Any, bool]:
    """A stream, and whether it keeps device times."""
    try:
        return zemm.Stream(engine, profiling=True), True
    except (NotImplementedError, ValueError):
        return zemm.Stream(engine), False


def steps_of(primitive: Any) -> int:
    """Executions that a run submits."""
    return getattr(primitive, "steps", 1)


def device_times(stream: Any, steps: int, profiled: bool) -> tuple[list[float], str]:
    """Milliseconds of every run (of `steps` executions) by the device's clock, or none and why."""
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
    """Runs until the budget is used and there are five, or exactly as many as asked for; wall times in ms."""
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
    """One run for an estimate, then as many as fit into the budget with one wait; mean wall times in ms."""
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
    """The second half of the runs without those slower than twice its median."""
    late = times[len(times) // 2 :]
    limit = _OUTLIER * float(np.median(late))
    return [value for value in late if value <= limit]


def tlb_bytes(cold_cache: str) -> int:
    """The size of the memory that `+tlb[:SIZE]` touches between runs, 1 GB unless given; 0 without it."""
    _, found, size = cold_cache.partition("+tlb")
    if not found:
        return 0
    return int(size[1:-1]) * _UNITS[size[-1]] if size else _UNITS["G"]
