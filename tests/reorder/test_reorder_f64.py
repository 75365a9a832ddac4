# SPDX-License-Identifier: Apache-2.0
"""Reorders from and to f64 are rounded once. test_reorder.py has their layouts and attributes."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zemm
from support_layout import Buffer, Layout
from test_reorder import DIGITS, RANGES, run, stored

Array = np.ndarray[Any, Any]
TYPES = (*DIGITS, "e8m0", *RANGES)


def reordered(engine: zemm.Engine, values: Array, src_dt: str, dst_dt: str) -> Array:
    src = Buffer(Layout(values.shape, src_dt, "a"), engine, 1)
    dst = Buffer(Layout(values.shape, dst_dt, "a"), engine, 2)
    src.put(values)
    run(engine, src, dst)
    return dst.elements()[: values.size]


def check(got: Array, want: Array, x: Array) -> None:
    bits = np.dtype(f"u{got.dtype.itemsize}")
    got_nan, want_nan = (np.isnan(a.astype(np.float64)) for a in (got, want))
    wrong = np.where(want_nan, ~got_nan, got.view(bits) != want.view(bits))
    at = np.flatnonzero(wrong)[:5]
    assert not at.size, f"{wrong.sum()} of {x.size} wrong: {x[at]} became {got[at]}, not {want[at]}"


def hard_values(data_type: str) -> Array:
    """Values next to each middle between two values of a type, ends of ranges, infinities, NaN, and
    random f64.
    """
    rng = np.random.default_rng(0)
    random = rng.integers(0, 2**64, 4000, dtype=np.uint64).view(np.float64)
    near = np.ldexp(rng.uniform(0.5, 1, 4000), rng.integers(-160, 140, 4000))
    powers = 2.0 ** np.array([-1074, -150, -149, -127, -126, 31, 63, 127, 128, 1000])
    limits = np.array([0, 6, 7, 464, 480, 61440, 65504, 65520, 2**31 - 1, 2**31 - 0.5, np.inf, np.nan])
    ends = np.concatenate([powers, limits])
    if data_type in RANGES:
        low, high = RANGES[data_type]
        whole = np.unique(np.concatenate([rng.integers(low, high, 300), [low, -1, 0, 1, high]])).astype(
            np.float64
        )
        middles = np.concatenate([whole, whole + 0.5])
    elif data_type == "e8m0":
        middles = np.exp2(np.arange(-130, 129))
    else:
        digits, smallest = DIGITS[data_type]
        codes = rng.integers(0, 2 ** (digits + 1), 3000) + 0.0  # every second one is a middle
        middles = (
            np.ldexp(codes, rng.integers(smallest - digits, smallest + 40, 3000)) if digits < 53 else near
        )
    exact = np.concatenate([middles, ends])
    beside = [np.nextafter(exact, end) for end in (-np.inf, np.inf)]
    values = np.concatenate([exact, *beside, random, near])
    return np.concatenate([values, -values])


@pytest.mark.quick(cases=lambda dst_dt: TYPES.index(dst_dt) % 3 == 1)
@pytest.mark.parametrize("dst_dt", TYPES)
def test_from_f64(engine: zemm.Engine, dst_dt: str) -> None:
    """A value that is not representable is rounded once: an f32 in between would make ties."""
    x = hard_values(dst_dt)
    check(reordered(engine, x, "f64", dst_dt), stored(x, dst_dt), x)


@pytest.mark.quick(cases=lambda src_dt: TYPES.index(src_dt) % 3 == 0)
@pytest.mark.parametrize("src_dt", TYPES)
def test_to_f64(engine: zemm.Engine, src_dt: str) -> None:
    """Exact, also for s32 and for denormals. A copy keeps all bits."""
    if src_dt == "f64":
        bits = np.random.default_rng(0).integers(0, 2**64, 5000, dtype=np.uint64)
        bits[:4] = [0x7FF0000000000001, 0xFFF8000000000123, 1, 1 << 63]
        np.testing.assert_array_equal(
            reordered(engine, bits.view(np.float64), "f64", "f64").view(np.uint64), bits
        )
        return
    dtype = zemm.numpy_dtype(src_dt)
    if src_dt in ("f32", "s32"):
        values = np.random.default_rng(0).integers(0, 2**32, 5000, dtype=np.uint32).view(dtype)
    elif dtype.itemsize == 2:
        values = np.arange(2**16, dtype=np.uint16).view(dtype)
    else:
        count = 2 ** zemm._library.lists.TYPES[src_dt].bits
        values = np.arange(count, dtype=np.uint8).view(dtype)
        if src_dt == "s4":
            values = np.arange(-8, 8, dtype=np.int8)
    with np.errstate(invalid="ignore"):
        want = values.astype(np.float32 if src_dt in ("e8m0", "bf16") else values.dtype).astype(np.float64)
    check(reordered(engine, values, src_dt, "f64"), want, values)


def test_ml_dtypes_agrees(engine: zemm.Engine) -> None:
    """On values of f32: it rounds other f64 to f32 first."""
    for name, dtype in (("f8_e4m3", ml_dtypes.float8_e4m3fn), ("f8_e5m2", ml_dtypes.float8_e5m2)):
        with np.errstate(over="ignore", invalid="ignore"):
            x = hard_values(name).astype(np.float32).astype(np.float64)
            want = x.astype(dtype)
        check(reordered(engine, x, "f64", name), want, x)
