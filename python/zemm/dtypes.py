# SPDX-License-Identifier: Apache-2.0
"""zemm's names of data types, the numpy types for them, packing of elements of fewer than 8 bits into bytes,
and numbers of Python in these types, which refuse what they cannot hold."""

import math
from numbers import Integral
from typing import Any, Literal

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike, NDArray

from zemm._library import check
from zemm._library.check import shown
from zemm._library.codes import join, numbers_of, split
from zemm._library.library import value_of
from zemm._library.lists import TYPES
from zemm.errors import InvalidArgumentsError
from zemm.words import DataType, DType

_NUMPY: dict[DataType, np.dtype[Any]] = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "s8": np.dtype(np.int8),
    "u3": np.dtype(np.uint8),  # numpy has no type of its own: bytes are u8 unless they are a PackedInt3
    "u8": np.dtype(np.uint8),
    "s32": np.dtype(np.int32),
    "s64": np.dtype(np.int64),
    "f8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "f8_e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "e8m0": np.dtype(ml_dtypes.float8_e8m0fnu),
    # numpy stores one element in a byte, zemm several: see pack_int4() and pack_int2().
    "s4": np.dtype(ml_dtypes.int4),
    "u4": np.dtype(ml_dtypes.uint4),
    "u2": np.dtype(ml_dtypes.uint2),
    "f4_e2m1": np.dtype(ml_dtypes.float4_e2m1fn),
}
_NAMES: dict[np.dtype[Any] | None, DataType] = {dtype: name for name, dtype in _NUMPY.items()}
_BY_WORD: dict[str, DataType] = {dtype.name: name for name, dtype in _NUMPY.items()} | {n: n for n in _NUMPY}

# Several of their elements share a byte.
SUB_BYTE = frozenset(t.name for t in TYPES.values() if t.bits < 8)
FLOATING = frozenset(t.name for t in TYPES.values() if t.kind == "floating" and t.bits >= 16)
_F4_MAX = TYPES["f4_e2m1"].high  # it has neither infinity nor NaN, so its overflow shows only in the value


def numpy_dtype(dtype: DType | str) -> np.dtype[Any]:
    """The numpy type of one element of a data type, in any spelling that dtype_name() takes."""
    return _NUMPY[dtype_name(dtype)]


def dtype_name(dtype: DType | str, what: str = "dtype") -> DataType:
    """zemm's name ("f16", "s8", ...) of a data type.

    dtype: zemm's name, numpy's name ("float16"), a type or np.dtype of numpy or ml_dtypes, or a
    dtype of torch ("torch.float16" is its name). what: the argument's name, for the error.
    ValueError: anything else. numpy's letter codes are refused, as its "f8" means eight bytes and
    zemm's f8_e5m2 eight bits.
    """
    name = _BY_WORD.get(dtype) if isinstance(dtype, str) else None
    if name is not None:
        return name
    if isinstance(dtype, str) or type(dtype).__module__ == "torch":
        name = _BY_WORD.get(str(dtype).removeprefix("torch."))
    else:
        name = _NAMES.get(_native(dtype))
    if name is None:
        known = ", ".join(f"{name} ({dtype})" for name, dtype in _NUMPY.items())
        raise InvalidArgumentsError(f"{what} is {shown(dtype)}, no data type of zemm; there are: {known}")
    return name


def type_number(dtype: DType | Literal["undef"], what: str = "dtype") -> int:
    """The number of a data type in C; "undef" is one, too, where the library takes it."""
    is_undef = isinstance(dtype, str) and dtype == "undef"
    return value_of("data_type", "undef" if is_undef else dtype_name(dtype, what))


def _native(dtype: Any) -> np.dtype[Any] | None:
    """The numpy type of a type, in this machine's byte order. None if there is none."""
    if not isinstance(dtype, (np.dtype, type)):
        return None
    try:
        return np.dtype(dtype).newbyteorder("=")
    except (TypeError, ValueError):
        return None


