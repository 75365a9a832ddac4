# SPDX-License-Identifier: Apache-2.0
"""zemm.matmul() against numpy in f64: types, shapes, layouts and parameters of arrays. Values are small
integers and powers of two, so that results are exact."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zemm

RNG = np.random.default_rng(11)
F32, F16, BF16 = np.dtype("f4"), np.dtype("f2"), np.dtype(ml_dtypes.bfloat16)
F8 = [np.dtype(ml_dtypes.float8_e5m2), np.dtype(ml_dtypes.float8_e4m3fn)]
S8, U8, F64 = np.dtype("i1"), np.dtype("u1"), np.dtype("f8")


def integers(low: int, high: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return RNG.integers(low, high + 1, shape).astype(dtype)


def powers_of_two(shape: tuple[int, ...]) -> np.ndarray:
    return np.exp2(RNG.integers(-3, 3, shape)).astype(np.float32)


def wide(array: Any) -> np.ndarray:
    return np.asarray(array).astype(np.float64)


def per_k(parameter: np.ndarray, k: int, axis: int) -> np.ndarray:
    """Group parameters, repeated to one value for each element of K."""
    return np.repeat(wide(parameter), k // parameter.shape[axis], axis=axis)


TYPES = [(dtype, dtype) for dtype in (F32, F16, BF16, F64)]
TYPES += [(src, weights) for group in ((S8, U8), F8) for src in group for weights in group]
TYPES += [(src, U8) for src in (F32, F16, BF16)]


@pytest.mark.quick(
    cases=lambda types: (
        types in ((F32, F32), (BF16, BF16), (F64, F64), (S8, U8), (U8, S8), (F8[0], F8[1]), (F16, F16))
    )
)
@pytest.mark.parametrize("types", TYPES, ids=lambda types: f"{types[0].name}-{types[1].name}")
def test_types(engine: zemm.Engine, types: tuple[Any, Any]) -> None:
    """The type of the result, and types that are asked for; without products what comes after the sum is
    left."""
    for m, k, n in ((1, 32, 64), (7, 33, 19), (3, 0, 4)):
        a, b = (integers(0 if dtype == U8 else -4, 4, dims, dtype)
                for dims, dtype in zip(((m, k), (k, n)), types, strict=True))  # fmt: skip
        product, own = wide(a) @ wide(b), zemm.matmul(a, b, engine=engine)
        assert own.dtype == (F32 if types[0].itemsize == 1 else types[0])
        assert np.array_equal(own, product.astype(own.dtype))
        bias, factor = integers(-4, 4, (n,), F32), integers(1, 4, (m, 1), F32)
        after = np.maximum(product + bias, 0) * factor
        narrow = {F8[0]: (F32, *F8, BF16), F8[1]: (F8[1],), F64: (F64,), S8: (np.dtype("i4"), F16)}
        for dtype in narrow.get(types[0], (F32, F16)) if m > 1 else ():
            got = zemm.matmul(a, b, bias, post_ops=["relu", ("mul", factor)], dst_dtype=dtype, engine=engine)
            assert got.dtype == dtype
            np.testing.assert_array_equal(wide(got), wide(after.astype(np.float32).astype(dtype)))


@pytest.mark.quick(cases=lambda src, name: (src, name) in ((S8, "s4"), (F32, "u4"), (BF16, "f4_e2m1")))
@pytest.mark.parametrize("name", ["s4", "u4", "u2", "f4_e2m1"])
@pytest.mark.parametrize("src", [S8, F32, F8[1], BF16])
def test_weights_in_parts_of_bytes(engine: zemm.Engine, src: Any, name: Any) -> None:
    """As an array of their own type, and as packed bytes, also transposed."""
    if name == "f4_e2m1" and src == S8:
        return  # no such product
    k, n = 64, 12
    low, high = {"s4": (-8, 7), "u4": (0, 15), "u2": (0, 3), "f4_e2m1": (-6, 6)}[name]
    a, b = integers(-4, 4, (3, k), src), integers(low, high, (k, n), F32).astype(zemm.numpy_dtype(name))
    pack = zemm.pack_int2 if name == "u2" else zemm.pack_int4
    codes = b if name == "f4_e2m1" else wide(b).astype(np.int8)
    parameters: dict[str, Any] = {"weights_scales": powers_of_two((2, n))}
    real = wide(b)
    if name in ("u4", "u2"):
        parameters["weights_zero_points"] = integers(0, high, (2, n), U8)
        real = real - per_k(parameters["weights_zero_points"], k, 0)
    real = real * per_k(parameters["weights_scales"], k, 0)
    for weights, dtype in ((b, None), (pack(codes), name), (pack(codes.T).T, name)):
        got = zemm.matmul(a, weights, weights_dtype=dtype, dst_dtype="f32", **parameters, engine=engine)
        assert np.array_equal(got, wide(a) @ real)


E8M0 = np.dtype(ml_dtypes.float8_e8m0fnu)
K, N = 64, 6
# Types of src and weights, and arguments.
PARAMETERS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "common": (S8, S8, {"src_scales": 0.5, "src_zero_points": 3, "weights_scales": 0.25, "dst_scales": 2.0,
                        "dst_zero_points": 1}),
    "groups": (S8, U8, {"src_scales": powers_of_two((4, 2)).astype(F16),
                        "weights_scales": powers_of_two((2, N)).astype(F64),
                        "weights_zero_points": integers(0, 99, (2, N), np.int64),
                        "dst_scales": powers_of_two((N,)),
                        "dst_zero_points": integers(-9, 9, (N,), np.int16)}),
    "columns": (F32, U8, {"weights_scales": powers_of_two((N,)),
                          "weights_zero_points": integers(96, 160, (N,), U8)}),
    "bf16": (BF16, U8, {"weights_zero_points": np.uint8(8)}),
    "f8": (F8[0], U8, {"weights_zero_points": np.uint8(8)}),
    **{f"{dtype.name} scales {rows}": (S8, U8, {
        "src_scales": powers_of_two(rows).astype(dtype), "dst_scales": dtype.type(2),
        "weights_scales": powers_of_two(columns).astype(dtype)}) for dtype in (E8M0, F8[1])
        for rows, columns in (((4, 4), (2, N)), ((4, 1), (N,)), ((), ()))},
    **{f"{dtype.name} zero points {shape}": (src, U8, {
        "weights_zero_points": np.asarray(integers(0, 1020, shape, np.int32) / 4, dtype)})
        for src, dtype in ((S8, F64), (S8, BF16), (F32, F32), (F32, F16)) for shape in ((2, N), (N,), ())},
}  # fmt: skip


@pytest.mark.each_value
@pytest.mark.parametrize("order", "=>")
@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters(engine: zemm.Engine, name: str, order: Any) -> None:
    """Of any type, one for all, for columns and for groups; every array may have the other byte order."""
    src, weights, arguments = PARAMETERS[name]
    a, b = integers(-4, 4, (4, K), src), integers(0, 127, (K, N), weights)
    values = {"src_scales": 1.0, "src_zero_points": 0.0, "weights_scales": 1.0, "weights_zero_points": 0.0,
              "dst_scales": 1.0, "dst_zero_points": 0.0} | arguments  # fmt: skip
    full = {p: per_k(v, K, int(p[0] == "s")) if np.ndim(v) > 1 else wide(v) for p, v in values.items()}
    left = (wide(a) - full["src_zero_points"]) * full["src_scales"]
    right = (wide(b) - full["weights_zero_points"]) * full["weights_scales"]
    want = left @ right / full["dst_scales"] + full["dst_zero_points"]
    swapped = {p: np.asarray(v).astype(np.asarray(v).dtype.newbyteorder(order)) for p, v in arguments.items()}
    got = zemm.matmul(a, b, **swapped, dst_dtype="f32", engine=engine)
    np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("own", [S8, U8, F8[0], F16])
def test_weights_of_another_type(engine: zemm.Engine, own: Any) -> None:
    """weights_dtype says how packed bytes are read. It does not convert."""
    name = zemm.dtype_name(own)
    for other in {"u8", "s8", "u4", "f16"} - {name} - ({"u4"} if own in (S8, U8) else set()):
        with pytest.raises(ValueError, match=rf"{name}.*{other}"):
            zemm.matmul(np.ones((4, 4), np.int8), np.ones((4, 4), own), weights_dtype=other, engine=engine)


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "row-major": lambda a: a.copy(),
    "column-major": np.asfortranarray,
    "with gaps": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
    "rows with gaps": lambda a: np.concatenate([a, a], axis=1)[:, : a.shape[1]],
    "reversed": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "big-endian, column-major": lambda a: np.asfortranarray(a.astype(a.dtype.newbyteorder(">"))),
    "unaligned": lambda a: (
        np.frombuffer(bytearray(b"x" + a.tobytes()), np.uint8)[1:].view(a.dtype).reshape(a.shape)
    ),
    "field of a record": lambda a: np.rec.fromarrays([a, a], names=["x", "y"])["y"],
    "read-only": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
}
A, B = integers(-4, 4, (3, 4), F32), integers(-4, 4, (4, 4), F32)
OLD = integers(-4, 4, (3, 4), F32)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(engine: zemm.Engine, layout: str) -> None:
    """Of src beside all of weights, of operands, and of out, which keeps its type and may be added to."""
    laid = LAYOUTS[layout]
    for other in LAYOUTS.values():
        assert np.array_equal(zemm.matmul(laid(A), other(B), engine=engine), A @ B)
    ops = [("mul", laid(OLD)), ("add", LAYOUTS["big-endian"](B[0].astype(np.int32)))]
    got = zemm.matmul(A, B, laid(OLD[:1])[0], post_ops=ops, engine=engine)
    assert np.array_equal(got, (A @ B + OLD[0]) * OLD + B[0])
    for dtype in [] if layout == "read-only" else [F32, F16, np.dtype("i4"), S8]:
        src, weights = (x.astype(np.int8) if dtype.kind == "i" else x for x in (A, B))
        for post_ops, expected in (([], A @ B), ([("sum", 2.0)], A @ B + 2 * OLD)):
            out = laid(OLD.astype(dtype))
            was = out.dtype
            assert zemm.matmul(src, weights, post_ops=post_ops, out=out, engine=engine) is out
            assert out.dtype == was
            assert np.array_equal(out.astype(np.float32), expected)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("layout", ["big-endian", "unaligned"])
def test_copies_have_the_order_of_the_array(engine: zemm.Engine, layout: str, order: Any) -> None:
    """An array that must be copied gives the bits that its values give in place."""
    a, b = RNG.standard_normal((3, 512)).astype(np.float32), RNG.standard_normal((512, 24)).astype(np.float32)
    expected = zemm.matmul(a, np.array(b, order=order), engine=engine)
    weights = LAYOUTS[layout](b) if order == "C" else LAYOUTS[layout](b.T.copy()).T
    assert np.array_equal(zemm.matmul(a, weights, engine=engine), expected)


SHAPES = [
    ((2, 3, 4), (4, 5)), ((2, 3, 4), (1, 4, 5)), ((2, 3, 4), (2, 4, 5)), ((1, 3, 4), (2, 4, 5)),
    ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 6)),
    # Nothing to multiply, or no result.
    ((2, 0), (0, 4)), ((0, 0), (0, 4)), ((2, 0), (0, 0)), ((3, 2, 0), (0, 4)), ((3, 1, 2, 0), (5, 0, 4)),
    ((3, 2, 0), (1, 0, 4)), ((0, 2, 0), (0, 4)), ((0, 2, 8), (8, 4)), ((0, 2, 8), (0, 8, 4)),
    ((0, 8), (8, 4)), ((2, 8), (8, 0)), ((3, 0, 8), (8, 4)),
]  # fmt: skip


@pytest.mark.parametrize(("src", "weights"), SHAPES)
def test_shapes(engine: zemm.Engine, src: tuple[int, ...], weights: tuple[int, ...]) -> None:
    """Of numpy's results, with and without out, which may have gaps and the other byte order."""
    a, b = integers(-4, 4, src, F32), integers(-4, 4, weights, F32)
    bias, want = integers(-4, 4, weights[-1:], F32), a @ b
    got = zemm.matmul(a, b, bias, engine=engine)
    assert got.shape == want.shape
    assert np.array_equal(got, want + bias)
    for dtype in ("<f4", ">f4"):
        for out in (np.full(want.shape, 7, dtype), np.full((*want.shape, 2), 7, dtype)[..., 0]):
            zemm.matmul(a, b, out=out, engine=engine)
            assert np.array_equal(out, want)


