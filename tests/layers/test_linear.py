# SPDX-License-Identifier: Apache-2.0
"""zemm.Linear: results against numpy, inputs and outputs, files, threads and streams."""

import threading
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zemm
from support_small_layers import expected as expected_weights

RNG = np.random.default_rng(5)
K, N, GROUP, E = 64, 48, 32, 3
W = RNG.standard_normal((E, K, N)).astype(np.float32)
BIAS = RNG.standard_normal((E, N)).astype(np.float32)
X = RNG.standard_normal((E, 5, K)).astype(np.float32)


@pytest.mark.each_value
@pytest.mark.parametrize("experts", [False, True])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("group", [GROUP, None])
@pytest.mark.parametrize("bits", [2, 3, 4, 8])
def test_from_float(engine: zemm.Engine, bits: int, group: int, symmetric: bool, experts: bool) -> None:
    if bits < 4 and symmetric:
        pytest.skip("there are no s2 and s3")
    index: Any = slice(None) if experts else 0
    w, bias, x = W[index], BIAS[index], X[index]
    layer = zemm.Linear.from_float(w, bias, bits=bits, group=group, symmetric=symmetric, engine=engine)
    weights = expected_weights(layer, np.float32)
    steps = 2**bits - 1 - symmetric
    # Half a step of the range of each column, or of its largest magnitude.
    step = (2 * np.abs(w).max() if symmetric else np.ptp(W)) / steps
    assert np.abs(weights - w).max() <= step * 0.501
    y = layer(x)
    assert np.allclose(y, x @ weights + (bias[:, None] if experts else bias), rtol=0, atol=1e-4)
    if experts:
        assert np.allclose(layer(x[1], expert=2), x[1] @ weights[2] + bias[2], rtol=0, atol=1e-4)
        assert np.allclose(layer(x[1], expert=-1), layer(x[1], expert=2), rtol=0, atol=1e-5)
    transposed = zemm.Linear.from_float(
        w.swapaxes(-1, -2), bias, bits=bits, group=group, symmetric=symmetric, transposed=True, engine=engine
    )
    assert np.array_equal(transposed(x), y)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("activation", ["f32", "f16", "bf16", "int8"])
def test_activations(engine: zemm.Engine, activation: str, dtype: Any) -> None:
    layer = zemm.Linear.from_float(W[0], BIAS[0], group=GROUP, activation=activation, engine=engine)
    x = X[0].astype(dtype)
    y = layer(x)
    assert y.dtype == x.dtype
    if activation == "int8":
        values, scales, _ = zemm.quantize_activations(x, GROUP)
        src = values * np.repeat(scales, GROUP, 1)
    else:
        src = x.astype(zemm.numpy_dtype(activation)).astype(np.float32)
    expected = src @ expected_weights(layer, np.float32) + BIAS[0]
    eps = {"f32": 1e-5, "f16": 2e-3, "bf16": 2e-2}[zemm.dtype_name(dtype)]
    if activation in ("f16", "bf16"):
        eps = max(eps, 2e-2)
    assert np.abs(y.astype(np.float32) - expected).max() <= eps * np.abs(expected).max()


@pytest.mark.each_value
@pytest.mark.quick(cases=lambda bits, activation: (bits == 4) == (activation != "bf16"))
@pytest.mark.parametrize("sizes", [(3, 0, 4), (0, 0, 1), (40, 5, 2)])
@pytest.mark.parametrize("activation", ["f32", "bf16", "int8"])
@pytest.mark.parametrize("bits", [4, 8])
def test_groups_of_rows(engine: zemm.Engine, bits: int, activation: Any, sizes: tuple[int, ...]) -> None:
    """Rows of all experts at once give what those of each expert give."""
    layer = zemm.Linear.from_float(W, BIAS, bits=bits, group=GROUP, activation=activation, engine=engine)
    x = RNG.integers(-8, 9, (sum(sizes), K)).astype(np.float32)
    y = layer(x, group_sizes=np.array(sizes))
    begin = 0
    for expert, size in enumerate(sizes):
        if size:
            expected = layer(x[begin : begin + size], expert=expert)
            assert np.allclose(y[begin : begin + size], expected, rtol=1e-5, atol=1e-4)
        begin += size
    stream = zemm.Stream(engine)
    again = [layer(x, group_sizes=sizes, stream=stream) for _ in range(3)]
    stream.wait()
    assert all(np.array_equal(y, z) for z in again)


