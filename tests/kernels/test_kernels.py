# SPDX-License-Identifier: Apache-2.0
"""Every matmul kernel of kernels.def, forced by name, with problems of every type, layout class and
flag.
"""

import sys

import numpy as np
import pytest
import support_bounds as bounds
from support_calls import Call, compare, make_pd, refusal, result, run
from support_cases import PROBLEMS, Problem
from support_decisions import needed
from support_process import captured
from support_rows import BY_NAME, ROWS
from support_tiers import NAMES, is_quick_pair, is_turn_of
from support_tree import ROOT
from zemm._library.library import names_of
from zemm.benchdnn.data import eltwise as driver
from zemm.benchdnn.grammar import arguments as args


def test_there_are_rows() -> None:
    assert ROWS
    assert len(set(ROWS)) == len(ROWS)


# Which pairs of a row and a problem run with --full.
IS_NEEDED = needed(ROWS, PROBLEMS, lambda row, name: PROBLEMS[name], first=is_quick_pair, covers=None)


@pytest.mark.quick(cases=is_turn_of)
@pytest.mark.decided(cases=lambda row, problem: IS_NEEDED(row, NAMES[problem]))
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize("row", ROWS)
def test_row(row: str, problem: Problem) -> None:
    if reason := refusal(problem):
        why = reason.split(f"{row}: ", 1)[1].split(";")[0]  # the row's own reason
        assert "ZEMM_KERNEL" not in why
        assert len(why.split()) > 3
        return
    rounds = BY_NAME[row].src == "bf16" and bounds.has_float_zero_points(problem)
    assert run(problem.but(f"rounds_to_bf16={int(rounds)}")).pd.impl_info == row


@pytest.mark.parametrize("row", ROWS)
def test_every_row_takes_something(row: str) -> None:
    """On the CPU every row whose ISA is there takes a problem. A row that takes none must give the
    device as the reason.
    """
    reasons = [refusal(problem) for problem in PROBLEMS.values()]
    assert not all(reasons) or all("device" in reason or "GPU" in reason for reason in reasons)


@pytest.mark.full
@pytest.mark.parametrize("row", ROWS)
def test_nothing_past_the_end_is_touched(row: str) -> None:
    script = ROOT / "tests" / "support" / "support_guard_pages.py"
    names = [name for name in PROBLEMS if IS_NEEDED(row, name)]
    done = captured([sys.executable, script, row, *names], timeout=600)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"ended in {lines[-1:]} with {done.returncode}: {done.stderr[-2000:]}"
    assert len(lines) == len(names) + 1


def test_unknown_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    near = ROWS[-1].replace("generic", "genric")
    for name, wanted in (("matmul_of_nobody", "matmul_"), ("foo", "matmul_"), (near, ROWS[-1])):
        monkeypatch.setenv("ZEMM_KERNEL", name)
        with pytest.raises(NotImplementedError, match="ZEMM_KERNEL") as caught:
            make_pd(PROBLEMS["f32"])
        said = str(caught.value)
        assert "65x70:70x33" in said
        assert f"no kernel is named {name}; near names: {wanted}" in said
        assert len(said) < 400


def test_a_named_kernel_gives_its_own_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZEMM_KERNEL", next(row for row in ROWS if "_xe_int8" in row))
    said = refusal(PROBLEMS["f32"])
    assert said
    assert len(said) < 400
    monkeypatch.setenv("ZEMM_KERNEL", f"{ROWS[-1]}:rows=abc")
    assert '"rows=abc" is neither' in refusal(PROBLEMS["f32"])


def test_next_impl_walks_down_the_list() -> None:
    pd = make_pd(PROBLEMS["s8_s8_s32"])
    seen = [pd.impl_info]
    while pd.next_impl():
        seen.append(pd.impl_info)
    assert seen == [row for row in ROWS if row in seen]
    assert len(seen) > 1
    assert not pd.next_impl()
    assert pd.impl_info == seen[-1] == ROWS[-1]