def type_of(array: NDArray[Any], name: str) -> DataType:
    """zemm's name of an array's data type. name: of the argument, for the error."""
    found = _NAMES.get(array.dtype.newbyteorder("="))
    if found is None:
        known = ", ".join(str(dtype) for dtype in _NAMES)
        raise InvalidArgumentsError(
            f"{name} has type {array.dtype}, none of {known}: cast it, as in {name}.astype(np.float32)"
        )
    return found


def pack_int4(values: ArrayLike) -> NDArray[np.uint8]:
    """Pack two 4-bit integers into each byte, the even element into the low nibble (zemm's s4 and
    u4).

    values: integers [.., n], all in -8..7 (s4) or all in 0..15 (u4), or an array of
    ml_dtypes.float4_e2m1fn, whose codes are packed (zemm's f4_e2m1). Returns row-major uint8 [.., n
    / 2]. A 1-D array may have an odd n; the last high nibble is then 0. ValueError: other values or
    shapes.
    """
    return _packed(values, 4)


def pack_int2(values: ArrayLike) -> NDArray[np.uint8]:
    """Pack four 2-bit integers into each byte, the first into the lowest bits (zemm's u2).

    values: integers [.., n], all in 0..3. Returns row-major uint8 [.., n / 4]. A 1-D array may have any n;
    the last bits are then 0. ValueError: other values or shapes.
    """
    return _packed(values, 2)


def pack_int3(values: ArrayLike) -> NDArray[np.uint8]:
    """Pack eight 3-bit integers into three bytes, the first into the lowest bits (zemm's u3).

    values: integers [.., n], all in 0..7. Returns row-major uint8 [.., 3 n / 8]. A 1-D array may have any n;
    the last bits are then 0. ValueError: other values or shapes.
    """
    return _packed(values, 3)


def pack_values(values: NDArray[Any], data_type: str) -> NDArray[np.uint8]:
    """Values of a type of fewer than 8 bits, packed as pack_int4() does."""
    return _packed(values, TYPES[data_type].bits)


def _packed(values: ArrayLike, bits: int) -> NDArray[np.uint8]:
    array = check.array(values, "values")
    own = _NAMES.get(array.dtype)
    is_code = own in SUB_BYTE and TYPES[own].bits == bits
    array = array.view(np.uint8) if is_code else array
    if array.dtype.kind not in "iu":
        raise InvalidArgumentsError(f"values of type {array.dtype} are not integers")
    if array.ndim == 0:
        raise InvalidArgumentsError("values is a single number, not an array")
    if array.size and not is_code:
        _check_range(array.min(), array.max(), bits)
    span = 8 // math.gcd(bits, 8)
    if array.ndim > 1 and array.shape[-1] % span:
        what = "odd" if span == 2 else f"no multiple of {span}"
        raise InvalidArgumentsError(
            f"the last dimension of values {array.shape} is {what}: a row ends inside a byte"
        )
    return join(array.astype(np.uint8, order="C", copy=False), bits)


def _check_range(low: int, high: int, bits: int) -> None:
    types = [t for t in TYPES.values() if t.bits == bits and t.kind == "integer"]
    if not any(t.low <= low and high <= t.high for t in types):
        ranges = [f"in {t.low}..{t.high} ({t.name})" for t in types]
        known = f"not {ranges[0]}" if len(ranges) == 1 else f"neither {' nor '.join(ranges)}"
        raise InvalidArgumentsError(f"values lie in {low}..{high}, which is {known}")


def unpack_int4(packed: ArrayLike | bytes, count: int, signed: bool) -> NDArray[np.int8] | NDArray[np.uint8]:
    """Unpack the first `count` 4-bit integers of packed bytes: int8 [count] if signed, else uint8
    [count]."""
    codes = _unpacked(packed, count, 4)
    return numbers_of(codes, "s4" if check.flag(signed, "signed") else "u4")


