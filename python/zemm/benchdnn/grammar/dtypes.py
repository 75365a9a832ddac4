# SPDX-License-Identifier: Apache-2.0
"""Data types: names, sizes, ranges, and conversion between f32 values and codes.

Codes are the stored form of values, in numpy arrays with one code per element; layout.py packs
codes of fewer than 8 bits. Rounding follows oneDNN: floating-point types round half to even without
saturation, integers saturate and then round half to even, f4 saturates. benchdnn rounds f8 to f16
first; here, as in the kernels, f8 is rounded once.
"""

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from zemm._library import lists
from zemm.benchdnn.grammar import atoms
from zemm.dtypes import numpy_dtype

_BLOCK = 2**16  # elements that stay in a cache

Floats = NDArray[np.float32]
Codes = NDArray[Any]


@dataclass(frozen=True)
class DataType:
    """One data type: `bits` of an element, numpy type of a code, binary `digits` of the mantissa,
    `epsilon` (0 for integers), smallest and largest value."""

    name: str
    bits: int
    code: np.dtype
    digits: int
    epsilon: float
    low: float
    high: float
    integral: bool = False


def _made(row: lists.DataType) -> DataType:
    """A row of the list, cut to what the references hold: they compute in f32."""
    is_integer = row.kind == "integer"
    low, high = (_within(limit) for limit in (row.low, row.high))
    epsilon = 0.0 if is_integer else 2.0 ** (1 - row.digits)
    digits = row.digits if is_integer else min(row.digits, 24)
    return DataType(row.name, row.bits, _code(row), digits, epsilon, low, high, is_integer)


def _within(limit: float) -> float:
    """The f32 next to a limit, on the side of 0."""
    most = float(np.finfo(np.float32).max)
    near = np.float32(min(max(limit, -most), most))
    return float(near if abs(float(near)) <= abs(limit) else np.nextafter(near, np.float32(0)))


def _code(row: lists.DataType) -> np.dtype[Any]:
    """The numpy type of a code. Integers of fewer than 8 bits are computed with in bytes."""
    if row.kind == "integer" and row.bits < 8:
        return np.dtype(np.int8 if row.low < 0 else np.uint8)
    return numpy_dtype(row.name)


BY_NAME = {name: _made(row) for name, row in lists.TYPES.items()}
SMALL_INTEGERS = [dt for dt in BY_NAME.values() if dt.integral and dt.bits < 8]
NAMES = (*BY_NAME, "undef")


def parse_data_type(text: str, what: str) -> str:
    """The name of a data type in lower case. UsageError if there is none of that name."""
    return atoms.choice(text, what, NAMES, "data type")


def encode(values: Floats, name: str) -> Codes:
    """The codes of values, rounded to the data type, in the same shape. Those that are integers of numpy have
    to be in the range of an integer type, and stay exact."""
    dtype = BY_NAME[name]
    if dtype.integral and values.dtype.kind == "i":
        return values.astype(dtype.code)
    with np.errstate(invalid="ignore", over="ignore"):
        if dtype.integral:
            return _encode_integer(values, dtype)
        if name == "f4_e2m1":
            return _encode_f4(values)
        if name == "e8m0":
            return _encode_e8m0(values)
        if name == "bf16":
            return _encode_bf16(values)
        return values.astype(dtype.code)


def decode(codes: Codes, name: str) -> Floats:
    """The f32 values of codes."""
    dtype = BY_NAME[name]
    return codes.astype(dtype.code, copy=False).astype(np.float32)


def rounded(values: Floats, name: str) -> Floats:
    """`values` after a round trip through the data type."""
    return values if name == "f32" else decode(encode(values, name), name)


def _encode_bf16(values: Floats) -> Codes:
    """bf16 codes. Denormal results become zero with the same sign."""
    codes = values.astype(ml_dtypes.bfloat16)
    bits = codes.view(np.uint16)
    return np.where(bits & 0x7F80, bits, bits & 0x8000).view(ml_dtypes.bfloat16)


def _encode_f4(values: Floats) -> Codes:
    """f4_e2m1 codes. The type has no NaN: a NaN becomes 6 with its sign."""
    numbers = np.where(np.isnan(values), np.copysign(np.float32(6), values), values)
    return np.clip(numbers, np.float32(-6), np.float32(6)).astype(ml_dtypes.float4_e2m1fn)


def _encode_integer(values: Floats, dtype: DataType) -> Codes:
    low, high = np.float32(dtype.low), np.float32(dtype.high)
    blocks = np.nditer(
        [values, None],
        ["external_loop", "buffered", "zerosize_ok"],
        op_dtypes=[values.dtype, dtype.code],
        buffersize=_BLOCK,
    )
    with blocks:
        for block, codes in blocks:
            codes[...] = np.rint(block.clip(low, high))
            codes[np.isnan(block)] = lists.TYPES[dtype.name].high
        return blocks.operands[1]


def _encode_e8m0(values: Floats) -> Codes:
    """e8m0 codes: the exponent bits of the value, without sign and mantissa. NaN and infinity give
    0xff."""
    exponent = (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 23) & 0xFF
    return exponent.astype(np.uint8).view(ml_dtypes.float8_e8m0fnu)
