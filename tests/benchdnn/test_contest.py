# SPDX-License-Identifier: Apache-2.0
"""The order of the runs in a contest, and the roofline."""

from collections.abc import Callable

import pytest
from zemm.benchdnn.case import Case
from zemm.benchdnn.contest import MIN_ROUNDS, SLOW_MS, SLOW_ROUNDS, alternate
from zemm.benchdnn.expand import expand
from zemm.benchdnn.peaks import Peaks, compute_peak, measure

PROBLEM = "31x256:256x64"


def case_of(options: str) -> Case:
    (job,), _ = expand(["--matmul", *options.split(), PROBLEM])
    return job.case


class Clock:
    """A clock that advances when a participant runs."""

    def __init__(self) -> None:
        self.now = 0.0
        self.order = ""

    def runner(self, name: str, ms: float) -> Callable[[], None]:
        def run() -> None:
            self.order += name
            self.now += ms / 1e3

        return run


def test_turns_alternate() -> None:
    clock = Clock()
    runs = [clock.runner("A", 2), clock.runner("B", 3)]
    turns = alternate(runs, 3, 1e9, lambda index: clock.runner(f"-{index}", 50)(), clock=lambda: clock.now)
    assert clock.order == "-0A-1B" * 3
    assert [turn.times_ms for turn in turns] == [pytest.approx([2] * 3), pytest.approx([3] * 3)]


def test_turns_end_with_the_budget_of_all() -> None:
    clock = Clock()
    alternate([clock.runner("A", 10), clock.runner("B", 30)], 0, 100, clock=lambda: clock.now)
    assert clock.order == "AB" * 5  # a round takes 40 ms, and both need 100 ms: 5 rounds
    clock = Clock()
    alternate([clock.runner("A", 10)], 0, 0, clock=lambda: clock.now)
    assert clock.order == "A" * MIN_ROUNDS


def test_who_is_slow_leaves() -> None:
    clock = Clock()
    runs = [clock.runner("A", 1), clock.runner("B", SLOW_MS + 1)]
    fast, slow = alternate(runs, 0, 10, clock=lambda: clock.now)
    assert clock.order == "AB" * SLOW_ROUNDS + "A" * (MIN_ROUNDS - SLOW_ROUNDS)
    assert (fast.is_slow, slow.is_slow) == (False, True)
    clock = Clock()
    alternate([clock.runner("B", SLOW_MS + 1)], 0, 1e9, clock=lambda: clock.now)
    assert clock.order == "B" * SLOW_ROUNDS


def test_the_roofline_is_the_lower_limit() -> None:
    peaks = Peaks({"int8": 1e12, "f32": 1e11, "read": 1e10})
    ops = 2 * 31 * 256 * 64
    assert peaks.bound(case_of("--dt=s8:u8:f16"), 10**6) == ("read", pytest.approx(0.1))
    assert peaks.bound(case_of("--dt=s8:u8:f16"), 1) == ("int8", pytest.approx(ops / 1e12 * 1e3))
    assert peaks.bound(case_of("--dt=f32"), 1) == ("f32", pytest.approx(ops / 1e11 * 1e3))
    assert peaks.bound(case_of("--dt=f32:u8:f32"), 1)[0] == "f32"


def test_no_bound_without_the_limit_of_the_operations() -> None:
    peaks = Peaks({"f32": 1e11, "read": 1e10}, {"int8": "no such instruction"})
    assert peaks.bound(case_of("--dt=s8:u8:f16"), 10**9) == ("", 0.0)
    assert peaks.bound(case_of("--dt=f32"), 10**9)[0] == "read"
    assert peaks.lines() == ["# peak: f32 100 GOPS, read 10 GB/s", "# peak: int8 n/a: no such instruction"]


def test_peaks_only_rise() -> None:
    peaks = Peaks({"f32": 2.0, "read": 5.0})
    peaks.raise_to(Peaks({"f32": 3.0, "read": 4.0}))
    assert peaks.values == {"f32": 3.0, "read": 5.0}


def test_the_bandwidth_around_a_case_counts_for_it() -> None:
    run = Peaks({"f32": 1e11, "read": 1e10})
    case = run.at(4e9)
    assert case.bound(case_of("--dt=f32"), 10**8) == ("read", pytest.approx(25))
    assert run.bound(case_of("--dt=f32"), 10**8) == ("read", pytest.approx(10))
    run.raise_to(Peaks({"f32": 2e11, "read": 2e10}))
    assert (case.value("f32"), case.value("read")) == (2e11, 4e9)


def test_which_operations_count() -> None:
    names = {dt: compute_peak(case_of(f"--dt={dt}:u8:f32")) for dt in ("s8", "u8", "f32", "f16", "bf16")}
    assert names == {"s8": "int8", "u8": "int8", "f32": "f32", "f16": "f32", "bf16": "f32"}


def test_a_limit_that_cannot_be_measured_has_its_reason() -> None:
    class Engine:
        def measure_peak(self, name: str) -> float:
            if name == "int8":
                raise NotImplementedError("this device multiplies no bytes")
            return 7.0

    peaks = measure(Engine(), ("int8", "read"))
    assert (peaks.values, peaks.missing) == ({"read": 7.0}, {"int8": "this device multiplies no bytes"})
