# SPDX-License-Identifier: Apache-2.0
"""The formats of ggml's blocks, and how their bytes become codes, scales and minimums.

A row of weights along K is a sequence of blocks. An element is w = scale * code - minimum, with a
scale (and a minimum in some formats) for each group of a block. Codes are signed where ggml
subtracts a constant from them, so that no format needs a zero point; those of at most 2 bits are u2, and the
constant becomes a minimum. Codes of 3 and 4 bits become zemm's 4-bit types, those of more bits 8-bit types.
Codes that number the values of a table become these values.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from zemm._library.lists import GGUF_BLOCKS
from zemm.words import DataType

Floats = NDArray[Any]


class Parts(NamedTuple):
    """Decoded blocks: codes int8 or uint8 [B, elements], scales and minimums [B, groups], of the type that
    the file has (f16, e8m0, f8_e4m3). Codes of f4_e2m1 are its bits.

    Formats of 256 elements with several groups have integers there (int8 or uint8), which are multiplied by
    the factors [B, 1] of the block (f16). f32 holds the products of at most 19 bits exactly."""

    codes: NDArray[Any]
    scales: NDArray[Any]
    minimums: NDArray[Any] | None = None
    scale_factors: Floats | None = None
    minimum_factors: Floats | None = None

    @property
    def real_scales(self) -> NDArray[np.float32]:
        """The scales times their factors."""
        return _product(self.scales, self.scale_factors)

    @property
    def real_minimums(self) -> NDArray[np.float32] | None:
        """The minimums times their factors."""
        return None if self.minimums is None else _product(self.minimums, self.minimum_factors)


def _product(values: NDArray[Any], factors: Floats | None) -> NDArray[np.float32]:
    """Values of groups times the factors of the longer groups that they are in, along the last axis."""
    wide = values.astype(np.float32, copy=False)
    if factors is None:
        return wide
    each = factors.astype(np.float32)[..., None]
    return (wide.reshape(*factors.shape, -1) * each).reshape(wide.shape)


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


# Functions that make Parts of blocks and their codes.


def _f16(b: NDArray[Any], codes: NDArray[Any]) -> Parts:
    return Parts(codes, b["d"][:, None])


def _f16_and_offset(b: NDArray[Any], codes: NDArray[Any]) -> Parts:
    return Parts(codes, b["d"][:, None], -b["m"][:, None])


def _two_levels(
    b: NDArray[Any], codes: NDArray[Any], scales: NDArray[Any], minimums: NDArray[Any] | None = None
) -> Parts:
    return Parts(codes, scales, minimums, b["d"][:, None], None if minimums is None else b["dmin"][:, None])


def _q2_k(b: NDArray[Any], codes: NDArray[Any]) -> Parts:
    return _two_levels(b, codes, b["scales"] & np.uint8(15), b["scales"] >> np.uint8(4))


def _q3_k(b: NDArray[Any], codes: NDArray[Any]) -> Parts:
    scales = _fields(b["scales"][:, :8], 4, 8) | _fields(b["scales"][:, 8:], 2, 4) << 4
    return _two_levels(b, codes, _signed(scales, 32))


def _q4_k(b: NDArray[Any], codes: NDArray[Any]) -> Parts:
    """Eight groups have scales and minimums of 6 bits in 12 bytes.

    Bytes 0 to 3 have scales 0 to 3, bytes 4 to 7 minimums 0 to 3, in their low 6 bits. Their high
    bits are those of scales and minimums 4 to 7, whose low bits are the nibbles of bytes 8 to 11.
    """
    first, last = b["scales"][:, :8], b["scales"][:, 8:]
    high = first >> 6 << 4
    scales = np.hstack([first[:, :4] & 63, last & 15 | high[:, :4]])
    minimums = np.hstack([first[:, 4:] & 63, last >> 4 | high[:, 4:]])
    return _two_levels(b, codes, scales, minimums)


def _q6_k(b: NDArray[Any], codes: NDArray[Any]) -> Parts:
    return _two_levels(b, codes, b["scales"])


def _iq4_xs(b: NDArray[Any], codes: NDArray[Any]) -> Parts:
    """The scales' 6 bits are 4 and 2 of two fields, each from the lowest bits on."""
    scales = _fields(b["low"], 4, 1) | _fields(b["high"], 2, 1) << 4
    return _two_levels(b, codes, _signed(scales, 32))