def unpack_int2(packed: ArrayLike | bytes, count: int) -> NDArray[np.uint8]:
    """Unpack the first `count` 2-bit integers of packed bytes: uint8 [count]."""
    return _unpacked(packed, count, 2)


def unpack_int3(packed: ArrayLike | bytes, count: int) -> NDArray[np.uint8]:
    """Unpack the first `count` 3-bit integers of packed bytes: uint8 [count]."""
    return _unpacked(packed, count, 3)


def _unpacked(packed: ArrayLike | bytes, count: int, bits: int) -> NDArray[np.uint8]:
    data = _bytes_of(packed)
    what = f"count of values in the {data.size} bytes of packed"
    return split(data, bits)[: check.integer(count, what, 0, data.size * 8 // bits)]


def _bytes_of(packed: ArrayLike | bytes) -> NDArray[np.uint8]:
    if isinstance(packed, (bytes, bytearray)):
        packed = np.frombuffer(packed, np.uint8)
    data = check.array(packed, "packed")
    if data.dtype not in (np.uint8, np.int8):
        raise InvalidArgumentsError(f"packed is of type {data.dtype}, not bytes")
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8)


class PackedInt4(np.ndarray[Any, Any]):
    """An array of bytes with two 4-bit values each that knows their type: data_type is "u4", "s4" or
    "f4_e2m1" (of PackedInt2, four values each, "u2"). So whoever takes weights needs no weights_dtype.
    packed: uint8, as from zemm.pack_int4(); its bytes are not copied.

    Views and copies are PackedInt4, too. Results of arithmetic are ordinary arrays, as is
    np.asarray(packed), which copies nothing.
    """

    data_type: DataType | None
    _bits = 4

    def __new__(cls, packed: NDArray[np.uint8], data_type: DType) -> "PackedInt4":
        array, name = check.array(packed, "packed"), dtype_name(data_type, "data_type")
        if array.dtype != np.uint8:
            raise InvalidArgumentsError(f"packed has type {array.dtype}, not uint8")
        if TYPES[name].bits != cls._bits:
            known = ", ".join(sorted(t.name for t in TYPES.values() if t.bits == cls._bits and t.roles))
            raise InvalidArgumentsError(f"data_type is {name}, none of {known}")
        made = array.view(cls)
        made.data_type = name
        return made

    def __array_finalize__(self, source: Any) -> None:
        self.data_type = getattr(source, "data_type", None) if self.dtype == np.uint8 else None

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain

    def __reduce__(self) -> tuple[Any, ...]:
        plain = np.asarray(self)
        return (np.asarray, (plain,)) if self.data_type is None else (type(self), (plain, self.data_type))


class PackedInt2(PackedInt4):
    """Bytes with four 2-bit values each, as from zemm.pack_int2(): data_type is "u2"."""

    _bits = 2


class PackedInt3(PackedInt4):
    """Bytes of which three have eight 3-bit values, as from zemm.pack_int3(): data_type is "u3"."""

    _bits = 3


_PACKED = {kind._bits: kind for kind in (PackedInt4, PackedInt3, PackedInt2)}


def packed_array(packed: NDArray[np.uint8], data_type: DataType) -> PackedInt4:
    """Bytes of a type of fewer than 8 bits as an array that knows it."""
    return _PACKED[TYPES[data_type].bits](packed, data_type)


def own_dtype(values: Any, wanted: DType | None) -> DType | None:
    """weights_dtype for values that may know their type. ValueError: it is another one."""
    own = values.data_type if isinstance(values, PackedInt4) else None
    if own is not None and wanted is not None and dtype_name(wanted, "weights_dtype") != own:
        raise InvalidArgumentsError(f"weights have type {own}, weights_dtype is {shown(wanted)}")
    return own if own is not None else wanted


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
    if TYPES[data_type].kind == "integer":
        low, high = TYPES[data_type].low, TYPES[data_type].high
        if not low <= number <= high:  # also true for NaN
            raise InvalidArgumentsError(
                f"value {number} is outside of {low}..{high}, the range of {data_type}"
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
