# SPDX-License-Identifier: Apache-2.0
"""Comparison: for every rule a value that it accepts and a value that it rejects."""

import numpy as np
import pytest
from zemm.benchdnn.data.compare import Rules, accepted, compare, rules_for
from zemm.benchdnn.grammar.expand import expand

NAN, INF = float("nan"), float("inf")


def ok(rules: Rules, expected: float, got: float, exact: float | None = None) -> bool:
    arrays = [np.array([v], np.float32) for v in (expected if exact is None else exact, expected, got)]
    return bool(accepted(arrays[0], arrays[1], arrays[2], rules)[0])


@pytest.mark.parametrize(
    ("rules", "expected", "got", "result"),
    [
        # Without a rule that allows more, only equal values pass.
        (Rules("f32"), 1.0, 1.0, True),
        (Rules("f32"), 1.0, 1.0 + 2**-23, False),
        (Rules("f16"), 1.0, 1.0 + 2**-10, False),
        (Rules("s8"), 1, 2, False),
        # Tiny values.
        (Rules("f32"), 1e-6, 1.05e-6, True),
        (Rules("f32"), 1e-6, 2e-6, False),
        (Rules("f32"), 2e-5, 2.005e-5, False),
        # NaN and infinity pass only where the output may have them.
        (Rules("f32"), NAN, NAN, False),
        (Rules("f16"), NAN, NAN, True),
        (Rules("f16"), INF, INF, True),
        (Rules("f16"), INF, -INF, False),
        (Rules("f16"), INF, 65504, False),
        (Rules("f32", eltwise=("log",)), NAN, NAN, True),
        (Rules("f32", binary=("div",)), NAN, NAN, True),
        (Rules("f8_e4m3"), NAN, NAN, True),
        (Rules("f8_e4m3", dynamic=True), NAN, NAN, False),
        # INT_MAX on the CPU.
        (Rules("s32"), 2147483648.0, 2147483520.0, True),
        (Rules("s32", on_cpu=False), 2147483648.0, 2147483520.0, False),
        # Eltwise.
        (Rules("f32", eltwise=("tanh",)), 1.0, 1.0 + 1.5e-5, True),
        (Rules("f32", eltwise=("tanh",)), 1.0, 1.0 + 3e-5, False),
        (Rules("f32", eltwise=("tanh",)), 1000.0, 1000.007, True),
        (Rules("f32", eltwise=("tanh",)), 1000.0, 1000.01, False),
        (Rules("f16", eltwise=("exp",)), 100.0, 100.0625, True),
        (Rules("f16", eltwise=("exp",)), 100.0, 100.125, False),
        (Rules("f32", eltwise=("tanh",), is_scales=True), 1.0, 1.0 + 1.5e-5, False),
        # An f32 scale of dst.
        (Rules("f32", divides_by_f32_scale=True), 100.0, 100.0005, True),
        (Rules("f32", divides_by_f32_scale=True), 100.0, 100.002, False),
        # Binary arithmetic.
        (Rules("f16", binary=("add",)), 1.0, 1.004, True),
        (Rules("f16", binary=("add",)), 1.0, 1.006, False),
        (Rules("f32", binary=("mul",)), 1.0, 1.000009, True),
        (Rules("f32", binary=("mul",)), 1.0, 1.00002, False),
        (Rules("s8", binary=("add",)), 1, 2, False),
        # If an operand is NaN, max may pick either operand. Other values are still compared.
        (Rules("f16", binary=("max",)), NAN, 3, True),
        (Rules("f16", binary=("max",)), 2, 3, False),
        (Rules("f32", binary=("max",)), NAN, 3, False),
    ],
)
def test_rules(rules: Rules, expected: float, got: float, result: bool) -> None:
    assert ok(rules, expected, got) is result


def test_integer_ties_and_nan() -> None:
    assert ok(Rules("s8"), 2, 3, exact=2.500001)
    assert not ok(Rules("s8"), 2, 3, exact=2.4)
    assert not ok(Rules("s8"), 2, 1, exact=2.500001)
    assert ok(Rules("u8"), 255, 0, exact=NAN)


def test_narrow_floats_take_both_roundings() -> None:
    assert ok(Rules("f8_e4m3"), 1.0, 1.125, exact=1.0625)
    assert not ok(Rules("f8_e4m3"), 1.0, 1.25, exact=1.0625)
    assert not ok(Rules("f16"), 1.0, 1.125, exact=1.0625)
    assert ok(Rules("f4_e2m1"), 2.0, 3.0, exact=2.5)
    assert not ok(Rules("f4_e2m1"), 2.0, 4.0, exact=2.5)
    # A value of the type itself has one rounding only.
    assert ok(Rules("f8_e5m2"), 1.0, 0.875, exact=0.95)
    assert not ok(Rules("f8_e5m2"), 1.0, 0.875, exact=1.0)


def test_rules_of_a_case() -> None:
    line = "--dt=s8:s8:f16 --attr-scales=dst:common:2 --attr-post-ops=add:f32+relu 2x2:2x2"
    rules = rules_for(expand(["--matmul", *line.split()])[0][0].case)
    assert rules == Rules("f16", ("relu",), ("add",), divides_by_f32_scale=True)


def test_zero_trust() -> None:
    rules = Rules("f32")

    def result(count: int, nonzero: int) -> bool:
        values = np.zeros(count, np.float32)
        values[:nonzero] = 1
        return compare(values, values, values, rules, 0).mistrusted

    assert [result(10, 0), result(100, 9), result(9, 0), result(100, 10)] == [True, True, False, False]


def test_lines_name_the_point() -> None:
    want = np.ones((2, 3), np.float32)
    got = want.copy()
    got[1, 2] = 4
    found = compare(want, want, got, Rules("f32"), 0)
    assert (found.errors, found.total) == (1, 6)
    assert found.lines[0].startswith("[5][1:2] exp_f32:")
    assert (
        found.lines[1]
        == "[COMPARE_STATS][DST]: trh=0 err_max_diff:3 err_max_rdiff:3 all_max_diff:3 all_max_rdiff:3"
    )


def test_ten_points_unless_asked_for_more() -> None:
    want, got = np.zeros(50, np.float32), np.ones(50, np.float32)
    assert len(compare(want, want, got, Rules("f32"), 0).lines) == 11
    assert len(compare(want, want, got, Rules("f32"), 10).lines) > 50


def test_empty_tensor_passes() -> None:
    empty = np.zeros((0, 3), np.float32)
    assert compare(empty, empty, empty, Rules("f32"), 0).errors == 0