# The formats of small floats have the scales of OCP MX and of NVFP4, from which ggml differs where those are
# not finite: it takes the bits of e8m0's NaN as 2^128, of e4m3's NaN as 0, or 480 if the sign bit is set.
# A -0 of f4_e2m1 is 0 in ggml.

_MINUS_0 = 8
_E8M0_NAN = 255
# The code of twice the value, up to the largest one, of the magnitudes 0, 0.5, 1, 1.5, 2, 3, 4 and 6.
_DOUBLED = np.array([0, 2, 4, 5, 6, 7, 7, 7], np.uint8)


def _mxfp4(b: NDArray[Any], codes: NDArray[Any]) -> Parts:
    """With the scale 2^128, which zemm has not, all values above 0.5 are infinite as f32. So they are with
    twice the values and the scale 2^127."""
    exponents = b["e"][:, None]
    is_largest = exponents == _E8M0_NAN
    codes = np.where(is_largest, codes & 8 | _DOUBLED[codes & 7], codes)
    return Parts(codes, (exponents - is_largest).view(ml_dtypes.float8_e8m0fnu))


def _nvfp4(b: NDArray[Any], codes: NDArray[Any]) -> Parts:
    bits = b["d"] & np.uint8(0x7F)
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


def _digits(data: NDArray[np.uint8], count: int) -> NDArray[np.uint8]:
    """Unpack digits of base 3: uint8 [B, bytes] becomes uint8 [B, count * bytes], the first digits of all
    bytes first.

    A byte is 256 times a fraction of `count` ternary places. Times 3^n, modulo 1, it begins with digit n.
    """
    powers = np.array([3**n for n in range(count)], np.uint8)[:, None]
    fractions = data[:, None, :] * powers  # modulo 256
    return (fractions.astype(np.uint16) * 3 >> 8).astype(np.uint8).reshape(len(data), -1)


# The values of codes.
_VALUES = {
    "iq4": np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.int8),
    "e2m1": np.array([*range(_MINUS_0), 0, *range(_MINUS_0 + 1, 16)], np.uint8),
    "signs": np.array([0, 2], np.uint8),  # -1 and 1, with the zero 1
}
_PARAMETERS = {
    "f16": _f16,
    "f16_and_offset": _f16_and_offset,
    "q2_k": _q2_k,
    "q3_k": _q3_k,
    "q4_k": _q4_k,
    "q6_k": _q6_k,
    "iq4_xs": _iq4_xs,
    "mxfp4": _mxfp4,
    "nvfp4": _nvfp4,
}


def _codes(row: dict[str, Any], b: NDArray[Any]) -> NDArray[Any]:
    if not row["low_bits"]:
        return np.hstack([_digits(b["q"][:, :32], 5), _digits(b["q"][:, 32:], 5), _digits(b["high"], 4)])
    codes: NDArray[Any] = _fields(b["q"].view(np.uint8), row["low_bits"], row["low_run"])
    if row["high_bits"]:
        codes = codes | _fields(b["high"], row["high_bits"], row["high_run"]) << row["low_bits"]
    return codes if row["values"] == "none" else _VALUES[row["values"]][codes]


def _decode(row: dict[str, Any], less: int, b: NDArray[Any]) -> Parts:
    codes = _codes(row, b)
    if row["type"] in ("s4", "s8"):
        codes = _signed(codes, row["zero"])
    parts = _PARAMETERS[row["parameters"]](b, codes)
    return parts._replace(minimums=parts.scales * np.float16(less)) if less else parts


def _format(row: dict[str, Any]) -> Format:
    """The format of a row of src/lists/gguf_blocks.def. "d:f2 q:16u1" is the layout of a structured type."""
    layout = np.dtype([tuple(field.split(":")) for field in row["layout"].replace("f2", "<f2").split()])
    less = row["zero"] if row["type"] == "u2" else 0
    decode = partial(_decode, row, less)
    return Format(row["number"], layout, row["elements"], row["type"], row["group"], decode, less)


FORMATS = {
    "F32": Format(0, np.dtype("<f4"), 1, "f32"),
    "F16": Format(1, np.dtype("<f2"), 1, "f16"),
    "BF16": Format(30, np.dtype(ml_dtypes.bfloat16), 1, "bf16"),
    **{name: _format(row) for name, row in GGUF_BLOCKS.items()},
}
