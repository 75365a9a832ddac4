# SPDX-License-Identifier: Apache-2.0
"""Float zero points of integer weights: how exact they are, and what refuses them.
tests/support/problems.txt has problems of every kind for all rows.
"""

import numpy as np
import pytest
import zemm
from support_calls import fill, make_pd, result
from support_cases import ANY, Problem, shape
from support_decisions import needed
from support_fill import as_type
from support_rows import BY_NAME
from support_tiers import SMALL_ROWS, takes

EPS = 2.0**-24
GROUP = 64
INT8_ROWS = [row for row in BY_NAME if BY_NAME[row].src in ("int8", "any")]
SRC, WEIGHTS = zemm.ARG_SRC, zemm.ARG_WEIGHTS
SCALES, POINTS = zemm.ARG_ATTR_SCALES | WEIGHTS, zemm.ARG_ATTR_ZERO_POINTS | WEIGHTS


def grouped(src: str, wei: str, zp: str, more: str = "") -> Problem:
    """Four groups along K, with scales and zero points. Seven columns of a tile are missing."""
    return Problem(
        f"--dt={src}:{wei}:f32 --attr-scales=wei:3:f16:{GROUP}x1 --attr-zero-points=wei:3:{zp}:{GROUP}x1"
        f" {shape(9, 57, 4 * GROUP)} rough"
    ).but(more)


TYPES = [("s8", "u8"), ("u8", "u8"), ("s8", "s8"), ("u8", "s4")]
TYPES_NEEDED = needed(INT8_ROWS, TYPES, lambda row, types: grouped(*types, "f16"))


@pytest.mark.quick(
    cases=lambda row, src, wei: row in SMALL_ROWS and not BY_NAME[row].is_xe and src == wei == "s8"
)
@pytest.mark.decided(cases=lambda row, src, wei: TYPES_NEEDED(row, (src, wei)))
@pytest.mark.parametrize(("src", "wei"), TYPES)
@pytest.mark.parametrize("row", INT8_ROWS)
def test_integers_as_floats(row: str, src: str, wei: str) -> None:
    """Zero points of whole numbers give the same bits as floats and as integers: sums, products and
    differences are exact.
    """
    integers = grouped(src, wei, "s8", f"--attr-scales=src:3:f16:1x{GROUP}+wei:3:f16:{GROUP}x1")
    if not takes(row, integers):
        pytest.skip(f"{row}: not on this device")
    data = fill(integers)
    expected = result(integers, data)
    floats = integers.but(f"--attr-zero-points=wei:3:f16:{GROUP}x1")
    np.testing.assert_array_equal(result(floats, data), expected)


FLOATS = ["f32", "f16", "bf16"]
FLOATS_NEEDED = needed(INT8_ROWS, FLOATS, lambda row, zp: grouped("u8", "u8", zp))


@pytest.mark.quick(cases=lambda row, zp: row in SMALL_ROWS and zp == "f32")
@pytest.mark.decided(cases=lambda row, zp: FLOATS_NEEDED(row, zp))
@pytest.mark.parametrize("zp", FLOATS)
@pytest.mark.parametrize("row", INT8_ROWS)
def test_bound(row: str, zp: str) -> None:
    """Zero points far from 0, as asymmetric u8 weights have them: their terms cancel most of the sums,
    and the error is that of the terms' f32, not that of f16 or of a rounded zero point.
    """
    problem = grouped("u8", "u8", zp)
    if not takes(row, problem):
        pytest.skip(f"{row}: not on this device")
    data = fill(problem)
    data[POINTS] = as_type(data[POINTS] * 10 + 120, zp)
    got = result(problem, data)
    expected, bound = np.zeros(got.shape), np.zeros(got.shape)
    for group in range(4):
        k = slice(group * GROUP, (group + 1) * GROUP)
        points, scale, src = data[POINTS][group], data[SCALES][group], data[SRC][:, k]
        part = src @ (data[WEIGHTS][k] - points) * scale
        term = src.sum(axis=1, keepdims=True) * (points + 128) * scale  # also if a row adds two halves
        expected += part
        bound += EPS * (term + np.abs(part) + np.abs(expected))
    assert (np.abs(got - expected) <= 2 * bound).all()
    assert (np.abs(got - expected) > 0).any()  # rounded at all


def test_reductions_of_the_caller() -> None:
    """The sums of src that the caller passes are multiplied by the zero points."""
    problem = grouped("s8", "u8", "f16", f"--attr-precomputed-reductions=src:3:s32:1x{GROUP}")
    data = fill(problem)
    before = result(problem, data).astype(np.float64)
    data[zemm.ARG_ATTR_PRECOMPUTED_REDUCTIONS | SRC] += 1000
    after = result(problem, data).astype(np.float64)
    moved = (1000 * data[POINTS] * data[SCALES]).sum(axis=0)
    np.testing.assert_allclose(before - after, np.broadcast_to(moved, before.shape), rtol=1e-3, atol=1.0)


def test_to_s32() -> None:
    """An s32 dst without scales is rounded half to even; the sums alone would be integers."""
    problem = Problem("--dt=s8:s8:s32 --attr-zero-points=wei:2:f32 1x4:4x3")
    given = {SRC: 1, WEIGHTS: 1, POINTS: [[0.125, 0.625, -0.375]]}
    assert result(problem, given).tolist() == [[4, 2, 6]]  # 3.5, 1.5 and 5.5


def test_float_weights_are_refused() -> None:
    problem = Problem("--dt=f16:f8_e4m3:f32 --attr-zero-points=wei:2:f16 5x32:32x16")
    with pytest.raises(
        zemm.UnimplementedError, match="zero points of type f16 need integer weights, not f8_e4m3"
    ):
        make_pd(problem)


NARROW_ROWS = [row for row in BY_NAME if BY_NAME[row].src in ("half", "bf16", "f16", "tf32")]
# The types that rows of a type round weights less their zero points to.
ROUNDING = {"half": ["f16"], "bf16": ["bf16"], "f16": ["f16"]}


def widened(src: str, wei: str, fpmath: str) -> Problem:
    return Problem(
        f"{ANY} --dt={src}:{wei}:f32 --attr-scales=wei:3:f16:32x1"
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
        data = fill(problem)
        points = np.round(data[POINTS] * 100) / 64  # f16 has these, and their sums with 8
        data[POINTS] = points
        exact = data[WEIGHTS] - np.repeat(points, 32, axis=0)
        rounded = as_type(exact, src)
        assert (rounded != exact).any() == (src == "bf16" or wei == "u8")
        real = rounded * np.repeat(data[SCALES], 32, axis=0)
        expected, size = data[SRC] @ real, np.abs(data[SRC]) @ np.abs(real)
        assert (np.abs(result(problem, data) - expected) <= 132 * EPS * size).all()


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
    fpmath = "" if src in ("s8", "u8") else "any:true"
    problem = Problem(f"--dt={src}:{wei}:f32 --attr-zero-points=wei:2:{zp} --attr-fpmath={fpmath} 5x32:32x16")
    pd = make_pd(problem)
    assert "avx" in pd.impl_info or "generic" in pd.impl_info
    assert any(takes(row, problem) for row in BY_NAME if BY_NAME[row].is_xe)
