# SPDX-License-Identifier: Apache-2.0
"""Tensors of GGUF files as weights: matmuls beside their dequantised weights in float64."""

import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zemm
from numpy.typing import NDArray
from readme import blocks
from support_gguf import FLOATS, FORMATS, QUANTISED, float_rows, usual_blocks, write
from support_process import captured

K, N, M = 512, 24, 3
RNG = np.random.default_rng(5)
X = RNG.standard_normal((M, K), dtype=np.float32)


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> zemm.gguf.File:
    """A tensor [K, N] of every type, and experts [2, K, N]."""
    tensors = {
        name: (name, float_rows(name, (N, K), RNG) if name in FLOATS else usual_blocks(name, (N, K), RNG))
        for name in FORMATS
    }
    tensors["experts"] = ("Q4_K", usual_blocks("Q4_K", (2, N, K), RNG))
    tensors["f4 experts"] = ("MXFP4", usual_blocks("MXFP4", (2, N, K), RNG))
    return zemm.gguf.load(write(tmp_path_factory.mktemp("gguf") / "all.gguf", tensors))


def check(
    got: NDArray[np.generic], x: NDArray[np.generic], weights: NDArray[np.float32], digits: float = 1e-6
) -> None:
    """Compare with float64. digits: allowed error, as a part of the sum of absolute products."""
    wide, w = x.astype(np.float64), weights.astype(np.float64)
    assert got.shape == (*x.shape[:-1], w.shape[-1])
    error = np.abs(got.astype(np.float64) - wide @ w)
    assert (error <= digits * 16 * (np.abs(wide) @ np.abs(w))).all(), error.max()


@pytest.mark.quick(cases=lambda name: name in ("Q8_0", "Q2_K", "Q6_K", "BF16"))
@pytest.mark.parametrize("name", FORMATS)
def test_float_activations(name: str, file: zemm.gguf.File) -> None:
    y = file[name].matmul(X)
    assert y.dtype == np.float32
    check(y, X, file[name].dequantize())


@pytest.mark.quick(cases=lambda name, group: group == 32 and name in ("Q4_0", "Q4_1", "Q5_K"))
@pytest.mark.parametrize("with_reductions", [False, True])
@pytest.mark.parametrize("group", [16, 32, 128])
@pytest.mark.parametrize("name", ["Q8_0", "Q4_0", "Q4_1", "Q2_K", "Q5_K"])
def test_int8_activations(name: str, group: int, with_reductions: bool, file: zemm.gguf.File) -> None:
    values, scales, reductions = zemm.quantize_activations(X, group=group)
    given = {"reductions": reductions} if with_reductions else {}
    y = file[name].matmul(values, src_scales=scales, **given)
    check(y, values * np.repeat(scales, group, axis=1), file[name].dequantize())


def test_reductions_are_used(file: zemm.gguf.File) -> None:
    """Sums of 32 elements serve groups of 32. Other ones would show."""
    values, scales, reductions = zemm.quantize_activations(X, group=32)
    tensor = file["Q4_1"]
    assert tensor.minimums is not None
    right = tensor.matmul(values, src_scales=scales, reductions=reductions)
    other = tensor.matmul(values, src_scales=scales, reductions=reductions + 1)
    np.testing.assert_allclose(right - other, scales @ tensor.minimums, atol=1e-4)


@pytest.mark.quick(cases=lambda name: name in ("Q8_0", "Q4_K", "MXFP4"))
@pytest.mark.parametrize("name", QUANTISED)
def test_q8_1(name: str, file: zemm.gguf.File) -> None:
    x = zemm.gguf.quantize_q8_1(X)
    # Sums of f16 have an error of 2^-11.
    digits = 1e-6 if file[name].minimums is None or file[name].group != 32 else 2.0**-11
    check(file[name].matmul(x), x.values * np.repeat(x.scales, 32, axis=1), file[name].dequantize(), digits)


def test_sums_of_q8_1_are_used(file: zemm.gguf.File) -> None:
    x, tensor = zemm.gguf.quantize_q8_1(X), file["Q4_K"]
    assert tensor.minimums is not None
    less = tensor.matmul(x) - tensor.matmul(x._replace(sums=x.sums + 1))
    np.testing.assert_allclose(less, np.broadcast_to(tensor.minimums.sum(axis=0), (M, N)), atol=1e-4)


def test_q8_1_like_ggml() -> None:
    """The rounding of ggml's quantize_row_q8_1_ref(), and blocks in its layout."""
    x = zemm.gguf.quantize_q8_1(X)
    groups = X.reshape(M, -1, 32).astype(np.float64)
    d = np.abs(groups).max(axis=-1) / 127
    np.testing.assert_array_equal(x.scales, d.astype(np.float32).astype(np.float16))
    assert np.abs(x.values.reshape(groups.shape) - groups / d[..., None]).max() <= 0.5001
    np.testing.assert_allclose(
        x.sums, x.values.reshape(groups.shape).sum(axis=-1) * d, rtol=2.0**-11, atol=1e-7
    )
    halves = np.zeros((1, 32), np.float32)
    halves[0, :5] = 127, 0.5, -0.5, 2.5, -2.5
    np.testing.assert_array_equal(zemm.gguf.quantize_q8_1(halves).values[0, :5], [127, 1, -1, 3, -3])


