# SPDX-License-Identifier: Apache-2.0
"""Times a primitive by benchdnn's rules for the number of runs and for which runs count."""

import time
from dataclasses import dataclass
from itertools import cycle, pairwise
from typing import Any

import numpy as np

from zemm.benchdnn.data.cold_cache import tlb_bytes
from zemm.benchdnn.grammar.options import Options

_MIN_RUNS = 5
# Of the sorted times up to a tenth are dropped from the fast end, before a step of 4 %, and before a
# hundredth of the times is the same.
_CHECKED_SHARE, _STEP, _SAME_SHARE = 0.10, 1.04, 0.01
Memories = dict[int, Any]


@dataclass
class Measured:
    """The milliseconds of the runs that count, and the clock that they were taken with."""

    times_ms: list[float]
    source: str


class Lane:
    """Runs of a primitive on a stream of its own. Run i uses the memories sets[i % len(sets)]."""

    def __init__(self, zemm: Any, engine: Any, primitive: Any, sets: list[Memories]) -> None:
        self.stream, self._profiled = stream_of(zemm, engine)
        self._primitive, self._sets = primitive, cycle(sets)

    def submit(self) -> None:
        self._primitive.execute(self.stream, next(self._sets))

    def restart(self) -> None:
        """Wait, and forget the device times so far."""
        self.stream.wait()
        if self._profiled:
            self.stream.reset_profiling()

    def device_times(self) -> tuple[list[float], str]:
        return device_times(self.stream, steps_of(self._primitive), self._profiled)


def measure(
    zemm: Any, engine: Any, primitive: Any, sets_of_streams: list[list[Memories]], options: Options
) -> Measured:
    """Time a primitive on as many streams as there are sets of memories, after one untimed run on each
    (none in mode S)."""
    lanes = [Lane(zemm, engine, primitive, sets) for sets in sets_of_streams]
    if options.mode != "S":
        for lane in lanes:
            lane.submit()
            lane.restart()
    runs = _gpu_runs if engine.kind == "gpu" else _cpu_runs
    wall = runs(lanes, options)
    found = [lane.device_times() for lane in lanes]
    device, missing = [ms for times, _ in found for ms in times], found[0][1]
    if engine.kind == "cpu" and len(lanes) > 1:
        device, missing = [], f"{len(lanes)} streams at once"
    has_device = len(device) == len(wall) and min(device) > 0
    times, source = (device, "device clock") if has_device else (wall, f"host clock ({missing})")
    return Measured(kept(times) if engine.kind == "gpu" else times, source)


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


def kept(times: list[float]) -> list[float]:
    """The times that count of runs on a GPU, sorted: those of the second half, without the fastest ones
    if these are far from the others or too few."""
    late = sorted(times[len(times) // 2 :])
    checked = max(1, int(_CHECKED_SHARE * len(late)))
    wanted = max(1, int(_SAME_SHARE * len(late)))
    first, same = 0, 1
    for i, (time_ms, after) in enumerate(pairwise(late[: checked + 1])):
        if after >= time_ms * _STEP:
            first, same = i + 1, 1
        elif after == time_ms:
            same += 1
        elif same < wanted:
            first, same = i + 1, 1
    return late[first:]


def _cpu_runs(lanes: list[Lane], options: Options) -> list[float]:
    """Host times in ms. There are at least five runs, until the budget is used up, or exactly as
    many as --fix-times-per-prb asks for. With several streams each runs at the same time, and a run
    gets its share of the time."""
    times: list[float] = []
    evict = np.zeros(tlb_bytes(options.cold_cache), np.uint8)
    while not _enough(times, len(lanes), options):
        evict += 1
        begin = time.perf_counter()
        for lane in lanes:
            lane.submit()
        for lane in lanes:
            lane.stream.wait()
        times.append(1e3 * (time.perf_counter() - begin) / len(lanes))
    return times


def _enough(times: list[float], streams: int, options: Options) -> bool:
    if options.fix_times_per_prb:
        return len(times) >= options.fix_times_per_prb
    return len(times) >= _MIN_RUNS and sum(times) * streams >= options.max_ms_per_prb


def _gpu_runs(lanes: list[Lane], options: Options) -> list[float]:
    """Host times in ms. After one run for an estimate, as many runs as fit into the budget are
    submitted to each stream with one wait at the end; each gets their mean time."""
    count = options.fix_times_per_prb
    if not count:
        begin = time.perf_counter()
        lanes[0].submit()
        lanes[0].restart()
        estimate = 1e3 * (time.perf_counter() - begin)
        count = max(_MIN_RUNS, int(options.max_ms_per_prb / max(estimate, 1e-3)))
    begin = time.perf_counter()
    for _ in range(count):
        for lane in lanes:
            lane.submit()
    for lane in lanes:
        lane.stream.wait()
    runs = count * len(lanes)
    return [1e3 * (time.perf_counter() - begin) / runs] * runs