def test_the_second_implementation_runs() -> None:
    call = Call(PROBLEMS["reductions"])
    assert call.pd.next_impl()
    call.execute()
    call.check()


# ---- formulas: each column has one result; the scale of the weights brings it into a product of
# ones

SPECIAL = [
    0.0, 0.5, -0.5, 1.0, -1.0, 3.0, -3.0, 1.75, -2.25, 9.5, -12.5, 87.0, -87.0, 89.0, -89.0, 1e-3, -1e-3,
]  # fmt: skip
SPECIAL += [1e4, -1e4, 1e30, -1e30, np.inf, -np.inf, np.nan]
# Zeros, denormals, the border of denormals, and the largest values.
SPECIAL += [-0.0, 2.0**-149, -(2.0**-149), 1e-40, -1e-40, 2.0**-126, -(2.0**-126)]
SPECIAL += [float(np.finfo(np.float32).max), float(np.finfo(np.float32).min)]


def results_of(
    values: np.ndarray, dst_dt: str, post_op: str = "", operands: dict[int, np.ndarray] | None = None
) -> np.ndarray:
    line = f"--dt=s8:s8:{dst_dt} --attr-scales=wei:2 --attr-post-ops={post_op} 2x1:1x{values.size}"
    given = {args.SRC: 1, args.WEI: 1, args.SCALES | args.WEI: values}
    return result(Problem(line), given | (operands or {}))


SECOND, CONDITION, SLOPES = (args.post_op_arg(0, arg) for arg in (2, 3, args.WEI))


# alpha and beta for each algorithm.
ALGORITHMS = {
    "relu": [(0.0, 0.0), (0.25, 0.0)],
    "relu_dst": [(0.1, 0.0)],
    "tanh": [(0.0, 0.0)],
    "tanh_dst": [(0.0, 0.0)],
    "elu": [(1.0, 0.0), (-0.3, 0.0)],
    "elu_dst": [(0.5, 0.0)],
    "square": [(0.0, 0.0)],
    "abs": [(0.0, 0.0)],
    "sqrt": [(0.0, 0.0)],
    "sqrt_dst": [(0.0, 0.0)],
    "linear": [(-0.3, 0.7), (0.0, 2.0)],
    "soft_relu": [(1.0, 0.0), (-1.0, 0.0), (2.5, 0.0)],
    "hardsigmoid": [(0.2, 0.5)],
    "logistic": [(0.0, 0.0)],
    "logistic_dst": [(0.0, 0.0)],
    "exp": [(0.0, 0.0)],
    "exp_dst": [(0.0, 0.0)],
    "gelu_tanh": [(0.0, 0.0)],
    "swish": [(1.0, 0.0), (-0.7, 0.0)],
    "log": [(0.0, 0.0)],
    "clip": [(-1.0, 2.0)],
    "clip_v2": [(0.5, 0.5)],
    "clip_v2_dst": [(-3.0, 88.0)],
    "pow": [(2.0, 3.0), (1.0, 0.0), (-1.5, 0.5), (1.0, -1.0)],
    "gelu_erf": [(0.0, 0.0)],
    "round": [(0.0, 0.0)],
    "mish": [(0.0, 0.0), (5.0, 5.0)],
    "hardswish": [(1 / 6, 0.5)],
}
ELTWISE = [(alg, *parameters) for alg, cases in ALGORITHMS.items() for parameters in cases]


def test_every_eltwise_is_tested() -> None:
    names = {name for name in names_of("alg_kind") if name.startswith("eltwise_")}
    assert names == {f"eltwise_{name}".replace("_dst", "_use_dst_for_bwd") for name in ALGORITHMS}


# The row that the device chooses, one with wide vectors, and two rows whose tiles belong to a
# sub-group.
FORMULA_ROWS = ["", "64x32x64_generic", "8x16x128_xe_int8", "8x16x32_xe_dp4a"]


