# SPDX-License-Identifier: Apache-2.0
"""The attribute saturation: values that are too large for an f8 dst of a matmul or a reorder become its
largest value. Without it they are infinities or NaN, as in oneDNN. docs/features.md has case lines of its
other forms.
"""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zemm
from support_calls import result
from support_cases import Problem
from support_execute import dst_of, memory_of
from support_rows import ROWS

SRC, WEIGHTS, DST = zemm.ARG_SRC, zemm.ARG_WEIGHTS, zemm.ARG_DST
SCALE = zemm.ARG_ATTR_SCALES | DST
F8 = {"f8_e5m2": np.dtype(ml_dtypes.float8_e5m2), "f8_e4m3": np.dtype(ml_dtypes.float8_e4m3fn)}
ONE = np.ones((1, 1), np.float32)


def values_of(dt: str) -> np.ndarray:
    """Values around the largest one of a type, NaN, infinities, and one that rounds to 0."""
    largest = float(ml_dtypes.finfo(F8[dt]).max)
    near = [largest * f for f in (0.5, 1.0, 1.03, 1.07, 1.2, 4.0)]
    found = [*near, *(-x for x in near), np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-20]
    return np.array(found, np.float32).reshape(1, -1)


def expected(x: np.ndarray, dt: str, saturation: bool) -> np.ndarray:
    largest = np.float32(ml_dtypes.finfo(F8[dt]).max)
    return (np.clip(x, -largest, largest) if saturation else x).astype(F8[dt])


def check(got: np.ndarray, want: np.ndarray) -> None:
    """Compares values. NaN may have any sign and digits."""
    nan = np.isnan(want.astype(np.float32))
    assert np.array_equal(np.isnan(got.astype(np.float32)), nan)
    assert np.array_equal(got.view(np.uint8)[~nan], want.view(np.uint8)[~nan])


def attributes(saturation: bool) -> zemm.Attr:
    attr = zemm.Attr()
    if saturation:
        attr.set_saturation()
    return attr


def matmul(x: np.ndarray, dt: str, options: str) -> np.ndarray:
    """1 * x as the type."""
    return result(Problem(f"--dt=f32:f32:{dt} {options} 1x1:1x{x.size}"), {SRC: 1, WEIGHTS: x, SCALE: 8})


@pytest.mark.parametrize("saturation", [True, False])
@pytest.mark.parametrize("dt", F8)
def test_matmul(dt: str, saturation: bool) -> None:
    x = values_of(dt)
    check(matmul(x, dt, f"--attr-saturation={saturation}"), expected(x, dt, saturation))


@pytest.mark.quick(cases=lambda row: row == ROWS[-1])
@pytest.mark.parametrize("row", ROWS)
def test_row(row: str) -> None:
    """A launch of its own saturates, whatever row makes the sums."""
    x = np.tile(values_of("f8_e4m3"), (1, 8))
    try:
        got = matmul(x, "f8_e4m3", "--attr-saturation=true")
    except zemm.UnimplementedError as error:
        if row not in str(error):
            raise
        return
    check(got, expected(x, "f8_e4m3", True))


@pytest.mark.parametrize("dt", F8)
def test_after_scales_and_post_ops(dt: str) -> None:
    """Stored values saturate. Inputs of post-ops and scales do not."""
    x = values_of(dt)
    with np.errstate(over="ignore"):
        want = expected(x * np.float32(4) / np.float32(8), dt, True)
    options = "--attr-saturation=true --attr-scales=dst:common:8 --attr-post-ops=linear:4"
    check(matmul(x, dt, options), want)


def reorder(
    engine: zemm.Engine, x: np.ndarray, dt: Any, attr: zemm.Attr, more: dict[int, np.ndarray] | None = None
) -> np.ndarray:
    mds = zemm.MemoryDesc(x.shape, zemm.dtype_name(x.dtype)), zemm.MemoryDesc(x.shape, dt)
    pd = zemm.ReorderPrimitiveDesc(engine, *mds, attr=attr)
    return dst_of(zemm.Stream(engine), pd, {zemm.ARG["FROM"]: x, **(more or {})})


