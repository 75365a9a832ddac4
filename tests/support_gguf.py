# SPDX-License-Identifier: Apache-2.0
"""GGUF files for the tests: random blocks of every format, written by the package gguf."""

from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray
from zemm.gguf.formats import FORMATS

QUANTISED = [name for name, form in FORMATS.items() if form.decode]
FLOATS = [name for name in FORMATS if name not in QUANTISED]
# Subnormal, smallest normal and largest numbers of f16, both zeros, and usual ones.
EXTREME = np.array([0, 1, 0x3FF, 0x400, 0x7BFF, 0x8000, 0x8001, 0xFBFF, 0x3C00, 0xA123], np.uint16).view(
    np.float16
)


def random_blocks(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Bytes of rows of blocks, [.., N, bytes], for a tensor of the shape [.., N, K]. All bits are
    random; the f16 scales and minimums are random or extreme ones, but finite."""
    form = FORMATS[name]
    count = shape[-1] // form.elements
    data = rng.integers(0, 256, (*shape[:-1], count * form.block.itemsize), np.uint8)
    for field in sorted(set(form.block.names or ()) & {"d", "m", "dmin"}):
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
    for field in sorted(set(blocks.dtype.names or ()) & {"d", "m", "dmin"}):
        blocks[field] = rng.uniform(-0.01, 0.01, blocks.shape)
    return data


def write(path: Path, tensors: dict[str, tuple[str, NDArray[np.generic]]]) -> Path:
    """Write a file of these tensors, each given by its type and its rows [.., N, K] (bytes of
    blocks for quantised types)."""
    writer = gguf.GGUFWriter(path, "test")
    for name, (type_name, rows) in tensors.items():
        raw = rows.view(np.uint8) if type_name == "BF16" else rows
        writer.add_tensor(name, raw, raw_dtype=gguf.GGMLQuantizationType[type_name])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