def test_shapes(engine: zemm.Engine) -> None:
    layer = zemm.Linear.from_float(W[0], group=GROUP, engine=engine)
    weights = expected_weights(layer, np.float32)
    for x in (X, X[0, 0], X[:, :0], X[:, None], np.asfortranarray(X[0]), X[0, ::-2], X[0].astype(">f4")):
        y = layer(x)
        assert y.shape == (*x.shape[:-1], N)
        assert np.allclose(y, x.astype(np.float32) @ weights, rtol=0, atol=1e-4)
    assert layer(X[0].astype(np.float64)).dtype == np.float32
    assert zemm.Linear.from_float(W[0], group=GROUP, dst_dtype="f16", engine=engine)(X[0]).dtype == np.float16


def test_more_rows_than_are_kept(engine: zemm.Engine) -> None:
    from zemm._layers.primitives import MOST_CALLS

    layer = zemm.Linear.from_float(W[0], group=GROUP, engine=engine)
    x = RNG.standard_normal((MOST_CALLS + 6, K)).astype(np.float32)
    expected = x @ expected_weights(layer, np.float32)
    for rows in [*range(1, len(x)), 1, 2]:
        assert np.allclose(layer(x[:rows]), expected[:rows], rtol=0, atol=1e-4)
    assert len(layer._calls.kept.calls) == MOST_CALLS


def test_out(engine: zemm.Engine, stream: zemm.Stream) -> None:
    layer = zemm.Linear.from_float(W[0, :, :K], group=GROUP, engine=engine)
    square = zemm.Linear.from_float(
        RNG.standard_normal((K, K)).astype(np.float32), group=GROUP, engine=engine
    )
    expected = layer(X[0])
    for out in (
        np.empty((5, N), np.float32),
        np.empty((N, 5), np.float32).T,
        np.empty((5, 2 * N), np.float32)[:, ::2],
        np.empty((5, N), ">f4"),
    ):
        for to in (None, stream):
            out[:] = 7
            assert layer(X[0], out, stream=to) is out
            stream.wait()
            assert np.array_equal(out, expected)
    x = X[0].copy()
    expected = square(x)
    assert square(x, out=x) is x
    assert np.array_equal(x, expected)