@pytest.mark.each_value
@pytest.mark.parametrize("saturation", [True, False])
@pytest.mark.parametrize("src", [np.float32, np.float16, np.float64, ml_dtypes.float8_e5m2])
@pytest.mark.parametrize("dt", F8)
def test_reorder(engine: zemm.Engine, dt: str, src: Any, saturation: bool) -> None:
    with np.errstate(over="ignore"):
        x = values_of(dt).astype(src)
    want = expected(x.astype(np.float32), dt, saturation and x.dtype != F8[dt])  # else it is a copy
    check(reorder(engine, x, dt, attributes(saturation)), want)


def test_stochastic_rounding(engine: zemm.Engine) -> None:
    attr = attributes(True)
    attr.set_rounding(DST, "stochastic")
    x = np.array([[np.inf, -np.inf, 1e6, -1e6]], np.float32)
    got = reorder(engine, x, "f8_e5m2", attr, {zemm.ARG_ATTR_ROUNDING_SEED: np.array([7], np.int32)})
    assert got.astype(np.float32).tolist() == [[57344, -57344, 57344, -57344]]


def test_runtime_dims(engine: zemm.Engine) -> None:
    x, runtime = values_of("f8_e4m3"), zemm.RUNTIME_DIM
    mds = (zemm.MemoryDesc((1, runtime), dt, "ab") for dt in ("f32", "f8_e4m3"))
    pd = zemm.MatmulPrimitiveDesc(engine, zemm.MemoryDesc((1, 1), "f32"), *mds, attr=attributes(True))
    dst = zemm.Memory(zemm.MemoryDesc(x.shape, "f8_e4m3"), engine)
    got = dst_of(zemm.Stream(engine), pd, {SRC: ONE, WEIGHTS: memory_of(engine, x), DST: dst})
    check(got, expected(x, "f8_e4m3", True))


def test_f4_saturates_in_any_case() -> None:
    for saturation in (True, False):
        got = matmul(np.array([100, -100, 6, np.inf]), "f4_e2m1", f"--attr-saturation={saturation}")
        assert got.astype(np.float32).tolist() == [[6, -6, 6, 6]]


def test_refusals(engine: zemm.Engine) -> None:
    for dt in ("f32", "f16", "s8"):
        mds = zemm.MemoryDesc((2, 4), "f32"), zemm.MemoryDesc((4, 2), "f32"), zemm.MemoryDesc((2, 2), dt)  # type: ignore[arg-type]
        with pytest.raises(zemm.UnimplementedError, match=f"saturation is for a dst of f8 or f4, not {dt}"):
            zemm.MatmulPrimitiveDesc(engine, *mds, attr=attributes(True))
    with pytest.raises(zemm.UnimplementedError, match="saturation is for a dst of f8 or f4, not bf16"):
        zemm.ReorderPrimitiveDesc(
            engine, zemm.MemoryDesc((4,), "f32"), zemm.MemoryDesc((4,), "bf16"), attr=attributes(True)
        )
    groups = [zemm.MemoryDesc.grouped((6, n), dt, 0, 2, "s32") for n, dt in ((4, "f16"), (8, "f8_e4m3"))]
    weights = zemm.MemoryDesc((2, 4, 8), "f16")
    with pytest.raises(zemm.UnimplementedError, match="a grouped matmul has no saturation"):
        zemm.MatmulPrimitiveDesc(engine, groups[0], weights, groups[1], attr=attributes(True))


@pytest.mark.parametrize("dt", F8)
def test_a_matmul_of_arrays(engine: zemm.Engine, dt: str) -> None:
    x = values_of(dt)
    for saturation in (True, False):
        got = zemm.matmul(ONE, x, dst_dtype=F8[dt], saturation=saturation, engine=engine)
        check(got, expected(x, dt, saturation))
    with pytest.raises(zemm.UnimplementedError, match="saturation is for a dst of f8 or f4, not f32"):
        zemm.matmul(ONE, x, saturation=True, engine=engine)


def test_attributes_differ() -> None:
    assert attributes(True) != attributes(False)
    assert "saturation=(True,)" in repr(attributes(True))
