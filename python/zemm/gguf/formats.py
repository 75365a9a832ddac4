# SPDX-License-Identifier: Apache-2.0
"""The formats of ggml's blocks, and how their bytes become codes, scales and minimums.

A row of weights along K is a sequence of blocks. An element is w = scale * code - minimum, with a
scale (and a minimum in some formats) for each group of a block. Codes are signed where ggml
subtracts a constant from them, so that no format needs a zero point. Codes of at most 4 bits become
zemm's 4-bit types, all others 8-bit types.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from zemm.words import DataType

Floats = NDArray[Any]


class Parts(NamedTuple):
    """Decoded blocks: codes int8 or uint8 [B, elements], scales and minimums [B, groups], f16 where the
    file has these as f16, else f32."""

    codes: NDArray[Any]
    scales: Floats
    minimums: Floats | None = None


class Format(NamedTuple):
    """A type of ggml's tensors.

    block: the numpy type of a block. elements: of K in a block. data_type: of the codes in zemm.
    group: elements of K that share a scale. decode: makes Parts of a 1-D array of blocks, or None
    for a floating-point type, whose blocks are its elements.
    """

    block: np.dtype[Any]
    elements: int
    data_type: DataType
    group: int = 1
    decode: Callable[[NDArray[Any]], Parts] | None = None


def _fields(data: NDArray[np.uint8], bits: int, run: int) -> NDArray[np.uint8]:
    """Unpack fields of `bits` bits: uint8 [B, bytes] becomes uint8 [B, 8 / bits * bytes].

    Each run of `run` bytes has the lowest fields of all its bytes first, then the next ones.
    """
    runs = data.reshape(len(data), -1, 1, run)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)[:, None]
    return (runs >> shifts & np.uint8(2**bits - 1)).reshape(len(data), -1)


def _signed(codes: NDArray[Any], offset: int) -> NDArray[np.int8]:
    return codes.view(np.int8) - np.int8(offset)


def _column(values: NDArray[Any]) -> NDArray[np.float32]:
    """f16 [B] as f32 [B, 1]."""
    return values.astype(np.float32)[:, None]


def _q8_0(b: NDArray[Any]) -> Parts:
    return Parts(b["q"], b["d"][:, None])


def _q4_0(b: NDArray[Any]) -> Parts:
    return Parts(_signed(_fields(b["q"], 4, 16), 8), b["d"][:, None])


def _q4_1(b: NDArray[Any]) -> Parts:
    return Parts(_fields(b["q"], 4, 16), b["d"][:, None], -b["m"][:, None])


def _codes_of_5_bits(b: NDArray[Any]) -> NDArray[Any]:
    return _fields(b["q"], 4, 16) | _fields(b["high"], 1, 1) << 4


def _q5_0(b: NDArray[Any]) -> Parts:
    return Parts(_signed(_codes_of_5_bits(b), 16), b["d"][:, None])


def _q5_1(b: NDArray[Any]) -> Parts:
    return Parts(_codes_of_5_bits(b), b["d"][:, None], -b["m"][:, None])


# In the formats of 256 elements the scale of a group is an integer times the f16 scale of the block.
# The product has at most 19 bits, so that f32 holds it exactly.


def _q2_k(b: NDArray[Any]) -> Parts:
    scales, minimums = b["scales"] & np.uint8(15), b["scales"] >> np.uint8(4)
    return Parts(_fields(b["q"], 2, 32), _column(b["d"]) * scales, _column(b["dmin"]) * minimums)


def _q3_k(b: NDArray[Any]) -> Parts:
    codes = _fields(b["q"], 2, 32) | _fields(b["high"], 1, 32) << 2
    scales = _fields(b["scales"][:, :8], 4, 8) | _fields(b["scales"][:, 8:], 2, 4) << 4
    return Parts(_signed(codes, 4), _column(b["d"]) * _signed(scales, 32))


def _with_6_bit_parameters(b: NDArray[Any], codes: NDArray[Any]) -> Parts:
    """Parts of a format whose eight groups have scales and minimums of 6 bits in 12 bytes.

    Bytes 0 to 3 have scales 0 to 3, bytes 4 to 7 minimums 0 to 3, in their low 6 bits. Their high
    bits are those of scales and minimums 4 to 7, whose low bits are the nibbles of bytes 8 to 11.
    """
    first, last = b["scales"][:, :8], b["scales"][:, 8:]
    high = first >> 6 << 4
    scales = np.hstack([first[:, :4] & 63, last & 15 | high[:, :4]])
    minimums = np.hstack([first[:, 4:] & 63, last >> 4 | high[:, 4:]])
    return Parts(codes, _column(b["d"]) * scales, _column(b["dmin"]) * minimums)


def _q4_k(b: NDArray[Any]) -> Parts:
    return _with_6_bit_parameters(b, _fields(b["q"], 4, 32))


def _q5_k(b: NDArray[Any]) -> Parts:
    return _with_6_bit_parameters(b, _fields(b["q"], 4, 32) | _fields(b["high"], 1, 32) << 4)


def _q6_k(b: NDArray[Any]) -> Parts:
    codes = _fields(b["q"], 4, 64) | _fields(b["high"], 2, 32) << 4
    return Parts(_signed(codes, 32), _column(b["d"]) * b["scales"])


def _block(text: str) -> np.dtype[Any]:
    """A structured type from a text such as "d:f2 q:16u1"."""
    return np.dtype([tuple(field.split(":")) for field in text.replace("f2", "<f2").split()])


FORMATS = {
    "F32": Format(np.dtype("<f4"), 1, "f32"),
    "F16": Format(np.dtype("<f2"), 1, "f16"),
    "BF16": Format(np.dtype(ml_dtypes.bfloat16), 1, "bf16"),
    "Q8_0": Format(_block("d:f2 q:32i1"), 32, "s8", 32, _q8_0),
    "Q4_0": Format(_block("d:f2 q:16u1"), 32, "s4", 32, _q4_0),
    "Q4_1": Format(_block("d:f2 m:f2 q:16u1"), 32, "u4", 32, _q4_1),
    "Q5_0": Format(_block("d:f2 high:4u1 q:16u1"), 32, "s8", 32, _q5_0),
    "Q5_1": Format(_block("d:f2 m:f2 high:4u1 q:16u1"), 32, "u8", 32, _q5_1),
    "Q2_K": Format(_block("scales:16u1 q:64u1 d:f2 dmin:f2"), 256, "u4", 16, _q2_k),
    "Q3_K": Format(_block("high:32u1 q:64u1 scales:12u1 d:f2"), 256, "s4", 16, _q3_k),
    "Q4_K": Format(_block("d:f2 dmin:f2 scales:12u1 q:128u1"), 256, "u4", 32, _q4_k),
    "Q5_K": Format(_block("d:f2 dmin:f2 scales:12u1 high:32u1 q:128u1"), 256, "u8", 32, _q5_k),
    "Q6_K": Format(_block("q:128u1 high:64u1 scales:16i1 d:f2"), 256, "s8", 16, _q6_k),
}
