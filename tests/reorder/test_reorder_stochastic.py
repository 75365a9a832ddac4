# SPDX-License-Identifier: Apache-2.0
"""Reorders to f8 with stochastic rounding: the bits that oneDNN's random numbers give."""

from typing import Any

import numpy as np
import pytest
import zemm
from support_layout import Buffer, Layout
from test_reorder import run
from zemm import ARG_ATTR_ROUNDING_SEED, ARG_ATTR_SCALES, ARG_DST, ARG_SRC
from zemm.benchdnn.data.random_bits import stochastic_rounding

Array = np.ndarray[Any, Any]
DIMS = (37, 52)
MOST = {"f8_e4m3": 448.0, "f8_e5m2": 57344.0}


def attr_of() -> zemm.Attr:
    attr = zemm.Attr()
    attr.set_rounding(ARG_DST, "stochastic")
    return attr


def seed_of(engine: zemm.Engine, seed: int) -> dict[int, zemm.Memory]:
    return {
        ARG_ATTR_ROUNDING_SEED: zemm.Memory(zemm.MemoryDesc((1,), "s32"), engine, np.array([seed], np.int32))
    }


def values_of(dtype: str) -> Array:
    """Values of all magnitudes that the type has, next to its normal numbers, and beyond."""
    rng = np.random.default_rng(0)
    x = np.ldexp(rng.uniform(1, 2, DIMS), rng.integers(-18, 17, DIMS)) * rng.choice([-1, 1], DIMS)
    smallest = 2.0**-6 if dtype == "f8_e4m3" else 2.0**-14
    x[0, :8] = [0, -0.0, MOST[dtype], -MOST[dtype], 1e30, smallest, smallest * 0.9999, np.nan]
    return x.astype(np.float32)


@pytest.mark.each_value
@pytest.mark.parametrize("tag", ["ab", "ba", "AB16b16a"])
@pytest.mark.parametrize("src_dt", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("dst_dt", MOST)
@pytest.mark.parametrize("seed", [7, -3])
def test_bits(engine: zemm.Engine, dst_dt: str, src_dt: str, tag: str, seed: int) -> None:
    """The number of an element is its place in dst's memory."""
    src, dst = Buffer(Layout(DIMS, src_dt, "ab"), engine, 1), Buffer(Layout(DIMS, dst_dt, tag), engine, 2)
    with np.errstate(over="ignore"):
        x = values_of(dst_dt).astype(zemm.numpy_dtype(src_dt))
    x[np.isinf(x.astype(np.float32))] = 0
    src.put(x)
    places = dst.layout.places()
    flat = np.zeros(places.max() + 1, np.float32)
    flat[places[dst.layout.inside()]] = x.astype(np.float32)
    rounded = stochastic_rounding(flat, dst_dt, seed, np.arange(flat.size))[places[dst.layout.inside()]]
    want = dst.with_tensor(rounded.astype(zemm.numpy_dtype(dst_dt)))
    run(engine, src, dst, attr_of(), seed_of(engine, seed))
    dst.check(want)
    assert (rounded != x.astype(np.float32)).any()


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.125), (0.0, 2.0**-6)])
def test_chance(engine: zemm.Engine, low: float, high: float) -> None:
    """16 random bits are added to the last digits of an f32. A value that is 2^14 of them below one of f8
    becomes that in three of four cases. It is scaled first. Below the normal values there is only 0.
    """
    count = 20000
    src, dst = (Buffer(Layout((count,), dt, "a"), engine, 1) for dt in ("f32", "f8_e4m3"))
    below = (np.float32(high).view(np.int32) - 2**14).view(np.float32)
    src.put(np.full(count, below / 2, np.float32))
    attr = attr_of()
    attr.set_scales(ARG_SRC, 0)
    scale = zemm.Memory(zemm.MemoryDesc((1,), "f32"), engine, np.array([2], np.float32))
    run(engine, src, dst, attr, {ARG_ATTR_SCALES | ARG_SRC: scale, **seed_of(engine, 1)})
    got = dst.elements().astype(np.float32)
    assert set(got) == {low, high}
    assert abs((got == high).mean() - 0.75) < 0.02


def test_infinity(engine: zemm.Engine) -> None:
    """It stays what it is. In f8_e4m3, which has none, it is NaN."""
    for dst_dt in MOST:
        src, dst = (Buffer(Layout((2,), dt, "a"), engine, 1) for dt in ("f32", dst_dt))
        src.put(np.array([np.inf, -np.inf], np.float32))
        run(engine, src, dst, attr_of(), seed_of(engine, 1))
        got = dst.elements().astype(np.float32)
        assert (np.isnan(got) if dst_dt == "f8_e4m3" else np.isinf(got)).all()


def test_the_seed_is_needed(engine: zemm.Engine) -> None:
    src, dst = (Buffer(Layout((4,), dt, "a"), engine, 1) for dt in ("f32", "f8_e4m3"))
    with pytest.raises(zemm.InvalidArgumentsError, match="ROUNDING_SEED is missing"):
        run(engine, src, dst, attr_of())
