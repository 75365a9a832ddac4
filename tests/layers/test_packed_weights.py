# SPDX-License-Identifier: Apache-2.0
"""zemm.pack(): what it keeps, and zemm.matmul() with packed weights and with a stream."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zemm
from zemm._arrays.blocked import row_major

RNG = np.random.default_rng(3)
K, N, GROUP = 64, 48, 32
W = RNG.standard_normal((K, N)).astype(np.float32)
X = RNG.standard_normal((5, K)).astype(np.float32)
BITS4 = RNG.integers(0, 16, (3, K, N)).astype(np.uint8)


def packed_u8(engine: zemm.Engine, **more: Any) -> zemm.PackedWeights:
    return zemm.pack(*zemm.quantize_weights(W, 8, GROUP), engine=engine, **more)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
@pytest.mark.parametrize("transposed", [False, True])
def test_unpack_returns_the_values(engine: zemm.Engine, dtype: Any, transposed: bool) -> None:
    w = W.astype(dtype)
    packed = zemm.pack(w.T if transposed else w, transposed=transposed, engine=engine)
    assert packed.dims == (K, N)
    got = packed.unpack()
    assert got.dtype == w.dtype
    assert np.array_equal(got.astype(np.float32), w.astype(np.float32))


@pytest.mark.parametrize("signed", [False, True])
def test_unpack_of_4_bits(engine: zemm.Engine, signed: bool) -> None:
    values = BITS4.astype(np.int8) - 8 if signed else BITS4
    name = "s4" if signed else "u4"
    whole = zemm.pack(zemm.pack_int4(values), weights_dtype=name, engine=engine)
    assert (whole.dims, len(whole)) == ((3, K, N), 3)
    assert np.array_equal(whole.unpack(), zemm.pack_int4(values))
    assert np.array_equal(whole[2].unpack(), zemm.pack_int4(values[2]))
    # An odd N needs bytes with two values along K.
    odd = np.ascontiguousarray(values[0, :, :-1].T)
    packed = zemm.pack(zemm.pack_int4(odd), weights_dtype=name, transposed=True, engine=engine)
    assert packed.dims == (K, N - 1)
    assert np.array_equal(packed.unpack(), zemm.pack_int4(odd).T)


def test_unpack_of_2_bits(engine: zemm.Engine) -> None:
    values = BITS4 & 3
    whole = zemm.pack(zemm.PackedInt2(zemm.pack_int2(values), "u2"), engine=engine)
    assert (whole.dims, len(whole), whole.data_type) == ((3, K, N), 3, "u2")
    assert np.array_equal(whole.unpack(), zemm.pack_int2(values))
    assert np.array_equal(whole[2].unpack(), zemm.pack_int2(values[2]))
    # An N that is no multiple of 4 needs bytes with four values along K.
    odd = np.ascontiguousarray(values[0, :, :-1].T)
    packed = zemm.pack(zemm.pack_int2(odd), weights_dtype="u2", transposed=True, engine=engine)
    assert packed.dims == (K, N - 1)
    assert np.array_equal(packed.unpack(), zemm.pack_int2(odd).T)


def test_the_layout_is_the_kernels(engine: zemm.Engine) -> None:
    packed = packed_u8(engine)
    assert packed.md.inner_nblks > 0
    assert "packed" in repr(packed)
    assert "group 32" in repr(packed)


def test_matmul_with_float_activations(engine: zemm.Engine) -> None:
    values, scales, zero_points = zemm.quantize_weights(W, 8, GROUP)
    plain = zemm.matmul(X, values, weights_scales=scales, weights_zero_points=zero_points, engine=engine)
    packed = packed_u8(engine)
    assert np.allclose(zemm.matmul(X, packed), plain, rtol=0, atol=1e-4)
    bias = np.arange(N, dtype=np.float32)
    batch = np.stack([X, -X])
    got = zemm.matmul(batch, packed, bias, post_ops=["relu"])
    assert np.allclose(got, np.maximum(np.stack([plain, -plain]) + bias, 0), rtol=0, atol=1e-4)


@pytest.mark.parametrize("row", ["matmul_any_any_any_64x32x64_generic", "matmul_any_any_any_8x1x16_generic"])
def test_rows_that_read_plain_weights(engine: zemm.Engine, monkeypatch: Any, row: str) -> None:
    """They take packed weights that become row-major first."""
    expected = zemm.matmul(X, W, engine=engine)
    monkeypatch.setenv("ZEMM_KERNEL", row)
    md = {dims: zemm.MemoryDesc(dims, "f32") for dims in ((5, K), (5, N))}
    packed = zemm.pack(W, engine=engine)
    pd = zemm.MatmulPrimitiveDesc(engine, md[5, K], packed.md, md[5, N])
    assert (pd.impl_info, pd.query_md("weights_md")) == (row, packed.md)
    assert np.allclose(zemm.matmul(X, packed), expected, rtol=0, atol=1e-4)


def test_matmul_with_quantised_activations(engine: zemm.Engine) -> None:
    wq, ws, wz = zemm.quantize_weights(W, 8, GROUP)
    values, scales, sums = zemm.quantize_activations(X, GROUP)
    expected = (values * np.repeat(scales, GROUP, 1)) @ (
        (wq - np.repeat(wz, GROUP, 0).astype(np.float32)) * np.repeat(ws, GROUP, 0)
    )
    packed = packed_u8(engine, src_dtype="s8")
    assert np.allclose(zemm.matmul(values, packed, src_scales=scales, reductions=sums), expected, atol=1e-3)
    # The zero points do not need the caller's sums.
    assert np.allclose(zemm.matmul(values, packed, src_scales=scales), expected, atol=1e-3)


def test_experts(engine: zemm.Engine) -> None:
    scales = RNG.random((3, K // GROUP, N)).astype(np.float32)
    points = RNG.integers(0, 16, (3, K // GROUP, N)).astype(np.uint8)
    packed = zemm.pack(zemm.pack_int4(BITS4), scales, points, weights_dtype="u4", engine=engine)
    real = (BITS4.astype(np.float32) - np.repeat(points, GROUP, 1)) * np.repeat(scales, GROUP, 1)
    x = RNG.standard_normal((3, 5, K)).astype(np.float32)
    assert np.allclose(zemm.matmul(x, packed), x @ real, atol=1e-3)
    for index in (0, 2, -1):
        assert np.allclose(zemm.matmul(x[1], packed[index]), x[1] @ real[index], atol=1e-3)
    assert len(list(packed)) == 3
    # A part keeps the whole alive.
    part = packed[1]
    del packed
    assert np.allclose(zemm.matmul(x[1], part), x[1] @ real[1], atol=1e-3)


def test_later_changes_of_the_arrays_do_not_matter(engine: zemm.Engine) -> None:
    values, scales, zero_points = zemm.quantize_weights(W, 8, GROUP)
    packed = zemm.pack(values, scales, zero_points, engine=engine)
    before = zemm.matmul(X, packed)
    for array in (values, scales, zero_points):
        array[:] = 0
    assert np.array_equal(zemm.matmul(X, packed), before)


def test_stream(engine: zemm.Engine, stream: zemm.Stream) -> None:
    packed = packed_u8(engine)
    expected = zemm.matmul(X, packed)
    # Nothing but the stream keeps the inputs.
    results = [zemm.matmul(X * i, packed, stream=stream) for i in range(30)]
    out = np.empty((5, N), np.float32)
    assert zemm.matmul(X, W, out=out, engine=engine, stream=stream) is out
    stream.wait()
    for i, result in enumerate(results):
        assert np.allclose(result, expected * i, rtol=1e-4, atol=1e-3)
    assert np.allclose(out, X @ W, atol=1e-4)
    # A result that the host copies is complete.
    big_endian = np.empty((5, N), ">f4")
    zemm.matmul(X, packed, out=big_endian, stream=stream)
    assert np.array_equal(big_endian, expected)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda p, e: zemm.matmul(X, p, weights_scales=1.0), "weights_scales is given"),
        (lambda p, e: zemm.matmul(X, p, weights_dtype="u4"), "weights_dtype is given"),
        (lambda p, e: zemm.matmul(X[:, 1:], p), "K = 63"),
        (lambda p, e: zemm.matmul(X, p, engine=zemm.Engine("cpu")), "another engine object"),
        (lambda p, e: zemm.matmul(X, p, stream="now"), "stream is a str"),
        (lambda p, e: zemm.matmul(X, p, stream=zemm.Stream(zemm.Engine("cpu"))), "another engine object"),
        (lambda p, e: zemm.pack(W, src_dtype="f64", engine=e), "src_dtype is 'f64'"),
        (lambda p, e: zemm.pack(W, weights_dtype="u4", engine=e), "weights_dtype is 'u4'"),
        (lambda p, e: zemm.pack(W, np.ones(3), engine=e), "scales of shape (3,)"),
        (lambda p, e: zemm.pack(W, src_group=0, engine=e), "src_group is 0"),
        (lambda p, e: zemm.pack(W[0], engine=e), "(48,)"),
        (lambda p, e: zemm.pack(W[:0], engine=e), "nothing to multiply"),
        (lambda p, e: zemm.pack(W, engine="cpu"), "engine is 'cpu'"),
        (lambda p, e: p[0], "one matrix"),
        (lambda p, e: zemm.pack(W[None], engine=e)["a"], "expert 'a'"),
    ],
)
def test_refusals(engine: zemm.Engine, call: Any, sentence: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 (the sentence is checked below)
        call(packed_u8(engine), engine)
    assert sentence in str(error.value)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize(("k", "n"), [(70, 46), (66, 47), (66, 48), (8, 2), (130, 129)])
def test_unpack_moves_blocks(engine: zemm.Engine, k: int, n: int, bits: int) -> None:
    """Sizes that blocks do not divide, of one matrix, of several, and of one of several."""
    codes = RNG.integers(0, 2**bits, (3, n, k)).astype(np.uint8)
    plain = codes.swapaxes(-1, -2)
    values, data_type = codes, None
    if bits != 8:
        if k % (8 // bits):
            k += -k % (8 // bits)
            codes = np.pad(codes, ((0, 0), (0, 0), (0, k - codes.shape[-1])))
            plain = codes.swapaxes(-1, -2)
        pack = zemm.pack_int2 if bits == 2 else zemm.pack_int4
        plain = pack(plain) if n % (8 // bits) == 0 else pack(codes).swapaxes(-1, -2)
        values, data_type = pack(codes), f"u{bits}"
    whole = zemm.pack(values, weights_dtype=data_type, transposed=True, engine=engine)
    assert row_major(whole.md, whole.memory.read()) is not None, "the layout is one that numpy takes apart"
    assert np.array_equal(whole.unpack(), plain)
    assert np.array_equal(whole[2].unpack(), plain[2])