@pytest.mark.parametrize("dst", ["s8", "u8", "s32", "f16", "bf16", "f32"])
def test_quantised_results_without_products(engine: zemm.Engine, dst: Any) -> None:
    a, b = np.ones((3, 0), np.int8), np.ones((0, 4), np.uint8)
    bias, half, nine = np.array([1, -2, 3, -4], np.float32), np.float32(0.5), np.int32(9)
    y = zemm.matmul(a, b, bias, dst_scales=half, dst_zero_points=nine, dst_dtype=dst, engine=engine)
    assert y.dtype == zemm.numpy_dtype(dst)
    assert np.array_equal(wide(y), np.broadcast_to(bias / 0.5 + 9, (3, 4)))
    old = y.copy()
    zemm.matmul(a, b, post_ops=[("sum", 2.0)], out=y, engine=engine)
    assert np.array_equal(wide(y), 2 * wide(old))


def test_only_elements_of_out_are_written(engine: zemm.Engine) -> None:
    for dtype in ("<f4", ">f4"):
        frame = np.full((5, 12), 9, dtype)
        zemm.matmul(A, B, out=frame[1:4, 2:10:2], engine=engine)
        assert np.array_equal(frame[1:4, 2:10:2], A @ B)
        frame[1:4, 2:10:2] = 9
        assert (frame == 9).all()
    for refused in (np.full((3, 4), 9, "f8"), np.lib.stride_tricks.as_strided(frame, (3, 4), (4, 4))):
        with pytest.raises((ValueError, NotImplementedError), match=r"f64|out"):
            zemm.matmul(A, B, out=refused, engine=engine)
        assert (refused == 9).all()


