# SPDX-License-Identifier: Apache-2.0
"""The order of the runs in a contest, and the roofline."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest
from zemm._library.kernels import rows
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.expand import expand
from zemm.benchdnn.run.contest import MIN_ROUNDS, SLOW_MS, SLOW_ROUNDS, alternate
from zemm.benchdnn.run.peaks import Peaks, names_for, unit_of

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
    assert peaks.bound(case_of("--dt=s8:u8:f16"), 10**6, "int8") == ("read", pytest.approx(0.1))
    assert peaks.bound(case_of("--dt=s8:u8:f16"), 1, "int8") == ("int8", pytest.approx(ops / 1e12 * 1e3))
    assert peaks.bound(case_of("--dt=f32"), 1, "f32") == ("f32", pytest.approx(ops / 1e11 * 1e3))
    assert peaks.bound(case_of("--dt=s8:u8:f16"), 1, "f32")[0] == "f32"  # a row that multiplies as f32


def test_no_bound_without_the_limit_of_the_operations() -> None:
    peaks = Peaks({"f32": 1e11, "read": 1e10}, {"int8": "no such instruction"})
    assert peaks.bound(case_of("--dt=s8:u8:f16"), 10**9, "int8") == ("", 0.0)
    assert peaks.bound(case_of("--dt=f32"), 10**9, "f32")[0] == "read"
    assert peaks.lines() == ["# peak: f32 100 GOPS, read 10 GB/s", "# peak: int8 n/a: no such instruction"]


@pytest.mark.parametrize(
    ("family", "operands", "unit"),
    [
        ("avx512_vnni", "int8", "int8"), ("avx512", "f32", "f32"), ("avx512_bf16", "half", "bf16"),
        ("amx_int8", "int8", "amx_int8"), ("amx_bf16", "half", "amx_bf16"), ("amx_fp16", "half", "amx_fp16"),
        ("xe_hpc", "int8", "xmx_int8"), ("xe_hpg", "half", "xmx_half"), ("xe_hpc", "tf32", "xmx_tf32"),
        ("avx2_int8", "int8", "int8"), ("avx2_vnni", "int8", "int8"), ("cpu", "f32", "f32"),
    ],
)  # fmt: skip
def test_the_limit_is_that_of_the_unit_of_the_kernel(family: str, operands: str, unit: str) -> None:
    found = [row.name for row in rows() if (row.family, row.operands) == (family, operands)]
    assert found
    assert {unit_of(case_of("--dt=s8:u8:f32"), name) for name in found} == {unit}


def test_an_amx_server_has_a_limit_of_its_own() -> None:
    """int8 on such a server: 31 rows by tiles, one by vectors. The peer that quantises uses the faster."""
    features = ("avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16", "xmx", "tf32")
    engine = SimpleNamespace(kind="cpu", features=features)
    limits = {"int8": 7e12, "f32": 1.8e12, "bf16": 3e12, "amx_int8": 35e12, "amx_bf16": 17e12}
    assert names_for(engine) == [*limits, "copy", "read"]
    peaks = Peaks(limits | {"read": 1e11})
    case = case_of("--dt=u8:s8:f32")
    for row in rows():
        if row.family in ("amx_int8", "avx512_vnni", "amx_bf16"):
            _, milliseconds = peaks.bound(case, 1, unit_of(case, row.name))
            assert milliseconds == pytest.approx(1e3 * case.problem.ops / limits[row.unit])
    assert (peaks.fastest("int8"), peaks.fastest("bf16"), peaks.fastest("tf32")) == (
        "amx_int8",
        "amx_bf16",
        "",
    )


def test_which_operations_count_for_other_kernels() -> None:
    names = {dt: unit_of(case_of(f"--dt={dt}:u8:f32"), "") for dt in ("s8", "u8", "f32", "f16", "bf16")}
    assert names == {"s8": "int8", "u8": "int8", "f32": "f32", "f16": "f32", "bf16": "f32"}
