# SPDX-License-Identifier: Apache-2.0
"""zemm.matmul() against numpy in f64."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zemm

RNG = np.random.default_rng(11)
BF16 = np.dtype(ml_dtypes.bfloat16)


def integers(low: int, high: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return RNG.integers(low, high + 1, shape).astype(dtype)


def powers_of_two(shape: tuple[int, ...]) -> np.ndarray:
    """Scales that are powers of two, so that every product is exact."""
    return np.exp2(RNG.integers(-3, 3, shape)).astype(np.float32)


def wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)


def per_k(parameter: np.ndarray, k: int, axis: int) -> np.ndarray:
    """Group parameters, repeated to one value for each element of K."""
    return np.repeat(wide(parameter), k // parameter.shape[axis], axis=axis)


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", [np.float32, np.float16, BF16])
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 32, 64), (7, 33, 19), (64, 48, 80)])
def test_floating_point(engine: zemm.Engine, dtype: Any, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    a, b, bias = (integers(-4, 4, dims, dtype) for dims in ((m, k), (k, n), (n,)))
    got = zemm.matmul(a, b, bias, engine=engine)
    assert got.dtype == dtype
    assert np.array_equal(got, (wide(a) @ wide(b) + wide(bias)).astype(dtype))


@pytest.mark.each_value
@pytest.mark.parametrize("src_dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("weights_dtype", [np.int8, np.uint8])
def test_integers(engine: zemm.Engine, src_dtype: Any, weights_dtype: Any) -> None:
    a = integers(0, 127, (9, 40), src_dtype)
    b = integers(0, 127, (40, 21), weights_dtype)
    expected = a.astype(np.int64) @ b.astype(np.int64)
    assert np.array_equal(zemm.matmul(a, b, engine=engine), expected)
    assert np.array_equal(zemm.matmul(a, b, engine=engine, dst_dtype="s32"), expected)
    assert zemm.matmul(a, b, engine=engine, dst_dtype=np.float16).dtype == np.float16


@pytest.mark.quick(cases=lambda signed, transposed: signed == transposed)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("signed", [False, True])
def test_4_bit_weights(engine: zemm.Engine, transposed: bool, signed: bool) -> None:
    m, k, n, group = 3, 64, 10, 32
    a = integers(-128, 127, (m, k), np.int8)
    b = integers(-8, 7, (k, n), np.int8) if signed else integers(0, 15, (k, n), np.uint8)
    scales = powers_of_two((k // group, n))
    packed = zemm.pack_int4(b.T).T if transposed else zemm.pack_int4(b)
    name = "s4" if signed else "u4"
    expected = wide(a) @ (wide(b) * per_k(scales, k, 0))
    got = zemm.matmul(a, packed, weights_dtype=name, weights_scales=scales, engine=engine)
    assert np.array_equal(got, expected)
    own_type = b.astype(zemm.numpy_dtype(name))
    assert np.array_equal(zemm.matmul(a, own_type, weights_scales=scales, engine=engine), expected)


@pytest.mark.parametrize("transposed", [False, True])
def test_2_bit_weights(engine: zemm.Engine, transposed: bool) -> None:
    m, k, n, group = 3, 64, 12, 32
    a, b = integers(-128, 127, (m, k), np.int8), integers(0, 3, (k, n), np.uint8)
    scales, points = powers_of_two((k // group, n)), integers(0, 3, (k // group, n), np.uint8)
    packed = zemm.pack_int2(b.T).T if transposed else zemm.pack_int2(b)
    expected = wide(a) @ ((wide(b) - per_k(points, k, 0)) * per_k(scales, k, 0))
    parameters = {"weights_scales": scales, "weights_zero_points": points, "engine": engine}
    assert np.array_equal(zemm.matmul(a, packed, weights_dtype="u2", **parameters), expected)
    own_type = b.astype(zemm.numpy_dtype("u2"))
    assert np.array_equal(zemm.matmul(a, own_type, **parameters), expected)
    assert np.array_equal(zemm.matmul(wide(a).astype(np.float32), own_type, **parameters), expected)


F8 = [np.dtype(ml_dtypes.float8_e5m2), np.dtype(ml_dtypes.float8_e4m3fn)]
F4 = np.dtype(ml_dtypes.float4_e2m1fn)
E8M0 = np.dtype(ml_dtypes.float8_e8m0fnu)


@pytest.mark.quick(cases=lambda src_dtype, weights_dtype: src_dtype != weights_dtype)
@pytest.mark.parametrize("src_dtype", F8)
@pytest.mark.parametrize("weights_dtype", F8)
def test_8_bit_floats(engine: zemm.Engine, src_dtype: Any, weights_dtype: Any) -> None:
    a, b = integers(-8, 8, (5, 40), src_dtype), integers(-8, 8, (40, 7), weights_dtype)
    bias, factor = integers(-4, 4, (7,), weights_dtype), integers(1, 4, (5, 1), src_dtype)
    exact = (wide(a) @ wide(b) + wide(bias)) * wide(factor)
    post_ops = [("mul", factor)]
    got = zemm.matmul(a, b, bias, post_ops=post_ops, engine=engine)
    assert got.dtype == np.float32
    assert np.array_equal(got, exact)
    for dtype in (*F8, BF16):
        got = zemm.matmul(a, b, bias, post_ops=post_ops, dst_dtype=dtype, engine=engine)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got.astype(np.float32), exact.astype(dtype).astype(np.float32))
    out = np.zeros((7, 5), src_dtype).T
    assert zemm.matmul(a.T.copy().T, b, out=out, engine=engine) is out
    assert np.array_equal(wide(out), wide((wide(a) @ wide(b)).astype(src_dtype)), equal_nan=True)


@pytest.mark.quick(cases=lambda src_dtype: src_dtype in (F8[1], BF16))
@pytest.mark.parametrize("src_dtype", [*F8, BF16, np.float16])
def test_4_bit_floats(engine: zemm.Engine, src_dtype: Any) -> None:
    """As an array of their own type, and as packed bytes, also transposed."""
    a, b = integers(-4, 4, (3, 64), src_dtype), (integers(0, 12, (64, 10), np.float32) - 6).astype(F4)
    scales = powers_of_two((2, 10)).astype(E8M0)
    expected = wide(a) @ (wide(b) * per_k(scales, 64, 0))
    packed = zemm.pack_int4(b)
    transposed = zemm.pack_int4(b.T).T
    for weights, name in ((b, None), (packed, "f4_e2m1"), (transposed, "f4_e2m1")):
        got = zemm.matmul(
            a, weights, weights_dtype=name, weights_scales=scales, dst_dtype="f32", engine=engine
        )
        assert np.array_equal(got, expected)


@pytest.mark.parametrize("dtype", [E8M0, F8[1]])
def test_scales_of_8_bits(engine: zemm.Engine, dtype: Any) -> None:
    """In groups, in columns, and a single one, which the library takes as f32 only."""
    a, b = integers(-128, 127, (3, 64), np.int8), integers(0, 255, (64, 6), np.uint8)
    for rows, columns in (((3, 4), (2, 6)), ((3, 1), (6,)), ((), ())):
        src_scales, weights_scales = (powers_of_two(shape).astype(dtype) for shape in (rows, columns))
        got = zemm.matmul(
            a,
            b,
            src_scales=src_scales,
            weights_scales=weights_scales,
            dst_scales=dtype.type(2),
            engine=engine,
        )
        s, w = wide(src_scales), wide(weights_scales)
        s = per_k(s, 64, 1) if s.ndim else s
        w = per_k(w, 64, 0) if w.ndim > 1 else w
        np.testing.assert_allclose(got, (a * s) @ (b * w) / 2, rtol=1e-6)


def test_8_bit_floats_with_integer_weights(engine: zemm.Engine) -> None:
    for dtype in F8:
        a, b = integers(-4, 4, (3, 64), dtype), integers(0, 15, (64, 6), zemm.numpy_dtype("u4"))
        got = zemm.matmul(a, b, weights_zero_points=np.uint8(8), engine=engine)
        assert np.array_equal(got, wide(a) @ (wide(b) - 8))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, BF16])
def test_integer_weights_of_a_floating_point_src(engine: zemm.Engine, dtype: Any) -> None:
    a = integers(-4, 4, (5, 64), dtype)
    b = integers(0, 255, (64, 12), np.uint8)
    scales, zero_points = powers_of_two((12,)), integers(96, 160, (12,), np.uint8)
    got = zemm.matmul(
        a, b, weights_scales=scales, weights_zero_points=zero_points, dst_dtype="f32", engine=engine
    )
    assert np.array_equal(got, wide(a) @ ((wide(b) - zero_points) * scales))


def test_common_parameters(engine: zemm.Engine) -> None:
    a, b = integers(-128, 127, (4, 32), np.int8), integers(-128, 127, (32, 6), np.int8)
    got = zemm.matmul(
        a,
        b,
        src_scales=0.5,
        src_zero_points=3,
        weights_scales=0.25,
        dst_scales=2.0,
        dst_zero_points=1,
        engine=engine,
    )
    assert np.array_equal(got, (wide(a) - 3) @ wide(b) * 0.125 / 2 + 1)


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "row-major": np.ascontiguousarray,
    "column-major": np.asfortranarray,
    "with gaps": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3][:, :],
    "rows with gaps": lambda a: np.concatenate([a, a], axis=1)[:, : a.shape[1]],
    "reversed": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "read-only": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
    "unaligned": lambda a: np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape),
}


@pytest.mark.parametrize("src_layout", LAYOUTS)
@pytest.mark.parametrize("weights_layout", LAYOUTS)
def test_layouts(engine: zemm.Engine, src_layout: str, weights_layout: str) -> None:
    a, b = integers(-4, 4, (5, 8), np.float32), integers(-4, 4, (8, 6), np.float32)
    src, weights = LAYOUTS[src_layout](a), LAYOUTS[weights_layout](b)
    assert np.array_equal(src, a)
    assert np.array_equal(zemm.matmul(src, weights, engine=engine), a @ b)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("layout", ["big-endian", "unaligned"])
def test_copies_have_the_order_of_the_array(engine: zemm.Engine, layout: str, order: Any) -> None:
    """An array that must be copied gives the bits that its values give in place."""
    a, b = RNG.standard_normal((3, 512)).astype(np.float32), RNG.standard_normal((512, 24)).astype(np.float32)
    expected = zemm.matmul(a, np.array(b, order=order), engine=engine)
    weights = LAYOUTS[layout](b) if order == "C" else LAYOUTS[layout](b.T.copy()).T
    assert np.array_equal(zemm.matmul(a, weights, engine=engine), expected)


def test_broadcast_view(engine: zemm.Engine) -> None:
    a, b = np.broadcast_to(np.float32(2), (3, 4)), integers(-4, 4, (4, 5), np.float32)
    assert np.array_equal(zemm.matmul(a, b, engine=engine), a @ b)


@pytest.mark.parametrize(
    ("src", "weights"),
    [
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (1, 4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((1, 3, 4), (2, 4, 5)),
        ((3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (5, 4, 6)),
    ],
)
def test_batches(engine: zemm.Engine, src: tuple[int, ...], weights: tuple[int, ...]) -> None:
    a, b = integers(-4, 4, src, np.float32), integers(-4, 4, weights, np.float32)
    got = zemm.matmul(a, b, integers(0, 0, weights[-1:], np.float32), engine=engine)
    assert got.shape == (a @ b).shape
    assert np.array_equal(got, a @ b)


def test_post_ops(engine: zemm.Engine) -> None:
    a, b = integers(-4, 4, (2, 3, 4), np.float32), integers(-4, 4, (4, 5), np.float32)
    column, full = integers(1, 4, (5,), np.float32), integers(-4, 4, (2, 3, 5), np.float32)
    post_ops = ["eltwise_relu", ("eltwise_linear", 2.0, 1.0), ("binary_mul", column), ("binary_add", full)]
    got = zemm.matmul(a, b, post_ops=post_ops, engine=engine)
    assert np.array_equal(got, (np.maximum(a @ b, 0) * 2 + 1) * column + full)


def test_several_threads(engine: zemm.Engine) -> None:
    pairs = [
        (integers(-9, 9, (m, 64), np.float32), integers(-9, 9, (64, 33), np.float32)) for m in range(1, 25)
    ]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda pair: zemm.matmul(*pair, engine=engine), pairs))
    assert all(np.array_equal(got, a @ b) for got, (a, b) in zip(results, pairs, strict=True))


S8, U8 = np.ones((2, 64), np.int8), np.ones((64, 6), np.uint8)
F32 = np.ones((2, 4), np.float32)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"src": F32, "weights": np.ones((5, 3), "f4")}, ["(2, 4)", "(5, 3)", "4", "5"]),
        ({"src": F32[0], "weights": F32.T}, ["(4,)"]),
        ({"src": np.ones((2, 0)), "weights": np.ones((1, 2))}, ["(2, 0)", "(1, 2)"]),
        ({"src": np.ones((2, 3, 4)), "weights": np.ones((3, 4, 5))}, ["(2, 3, 4)", "(3, 4, 5)"]),
        ({"src": F32, "weights": F32.T, "bias": np.ones(3, "f4")}, ["bias", "(3,)", "(2, 2)"]),
        ({"src": F32, "weights": F32.T, "dst_dtype": "u4"}, ["u4"]),
        ({"src": F32, "weights": F32.T, "out": np.ones((2, 3), "f4")}, ["(2, 3)", "(2, 2)"]),
        ({"src": F32, "weights": F32.T, "out": np.ones((2, 2)), "dst_dtype": "f32"}, ["f64", "f32"]),
        ({"src": F32, "weights": F32.T, "post_ops": [("sum", 1.0)]}, ["post_ops[0]", "out"]),
        ({"src": F32, "weights": F32.T, "post_ops": [("binary_add", np.ones(3))]}, ["post_ops[0]", "(3,)"]),
        (
            {"src": S8, "weights": U8, "src_scales": np.ones((2, 5), "f4")},
            ["src_scales", "(2, 5)", "(2, 64)"],
        ),
        ({"src": S8, "weights": U8, "src_scales": np.ones(2, "f4")}, ["src_scales", "(2,)", "(2, 64)"]),
        ({"src": S8, "weights": U8, "src_scales": np.ones((3, 2), "f4")}, ["(3, 2)"]),
        (
            {"src": S8, "weights": U8, "weights_scales": np.ones(5, "f4")},
            ["weights_scales", "(5,)", "(64, 6)"],
        ),
        ({"src": S8, "weights": U8, "weights_scales": np.ones((5, 6), "f4")}, ["(5, 6)", "(64, 6)"]),
        ({"src": S8, "weights": U8, "weights_scales": np.ones((0, 6), "f4")}, ["(0, 6)"]),
        ({"src": S8, "weights": U8, "weights_scales": np.ones(6, np.complex64)}, ["complex64"]),
        (
            {"src": S8, "weights": U8, "weights_zero_points": np.ones(6, np.complex64)},
            ["weights_zero_points", "complex64"],
        ),
        ({"src": S8, "weights": U8, "weights_zero_points": 1e300}, ["weights_zero_points", "1e+300"]),
        ({"src": S8, "weights": U8, "src_zero_points": 1.5}, ["src_zero_points", "f64"]),
        ({"src": S8, "weights": U8, "dst_zero_points": np.ones(6, "f4")}, ["dst_zero_points", "f32"]),
        ({"src": S8, "weights": U8, "weights_zero_points": 2**40}, [str(2**40)]),
        ({"src": S8, "weights": U8, "dst_scales": np.ones(2, "f4")}, ["dst_scales", "(2,)"]),
        ({"src": S8, "weights": U8, "reductions": np.ones((2, 2), "i8")}, ["reductions", "s64"]),
        (
            {"src": S8, "weights": U8, "reductions": np.ones((2, 3), "i4")},
            ["reductions", "(2, 3)", "(2, 64)"],
        ),
        ({"src": S8, "weights": U8, "weights_dtype": "f16"}, ["u8", "f16"]),
        ({"src": S8, "weights": U8[:30], "weights_dtype": "u4"}, ["(30, 6)", "64", "32"]),
    ],
)
def test_errors_name_the_argument_and_the_values(
    engine: zemm.Engine, arguments: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(ValueError, match=r"\w") as caught:
        zemm.matmul(**arguments, engine=engine)
    for word in words:
        assert word in str(caught.value)


def test_default_engine_is_kept() -> None:
    from zemm.engine import default_engine

    assert default_engine() is default_engine()


@pytest.mark.quick(
    cases=lambda src_type, zero_type: (src_type is np.int8) == (zero_type in (np.float64, ml_dtypes.bfloat16))
)
@pytest.mark.parametrize("zero_type", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("src_type", [np.int8, np.float32])
def test_float_zero_points(engine: zemm.Engine, src_type: type, zero_type: type) -> None:
    """One for each group and column, for each column, and for all."""
    k, n = 64, 24
    a, b = integers(-4, 4, (5, k), np.int8).astype(src_type), integers(0, 255, (k, n), np.uint8)
    for shape in ((2, n), (n,), ()):
        zero_points = np.asarray(integers(0, 1020, shape, np.int32) / 4, zero_type)
        z = per_k(zero_points, k, 0) if len(shape) == 2 else wide(zero_points)
        got = zemm.matmul(a, b, weights_zero_points=zero_points, engine=engine)
        assert np.array_equal(got, wide(a) @ (wide(b) - z))
