# SPDX-License-Identifier: Apache-2.0
"""The formats of ggml's blocks, and how their bytes become codes, scales and minimums.

A row of weights along K is a sequence of blocks. An element is w = scale * code - minimum, with a
scale (and a minimum in some formats) for each group of a block. Codes are signed where ggml
subtracts a constant from them, so that no format needs a zero point; those of at most 2 bits are u2, and the
constant becomes a minimum. Codes of 3 and 4 bits become zemm's 4-bit types, those of more bits 8-bit types.
Codes that number the values of a table become these values.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from zemm.words import DataType

Floats = NDArray[Any]


class Parts(NamedTuple):
    """Decoded blocks: codes int8 or uint8 [B, elements], scales and minimums [B, groups], of the type that
    the file has if zemm has it, too (f16, e8m0, f8_e4m3), else f32. Codes of f4_e2m1 are its bits."""

    codes: NDArray[Any]
    scales: Floats
    minimums: Floats | None = None


class Format(NamedTuple):
    """A type of ggml's tensors.

    number: ggml's, in files. block: the numpy type of a block. elements: of K in a block. data_type: of the
    codes in zemm. group: elements of K that share a scale. decode: makes Parts of a 1-D array of blocks, or
    None for a floating-point type, whose blocks are its elements. less: what ggml subtracts from unsigned
    codes; minimums are scales times it.
    """

    number: int
    block: np.dtype[Any]
    elements: int
    data_type: DataType
    group: int = 1
    decode: Callable[[NDArray[Any]], Parts] | None = None
    less: int = 0


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


# The formats of small floats have the scales of OCP MX and of NVFP4, from which ggml differs where those are
# not finite: it takes the bits of e8m0's NaN as 2^128, of e4m3's NaN as 0, or 480 if the sign bit is set.
# A -0 of f4_e2m1 is 0 in ggml.

_MINUS_0 = 8
_E8M0_NAN = 255
# The code of twice the value, up to the largest one, of the magnitudes 0, 0.5, 1, 1.5, 2, 3, 4 and 6.
_DOUBLED = np.array([0, 2, 4, 5, 6, 7, 7, 7], np.uint8)


def _e2m1(data: NDArray[np.uint8], run: int) -> NDArray[np.uint8]:
    codes = _fields(data, 4, run)
    codes[codes == _MINUS_0] = 0
    return codes


def _mxfp4(b: NDArray[Any]) -> Parts:
    """With the scale 2^128, which zemm has not, all values above 0.5 are infinite as f32. So they are with
    twice the values and the scale 2^127."""
    codes, exponents = _e2m1(b["q"], 16), b["e"][:, None]
    is_largest = exponents == _E8M0_NAN
    codes = np.where(is_largest, codes & 8 | _DOUBLED[codes & 7], codes)
    return Parts(codes, (exponents - is_largest).view(ml_dtypes.float8_e8m0fnu))


def _nvfp4(b: NDArray[Any]) -> Parts:
    codes, bits = _e2m1(b["q"], 8), b["d"] & np.uint8(0x7F)
    bits[b["d"] == 0x7F] = 0
    scales = bits.view(ml_dtypes.float8_e4m3fn)
    if np.any(is_480 := b["d"] == 0xFF):
        scales = np.where(is_480, np.float16(480), scales.astype(np.float16))
    return Parts(codes, scales)


def as_integers(parts: Parts) -> Parts:
    """Parts with codes of f4_e2m1 as ones with s8 codes: twice the values, and half of the scales, which
    bf16 holds exactly."""
    doubled = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32) * 2
    scales = parts.scales.astype(np.float32) / 2
    return Parts(doubled.astype(np.int8)[parts.codes], scales.astype(ml_dtypes.bfloat16))


_IQ4 = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.int8)


def _iq4_nl(b: NDArray[Any]) -> Parts:
    return Parts(_IQ4[_fields(b["q"], 4, 16)], b["d"][:, None])


def _iq4_xs(b: NDArray[Any]) -> Parts:
    """The scales' 6 bits are 4 and 2 of two fields, each from the lowest bits on."""
    scales = _fields(b["low"], 4, 1) | _fields(b["high"], 2, 1) << 4
    return Parts(_IQ4[_fields(b["q"], 4, 16)], _column(b["d"]) * _signed(scales, 32))


