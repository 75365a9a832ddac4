# SPDX-License-Identifier: Apache-2.0
"""Tensors of GGUF files: bits like those of gguf.quants.dequantize(), and members that agree."""

from pathlib import Path

import gguf
import numpy as np
import pytest
import zemm
from gguf.quants import dequantize
from numpy.typing import NDArray
from support_gguf import FLOATS, QUANTISED, float_rows, random_blocks, write
from zemm.gguf.formats import FORMATS

Array = NDArray[np.generic]


def one(tmp_path: Path, type_name: str, rows: Array) -> zemm.gguf.Tensor:
    return zemm.gguf.load(write(tmp_path / "one.gguf", {"w": (type_name, rows)}))["w"]


def expected(type_name: str, rows: Array) -> NDArray[np.float32]:
    return dequantize(rows.view(np.uint8), gguf.GGMLQuantizationType[type_name])


def assert_same_bits(got: NDArray[np.float32], want: NDArray[np.float32]) -> None:
    assert got.dtype == want.dtype == np.float32
    assert got.shape == want.shape
    np.testing.assert_array_equal(np.ascontiguousarray(got).view(np.uint32), want.view(np.uint32))


@pytest.mark.parametrize("type_name", FORMATS)
def test_block_sizes_are_those_of_the_package(type_name: str) -> None:
    form = FORMATS[type_name]
    sizes = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[type_name]]
    assert (form.elements, form.block.itemsize) == sizes