@pytest.mark.parametrize("activation", ["f32", "int8"])
def test_threads(engine: zemm.Engine, activation: str) -> None:
    layer = zemm.Linear.from_float(W, BIAS, group=GROUP, activation=activation, engine=engine)
    inputs = [np.ascontiguousarray(X[:, :rows]) * (rows + 1) for rows in range(1, 6)]
    alone = zemm.Linear.from_float(W, BIAS, group=GROUP, activation=activation, engine=engine)
    expected = [alone(x) for x in inputs]
    start, wrong = threading.Barrier(4), []

    def work(seed: int) -> None:
        start.wait()
        for i in range(60):
            which = (i * 7 + seed) % len(inputs)
            if not np.array_equal(layer(inputs[which]), expected[which]):
                wrong.append((seed, i))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_files_that_are_no_layers(engine: zemm.Engine, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    path = tmp_path / "file"
    zemm.save_layers(path, {"a": zemm.Linear.from_float(W[0], group=GROUP, engine=engine)})
    with pytest.raises(ValueError, match=r"prefixes: \['a\.'\]"):
        zemm.Linear.load(path, "b.")
    path.write_bytes(b"no layers at all")
    with pytest.raises(ValueError, match="is no file of layers"):
        zemm.Linear.load(path)
    with pytest.raises(OSError, match="missing"):
        zemm.Linear.load(tmp_path / "missing")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda a, b: a(X[0, :, 1:]), "x has shape (5, 63)"),
        (lambda a, b: a(X[0].astype(np.int8)), "x has type s8"),
        (lambda a, b: a(None), "x is None"),
        (lambda a, b: a(X[0], "out"), "out is a str"),
        (lambda a, b: a(X[0], np.empty((5, N))), "out has type f64"),
        (lambda a, b: a(X[0], np.empty((4, N), np.float32)), "out has shape (4, 48)"),
        (lambda a, b: a(X[0], np.broadcast_to(np.float32(0), (5, N))), "read-only"),
        (lambda a, b: a(X[0], expert=0), "no experts"),
        (lambda a, b: a(X[0], stream=1), "stream is a int"),
        (lambda a, b: b(X[0]), "index of an expert"),
        (lambda a, b: b(X[:2]), "index of an expert"),
        (lambda a, b: b(X[0], expert=[1]), "expert [1]"),
        (lambda a, b: a(X[0], group_sizes=[5]), "no experts"),
        (lambda a, b: b(X[0], group_sizes=[5, 0, 0], expert=1), "both expert and group_sizes"),
        (lambda a, b: b(X[0], group_sizes=[5, 0]), "not 3 numbers"),
        (lambda a, b: b(X[0], group_sizes=[6, -1, 0]), "not 3 numbers"),
        (lambda a, b: b(X[0], group_sizes=[2.0, 3.0, 0.0]), "not 3 numbers"),
        (lambda a, b: b(X[0], group_sizes=[2, 3, 1]), "the groups have 6 rows"),
        (lambda a, b: b(X, group_sizes=[2, 3, 0]), "the groups have 5 rows"),
        (lambda a, b: b(X[0], expert=3), "expert 3"),
        (lambda a, b: zemm.Linear.from_float(W[0], bits=5), "bits is 5"),
        (lambda a, b: zemm.Linear.from_float(W[0], group=0), "group is 0"),
        (lambda a, b: zemm.Linear.from_float(W[0, 1:, 1:], bits=4, group=None), "must be a multiple of 2"),
        (lambda a, b: zemm.Linear.from_float(W[0], BIAS[0, 1:], group=GROUP), "bias has shape (47,)"),
        (lambda a, b: zemm.Linear.from_float(W[0] * np.nan, group=GROUP), "finite"),
        (lambda a, b: zemm.Linear.from_float("weights"), "w has type <U7"),
        (lambda a, b: zemm.Linear.from_float(W[0], activation="f64", group=GROUP), "activation is 'f64'"),
        (lambda a, b: zemm.Linear.from_float(W[0], activation_group=3, group=GROUP), "activation_group 3"),
        (lambda a, b: zemm.Linear.from_float(W[0], dst_dtype="s8", group=GROUP), "dst_dtype s8"),
        (lambda a, b: zemm.Linear.from_quantized(W[0], activation="int8"), "needs integer weights"),
        (lambda a, b: with_offsets(zero_points=3, offsets=OFFSETS), "leave the zero points out"),
        (lambda a, b: with_offsets(offsets=OFFSETS[:, 1:]), "offsets of shape (2, 47) does not fit weights"),
        (lambda a, b: with_offsets(offsets=OFFSETS.astype("c8")), "offsets has type"),
    ],
)
def test_refusals(engine: zemm.Engine, call: Any, sentence: str) -> None:
    one = zemm.Linear.from_float(W[0], group=GROUP, engine=engine)
    several = zemm.Linear.from_float(W, group=GROUP, engine=engine)
    with pytest.raises(IndexError if sentence == "expert 3" else ValueError) as error:
        call(one, several)
    assert sentence in str(error.value)