def forced(row: str) -> str:
    return next(name for name in ROWS if name.endswith(row)) if row else ""


# In groups, because all algorithms need the same modules, which two workers would build at the same time.
# The conversion to dst comes after the formula: in the quick tier test_row and test_conversion have it.
@pytest.mark.quick(cases=lambda dst_dt: dst_dt == "f32")
@pytest.mark.parametrize(
    "dst_dt",
    [pytest.param(dt, marks=pytest.mark.xdist_group(f"eltwise_{dt}")) for dt in ("f32", "f16", "bf16")],
)
@pytest.mark.parametrize(("alg", "alpha", "beta"), ELTWISE)
def test_eltwise(monkeypatch: pytest.MonkeyPatch, alg: str, alpha: float, beta: float, dst_dt: str) -> None:
    values = np.array(SPECIAL, np.float32).astype(np.float64)
    function, roundings, terms = bounds.eltwise(alg, alpha, beta)
    y, error = bounds.apply(function, values, np.zeros(values.shape), roundings, terms)
    for row in FORMULA_ROWS:
        monkeypatch.setenv("ZEMM_KERNEL", forced(row))
        got = results_of(values, dst_dt, f"{alg}:{alpha}:{beta}")
        for dst in got:
            compare(dst, bounds.convert(y - error, dst_dt), bounds.convert(y + error, dst_dt))


@pytest.mark.parametrize(("alg", "alpha", "beta"), ELTWISE)
def test_the_drivers_eltwise_agrees(alg: str, alpha: float, beta: float) -> None:
    """zemm.benchdnn computes the formulas in f32. Its results are within the bounds of the
    kernels.
    """
    values = np.array(SPECIAL, np.float32)
    got = driver.eltwise(alg, values, alpha, beta)
    function, roundings, terms = bounds.eltwise(alg, alpha, beta)
    wide = values.astype(np.float64)
    y, error = bounds.apply(function, wide, np.zeros(values.shape), roundings, terms)
    compare(got, bounds.convert(y - error, "f32"), bounds.convert(y + error, "f32"))


# Algorithms that keep the sign of a zero: they return their input or a multiple of it.
KEPT = ["relu", "abs", "square", "sqrt", "linear", "clip", "round"]


@pytest.mark.parametrize("alg", KEPT)
def test_signs_of_zeros(alg: str) -> None:
    values = np.array([0.0, -0.0, 2.0**-149, -(2.0**-149)])
    alpha, beta = {"relu": (0.5, 0.0), "linear": (-2.0, -0.0), "clip": (-1.0, 1.0)}.get(alg, (0.0, 0.0))
    function = bounds.eltwise(alg, alpha, beta)[0]
    with np.errstate(invalid="ignore", under="ignore"):
        expected = function(values).astype(np.float32)
    for dst in results_of(values, "f32", f"{alg}:{alpha}:{beta}"):
        np.testing.assert_array_equal(dst, expected)
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(dst[numbers]), np.signbit(expected[numbers]))


@pytest.mark.xdist_group("binary")
@pytest.mark.parametrize(
    "alg", ["add", "sub", "mul", "div", "max", "min", "ge", "gt", "le", "lt", "eq", "ne"]
)
def test_binary(monkeypatch: pytest.MonkeyPatch, alg: str) -> None:
    operands = [0.0, -0.0, 1.0, -1.5, 3.0, 1e30, 1e-40, np.inf, -np.inf, np.nan]
    pairs = np.array([(x, s) for x in SPECIAL for s in operands], np.float32).astype(np.float64)
    values, second = pairs[:, 0], pairs[:, 1].reshape(1, -1)
    function, roundings = bounds.binary(alg, second[0])
    y, error = bounds.apply(function, values, np.zeros(values.shape), roundings)
    for row in FORMULA_ROWS:
        monkeypatch.setenv("ZEMM_KERNEL", forced(row))
        for dst in results_of(values, "f32", f"{alg}:f32:2", {SECOND: second}):
            compare(dst, bounds.convert(y - error, "f32"), bounds.convert(y + error, "f32"))


