# SPDX-License-Identifier: Apache-2.0
"""Converts numbers of Python and numpy to zemm's data types, and refuses those that a type cannot
hold."""

import math
from numbers import Integral
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from zemm._check import shown
from zemm.dtypes import FOUR_BIT, numpy_dtype
from zemm.errors import InvalidArgumentsError
from zemm.words import DataType

_INTEGERS = ("s8", "u8", "s32", "s64", "s4", "u4")
_F4_MAX = 6.0  # f4_e2m1 has neither infinity nor NaN, so its overflow shows only in the value


def as_float32(array: NDArray[Any], name: str, may_vanish: bool = True) -> NDArray[Any]:
    """A float64 array as float32; arrays of other types unchanged.

    ValueError: a number is too large for float32 or, unless may_vanish, would become 0.
    """
    if array.dtype.newbyteorder("=") != np.float64:
        return array
    with np.errstate(over="ignore", under="ignore"):
        narrow = array.astype(np.float32)
    bad = np.isinf(narrow) & np.isfinite(array)
    if not may_vanish:
        bad |= (narrow == 0) & (array != 0)
    if bad.any():
        raise InvalidArgumentsError(f"{name} has {array[bad].flat[0]}, which float32 cannot hold")
    return narrow


def float32_of(value: Any, name: str) -> float:
    """The value as a number that fits a C float. ValueError if it does not. name: for the error."""
    number = _number(value, name)
    as_float32(np.asarray(number, np.float64), name)
    return float(number)


def scalar_of(value: Any, data_type: DataType) -> NDArray[Any]:
    """One number as a 0-d array of the data type, rounded to nearest if that is floating-point.

    ValueError: the value is no single real number; it is a fraction or out of range for an integer
    type; or a floating-point type could hold it only as infinity, NaN or 0.
    """
    number, dtype = _number(value, "value"), numpy_dtype(data_type)
    if data_type in _INTEGERS:
        limits = ml_dtypes.iinfo(dtype) if data_type in FOUR_BIT else np.iinfo(dtype)
        if not limits.min <= number <= limits.max:  # also true for NaN
            raise InvalidArgumentsError(
                f"value {number} is outside of {limits.min}..{limits.max}, the range of {data_type}"
            )
        if number != int(number):
            raise InvalidArgumentsError(f"value {number} is no integer: {data_type} cannot hold it")
        return np.asarray(int(number)).astype(dtype)
    with np.errstate(over="ignore", under="ignore"):
        made = np.asarray(float(number)).astype(dtype)
    got = float(made)
    fits = math.isnan(got) == math.isnan(number) and math.isinf(got) == math.isinf(number)
    if not fits or (got == 0) != (number == 0) or (data_type == "f4_e2m1" and abs(number) > _F4_MAX):
        raise InvalidArgumentsError(f"value {number} does not fit into {data_type}: it would become {got}")
    return made


def _number(value: Any, name: str) -> int | float:
    """The value as an int or float of Python. ValueError if it is not a single number."""
    if isinstance(value, np.ndarray) and value.ndim:
        raise InvalidArgumentsError(f"{name} of shape {value.shape} is not a single number")
    plain = value.item() if isinstance(value, (np.ndarray, np.generic)) else value
    if not isinstance(plain, Integral) and not hasattr(type(plain), "__float__"):
        raise InvalidArgumentsError(f"{name} is {shown(plain)}, not a number")
    try:
        number = float(plain)
    except OverflowError:
        raise InvalidArgumentsError(f"{name} is an integer too large for any data type") from None
    except (TypeError, ValueError):
        raise InvalidArgumentsError(f"{name} is {shown(plain)}, not a single number") from None
    return int(plain) if isinstance(plain, Integral) else number
