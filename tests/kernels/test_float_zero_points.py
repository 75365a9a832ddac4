# SPDX-License-Identifier: Apache-2.0
"""Float zero points of integer weights: how exact they are, and what refuses them.
tests/support/support_kernel_problems.py has problems of every kind for all rows.
"""

from dataclasses import replace

import numpy as np
import pytest
import zemm
from support_case_lines import problem_of
from support_decisions import needed
from support_problem import Problem, Quant, make_data, zero_point
from support_rows import BY_NAME
from support_run import make_pd, result
from support_tiers import SMALL_ROWS, takes

EPS = 2.0**-24
GROUP = 64
INT8_ROWS = [row for row in BY_NAME if BY_NAME[row].src in ("int8", "any")]
SRC, WEIGHTS, DST = zemm.ARG_SRC, zemm.ARG_WEIGHTS, zemm.ARG_DST


def grouped(src: str, wei: str, zp: str, **settings: object) -> Problem:
    """Four groups along K, with scales and zero points. Seven columns of a tile are missing."""
    k = 4 * GROUP
    scale, wei_zp = Quant(3, (GROUP, 1), "f16"), zero_point(3, (GROUP, 1), zp)
    return Problem((9, k), (k, 57), src, wei, "f32", wei_scale=scale, wei_zp=wei_zp, rough=True, **settings)  # type: ignore[arg-type]


TYPES = [("s8", "u8"), ("u8", "u8"), ("s8", "s8"), ("u8", "s4")]
TYPES_NEEDED = needed(INT8_ROWS, TYPES, lambda row, types: grouped(*types, "f16"))


@pytest.mark.each_value
@pytest.mark.quick(
    cases=lambda row, src, wei: (
        row in SMALL_ROWS if src == wei == "s8" else BY_NAME[row].family == "avx2" and wei == "s4"
    )
)
@pytest.mark.decided(cases=lambda row, src, wei: TYPES_NEEDED(row, (src, wei)))
@pytest.mark.parametrize(("src", "wei"), TYPES)
@pytest.mark.parametrize("row", INT8_ROWS)
def test_integers_as_floats(row: str, src: str, wei: str) -> None:
    """Zero points of whole numbers give the same bits as floats and as integers: sums, products and
    differences are exact.
    """
    integers = grouped(src, wei, "s8", src_scale=Quant(3, (1, GROUP), "f16"))
    if not takes(row, integers):
        pytest.skip(f"{row}: not on this device")
    data = make_data(integers)
    expected = result(integers, data)
    floats = replace(integers, wei_zp=zero_point(3, (GROUP, 1), "f16"))
    np.testing.assert_array_equal(result(floats, data), expected)


POINTS = ["f32", "f16", "bf16"]
POINTS_NEEDED = needed(INT8_ROWS, POINTS, lambda row, zp: grouped("u8", "u8", zp))


@pytest.mark.quick(cases=lambda row, zp: row in SMALL_ROWS and zp == "f32")
@pytest.mark.decided(cases=lambda row, zp: POINTS_NEEDED(row, zp))
@pytest.mark.parametrize("zp", POINTS)
@pytest.mark.parametrize("row", INT8_ROWS)
def test_bound(row: str, zp: str) -> None:
    """Zero points far from 0, as asymmetric u8 weights have them: their terms cancel most of the sums,
    and the error is that of the terms' f32, not that of f16 or of a rounded zero point.
    """
    problem = grouped("u8", "u8", zp)
    if not takes(row, problem):
        pytest.skip(f"{row}: not on this device")
    data = make_data(problem)
    points = data.quants["wei_zp"] * 10 + 120
    data.quants["wei_zp"] = points.astype(zemm.numpy_dtype(zp)).astype(np.float64)
    got = result(problem, data)
    expected, bound = np.zeros(problem.dst_dims), np.zeros(problem.dst_dims)
    for group in range(4):
        k = slice(group * GROUP, (group + 1) * GROUP)
        points, scale = data.quants["wei_zp"][group], data.quants["wei_scale"][group]
        src = data.src[:, k].astype(np.float64)
        part = src @ (data.wei[k] - points) * scale
        term = src.sum(axis=1, keepdims=True) * (points + 128) * scale  # also if a row adds two halves
        expected += part
        bound += EPS * (term + np.abs(part) + np.abs(expected))
    assert (np.abs(got - expected) <= 2 * bound).all()
    assert (np.abs(got - expected) > 0).any()  # rounded at all


