# SPDX-License-Identifier: Apache-2.0
"""K groups of which the last one is shorter, in quantisers, zemm.matmul(), packed weights and layers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zemm
from zemm._arrays.operands import inferred_group

K, N = 340, 48
GROUPS = [(K, 64), (290, 128), (100, 128), (50, 7), (4304, 128)]


def floats(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def real(q: zemm.QuantizedWeights, bits: int, group: int, symmetric: bool = False) -> Any:
    """The weights that quantised ones stand for."""
    values = q.values
    if bits == 4:
        values = zemm.unpack_int4(values, 2 * values.size, signed=symmetric).reshape(len(values), -1)
    groups = np.arange(len(values)) // group
    found = values.astype(np.float64)
    if q.zero_points is not None:
        found -= q.zero_points[groups]
    return found * q.scales[groups]


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", ["s8", "u8"])
@pytest.mark.parametrize(("k", "group"), GROUPS)
def test_activations(engine: zemm.Engine, k: int, group: int, dtype: Any) -> None:
    """numpy and the engine make the same bits, those of each group alone."""
    x = floats(5, k)
    got = zemm.quantize_activations(x, group, dtype=dtype)
    for mine, device in zip(
        got, zemm.quantize_activations(x, group, dtype=dtype, engine=engine), strict=True
    ):
        np.testing.assert_array_equal(mine, device)
    for number, begin in enumerate(range(0, k, group)):
        part = x[:, begin : begin + group]
        values, *others = zemm.quantize_activations(part, part.shape[1], dtype=dtype)
        np.testing.assert_array_equal(got.values[:, begin : begin + group], values)
        for all_of, own in zip(got[1:], others, strict=True):
            np.testing.assert_array_equal(all_of[:, number], own[:, 0])


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(("k", "group"), GROUPS)
def test_weights(k: int, group: int, bits: int, symmetric: bool) -> None:
    """Each group as it is alone, whatever the order of the array."""
    w = floats(k, N)
    got = zemm.quantize_weights(w, bits, group, symmetric=symmetric)
    for mine, other in zip(
        got, zemm.quantize_weights(np.asfortranarray(w), bits, group, symmetric=symmetric), strict=True
    ):
        np.testing.assert_array_equal(mine, other)
    for number, begin in enumerate(range(0, k, group)):
        own = zemm.quantize_weights(w[begin : begin + group], bits, symmetric=symmetric)
        np.testing.assert_array_equal(got.values[begin : begin + group], own.values)
        np.testing.assert_array_equal(got.scales[number], own.scales)
        if got.zero_points is not None:
            np.testing.assert_array_equal(got.zero_points[number], own.zero_points)


@pytest.mark.each_value
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(("k", "group"), GROUPS)
def test_matmul(engine: zemm.Engine, k: int, group: int, bits: int) -> None:
    x, q = floats(7, k), zemm.quantize_weights(floats(k, N), bits, group)
    want = x @ real(q, bits, group)
    y = zemm.matmul(x, q, weights_group=group, engine=engine)
    np.testing.assert_allclose(y, want, atol=1e-4 * k**0.5)
    packed = zemm.pack(*q, group=group, engine=engine)
    np.testing.assert_array_equal(zemm.matmul(x, packed), zemm.Linear.from_quantized(*q, group=group)(x))
    np.testing.assert_allclose(zemm.matmul(x, packed), want, atol=1e-4 * k**0.5)
    src = zemm.quantize_activations(x, group)
    rows = np.repeat(src.scales, group, 1)[:, :k].astype(np.float64) * src.values
    got = zemm.matmul(
        src.values, q, src_scales=src.scales, reductions=src.reductions, src_group=group, weights_group=group,
        engine=engine,
    )  # fmt: skip
    np.testing.assert_allclose(got, rows @ real(q, bits, group), rtol=1e-5, atol=1e-4 * k**0.5)


def test_groups_of_other_sizes(engine: zemm.Engine) -> None:
    """Of each operand its own; those whose number divides K need no more words."""
    x, w = floats(3, K), floats(K, N)
    src, q = zemm.quantize_activations(x, 85), zemm.quantize_weights(w, 8, 64)
    got = zemm.matmul(src.values, q, src_scales=src.scales, weights_group=64, engine=engine)
    rows = np.repeat(src.scales, 85, 1).astype(np.float64) * src.values
    np.testing.assert_allclose(got, rows @ real(q, 8, 64), rtol=1e-5, atol=1e-3)


@pytest.mark.each_value
@pytest.mark.parametrize("activation", ["f32", "bf16", "int8", "int7"])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(("k", "group"), [*GROUPS, (172, 128), (330, 64)])
def test_layers(k: int, group: int, bits: int, activation: Any, tmp_path: Path) -> None:
    """Also where the number of groups is that of others, which divide K."""
    x, w = floats(6, k), floats(k, N)
    layer = zemm.Linear.from_float(w, bits=bits, group=group, activation=activation)
    y = layer(x)
    tolerance = k**0.5 * {"bf16": 0.06, "int8": 0.03, "int7": 0.06}.get(activation, 1e-4)
    parameters = [o.parameter.values for o in (layer.weights.scales, layer.weights.zero_points) if o]
    values = layer.weights.unpack()
    q = zemm.QuantizedWeights(values, *parameters)
    np.testing.assert_allclose(y, x @ real(q, bits, group), atol=tolerance)
    again = zemm.Linear.from_state_dict(layer.state_dict())
    np.testing.assert_array_equal(again(x), y)
    assert repr(again) == repr(layer)


def test_experts(engine: zemm.Engine) -> None:
    x, w = floats(5, 3, 140), floats(5, 140, N)
    for activation in ("f32", "int8"):
        layer = zemm.Linear.from_float(w, bits=4, group=64, activation=activation)
        y = layer(x)
        for expert in range(5):
            np.testing.assert_array_equal(layer(x[expert], expert=expert), y[expert])
        rows = x.reshape(15, 140)
        np.testing.assert_allclose(layer(rows, group_sizes=[3] * 5).reshape(y.shape), y, atol=1e-4)


@pytest.mark.parametrize("along", ["N", "K"])
def test_parts(along: Any) -> None:
    torch = pytest.importorskip("torch")
    assert torch
    from zemm.torch.parallel import shard

    layer = zemm.Linear.from_float(floats(K, N), bits=8, group=64)
    x = floats(4, K)
    if along == "K":
        with pytest.raises(
            ValueError, match="the group of scales, 64, does not divide the 170 rows of a part"
        ):
            shard(layer, along, 0, 2)
        np.testing.assert_array_equal(shard(layer, along, 0, 1)(x), layer(x))
        return
    parts = [shard(layer, along, rank, 2)(x) for rank in range(2)]
    np.testing.assert_allclose(np.concatenate(parts, 1), layer(x), rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("dtype", ["f8_e4m3", "f4_e2m1"])
@pytest.mark.parametrize(("scaling", "group"), [("mx", 32), ("nvfp4", 16)])
def test_floats(engine: zemm.Engine, dtype: Any, scaling: Any, group: int) -> None:
    x, k = floats(3, 92), 92 // group * group
    got = zemm.quantize_floats(x, dtype, scaling, engine=engine)
    whole = zemm.quantize_floats(np.ascontiguousarray(x[:, :k]), dtype, scaling, engine=engine)
    assert got.scales.shape == (3, -(-92 // group))
    np.testing.assert_array_equal(got.values[:, :k].view(np.uint8), whole.values.view(np.uint8))
    ends = np.pad(x[:, k:], ((0, 0), (0, group - 92 + k)))
    end = zemm.quantize_floats(ends, dtype, scaling, engine=engine)
    np.testing.assert_array_equal(got.values[:, k:].view(np.uint8), end.values[:, : 92 - k].view(np.uint8))
    np.testing.assert_array_equal(got.scales[:, -1:].view(np.uint8), end.scales.view(np.uint8))


def test_inferred_groups() -> None:
    assert inferred_group(100, 4, None) == 25
    assert inferred_group(100, 4, 32) == 32
    assert inferred_group(100, 5, 32) == 20
    assert inferred_group(100, 1, 128) == 100
    assert inferred_group(340, 6, None) is None
    assert inferred_group(340, 0, None) is None


def test_numbers_that_tell_nothing_apart() -> None:
    """K = 100 has as many groups of 32 as of 25."""
    sentence = "has 4 groups of 32, as many as of 25"
    with pytest.raises(ValueError, match=sentence):
        zemm.quantize_weights(floats(100, N), 8, 32)
    with pytest.raises(ValueError, match=sentence):
        zemm.quantize_activations(floats(3, 100), 32)


def test_refusals(engine: zemm.Engine) -> None:
    x, q = floats(3, K), zemm.quantize_weights(floats(K, N), 8, 64)
    with pytest.raises(ValueError, match="divides K, or the size of a group is given"):
        zemm.matmul(x, q, engine=engine)
    with pytest.raises(ValueError, match="G is 4, of groups of 96, or divides K"):
        zemm.matmul(x, q, weights_group=96, engine=engine)
    with pytest.raises(ValueError, match="weights_group is 0, not a positive integer"):
        zemm.matmul(x, q, weights_group=0, engine=engine)
    with pytest.raises(ValueError, match="divides K, or the size of a group is given"):
        zemm.pack(*q)
    with pytest.raises(ValueError, match="group is -1, not a positive integer"):
        zemm.Linear.from_quantized(*q, group=-1)
