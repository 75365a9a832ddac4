# SPDX-License-Identifier: Apache-2.0
"""Tensors of GGUF files: bits like those of gguf.quants.dequantize(), and members that agree."""

import re
from pathlib import Path

import gguf
import numpy as np
import pytest
import zemm
from numpy.typing import NDArray
from support_gguf import (
    CODES,
    FLOATS,
    QUANTISED,
    SMALL_FLOATS,
    expected,
    float_rows,
    halves,
    random_blocks,
    usual_blocks,
    write,
)
from support_tree import ROOT
from zemm._library.codes import numbers_of, split
from zemm._library.lists import TYPES
from zemm.dtypes import SUB_BYTE
from zemm.gguf.formats import FORMATS

Array = NDArray[np.generic]


def one(tmp_path: Path, type_name: str, rows: Array) -> zemm.gguf.Tensor:
    return zemm.gguf.load(write(tmp_path / "one.gguf", {"w": (type_name, rows)}))["w"]


def assert_same_bits(got: NDArray[np.float32], want: NDArray[np.float32]) -> None:
    assert got.dtype == want.dtype == np.float32
    assert got.shape == want.shape
    np.testing.assert_array_equal(np.ascontiguousarray(got).view(np.uint32), want.view(np.uint32))


@pytest.mark.parametrize("type_name", FORMATS)
def test_numbers_and_block_sizes_are_those_of_the_package(type_name: str) -> None:
    form = FORMATS[type_name]
    if type_name not in gguf.GGMLQuantizationType.__members__:
        assert type_name in CODES
        pytest.skip(f"the package gguf has no {type_name}")
    kind = gguf.GGMLQuantizationType[type_name]
    assert form.number == kind
    assert (form.elements, form.block.itemsize) == gguf.GGML_QUANT_SIZES[kind]