def test_reductions_of_the_caller() -> None:
    """The sums of src that the caller passes are multiplied by the zero points."""
    problem = grouped("s8", "u8", "f16", reduction_group=GROUP)
    data = make_data(problem)
    assert data.reductions is not None
    before = result(problem, data).astype(np.float64)
    data.reductions = data.reductions + 1000
    after = result(problem, data).astype(np.float64)
    moved = (1000 * data.quants["wei_zp"] * data.quants["wei_scale"]).sum(axis=0)
    np.testing.assert_allclose(before - after, np.broadcast_to(moved, before.shape), rtol=1e-3, atol=1.0)


def test_to_s32() -> None:
    """An s32 dst without scales is rounded half to even; the sums alone would be integers."""
    problem = Problem((1, 4), (4, 3), "s8", "s8", "s32", wei_zp=zero_point(2, (), "f32"))
    data = make_data(problem)
    data.src[:], data.wei[:] = 1, 1
    data.quants["wei_zp"] = np.array([[0.125, 0.625, -0.375]])
    assert result(problem, data).tolist() == [[4, 2, 6]]  # 3.5, 1.5 and 5.5


def test_float_weights_are_refused() -> None:
    problem = Problem((5, 32), (32, 16), "f16", "f8_e4m3", "f32", wei_zp=zero_point(2, (), "f16"))
    with pytest.raises(
        zemm.UnimplementedError, match="zero points of type f16 need integer weights, not f8_e4m3"
    ):
        make_pd(problem)


NARROW_ROWS = [row for row in BY_NAME if BY_NAME[row].src in ("half", "bf16", "f16", "tf32")]
# The types that rows of a type round weights less their zero points to.
ROUNDING = {"half": ["f16"], "bf16": ["bf16"], "f16": ["f16"]}


def widened(src: str, wei: str, fpmath: str) -> Problem:
    return problem_of(
        f"--stag=any --wtag=any --dtag=any --dt={src}:{wei}:f32 --attr-scales=wei:3:f16:32x1"
        f" --attr-zero-points=wei:3:f16:32x1 --attr-fpmath={fpmath}:true 64x128:128x64"
    )


@pytest.mark.quick(cases=lambda row, wei: row in SMALL_ROWS and wei == "u4")
@pytest.mark.parametrize("wei", ["u8", "s4", "u4"])
@pytest.mark.parametrize("row", [row for row in NARROW_ROWS if BY_NAME[row].src in ROUNDING])
def test_rows_that_round(monkeypatch: pytest.MonkeyPatch, row: str, wei: str) -> None:
    """Weights less their zero points are rounded to the type of src once."""
    for src in ROUNDING[BY_NAME[row].src]:
        problem = widened(src, wei, src)
        if not takes(row, problem):
            pytest.skip(f"{row}: not on this device")
        monkeypatch.setenv("ZEMM_KERNEL", row)
        data = make_data(problem)
        points = np.round(data.quants["wei_zp"] * 100) / 64  # f16 has these, and their sums with 8
        data.quants["wei_zp"] = points
        exact = data.wei - np.repeat(points, 32, axis=0)
        rounded = exact.astype(zemm.numpy_dtype(src)).astype(np.float64)
        assert (rounded != exact).any() == (src == "bf16" or wei == "u8")
        scales = np.repeat(data.quants["wei_scale"], 32, axis=0)
        x = data.src.astype(np.float64)
        expected, size = x @ (rounded * scales), np.abs(x) @ np.abs(rounded * scales)
        got = result(problem, data)
        assert (np.abs(got - expected) <= 132 * EPS * size).all()


@pytest.mark.parametrize("row", [row for row in NARROW_ROWS if BY_NAME[row].src in ("half", "tf32")])
def test_rows_that_would_round_refuse(row: str) -> None:
    """Rows that multiply weights less their zero points as bf16 or tf32 and cannot round them."""
    src = "bf16" if BY_NAME[row].src == "half" else "f32"
    with pytest.raises(zemm.UnimplementedError, match=r"have to be tensors of 8 bits|does not report"):
        make_pd(widened(src, "u8", "any"))


@pytest.mark.parametrize("src", ["s8", "u8", "f32", "f16", "bf16"])
@pytest.mark.parametrize("wei", ["s8", "u8", "s4", "u4"])
@pytest.mark.parametrize("zp", ["f32", "f16", "bf16"])
def test_some_row_takes_it(src: str, wei: str, zp: str) -> None:
    """On the CPU, and among the rows that GPUs have."""
    fpmath = None if src in ("s8", "u8") else ("any", True)
    problem = Problem((5, 32), (32, 16), src, wei, "f32", wei_zp=zero_point(2, (), zp), fpmath=fpmath)
    pd = make_pd(problem)
    assert "avx" in pd.impl_info or "generic" in pd.impl_info
    assert any(takes(row, problem) for row in BY_NAME if BY_NAME[row].is_xe)