@pytest.mark.parametrize("shape", [(70, 512), (3, 5, 256)])
@pytest.mark.parametrize("type_name", QUANTISED)
def test_dequantized_bits(type_name: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    rows = random_blocks(type_name, shape, np.random.default_rng(1))
    tensor = one(tmp_path, type_name, rows)
    got = tensor.dequantize()
    assert got.shape == tensor.shape == (*shape[:-2], shape[-1], shape[-2])
    assert_same_bits(got.swapaxes(-1, -2), expected(type_name, rows))


@pytest.mark.parametrize("type_name", ["Q4_K", "BF16"])
def test_take(type_name: str, tmp_path: Path) -> None:
    rng, columns = np.random.default_rng(1), [5, 0, 0, 3]
    rows = (random_blocks if type_name in QUANTISED else float_rows)(type_name, (7, 512), rng)
    tensor = one(tmp_path, type_name, rows)
    taken = tensor.take(columns)
    assert (taken.shape, taken.type) == ((512, 4), type_name)
    assert_same_bits(taken.dequantize().T, expected(type_name, rows)[columns])
    with pytest.raises(IndexError):
        tensor.take([7])
    with pytest.raises(ValueError, match=r"not \[K, N\]"):
        one(tmp_path, "F32", np.ones(8, np.float32)).take([0])


@pytest.mark.parametrize("type_name", FLOATS)
def test_floats(type_name: str, tmp_path: Path) -> None:
    rows = float_rows(type_name, (6, 5), np.random.default_rng(2))
    tensor = one(tmp_path, type_name, rows)
    assert_same_bits(tensor.dequantize().T, expected(type_name, rows))
    np.testing.assert_array_equal(tensor.values, rows.T)
    assert (tensor.scales, tensor.minimums, tensor.group) == (None, None, None)


def test_float_values_are_not_copied(tmp_path: Path) -> None:
    """They are read-only views of the mapped file."""
    tensor = one(tmp_path, "F32", np.ones((4, 8), np.float32))
    assert not tensor.values.flags.writeable
    assert np.shares_memory(tensor.values, tensor._data)


@pytest.mark.parametrize("byte", [0x00, 0x5A, 0xFF])
@pytest.mark.parametrize("type_name", QUANTISED)
def test_equal_bytes(type_name: str, byte: int, tmp_path: Path) -> None:
    """The smallest and the largest codes, with scales of 1."""
    form = FORMATS[type_name]
    rows = np.full((2, 256 // form.elements * form.block.itemsize), byte, np.uint8)
    for field in sorted(set(form.block.names or ()) & {"d", "m", "dmin"}):
        rows.view(form.block)[field] = 1
    tensor = one(tmp_path, type_name, rows)
    assert_same_bits(tensor.dequantize().T, expected(type_name, rows))


def all_codes(bits: int, signed: bool) -> set[int]:
    low = -(2 ** (bits - 1)) if signed else 0
    return set(range(low, low + 2**bits))


BITS = {name: int(name[1]) for name in QUANTISED}


@pytest.mark.parametrize("type_name", QUANTISED)
def test_members(type_name: str, tmp_path: Path) -> None:
    """All codes occur, and scales * values - minimums are the weights."""
    rows = random_blocks(type_name, (64, 1024), np.random.default_rng(3))
    tensor = one(tmp_path, type_name, rows)
    n, k, group, kind = 64, 1024, tensor.group, tensor.data_type
    assert group
    values = tensor.values
    if kind in ("u4", "s4"):
        assert values.shape == (k // 2, n)
        values = zemm.unpack_int4(values.T, n * k, signed=kind == "s4").reshape(n, k).T
    else:
        assert values.dtype == {"u8": np.uint8, "s8": np.int8}[kind]
    assert values.shape == (k, n)
    assert set(np.unique(values).tolist()) == all_codes(BITS[type_name], signed=kind.startswith("s"))
    scales, minimums = tensor.scales, tensor.minimums
    assert scales is not None
    assert scales.shape == (k // group, n)
    assert scales.dtype == np.float32
    weights = np.repeat(scales.astype(np.float64), group, axis=0) * values
    if minimums is not None:
        assert minimums.shape == scales.shape
        weights -= np.repeat(minimums.astype(np.float64), group, axis=0)
    want = expected(type_name, rows).T.astype(np.float64)
    np.testing.assert_allclose(weights, want, rtol=1e-6, atol=1e-6 * np.abs(want).max())


def test_types_with_minimums() -> None:
    named = {"Q4_1", "Q5_1", "Q2_K", "Q4_K", "Q5_K"}
    for name in QUANTISED:
        form = FORMATS[name]
        assert form.decode
        parts = form.decode(np.zeros(1, form.block))
        assert (parts.minimums is not None) == (name in named), name


def test_one_dimension(tmp_path: Path) -> None:
    tensor = one(tmp_path, "F32", np.arange(5, dtype=np.float32))
    assert tensor.shape == (5,)
    np.testing.assert_array_equal(tensor.dequantize(), np.arange(5))
    with pytest.raises(ValueError, match=r"x \(1, 5\) does not fit tensor 'w' \(5,\)"):
        tensor.matmul(np.ones((1, 5), np.float32))


@pytest.mark.parametrize("type_name", ["IQ4_XS", "I32", "TQ2_0"])
def test_types_that_zemm_does_not_read(type_name: str, tmp_path: Path) -> None:
    elements, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[type_name]]
    rows = np.zeros((2, size), np.uint8) if elements > 1 else np.zeros((2, 8), np.int32)
    path = write(
        tmp_path / "a.gguf", {"bad": (type_name, rows), "good": ("F32", np.ones((2, 2), np.float32))}
    )
    file = zemm.gguf.load(path)
    assert file["bad"].type == type_name
    assert file["good"].values.shape == (2, 2)
    for member in ("values", "scales", "minimums", "data_type", "group"):
        with pytest.raises(ValueError, match=rf"'bad' has the type {type_name}, .* it reads F32, .*Q6_K"):
            getattr(file["bad"], member)
    with pytest.raises(ValueError, match="'bad' has the type"):
        file["bad"].matmul(np.ones((1, 256), np.float32))
    with pytest.raises(ValueError, match="'bad' has the type"):
        file["bad"].dequantize()
