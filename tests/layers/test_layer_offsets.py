# SPDX-License-Identifier: Apache-2.0
"""Layers whose weights are scale * value + offset, against numpy."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zemm

RNG = np.random.default_rng(5)
K, N, GROUP, E = 64, 48, 32, 3
X = RNG.standard_normal((E, 5, K)).astype(np.float32)
W = RNG.standard_normal((K, N)).astype(np.float32)
BIAS = RNG.standard_normal(N).astype(np.float32)
CODES = RNG.integers(0, 16, (K, N), np.uint8)
SCALES, OFFSETS = (RNG.standard_normal((K // GROUP, N)).astype(np.float32) for _ in range(2))


@pytest.mark.quick(cases=lambda bits, activation, dtype: bits == 4 or activation in ("f32", "int8"))
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("activation", ["f32", "bf16", "int8", "int7"])
@pytest.mark.parametrize("bits", [4, 8])
def test_offsets(engine: zemm.Engine, bits: int, activation: Any, dtype: Any) -> None:
    scales, offsets = SCALES.astype(dtype), OFFSETS.astype(dtype)
    values = {"values": zemm.pack_int4(CODES), "weights_dtype": "u4"} if bits == 4 else {"values": CODES}
    settings: dict[str, Any] = {"activation": activation, "engine": engine, "activation_group": None}
    layer = zemm.Linear.from_quantized(**values, scales=scales, offsets=offsets, bias=BIAS, **settings)
    spread = [np.repeat(a.astype(np.float32), GROUP, 0) for a in (scales, offsets)]
    weights = CODES * spread[0] + spread[1]
    src = X[0]
    if activation in ("int8", "int7"):
        q, of_groups, _ = zemm.quantize_activations(src, GROUP, reduced_range=activation == "int7")
        src = q * np.repeat(of_groups, GROUP, 1)
    expected = src @ weights + BIAS
    eps = 2e-2 if activation == "bf16" else 1e-5
    assert np.abs(layer(X[0]) - expected).max() <= eps * np.abs(expected).max()
    transposed = {**values, "values": zemm.pack_int4(CODES.T) if bits == 4 else CODES.T}
    turned = zemm.Linear.from_quantized(
        **transposed, scales=scales.T, offsets=offsets.T, bias=BIAS, transposed=True, **settings
    )
    assert np.array_equal(turned(X[0]), layer(X[0]))


@pytest.mark.parametrize("activation", ["f32", "int8"])
def test_offsets_of_experts(engine: zemm.Engine, activation: Any) -> None:
    """Each expert has its own, or all have those of [N]."""
    codes = np.stack([CODES, CODES[::-1], CODES // 2])
    for offsets in (np.stack([OFFSETS, -OFFSETS, 2 * OFFSETS]), OFFSETS[0]):
        layer = zemm.Linear.from_quantized(codes, 0.5, offsets=offsets, activation=activation, engine=engine)
        y = layer(np.concatenate(X)[:10], group_sizes=[3, 0, 7])
        assert np.allclose(y[:3], layer(X[0][:3], expert=0), rtol=1e-5, atol=1e-4)
        assert np.allclose(y[3:], layer(np.concatenate(X)[3:10], expert=2), rtol=1e-5, atol=1e-4)
        of_one = np.repeat(offsets[2], GROUP, 0) if offsets.ndim == 3 else offsets
        expected = X[2] @ (codes[2] * 0.5 + of_one)
        eps = 2e-2 if activation == "int8" else 1e-5
        assert np.abs(layer(X)[2] - expected).max() <= eps * np.abs(expected).max()


def test_offsets_that_are_refused(engine: zemm.Engine) -> None:
    for given, sentence in (
        ({"zero_points": 3, "offsets": OFFSETS}, "leave the zero points out"),
        ({"offsets": OFFSETS[:, 1:]}, r"offsets of shape \(2, 47\) does not fit weights"),
        ({"offsets": OFFSETS.astype("c8")}, "offsets has type"),
    ):
        with pytest.raises(ValueError, match=sentence):
            zemm.Linear.from_quantized(CODES, SCALES, **given, engine=engine)
    with pytest.raises(NotImplementedError, match="offsets need weights of a type among s8 u8 s4 u4 u2"):
        zemm.Linear.from_quantized(W, offsets=OFFSETS, engine=engine)
