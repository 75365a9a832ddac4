# SPDX-License-Identifier: Apache-2.0
"""zemm.matmul(out=...): any array receives the result, or a sentence says why it cannot."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zemm

RNG = np.random.default_rng(12)
A = RNG.integers(-4, 5, (3, 4)).astype(np.float32)
B = RNG.integers(-4, 5, (4, 4)).astype(np.float32)
OLD = RNG.integers(-4, 5, (3, 4)).astype(np.float32)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
def test_is_written_and_returned(engine: zemm.Engine, order: Any, dtype: Any) -> None:
    src = A.astype(np.int8) if dtype == np.int32 else A
    weights = B.astype(np.int8) if dtype == np.int32 else B
    out = np.zeros((3, 4), dtype, order=order)
    assert zemm.matmul(src, weights, out=out, engine=engine) is out
    assert np.array_equal(out, A @ B)


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "row-major": lambda a: a.copy(),
    "column-major": np.asfortranarray,
    "with gaps": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
    "reversed": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "other byte order": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "other byte order, column-major": lambda a: np.asfortranarray(a.astype(a.dtype.newbyteorder(">"))),
    "unaligned": lambda a: (
        np.frombuffer(bytearray(b"x" + a.tobytes()), np.uint8)[1:].view(a.dtype).reshape(a.shape)
    ),
    "field of a record": lambda a: np.rec.fromarrays([a, a], names=["x", "y"])["y"],
}


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int8])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(engine: zemm.Engine, layout: str, dtype: Any) -> None:
    for post_ops, expected in (([], A @ B), ([("sum", 2.0)], A @ B + 2 * OLD)):
        out = LAYOUTS[layout](OLD.astype(dtype))
        was = out.dtype
        src, weights = (x.astype(np.int8) if np.dtype(dtype).kind == "i" else x for x in (A, B))
        assert zemm.matmul(src, weights, post_ops=post_ops, out=out, engine=engine) is out
        assert out.dtype == was
        assert np.array_equal(out.astype(np.float32), expected)


@pytest.mark.parametrize("shape", [(3, 4), (1, 3, 4), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [">f4", "<f4"])
def test_batches(engine: zemm.Engine, shape: tuple[int, ...], dtype: str) -> None:
    a = np.broadcast_to(A, shape)
    for frame in (np.zeros(shape, dtype), np.zeros((*shape[:-1], 8), dtype)[..., ::2]):
        zemm.matmul(a, B, out=frame, engine=engine)
        assert np.array_equal(frame, a @ B)


def test_only_its_elements_are_written(engine: zemm.Engine) -> None:
    for dtype in ("<f4", ">f4"):
        frame = np.full((5, 12), 9, dtype)
        zemm.matmul(A, B, out=frame[1:4, 2:10:2], engine=engine)
        assert np.array_equal(frame[1:4, 2:10:2], A @ B)
        frame[1:4, 2:10:2] = 9
        assert (frame == 9).all()


def test_may_overlap_an_input(engine: zemm.Engine) -> None:
    a = A.copy()
    zemm.matmul(a, B, out=a, engine=engine)
    assert np.array_equal(a, A @ B)
    frame = np.zeros((5, 4), np.float32)
    frame[:3] = A
    zemm.matmul(frame[:3], B, post_ops=["relu"], out=frame[1:4], engine=engine)
    assert np.array_equal(frame[1:4], np.maximum(A @ B, 0))
    b = B.copy()
    zemm.matmul(A, b, post_ops=["sum"], out=b[1:], engine=engine)
    assert np.array_equal(b[1:], A @ B + B[1:])
    swapped = A.astype(">f4")
    zemm.matmul(swapped, B, post_ops=["sum"], out=swapped, engine=engine)
    assert np.array_equal(swapped, A @ B + A)


@pytest.mark.parametrize("operand", ["bias", "add", "prelu", "scale"])
def test_operand_in_out(engine: zemm.Engine, operand: str) -> None:
    """An operand that shares memory with out is read before out is written."""
    rng = np.random.default_rng(5)
    a, b, out = (rng.standard_normal(s, dtype=np.float32) for s in ((300, 20), (20, 48), (300, 48)))
    row = out[0].copy()
    product = a @ b
    if operand == "bias":
        zemm.matmul(a, b, bias=out[0], out=out, engine=engine)
        expected = product + row
    elif operand == "scale":
        zemm.matmul(a, b, dst_scales=out[0], out=out, engine=engine)
        expected = product / row
    else:
        zemm.matmul(a, b, post_ops=[(operand, out[0])], out=out, engine=engine)
        expected = product + row if operand == "add" else np.where(product >= 0, product, product * row)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("out", "words"),
    [
        (np.broadcast_to(np.float32(0), (3, 4)), ["read-only"]),
        (np.frombuffer(bytes(48), np.float32).reshape(3, 4), ["read-only"]),
        (np.zeros((3, 5), np.float32), ["(3, 5)", "(3, 4)"]),
        (np.zeros((3, 4), np.complex64), ["complex64"]),
        (np.zeros((3, 4), bool), ["bool"]),
        (np.zeros((3, 4), ml_dtypes.int4), ["s4"]),
        ([[0.0] * 4] * 3, ["list", "array"]),
    ],
)
def test_refusals(engine: zemm.Engine, out: Any, words: list[str]) -> None:
    with pytest.raises(ValueError, match=r"out|dst") as caught:
        zemm.matmul(A, B, out=out, engine=engine)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("dtype", ["f8", "i8"])
def test_types_without_a_kernel(engine: zemm.Engine, dtype: str) -> None:
    out = np.full((3, 4), 7, dtype)
    with pytest.raises(NotImplementedError, match=r"f64|s64"):
        zemm.matmul(A, B, out=out, engine=engine)
    assert (out == 7).all()


def test_elements_that_share_memory(engine: zemm.Engine) -> None:
    frame = np.zeros(6, np.float32)
    out = np.lib.stride_tricks.as_strided(frame, (3, 4), (4, 4))
    with pytest.raises(ValueError, match="out"):
        zemm.matmul(A, B, out=out, engine=engine)
    assert (frame == 0).all()
