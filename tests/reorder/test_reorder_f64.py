# SPDX-License-Identifier: Apache-2.0
"""Reorders from and to f64: rounded once from the f64, and arithmetic in f64."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zemm
from hypothesis import strategies as st
from support_bounds import NAN_AS
from support_layout import Buffer, Layout
from support_tiers import random_cases
from test_reorder import RANGES, layouts, run, shapes, storage, values_of
from zemm import ARG_ATTR_SCALES, ARG_ATTR_ZERO_POINTS, ARG_DST, ARG_SRC

Array = np.ndarray[Any, Any]
# Digits of the significand, and the exponent of the smallest normal value.
FLOATS = {
    "f64": (53, -1022),
    "f32": (24, -126),
    "f16": (11, -14),
    "bf16": (8, -126),
    "f8_e5m2": (3, -14),
    "f8_e4m3": (4, -6),
    "f4_e2m1": (2, 0),
}
TYPES = (*FLOATS, "e8m0", *RANGES)


def rounded(x: Array, data_type: str) -> Array:
    """f64 rounded once, half to even, to a type's digits; the result is still f64."""
    digits, smallest = FLOATS[data_type]
    finite = np.where(np.isfinite(x), x, 0)
    last = np.maximum(np.frexp(finite)[1] - 1, smallest) - (digits - 1)  # exponent of the last digit
    with np.errstate(over="ignore"):
        return np.where(finite == x, np.ldexp(np.rint(np.ldexp(finite, -last)), last), x)


def stored(x: Array, data_type: str) -> Array:
    """f64 as elements of a type. Overflow, NaN and denormals are those of the reorder from f32."""
    if data_type == "f64":
        return x
    if data_type in RANGES:
        low, high = RANGES[data_type]
        return (
            np.rint(np.nan_to_num(x, nan=NAN_AS.get(data_type, 0), posinf=high, neginf=low))
            .clip(low, high)
            .astype(storage(data_type))
        )
    dtype = zemm.numpy_dtype(data_type)
    if data_type == "e8m0":  # the exponent alone, with that of f32's denormals for all that is smaller
        exponents = np.frexp(np.abs(x))[1] - 1
        codes = np.where(x == 0, 0, np.maximum(exponents + 127, 0))
        return np.where(np.isfinite(x) & (np.abs(x) < 2.0**128), codes, 255).astype(np.uint8).view(dtype)
    y = rounded(x, data_type)
    if data_type == "f4_e2m1":
        y = np.where(np.isnan(y), np.copysign(6, y), y.clip(-6, 6))
    if data_type == "bf16":
        y = np.where(np.abs(y) < 2.0**-126, np.copysign(0, y), y)
    with np.errstate(over="ignore", invalid="ignore"):
        return y.astype(dtype)


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
        digits, smallest = FLOATS[data_type]
        codes = rng.integers(0, 2 ** (digits + 1), 3000) + 0.0  # every second one is a middle
        middles = (
            np.ldexp(codes, rng.integers(smallest - digits, smallest + 40, 3000)) if digits < 53 else near
        )
    exact = np.concatenate([middles, ends])
    beside = [np.nextafter(exact, end) for end in (-np.inf, np.inf)]
    values = np.concatenate([exact, *beside, random, near])
    return np.concatenate([values, -values])


@pytest.mark.quick(cases=lambda dst_dt: TYPES.index(dst_dt) % 2 == 1)
@pytest.mark.parametrize("dst_dt", TYPES)
def test_from_f64(engine: zemm.Engine, dst_dt: str) -> None:
    """A value that is not representable is rounded once: an f32 in between would make ties."""
    x = hard_values(dst_dt)
    check(reordered(engine, x, "f64", dst_dt), stored(x, dst_dt), x)


@pytest.mark.quick(cases=lambda src_dt: TYPES.index(src_dt) % 2 == 0)
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