@pytest.mark.parametrize("shape", [(70, 512), (3, 5, 256)])
@pytest.mark.parametrize("type_name", QUANTISED)
def test_dequantized_bits(
    type_name: str, shape: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decoded in several slices. Scales of NVFP4 have other types in some."""
    monkeypatch.setattr("zemm.gguf.tensor._SLICE", 1024)
    rows = random_blocks(type_name, shape, np.random.default_rng(1))
    tensor = one(tmp_path, type_name, rows)
    assert tensor.type == type_name
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


@pytest.mark.parametrize("type_name", ["Q4_K", "BF16"])
def test_beside(type_name: str, tmp_path: Path) -> None:
    """Of experts, for each of them."""
    make = random_blocks if type_name in QUANTISED else float_rows
    rows = [make(type_name, (2, n, 512), np.random.default_rng(n)) for n in (3, 5)]
    path = write(tmp_path / "two.gguf", {"left": (type_name, rows[0]), "right": (type_name, rows[1])})
    left, right = zemm.gguf.load(path).values()
    got = left.beside(right)
    assert (got.shape, got.type) == ((2, 512, 8), type_name)
    wanted = np.concatenate([expected(type_name, own) for own in rows], axis=1)
    assert_same_bits(got.dequantize().swapaxes(-1, -2), wanted)
    with pytest.raises(ValueError, match=r"do not fit beside each other"):
        left.beside(one(tmp_path, "F32", np.ones((2, 3, 512), np.float32)))


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
    for field in halves(type_name):
        rows.view(form.block)[field] = 1
    tensor = one(tmp_path, type_name, rows)
    assert_same_bits(tensor.dequantize().T, expected(type_name, rows))


def small_float_blocks(type_name: str) -> Array:
    """Every byte as a scale, each with every code: [256, bytes]."""
    rows = np.zeros((256, FORMATS[type_name].block.itemsize), np.uint8)
    blocks = rows.view(FORMATS[type_name].block)[:, 0]
    field, _ = SMALL_FLOATS[type_name]
    blocks[field] = np.arange(256).reshape(-1, *[1] * (blocks[field].ndim - 1))
    blocks["q"] = np.resize(np.arange(16) * 0x11, blocks["q"].shape)
    return rows


@pytest.mark.parametrize("type_name", SMALL_FLOATS)
def test_all_scales_of_small_floats(type_name: str, tmp_path: Path) -> None:
    """ggml has numbers where e8m0 and e4m3 have NaN."""
    rows = small_float_blocks(type_name)
    want = expected(type_name, rows)
    assert not np.isnan(want).any()
    assert_same_bits(one(tmp_path, type_name, rows).dequantize().T, want)


@pytest.mark.parametrize("type_name", SMALL_FLOATS)
def test_small_floats_as_integers(type_name: str, tmp_path: Path) -> None:
    """A layer of int8 activations has the same weights, in s8."""
    rows = small_float_blocks(type_name)
    state = one(tmp_path, type_name, rows).linear(activation="int8").state_dict()
    values, scales = state["values"], state["scales"].astype(np.float32)
    assert values.dtype == np.int8
    with np.errstate(over="ignore"):
        got = values * np.repeat(scales, len(values) // len(scales), axis=0)
    assert_same_bits(got.T, expected(type_name, rows))


def all_codes(type_name: str) -> set[float]:
    """The values of a type's codes, but -0 of f4_e2m1."""
    kind = FORMATS[type_name].data_type
    if kind == "u2":
        return {"TQ1_0": {0, 1, 2}, "Q1_0": {0, 2}}.get(type_name, {0, 1, 2, 3})
    if kind == "f4_e2m1":
        return {sign * value for sign in (-1, 1) for value in (0, 0.5, 1, 1.5, 2, 3, 4, 6)}
    if type_name.startswith("IQ4"):
        return {*gguf.quants.IQ4_NL.kvalues}
    bits = int(type_name[1])
    low = -(2 ** (bits - 1)) if kind.startswith("s") else 0
    return set(range(low, low + 2**bits))


@pytest.mark.parametrize("type_name", QUANTISED)
def test_members(type_name: str, tmp_path: Path) -> None:
    """All codes occur, and scales * values - minimums are the weights."""
    make = usual_blocks if type_name in SMALL_FLOATS else random_blocks
    rows = make(type_name, (64, 1024), np.random.default_rng(3))
    tensor = one(tmp_path, type_name, rows)
    n, k, group, kind = 64, 1024, tensor.group, tensor.data_type
    assert group
    values = tensor.values
    if kind in SUB_BYTE:
        codes = split(values.T, TYPES[kind].bits)
        is_float = kind == "f4_e2m1"
        numbers = codes.view(zemm.numpy_dtype(kind)) if is_float else numbers_of(codes, kind)
        values = numbers.T.astype(np.float32) if is_float else numbers.T
    else:
        assert values.dtype == {"u8": np.uint8, "s8": np.int8}[kind]
    assert values.shape == (k, n)
    assert set(np.unique(values).tolist()) == all_codes(type_name)
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


def test_table_of_the_page(tmp_path: Path) -> None:
    """docs/gguf.md lists every format, with its bits."""
    page = (ROOT / "docs/gguf.md").read_text()
    found = re.findall(r"^\| ([A-Z0-9_, ]+) \| ([\d., ]+) \| ([\d., ]+) \| (\d+) \| (\d* ?)\|", page, re.M)
    listed = {row[0]: row[1:] for row in found}
    floats = listed.pop(", ".join(FLOATS))
    assert floats == ("32, 16, 16", "32, 16, 16", "1", "")
    assert [*listed] == QUANTISED
    for name, (in_file, in_layer, block, group) in listed.items():
        form = FORMATS[name]
        assert (float(in_file), int(block), int(group)) == (
            form.block.itemsize * 8 / form.elements,
            form.elements,
            form.group,
        )
        rows = usual_blocks(name, (256, 1024), np.random.default_rng(4))
        assert float(in_layer) == one(tmp_path, name, rows).linear().weights.nbytes * 8 / (256 * 1024)


def test_one_dimension(tmp_path: Path) -> None:
    tensor = one(tmp_path, "F32", np.arange(5, dtype=np.float32))
    assert tensor.shape == (5,)
    np.testing.assert_array_equal(tensor.dequantize(), np.arange(5))
    with pytest.raises(ValueError, match=r"x \(1, 5\) does not fit tensor 'w' \(5,\)"):
        tensor.matmul(np.ones((1, 5), np.float32))


@pytest.mark.parametrize("type_name", ["IQ2_XXS", "I32", "IQ3_S"])
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
        with pytest.raises(ValueError, match=rf"'bad' has the type {type_name}, .* it reads F32, .*Q2_0"):
            getattr(file["bad"], member)
    with pytest.raises(ValueError, match="'bad' has the type"):
        file["bad"].matmul(np.ones((1, 256), np.float32))
    with pytest.raises(ValueError, match="'bad' has the type"):
        file["bad"].dequantize()