@pytest.mark.parametrize("alg", ["max", "min", "div", "ge", "ne"])
def test_the_drivers_binary_agrees(alg: str) -> None:
    pairs = np.array([(x, s) for x in SPECIAL for s in SPECIAL], np.float32)
    got = driver.binary(alg, pairs[:, 0], pairs[:, 1])
    wide = pairs.astype(np.float64)
    with np.errstate(all="ignore"):
        expected = bounds.binary(alg, wide[:, 1])[0](wide[:, 0]).astype(np.float32)
    np.testing.assert_array_equal(got, expected)


def test_a_nan_in_max_and_min() -> None:
    """As in oneDNN: the result is the second operand, unless the first is greater (max) or less
    (min).
    """
    values, second = np.array([np.nan, 1.0, np.nan]), np.array([[1.0, np.nan, np.nan]])
    for alg in ("max", "min"):
        got = results_of(values, "f32", f"{alg}:f32:2", {SECOND: second})
        for dst in got:
            np.testing.assert_array_equal(dst, [1.0, np.nan, np.nan])


def test_select_passes_specials() -> None:
    values = np.array(SPECIAL, np.float32).astype(np.float64)
    condition = np.arange(values.size).reshape(1, -1) % 3
    second = values[::-1].reshape(1, -1)
    got = results_of(values, "f32", "select:f32.2:2", {SECOND: second, CONDITION: condition})
    expected = np.where(condition[0] != 0, values, second[0]).astype(np.float32)
    for row in got:
        np.testing.assert_array_equal(row, expected)


def test_prelu_of_specials() -> None:
    values = np.array(SPECIAL, np.float32).astype(np.float64)
    slopes = np.linspace(-2, 2, values.size, dtype=np.float32).astype(np.float64).reshape(1, -1)
    got = results_of(values, "f32", "prelu:2", {SLOPES: slopes})
    with np.errstate(all="ignore"):
        expected = np.where(values >= 0, values, values * slopes[0]).astype(np.float32)
    for row in got:
        np.testing.assert_array_equal(row, expected)


CONVERSIONS = {
    "s8": [
        0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 126.5, 127.49, 127.5, 128, 300, -128.5, -128.51, -129, 1e10, -1e10,
    ],
    "u8": [0.5, 1.5, 2.5, -0.4, -0.5, -1, -300, 254.5, 255.49, 255.5, 256, 1e10, -1e10],
    "s32": [0.5, 1.5, -2.5, 16777217, 2147483520, 2147483648, 1e10, -2147483648, -2147483904, -1e10],
    "f16": [
        65504, 65519.99, 65520, -65520, 1e30, 2049, 2051, 2.0**-24, 2.0**-25, 1.5 * 2.0**-24, -(2.0**-14),
    ],
    "bf16": [
        1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-8 + 2.0**-20, 3.4e38, -3.4e38, 1e-37, 65535.0, 1e-38, -1e-40,
        float(np.nextafter(np.float32(2.0**-126), np.float32(0))),
    ],
    "f32": [1e-30, -3.4e38],
}  # fmt: skip


@pytest.mark.parametrize("dst_dt", CONVERSIONS)
def test_conversion(dst_dt: str) -> None:
    """Saturation, halves to even, NaN in integers, infinities in floats."""
    values = np.array([*CONVERSIONS[dst_dt], 0, np.inf, -np.inf, np.nan], np.float32).astype(np.float64)
    expected = bounds.convert(values, dst_dt)
    if dst_dt in ("s8", "u8", "s32"):
        assert expected[-1] == {"s8": -128, "u8": 255, "s32": -(2**31)}[dst_dt]
    for row in results_of(values, dst_dt):
        compare(row, expected, expected)
