# SPDX-License-Identifier: Apache-2.0
"""zemm.matmul() and layers with sizes of 0: results are those of numpy."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zemm

F32, F16, BF16, F8 = np.float32, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn
SHAPES = [
    ((2, 0), (0, 4)),
    ((0, 0), (0, 4)),
    ((2, 0), (0, 0)),
    ((3, 2, 0), (0, 4)),
    ((3, 1, 2, 0), (5, 0, 4)),
    ((3, 2, 0), (1, 0, 4)),
    ((0, 2, 0), (0, 4)),
    ((0, 2, 8), (8, 4)),
    ((0, 2, 8), (0, 8, 4)),
    ((0, 8), (8, 4)),
    ((2, 8), (8, 0)),
    ((3, 0, 8), (8, 4)),
]
TYPES = [(F32, F32), (F16, F16), (BF16, BF16), (np.float64, np.float64), (F8, F8), (F32, np.uint8)]
TYPES += [(np.int8, np.uint8), (np.uint8, np.int8)]


@pytest.mark.parametrize(("src", "weights"), SHAPES)
def test_shapes(engine: zemm.Engine, src: tuple[int, ...], weights: tuple[int, ...]) -> None:
    a, b = np.ones(src, F32), np.ones(weights, F32)
    expected = a @ b
    out = np.full(expected.shape, 7, F32)
    assert zemm.matmul(a, b, engine=engine, out=out) is out
    for y in (out, zemm.matmul(a, b, engine=engine)):
        assert y.shape == expected.shape
        assert np.array_equal(y, expected)


@pytest.mark.quick(cases=lambda src: src in (BF16, np.int8))
@pytest.mark.parametrize(("src", "weights"), TYPES)
def test_no_products(engine: zemm.Engine, src: Any, weights: Any) -> None:
    """Of K = 0 all that comes after the sum is left."""
    a, b = np.ones((3, 0), src), np.ones((0, 4), weights)
    assert not zemm.matmul(a, b, engine=engine).any()
    bias, more = np.array([1, -2, 3, -4], F32), np.full((3, 4), 0.5, F32)
    dtype: Any = "f64" if src is np.float64 else "f32"  # f64 has no other
    y = zemm.matmul(a, b, bias, post_ops=["relu", ("add", more)], dst_dtype=dtype, engine=engine)
    assert np.array_equal(y, np.maximum(bias, 0) + more)
    assert y.dtype == zemm.numpy_dtype(dtype)


@pytest.mark.parametrize("dst", ["s8", "u8", "s32", "f16", "bf16", "f32"])
def test_quantised_results(engine: zemm.Engine, dst: Any) -> None:
    a, b = np.ones((3, 0), np.int8), np.ones((0, 4), np.uint8)
    bias = np.array([1, -2, 3, -4], F32)
    y = zemm.matmul(
        a, b, bias, dst_scales=np.float32(0.5), dst_zero_points=np.int32(9), dst_dtype=dst, engine=engine
    )
    assert y.dtype == zemm.numpy_dtype(dst)
    assert np.array_equal(y.astype(F32), np.broadcast_to(bias / 0.5 + 9, (3, 4)))
    old = y.copy()
    zemm.matmul(a, b, post_ops=[("sum", 2.0)], out=y, engine=engine)
    assert np.array_equal(y.astype(F32), 2 * old.astype(F32))
    assert not zemm.matmul(a, b, dst_dtype="s32", engine=engine).any()


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("symmetric", [False, True])
def test_what_quantisers_make_of_nothing(engine: zemm.Engine, bits: int, symmetric: bool) -> None:
    """Scales, zero points and reductions of no groups, and those of one or of each column."""
    values, scales, sums = zemm.quantize_activations(np.ones((3, 0), F32))
    quantized = zemm.quantize_weights(np.ones((0, 4), F32), bits, 128, symmetric=symmetric)
    dtype: Any = {4: "s4" if symmetric else "u4", 8: None}[bits]
    names = ("weights_scales", "weights_zero_points")
    for of_src in ({"src_scales": scales, "reductions": sums}, {"src_scales": 2.0}, {}):
        for of_weights in (dict(zip(names, quantized[1:], strict=True)), {names[0]: np.ones(4, F32)}):
            y = zemm.matmul(
                values, quantized.values, weights_dtype=dtype, **of_src, **of_weights, engine=engine
            )
            assert np.array_equal(y, np.zeros((3, 4)))
    u8 = zemm.quantize_activations(np.ones((3, 0), F32), dtype="u8")
    y = zemm.matmul(
        u8.values,
        np.ones((0, 4), np.int8),
        src_scales=u8.scales,
        src_zero_points=u8.zero_points,
        engine=engine,
    )
    assert np.array_equal(y, np.zeros((3, 4)))


def test_packed_along_k(engine: zemm.Engine) -> None:
    """Bytes with two values along K, and an array of a 4-bit type."""
    a = np.ones((3, 0), F32)
    for b in (np.ones((0, 4), ml_dtypes.int4), np.ones((0, 4), ml_dtypes.float4_e2m1fn)):
        assert np.array_equal(zemm.matmul(a, b, engine=engine), np.zeros((3, 4)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"src_scales": np.ones((2, 0), F32)},
        {"src_scales": np.ones(3, F32)},
        {"weights_scales": np.ones(5, F32)},
        {"weights_scales": np.ones((0, 5), F32)},
        {"weights_zero_points": np.ones((0, 5), np.uint8)},
        {"bias": np.ones(5, F32)},
        {"dst_scales": np.ones(0, F32)},
    ],
)
def test_misfits(engine: zemm.Engine, wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{name} of shape"):
        zemm.matmul(np.ones((3, 0), np.int8), np.ones((0, 4), np.uint8), **wrong, engine=engine)


@pytest.mark.parametrize("activation", ["f32", "int8"])
def test_layers(engine: zemm.Engine, activation: Any) -> None:
    """Weights have elements; x may have none."""
    one = zemm.Linear.from_float(np.ones((32, 4), F32), activation=activation, group=32, engine=engine)
    experts = zemm.Linear.from_float(np.ones((2, 32, 4), F32), activation=activation, group=32, engine=engine)
    for shape in ((0, 32), (3, 0, 32), (0, 3, 32)):
        assert one(np.ones(shape, F32)).shape == (*shape[:-1], 4)
        assert experts(np.ones(shape, F32), expert=1).shape == (*shape[:-1], 4)
    assert experts(np.ones((2, 0, 32), F32)).shape == (2, 0, 4)
    assert experts(np.ones((0, 32), F32), group_sizes=[0, 0]).shape == (0, 4)
    for shape in ((0, 4), (32, 0), (0, 32, 4), (2, 0, 4), (2, 32, 0)):
        with pytest.raises(ValueError, match="nothing to multiply"):
            zemm.Linear.from_quantized(np.ones(shape, np.uint8), engine=engine)