def test_out_may_overlap_an_input(engine: zemm.Engine) -> None:
    for a in (A.copy(), A.astype(">f4")):
        zemm.matmul(a, B, post_ops=["sum"], out=a, engine=engine)
        assert np.array_equal(a, A @ B + A)
    frame = np.zeros((5, 4), np.float32)
    frame[:3] = A
    zemm.matmul(frame[:3], B, post_ops=["relu"], out=frame[1:4], engine=engine)
    assert np.array_equal(frame[1:4], np.maximum(A @ B, 0))
    b = B.copy()
    zemm.matmul(A, b, post_ops=["sum"], out=b[1:], engine=engine)
    assert np.array_equal(b[1:], A @ B + B[1:])


@pytest.mark.parametrize("operand", ["bias", "add", "prelu", "scale"])
def test_operand_in_out(engine: zemm.Engine, operand: str) -> None:
    """An operand that shares memory with out is read before out is written."""
    rng = np.random.default_rng(5)
    a, b, out = (rng.standard_normal(s, dtype=np.float32) for s in ((300, 20), (20, 48), (300, 48)))
    row, product = out[0].copy(), a @ b
    given: dict[str, Any] = {"bias": {"bias": out[0]}, "scale": {"dst_scales": out[0]}}.get(
        operand, {"post_ops": [(operand, out[0])]}
    )
    zemm.matmul(a, b, **given, out=out, engine=engine)
    want = {"scale": product / row, "prelu": np.where(product >= 0, product, product * row)}
    np.testing.assert_allclose(out, want.get(operand, product + row), rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("error")
def test_operands_of_f64(engine: zemm.Engine) -> None:
    """They become f32. Small ones may become 0, infinite ones are kept."""
    one = np.eye(4, dtype=np.float32)
    for value, added in ((1e-50, 0), (-np.inf, -np.inf)):
        operand = np.array([0, value, 0, 0])
        want = one + np.where(operand, added, 0)
        assert np.array_equal(zemm.matmul(one, one, operand, engine=engine), want)
        assert np.array_equal(zemm.matmul(one, one, post_ops=[("add", operand)], engine=engine), want)


def test_broadcast_view(engine: zemm.Engine) -> None:
    a = np.broadcast_to(np.float32(2), (3, 4))
    assert np.array_equal(zemm.matmul(a, B, engine=engine), a @ B)


def test_several_threads(engine: zemm.Engine) -> None:
    pairs = [(integers(-9, 9, (m, 64), F32), integers(-9, 9, (64, 33), F32)) for m in range(1, 25)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda pair: zemm.matmul(*pair, engine=engine), pairs))
    assert all(np.array_equal(got, a @ b) for got, (a, b) in zip(results, pairs, strict=True))


def test_default_engine_is_kept() -> None:
    from zemm.engine import default_engine

    assert default_engine() is default_engine()
