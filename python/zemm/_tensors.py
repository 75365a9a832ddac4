# SPDX-License-Identifier: Apache-2.0
"""Makes memories of numpy arrays: without a copy on a CPU engine, by a copy to a GPU."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zemm import _check
from zemm._numbers import as_float32
from zemm.dtypes import FOUR_BIT, dtype_name, pack_int4, type_of
from zemm.engine import Engine
from zemm.errors import InvalidArgumentsError
from zemm.memory import Memory
from zemm.memory_desc import MemoryDesc
from zemm.words import DataType, DType

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Tensor:
    """An array with the dims, data type and strides (in elements) of its memory descriptor."""

    array: NDArray[Any]
    dims: Shape
    data_type: DataType
    strides: Shape

    def md(self) -> MemoryDesc:
        return _describe(self.dims, self.data_type, self.strides)

    def memory(self, engine: Engine) -> Memory:
        md = self.md()
        if engine.kind == "cpu":
            return Memory.from_handle(md, engine, self.array.ctypes.data, keep=self.array)
        memory = Memory(md, engine)
        if md.size:
            memory.write(_bytes_in_order(self.array))
        return memory


@lru_cache(maxsize=1024)
def _describe(dims: Shape, data_type: DataType, strides: Shape) -> MemoryDesc:
    """Programs multiply the same few shapes, and making a descriptor takes longer than to find it."""
    return MemoryDesc(dims, data_type, strides=strides)


def operand(values: ArrayLike, name: str) -> NDArray[Any]:
    """src or weights as an array. Numbers that are in no array yet become float32.

    ValueError: they are no array, or integers of more than 8 bits.
    """
    array = _check.array(values, name)
    if array.dtype == np.float64 and not hasattr(values, "dtype"):
        return as_float32(array, name)
    if array.dtype.kind in "iub" and array.dtype not in (np.int8, np.uint8):
        raise InvalidArgumentsError(
            f"{name} has type {array.dtype}: cast it, as in {name}.astype(np.int8) or .astype(np.float32)"
        )
    return array


def with_type(weights: NDArray[Any], wanted: DType | None) -> tuple[NDArray[Any], DataType]:
    """Weights as stored, and their data type. wanted: the 4-bit type of bytes with two values each.
    Arrays of 4-bit types are packed along their last axis."""
    own = type_of(weights, "weights")
    dtype = None if wanted is None else dtype_name(wanted, "weights_dtype")
    if own in FOUR_BIT:
        if dtype not in (None, own):
            raise InvalidArgumentsError(f"weights have type {own}, weights_dtype is {dtype!r}")
        return pack_int4(weights), own
    if dtype is not None and dtype != own and (dtype not in FOUR_BIT or own not in ("u8", "s8")):
        raise InvalidArgumentsError(
            f"weights have type {own}, weights_dtype is {dtype!r}: it is for bytes with two values of a 4-bit"
            " type each; astype() converts values, view() reads bytes as another type"
        )
    return weights, dtype or own


def tensor(
    array: NDArray[Any], data_type: DataType, ndims: int, engine: Engine, packed_axis: int = -1
) -> Tensor:
    """Describe an array for an engine, with ndims dimensions (1s are put in front).

    packed_axis: the axis (-1 or -2) along which a byte holds two elements of a 4-bit type. An array
    that a memory descriptor cannot describe is copied to a dense one: overlapping, reversed,
    unaligned or with foreign byte order. So is an array with gaps for a GPU, as its bytes are
    copied as a whole. A copy keeps the order of the axes: it gives the bits that the array would.
    """
    array = array.reshape((1,) * (ndims - array.ndim) + array.shape)
    if not in_place(array, engine):
        swap = packed_axis != -1
        array = array.swapaxes(-1, -2) if swap else array
        # Bytes with two values need their axis innermost, and broadcast axes have no order.
        row_major = data_type in FOUR_BIT or 0 in array.strides
        array = np.array(array, array.dtype.newbyteorder("="), order="C" if row_major else "K")
        array = array.swapaxes(-1, -2) if swap else array
    dims = list(array.shape)
    strides = _element_strides(array)
    if data_type in FOUR_BIT:
        axis = ndims + packed_axis
        dims[axis] *= 2
        strides = [1 if d == axis else 2 * stride for d, stride in enumerate(strides)]
    return Tensor(array, tuple(dims), data_type, tuple(strides))


def in_place(array: NDArray[Any], engine: Engine) -> bool:
    """Whether the array can be a memory of the engine with its own bytes and strides."""
    if not array.dtype.isnative or not array.flags.aligned:
        return False
    gaps = engine.kind == "cpu"
    span = array.itemsize
    for stride, count in sorted((s, n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < span or stride % array.itemsize or (stride > span and not gaps):
            return False
        span = stride * count
    return True


def owned(array: NDArray[Any]) -> NDArray[Any]:
    """A copy for an object that keeps it: dense, row-major, in this machine's byte order, read-only."""
    made = np.array(array, array.dtype.newbyteorder("="), order="C")
    made.flags.writeable = False
    return made


def shares_places(array: NDArray[Any]) -> bool:
    """Whether elements of the array may overlap in memory."""
    if array.size < 2:  # numpy gives arrays without elements strides of 0
        return False
    span = array.itemsize
    for stride, count in sorted(
        (abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1
    ):
        if stride < span:
            return True
        span += stride * (count - 1)
    return False


def _element_strides(array: NDArray[Any]) -> list[int]:
    """The array's strides in elements. Dimensions of size 1, where numpy's strides are arbitrary,
    get those of a dense array."""
    strides = [0] * array.ndim
    inner = 1
    for d in reversed(range(array.ndim)):
        strides[d] = array.strides[d] // array.itemsize if array.shape[d] > 1 else inner
        inner = max(inner, strides[d] * max(array.shape[d], 1))
    return strides


def _bytes_in_order(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of a dense array in the order of their addresses."""
    order = sorted(range(array.ndim), key=lambda d: (-array.strides[d], d))
    return array.transpose(order).reshape(-1).view(np.uint8)