def test_q8_1_blocks() -> None:
    x = zemm.gguf.quantize_q8_1(X)
    parts = [x.scales.astype(np.float16), x.sums.astype(np.float16)]
    head = np.stack(parts, axis=-1).view(np.uint8)
    blocks = np.concatenate([head, x.values.reshape(M, -1, 32).view(np.uint8)], axis=-1).reshape(M, -1)
    assert blocks.shape == (M, K // 32 * 36)
    for got, want in zip(zemm.gguf.read_q8_1(blocks), x, strict=True):
        np.testing.assert_array_equal(got, want)


def test_zeros(tmp_path: Path) -> None:
    """Scales of 0, for which no zero point would do: the weights are minus the minimums."""
    rows = usual_blocks("Q4_1", (N, K), RNG)
    rows.view(FORMATS["Q4_1"].block)["d"] = 0
    tensor = zemm.gguf.load(write(tmp_path / "zero.gguf", {"w": ("Q4_1", rows)}))["w"]
    check(tensor.matmul(X), X, tensor.dequantize())
    zeros = zemm.gguf.quantize_q8_1(np.zeros((M, K)))
    np.testing.assert_array_equal(tensor.matmul(zeros), np.zeros((M, N)))


def test_options(file: zemm.gguf.File) -> None:
    """bias and post-ops see the whole result, and out is written."""
    tensor, out = file["Q4_1"], np.empty((M, N), np.float32)
    bias = RNG.standard_normal(N, dtype=np.float32)
    assert tensor.matmul(X, bias=bias, post_ops=["relu"], out=out) is out
    np.testing.assert_allclose(out, np.maximum(X @ tensor.dequantize() + bias, 0), atol=1e-4)


@pytest.mark.quick(cases=lambda name: name in ("Q4_1", "Q6_K", "NVFP4"))
@pytest.mark.parametrize("name", ["Q8_0", "Q4_0", "Q4_1", "Q2_K", "Q6_K", "BF16", "MXFP4", "NVFP4", "TQ1_0"])
def test_linear(name: str, file: zemm.gguf.File) -> None:
    bias = RNG.standard_normal(N, dtype=np.float32)
    layer = file[name].linear(bias)
    assert isinstance(layer, zemm.Linear)
    assert (layer.in_features, layer.out_features) == (K, N)
    check(layer(X) - bias, X, file[name].dequantize())
    assert layer(X.astype(np.float16)).dtype == np.float16


@pytest.mark.parametrize(
    ("name", "scales"),
    [
        ("Q8_0", np.float16),
        ("Q4_0", np.float16),
        ("Q4_1", np.float16),
        ("MXFP4", ml_dtypes.float8_e8m0fnu),
        ("NVFP4", ml_dtypes.float8_e4m3fn),
    ],
)
def test_layers_have_the_bytes_of_the_file(name: str, scales: type, tmp_path: Path) -> None:
    """A scale keeps the type of the file, in memory and in a state."""
    data = usual_blocks(name, (128, 256), RNG)
    layer = zemm.gguf.load(write(tmp_path / "w.gguf", {"w": (name, data)}))["w"].linear()
    assert layer.weights.nbytes == data.nbytes
    assert layer.state_dict()["scales"].dtype == scales


def test_linear_with_a_scale(file: zemm.gguf.File) -> None:
    """As llama.cpp multiplies by "x.scale": one number, or one for each expert."""
    for name in ("NVFP4", "Q4_1", "F16"):
        check(file[name].linear(scale=[3])(X), X, file[name].dequantize() * 3)
    experts = file["experts"]
    y = experts.linear(scale=[2, 3])(np.stack([X, X]))
    check(y, np.stack([X, X]), experts.dequantize() * np.array([2, 3], np.float32)[:, None, None])
    with pytest.raises(
        ValueError, match=r"scale has shape \(3,\), neither one number .* 'experts' \(2, 512, 24\)"
    ):
        experts.linear(scale=[1, 2, 3])


def test_linear_of_int8_activations(file: zemm.gguf.File) -> None:
    for name in ("Q4_0", "Q4_K", "MXFP4", "NVFP4"):
        y = file[name].linear(activation="int8", dst_dtype="f32")(X)
        check(y, X, file[name].dequantize(), 2.0**-12)


@pytest.mark.parametrize("name", ["experts", "f4 experts"])
def test_linear_of_experts(name: str, file: zemm.gguf.File) -> None:
    layer, w = file[name].linear(), file[name].dequantize()
    assert layer.experts == len(w)
    check(layer(X, expert=1), X, w[1])
    check(layer(np.stack([X, -X])), np.stack([X, -X]), w)


@pytest.mark.parametrize("name", ["Q4_0", "Q4_1"])
def test_no_rows(name: str, file: zemm.gguf.File) -> None:
    assert file[name].matmul(X[:0]).shape == file[name].linear()(X[:0]).shape == (0, N)
    assert file[name].matmul(zemm.gguf.quantize_q8_1(X[:0])).shape == (0, N)
    assert zemm.gguf.read_q8_1(np.empty((0, K // 32 * 36), np.uint8)).values.shape == (0, K)


@pytest.mark.quick(cases=lambda name: name == "Q4_1")
@pytest.mark.parametrize("name", ["Q4_1", "Q5_1", "Q2_K", "Q4_K", "Q5_K"])
def test_minimums_see_the_quantised_activations(name: str, file: zemm.gguf.File) -> None:
    """The rounding of x cancels against the minimums as it does with activations of Q8_1."""
    tensor, x = file[name], RNG.standard_normal((32, K), dtype=np.float32)
    # Weights around 0, as models have them: minimums are the middle of the codes' range.
    tensor._data = tensor._data.copy()
    blocks = tensor._data.view(FORMATS[name].block)
    minimum = "m" if "m" in blocks.dtype.names else "dmin"
    top = {"Q4_1": 15, "Q5_1": 31, "Q2_K": 3, "Q4_K": 15, "Q5_K": 31}[name]
    blocks["d"] = 0.01
    blocks[minimum] = -0.005 * top if minimum == "m" else 0.005 * top
    expected = x.astype(np.float64) @ tensor.dequantize()

    def error(y: NDArray[Any]) -> float:
        return float(np.sqrt(np.mean((y - expected) ** 2)))

    wanted = error(tensor.matmul(zemm.gguf.quantize_q8_1(x)))
    assert error(tensor.linear(activation="int8", activation_group=32)(x)) <= 1.1 * wanted
    values, scales, sums = zemm.quantize_activations(x, 128)
    coarse = tensor.linear(activation="int8", activation_group=128)(x)
    np.testing.assert_allclose(
        coarse, tensor.matmul(values, src_scales=scales, reductions=sums), rtol=1e-4, atol=1e-3
    )


@pytest.mark.quick(cases=lambda name: name == "BF16")
@pytest.mark.parametrize("name", FLOATS)
def test_unaligned_floats(name: str, file: zemm.gguf.File) -> None:
    """A tensor may begin at any byte of the file. The result has the bits of an aligned one."""
    aligned = file[name]
    data = np.concatenate([np.zeros(1, np.uint8), aligned._data])[1:]
    tensor = zemm.gguf.Tensor(name, name, (K, N), data)
    assert not tensor.values.flags.aligned
    np.testing.assert_array_equal(tensor.dequantize(), aligned.dequantize())
    np.testing.assert_array_equal(tensor.matmul(X), aligned.matmul(X))
    np.testing.assert_array_equal(tensor.linear()(X), aligned.linear()(X))


@pytest.mark.parametrize(
    ("sentence", "call"),
    [
        (r"x \(3, 511\) does not fit tensor 'Q4_1' \(512, 24\)", lambda w, x: w.matmul(X[:, 1:])),
        ("x has type s32, neither floating-point nor s8", lambda w, x: w.matmul(X.astype(np.int32))),
        (r"x is Q8_1 .* leave src_scales", lambda w, x: w.matmul(x, src_scales=1.0)),
        ("src_zero_points cannot be given", lambda w, x: w.matmul(x, src_zero_points=np.int32(3))),
        (
            r"src_scales of shape \(3, 5\) does not fit src",
            lambda w, x: w.matmul(x.values, src_scales=np.ones((3, 5), np.float32)),
        ),
        (
            r"reductions of shape \(3, 7\) does not fit src",
            lambda w, x: w.matmul(x.values, src_scales=1.0, reductions=np.ones((3, 7), np.int32)),
        ),
        ("x has type s8, not one of f32, f16, bf16, f64", lambda w, x: w.linear()(x.values)),
        ("K must be a multiple of 32", lambda w, x: zemm.gguf.quantize_q8_1(X[:, :40])),
        ("x has type int8, not a floating-point type", lambda w, x: zemm.gguf.quantize_q8_1(x.values)),
        (
            "not finite, or a group whose scale or sum exceeds f16",
            lambda w, x: zemm.gguf.quantize_q8_1(X * 1e30),
        ),
        (r"blocks has shape \(2, 35\)", lambda w, x: zemm.gguf.read_q8_1(np.zeros((2, 35), np.uint8))),
        (
            r"blocks has type int8 and shape \(2, 36\), not uint8",
            lambda w, x: zemm.gguf.read_q8_1(np.zeros((2, 36), np.int8)),
        ),
    ],
)
def test_refusals(file: zemm.gguf.File, sentence: str, call: Any) -> None:
    with pytest.raises(ValueError, match=sentence):
        call(file["Q4_1"], zemm.gguf.quantize_q8_1(X))


def test_snippet_of_the_page(tmp_path: Path) -> None:
    ((language, text),) = blocks("Use", "docs/gguf.md")
    assert language == "python"
    (tmp_path / "snippet.py").write_text(text)
    done = captured([sys.executable, "snippet.py"], cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    # The comments of the snippet are what it prints.
    assert done.stdout.splitlines() == [line.split("# ")[1] for line in text.splitlines() if "print(" in line]