@pytest.mark.quick(
    cases=lambda group, activation_group, symmetric: activation_group in (48, 3) and not symmetric
)
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(("group", "activation_group"), [(32, 192), (32, 384), (64, 96), (None, 48), (32, 3)])
def test_activation_groups_beside_those_of_weights(
    engine: zemm.Engine, group: int | None, activation_group: int, symmetric: bool
) -> None:
    """Groups of activations need neither divide those of weights nor be divided by them: the usual W4A8
    has scales per token. zemm.matmul() gives the same bits."""
    w = RNG.standard_normal((384, 16)).astype(np.float32)
    x = RNG.standard_normal((3, 384)).astype(np.float32)
    layer = zemm.Linear.from_float(
        w,
        bits=4,
        group=group,
        symmetric=symmetric,
        activation="int8",
        activation_group=activation_group,
        engine=engine,
    )
    values, scales, reductions = zemm.quantize_activations(x, activation_group)
    quantized = zemm.quantize_weights(w, 4, group, symmetric=symmetric)
    dtype: Any = "s4" if symmetric else "u4"
    sums = None if symmetric else reductions
    names = ("weights_scales", "weights_zero_points")
    y = zemm.matmul(
        values,
        quantized.values,
        weights_dtype=dtype,
        src_scales=scales,
        reductions=sums,
        engine=engine,
        **dict(zip(names, quantized[1:], strict=True)),
    )
    packed = zemm.pack(
        *quantized, weights_dtype=dtype, src_dtype="s8", src_group=activation_group, engine=engine
    )
    assert np.array_equal(zemm.matmul(values, packed, src_scales=scales, reductions=sums), y)
    assert np.array_equal(layer(x), y)


CODES = RNG.integers(0, 16, (K, N), np.uint8)
SCALES, OFFSETS = (RNG.standard_normal((K // GROUP, N)).astype(np.float32) for _ in range(2))


@pytest.mark.each_value
def with_offsets(**given: Any) -> zemm.Linear:
    return zemm.Linear.from_quantized(CODES, SCALES, **given)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("activation", ["f32", "bf16", "int8", "int7"])
@pytest.mark.parametrize("bits", [4, 8])
def test_offsets(engine: zemm.Engine, bits: int, activation: Any, dtype: Any) -> None:
    scales, offsets = SCALES.astype(dtype), OFFSETS.astype(dtype)
    values = {"values": zemm.pack_int4(CODES), "weights_dtype": "u4"} if bits == 4 else {"values": CODES}
    settings: dict[str, Any] = {"activation": activation, "engine": engine, "activation_group": None}
    layer = zemm.Linear.from_quantized(**values, scales=scales, offsets=offsets, bias=BIAS[0], **settings)
    spread = [np.repeat(a.astype(np.float32), GROUP, 0) for a in (scales, offsets)]
    weights = CODES * spread[0] + spread[1]
    src = X[0]
    if activation in ("int8", "int7"):
        q, of_groups, _ = zemm.quantize_activations(src, GROUP, reduced_range=activation == "int7")
        src = q * np.repeat(of_groups, GROUP, 1)
    expected = src @ weights + BIAS[0]
    eps = 2e-2 if activation == "bf16" else 1e-5
    assert np.abs(layer(X[0]) - expected).max() <= eps * np.abs(expected).max()
    transposed = {**values, "values": zemm.pack_int4(CODES.T) if bits == 4 else CODES.T}
    turned = zemm.Linear.from_quantized(
        **transposed, scales=scales.T, offsets=offsets.T, bias=BIAS[0], transposed=True, **settings
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
    with pytest.raises(NotImplementedError, match="offsets need weights of a type among s8 u8 s4 u4 u2"):
        zemm.Linear.from_quantized(W[0], offsets=OFFSETS, engine=engine)
