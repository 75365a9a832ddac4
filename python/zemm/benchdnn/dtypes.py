# SPDX-License-Identifier: Apache-2.0
"""Data types: names, sizes, ranges, and conversion between f32 values and codes.

Codes are the stored form of values, in numpy arrays with one code per element; layout.py packs two
4-bit codes into a byte. Rounding follows oneDNN: floating-point types round half to even without
saturation, integers saturate and then round half to even, f4 saturates. benchdnn rounds f8 to f16
first; here, as in the kernels, f8 is rounded once.
"""

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from zemm._library.lists import TYPES
from zemm.benchdnn import atoms

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


def _float(name: str, code: type, digits: int, epsilon: float, high: float) -> DataType:
    return DataType(name, TYPES[name].bits, np.dtype(code), digits, epsilon, -high, high)


def _integer(name: str, code: type, digits: int, low: float, high: float) -> DataType:
    return DataType(name, TYPES[name].bits, np.dtype(code), digits, 0.0, low, high, True)


_F32_MAX = (2 - 2.0**-23) * 2.0**127
_TYPES = (
    _float("f16", np.float16, 11, 2.0**-10, 65504.0),
    _float("bf16", ml_dtypes.bfloat16, 8, 2.0**-7, (2 - 2.0**-7) * 2.0**127),
    _float("f32", np.float32, 24, 2.0**-23, _F32_MAX),
    _float("f64", np.float64, 24, 2.0**-52, _F32_MAX),
    _float("f8_e5m2", ml_dtypes.float8_e5m2, 3, 0.25, 57344.0),
    _float("f8_e4m3", ml_dtypes.float8_e4m3fn, 4, 0.125, 448.0),
    _float("f4_e2m1", ml_dtypes.float4_e2m1fn, 2, 0.5, 6.0),
    DataType("e8m0", TYPES["e8m0"].bits, np.dtype(ml_dtypes.float8_e8m0fnu), 1, 1.0, 2.0**-127, 2.0**127),
    _integer("s64", np.int64, 63, -(2.0**63), 2.0**63),
    _integer("s32", np.int32, 31, -(2.0**31), 2147483520.0),
    _integer("s8", np.int8, 7, -128, 127),
    _integer("u8", np.uint8, 8, 0, 255),
    _integer("s4", np.int8, 4, -8, 7),
    _integer("u4", np.uint8, 4, 0, 15),
)
BY_NAME = {t.name: t for t in _TYPES}
NAMES = (*BY_NAME, "undef")


def parse_data_type(text: str, what: str) -> str:
    """The name of a data type in lower case. UsageError if there is none of that name."""
    return atoms.choice(text, what, NAMES, "data type")


def encode(values: Floats, name: str) -> Codes:
    """The codes of values, rounded to the data type, in the same shape."""
    dtype = BY_NAME[name]
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
    clean = np.where(np.isnan(values), np.float32(dtype.high), values)
    whole: Floats = np.rint(np.clip(clean, np.float32(dtype.low), np.float32(dtype.high)))
    codes: Codes = whole.astype(dtype.code)
    if dtype.name == "s32":
        codes[np.isnan(values)] = np.iinfo(np.int32).max
    return codes


def _encode_e8m0(values: Floats) -> Codes:
    """e8m0 codes: the exponent bits of the value, without sign and mantissa. NaN and infinity give
    0xff."""
    exponent = (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 23) & 0xFF
    return exponent.astype(np.uint8).view(ml_dtypes.float8_e8m0fnu)
