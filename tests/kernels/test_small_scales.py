# SPDX-License-Identifier: Apache-2.0
"""Scales in f16 and bf16 of small weights and activations: they lose no digits, or the layer has f32 scales,
or the call is refused."""

from typing import Any

import numpy as np
import pytest
import zemm
from zemm import MemoryDesc
from zemm._arrays.scales import scales_of
from zemm._library.codes import items_of
from zemm.dtypes import SUB_BYTE

SIZES = [2.0, 1e-2, 1e-3, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 1e-9, 1e-20]
FORMS = [(8, False), (8, True), (4, False), (4, True), (2, False)]


def error_of(w: np.ndarray, bits: int, symmetric: bool, scale_dtype: Any, **more: Any) -> float:
    layer = zemm.Linear.from_float(
        w, bits=bits, group=32, symmetric=symmetric, scale_dtype=scale_dtype, **more
    )
    y = layer(np.eye(w.shape[-2], dtype=np.float32)) if w.ndim == 2 else layer(np.stack([np.eye(64)] * 2))
    return float(np.abs(y.astype(np.float64) - w).max())


@pytest.mark.full
@pytest.mark.parametrize("scale_dtype", ["f16", "bf16"])
def test_weights_of_any_size(scale_dtype: Any) -> None:
    """The error is about that of f32 scales."""
    rng = np.random.default_rng(0)
    for size in SIZES:
        w = rng.uniform(-size, size, (64, 32)).astype(np.float32)
        for bits, symmetric in FORMS:
            best = error_of(w, bits, symmetric, "f32")
            assert error_of(w, bits, symmetric, scale_dtype) <= 1.2 * best, (size, bits, symmetric)


def test_one_group_decides_for_the_layer() -> None:
    """f32 scales for a layer with a single small group, and the repr says so."""
    rng = np.random.default_rng(1)
    w = rng.uniform(-1, 1, (2, 64, 32)).astype(np.float32)
    layer = zemm.Linear.from_float(w, bits=4, group=32, scale_dtype="f16")
    assert "u4 in groups of 32 with f16 scales" in repr(layer)
    w[1, 32:, 5] *= 1e-7
    layer = zemm.Linear.from_float(w, bits=4, group=32, scale_dtype="f16")
    assert "u4 in groups of 32 with f32 scales" in repr(layer)
    y = layer(np.stack([np.eye(64, dtype=np.float32)] * 2))[1, 32:, 5]
    assert np.abs(y - w[1, 32:, 5]).max() < 1e-7 / 14
    w[1, 32:, 5] = 0  # the scale is 1
    assert "f16 scales" in repr(zemm.Linear.from_float(w, bits=4, group=32, scale_dtype="f16"))


def test_scales_that_f16_cannot_hold() -> None:
    """Quantisers that return scales of the type asked for refuse; layers take f32."""
    for size, word in ((1e-5, "small"), (1e8, "large")):
        w = np.full((32, 8), size, np.float32)
        with pytest.raises(ValueError, match=f"too {word} for scale_dtype f16"):
            zemm.quantize_weights(w, 8, scale_dtype="f16")
        assert "f32 scales" in repr(zemm.Linear.from_float(w, bits=8, scale_dtype="f16"))
        for engine in (None, zemm.Engine("cpu")):
            for dtype in ("s8", "u8"):
                with pytest.raises(ValueError, match=f"too {word} for scale_dtype f16"):
                    zemm.quantize_activations(w, 8, "f16", dtype=dtype, engine=engine)


@pytest.mark.parametrize("dtype", ["s8", "u8"])
def test_subnormal_scales_on_the_device(engine: zemm.Engine, dtype: Any) -> None:
    """The bits of numpy around each multiple of the smallest f16."""
    top = 127 if dtype == "s8" else 255
    units = np.arange(16, 1030, 1.0)
    exact = (units * top * 2.0**-24).astype(np.float32)
    amax = np.concatenate([exact, np.nextafter(exact, np.float32(1))[:-1], exact * np.float32(1.003)])
    x = np.zeros((len(amax), 16), np.float32)
    x[:, 3], x[:, 4] = amax, amax / 3
    want = zemm.quantize_activations(x, 16, "f16", dtype=dtype)
    assert (want.scales[: len(units), 0].astype(np.float64) == units * 2.0**-24).all()
    above = want.scales[len(units) : len(units) + 1000, 0].astype(np.float64)
    assert (above == (units[:1000] + 1) * 2.0**-24).all()
    have = zemm.quantize_activations(x, 16, "f16", dtype=dtype, engine=engine)
    for a, b in zip(want, have, strict=True):
        assert np.array_equal(a, b)


def test_smallest_scales_of_memories(engine: zemm.Engine) -> None:
    """Nothing can be refused there: the scales are multiples of the smallest f16, never 0."""
    x = np.zeros((6, 32), np.float32)
    x[:, 0] = (0, 1e-45, 1e-20, 2e-6, 1e-5, 1.2e-4)
    memory = zemm.Memory(MemoryDesc(x.shape, "f32"), engine)
    memory.write(x)
    values, scales, _ = (part.as_numpy() for part in zemm.quantize_activations(memory, 32, "f16"))
    want = scales_of(x[:, :1].astype(np.float64), 127, "f16")
    assert np.array_equal(scales, want)
    assert (scales[1:4] == np.float16(2.0**-24)).all()
    assert np.array_equal(values[:, 0], np.rint(x[:, 0] / want[:, 0].astype(np.float64)))


@pytest.mark.full
@pytest.mark.parametrize("activation", ["f32", "bf16", "f16", "int8", "int7"])
@pytest.mark.parametrize("weights_dtype", ["u8", "s8", "u4", "s4", "u2"])
def test_products_with_subnormal_scales(weights_dtype: Any, activation: Any) -> None:
    """Every value of a layer with subnormal f16 scales, by one row and by many, as with the same scales in
    f32."""
    rng = np.random.default_rng(3)
    k, n, group = 64, 48, 32
    values = rng.integers(0, 256, (k, items_of(weights_dtype, n))).astype(np.uint8)
    values = values.view(np.int8) if weights_dtype == "s8" else values
    scales = (rng.integers(1, 1024, (k // group, n)) * 2.0**-24).astype(np.float16)
    how = {"weights_dtype": weights_dtype} if weights_dtype in SUB_BYTE else {}
    layers = [
        zemm.Linear.from_quantized(values, s, activation=activation, **how)
        for s in (scales, scales.astype(np.float32))
    ]
    for rows in (1, 3, 40):
        x = rng.standard_normal((rows, k)).astype(np.float32)
        y, want = (layer(x).astype(np.float64) for layer in layers)
        assert np.abs(y - want).max() <= 1e-6 * np.abs(want).max()
