# SPDX-License-Identifier: Apache-2.0
"""GGUF files for the tests: random blocks of every format, written by the package gguf, and the numbers that
they stand for by gguf.quants.dequantize()."""

from pathlib import Path

import gguf
import ml_dtypes
import numpy as np
from gguf.quants import dequantize
from numpy.typing import NDArray
from zemm.gguf.formats import FORMATS

QUANTISED = [name for name, form in FORMATS.items() if form.decode]
FLOATS = [name for name in FORMATS if name not in QUANTISED]
# Subnormal, smallest normal and largest numbers of f16, both zeros, and usual ones.
EXTREME = np.array([0, 1, 0x3FF, 0x400, 0x7BFF, 0x8000, 0x8001, 0xFBFF, 0x3C00, 0xA123], np.uint16).view(
    np.float16
)
# The field with scales of 8 bits, and their type.
SMALL_FLOATS = {"MXFP4": ("e", ml_dtypes.float8_e8m0fnu), "NVFP4": ("d", ml_dtypes.float8_e4m3fn)}
# Bytes of a block, bits of a code, and what codes stand for.
CODES = {"Q1_0": (18, 1, (-1, 1)), "Q2_0": (18, 2, (-1, 0, 1, 2))}


def random_blocks(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Bytes of rows of blocks, [.., N, bytes], for a tensor of the shape [.., N, K]. All bits are
    random, also those of scales of 8 bits; f16 scales and minimums are random or extreme ones, but finite."""
    form = FORMATS[name]
    count = shape[-1] // form.elements
    data = rng.integers(0, 256, (*shape[:-1], count * form.block.itemsize), np.uint8)
    for field in halves(name):
        usual = rng.standard_normal((*shape[:-1], count)).astype(np.float16)
        pick = rng.random(usual.shape) < 0.5
        data.view(form.block)[field] = np.where(pick, rng.choice(EXTREME, usual.shape), usual)
    return data


def float_rows(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.generic]:
    return rng.standard_normal(shape).astype(FORMATS[name].block)


def usual_blocks(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Like random_blocks(), with scales and minimums as weights of models have them."""
    data = random_blocks(name, shape, rng)
    blocks = data.view(FORMATS[name].block)
    for field in halves(name):
        blocks[field] = rng.uniform(-0.01, 0.01, blocks.shape)
    if name in SMALL_FLOATS:
        field, dtype = SMALL_FLOATS[name]
        scales = rng.uniform(0.002, 0.01, blocks[field].shape)
        blocks[field] = scales.astype(dtype).view(np.uint8)
    return data


def halves(name: str) -> list[str]:
    """The fields of a block that are f16."""
    block = FORMATS[name].block
    return [field for field in block.names or () if block[field] == np.float16]


def expected(name: str, rows: NDArray[np.generic]) -> NDArray[np.float32]:
    """The weights [.., N, K] that rows of blocks stand for."""
    if name in CODES:
        return one_by_one(name, rows)
    with np.errstate(over="ignore", invalid="ignore"):
        return dequantize(rows.view(np.uint8), gguf.GGMLQuantizationType[name])


def one_by_one(name: str, rows: NDArray[np.generic]) -> NDArray[np.float32]:
    """Types that the package gguf does not dequantise: an f16 scale, then codes of equal width from the
    lowest bits on."""
    size, width, values = CODES[name]
    weights = []
    for block in rows.reshape(-1, size):
        scale = np.float32(block[:2].view(np.float16)[0])
        number = int.from_bytes(block[2:].tobytes(), "little")
        codes = [number >> at & (1 << width) - 1 for at in range(0, 8 * (size - 2), width)]
        weights += [scale * np.float32(values[code]) for code in codes]
    return np.array(weights, np.float32).reshape(*rows.shape[:-1], -1)


def write(path: Path, tensors: dict[str, tuple[str, NDArray[np.generic]]]) -> Path:
    """Write a file of these tensors, each given by its type and its rows [.., N, K] (bytes of
    blocks for quantised types)."""
    writer = gguf.GGUFWriter(path, "test")
    for name, (type_name, rows) in tensors.items():
        if type_name not in FORMATS:
            writer.add_tensor(name, rows, raw_dtype=gguf.GGMLQuantizationType[type_name])
            continue
        # As int8 the bytes of types that the package does not know are written, too.
        form, data = FORMATS[type_name], rows.view(np.int8)
        shape = (*rows.shape[:-1], data.shape[-1] // form.block.itemsize * form.elements)
        writer.add_tensor(name, data, raw_shape=shape, raw_dtype=form.number)
    finish(writer)
    return path


def finish(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
