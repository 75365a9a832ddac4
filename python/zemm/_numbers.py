# SPDX-License-Identifier: Apache-2.0
"""Numbers of Python and numpy in zemm's data types: those that a type cannot hold are refused."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zemm.errors import InvalidArgumentsError


def as_float32(array: NDArray[Any], name: str, may_vanish: bool = True) -> NDArray[Any]:
    """float64 as float32, other types as they are. may_vanish: small numbers may become 0."""
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
    """A number that becomes a float of C."""
    number = _number(value, name)
    as_float32(np.asarray(number, np.float64), name)
    return float(number)


def _number(value: Any, name: str) -> int | float:
    """The value as a number of Python."""
    if isinstance(value, np.ndarray) and value.ndim:
        raise InvalidArgumentsError(f"{name} of shape {value.shape} is not a single number")
    plain = value.item() if isinstance(value, (np.ndarray, np.generic)) else value
    if not isinstance(plain, Integral) and not hasattr(type(plain), "__float__"):
        raise InvalidArgumentsError(f"{name} is {plain!r}, not a number")
    try:
        number = float(plain)
    except OverflowError:
        raise InvalidArgumentsError(f"{name} is an integer too large for any data type") from None
    return int(plain) if isinstance(plain, Integral) else number