@random_cases(quick=5, full=60)
def test_layouts(engine: zemm.Engine, data: st.DataObject) -> None:
    dims = data.draw(shapes())
    other = data.draw(st.sampled_from(TYPES))
    src_dt, dst_dt = data.draw(st.permutations(["f64", other]))
    seed = data.draw(st.integers(0, 2**32))
    src = Buffer(data.draw(layouts(dims, src_dt)), engine, seed)
    dst = Buffer(data.draw(layouts(dims, dst_dt)), engine, seed + 1)
    values = values_of(dims, src_dt, seed + 2)
    src.put(values)
    want = dst.with_tensor(stored(values.astype(np.float64), dst_dt))
    assert run(engine, src, dst) == ("reorder" if other == "f64" else "reorder_f64")
    dst.check(want)


@pytest.mark.quick(cases=lambda f64_is_src, other: TYPES.index(other) % 6 == f64_is_src)
@pytest.mark.parametrize("other", TYPES)
@pytest.mark.parametrize("f64_is_src", [False, True])
def test_attributes(engine: zemm.Engine, other: str, f64_is_src: bool) -> None:
    """Scales, zero points of an integer and the sum are applied in f64, in the order of other reorders."""
    src_dt, dst_dt = ("f64", other) if f64_is_src else (other, "f64")
    rng = np.random.default_rng(3)
    dims, beta = (7, 16), np.float32(0.7)
    src, dst = (Buffer(Layout(dims, dt, "ab"), engine, 1) for dt in (src_dt, dst_dt))
    values, old = (values_of(dims, dt, seed) for dt, seed in ((src_dt, 1), (dst_dt, 2)))
    src.put(values)
    dst.put(old)
    attr, more = zemm.Attr(), {}

    def put(flag: int, arg: int, mask: int, data_type: str, array: Array) -> Array:
        shape = [n if mask >> d & 1 else 1 for d, n in enumerate(dims)]
        entry = np.broadcast_to(array, shape).astype(zemm.numpy_dtype(data_type))
        memory = more[flag | arg] = zemm.Memory(zemm.MemoryDesc(shape, data_type), engine)
        memory.write(np.ascontiguousarray(entry))
        return entry.astype(np.float64)

    scales = [rng.uniform(0.1, 3, shape) for shape in ((1, 16), (7, 1))]
    attr.set_scales(ARG_SRC, 2, (), "f32")
    attr.set_scales(ARG_DST, 1, (), "f32")
    x = values.astype(np.float64)
    src_scale = put(ARG_ATTR_SCALES, ARG_SRC, 2, "f32", scales[0])
    dst_scale = put(ARG_ATTR_SCALES, ARG_DST, 1, "f32", scales[1])
    src_zp = dst_zp = np.zeros((1, 1))
    if src_dt in RANGES:
        attr.set_zero_points(ARG_SRC, 3, (), "s32")
        src_zp = put(ARG_ATTR_ZERO_POINTS, ARG_SRC, 3, "s32", rng.integers(-5, 6, dims))
    if dst_dt in RANGES:
        attr.set_zero_points(ARG_DST, 0, (), "s32")
        dst_zp = put(ARG_ATTR_ZERO_POINTS, ARG_DST, 0, "s32", np.array([[3]]))
    ops = zemm.PostOps()
    ops.append_sum(float(beta))
    attr.set_post_ops(ops)
    x = (x - src_zp) * src_scale + np.float64(beta) * (old.astype(np.float64) - dst_zp)
    want = dst.with_tensor(stored(x / dst_scale + dst_zp, dst_dt))
    run(engine, src, dst, attr, more)
    dst.check(want)


def test_ml_dtypes_agrees(engine: zemm.Engine) -> None:
    """On values of f32: it rounds other f64 to f32 first."""
    for name, dtype in (("f8_e4m3", ml_dtypes.float8_e4m3fn), ("f8_e5m2", ml_dtypes.float8_e5m2)):
        with np.errstate(over="ignore", invalid="ignore"):
            x = hard_values(name).astype(np.float32).astype(np.float64)
            want = x.astype(dtype)
        check(reordered(engine, x, "f64", name), want, x)