def _digits(data: NDArray[np.uint8], count: int) -> NDArray[np.uint8]:
    """Unpack digits of base 3: uint8 [B, bytes] becomes uint8 [B, count * bytes], the first digits of all
    bytes first.

    A byte is 256 times a fraction of `count` ternary places. Times 3^n, modulo 1, it begins with digit n.
    """
    powers = np.array([3**n for n in range(count)], np.uint8)[:, None]
    fractions = data[:, None, :] * powers  # modulo 256
    return (fractions.astype(np.uint16) * 3 >> 8).astype(np.uint8).reshape(len(data), -1)


def _less_1(b: NDArray[Any], codes: NDArray[np.uint8]) -> Parts:
    """Weights d * (code - 1), with codes of 2 bits."""
    return Parts(codes, b["d"][:, None], b["d"][:, None])


def _tq1_0(b: NDArray[Any]) -> Parts:
    parts = _digits(b["q"][:, :32], 5), _digits(b["q"][:, 32:], 5), _digits(b["high"], 4)
    return _less_1(b, np.hstack(parts))


def _tq2_0(b: NDArray[Any]) -> Parts:
    return _less_1(b, _fields(b["q"], 2, 32))


def _q2_0(b: NDArray[Any]) -> Parts:
    return _less_1(b, _fields(b["q"], 2, 1))


def _q1_0(b: NDArray[Any]) -> Parts:
    return _less_1(b, _fields(b["q"], 1, 1) << np.uint8(1))


def _block(text: str) -> np.dtype[Any]:
    """A structured type from a text such as "d:f2 q:16u1"."""
    return np.dtype([tuple(field.split(":")) for field in text.replace("f2", "<f2").split()])


FORMATS = {
    "F32": Format(0, np.dtype("<f4"), 1, "f32"),
    "F16": Format(1, np.dtype("<f2"), 1, "f16"),
    "BF16": Format(30, np.dtype(ml_dtypes.bfloat16), 1, "bf16"),
    "Q8_0": Format(8, _block("d:f2 q:32i1"), 32, "s8", 32, _q8_0),
    "Q4_0": Format(2, _block("d:f2 q:16u1"), 32, "s4", 32, _q4_0),
    "Q4_1": Format(3, _block("d:f2 m:f2 q:16u1"), 32, "u4", 32, _q4_1),
    "Q5_0": Format(6, _block("d:f2 high:4u1 q:16u1"), 32, "s8", 32, _q5_0),
    "Q5_1": Format(7, _block("d:f2 m:f2 high:4u1 q:16u1"), 32, "u8", 32, _q5_1),
    "Q2_K": Format(10, _block("scales:16u1 q:64u1 d:f2 dmin:f2"), 256, "u2", 16, _q2_k),
    "Q3_K": Format(11, _block("high:32u1 q:64u1 scales:12u1 d:f2"), 256, "s4", 16, _q3_k),
    "Q4_K": Format(12, _block("d:f2 dmin:f2 scales:12u1 q:128u1"), 256, "u4", 32, _q4_k),
    "Q5_K": Format(13, _block("d:f2 dmin:f2 scales:12u1 high:32u1 q:128u1"), 256, "u8", 32, _q5_k),
    "Q6_K": Format(14, _block("q:128u1 high:64u1 scales:16i1 d:f2"), 256, "s8", 16, _q6_k),
    "IQ4_NL": Format(20, _block("d:f2 q:16u1"), 32, "s8", 32, _iq4_nl),
    "IQ4_XS": Format(23, _block("d:f2 high:2u1 low:4u1 q:128u1"), 256, "s8", 32, _iq4_xs),
    "MXFP4": Format(39, _block("e:u1 q:16u1"), 32, "f4_e2m1", 32, _mxfp4),
    "NVFP4": Format(40, _block("d:4u1 q:32u1"), 64, "f4_e2m1", 16, _nvfp4),
    "TQ1_0": Format(34, _block("q:48u1 high:4u1 d:f2"), 256, "u2", 256, _tq1_0, 1),
    "TQ2_0": Format(35, _block("q:64u1 d:f2"), 256, "u2", 256, _tq2_0, 1),
    "Q1_0": Format(41, _block("d:f2 q:16u1"), 128, "u2", 128, _q1_0, 1),
    "Q2_0": Format(42, _block("d:f2 q:16u1"), 64, "u2", 64, _q2_0, 1),
}
