# SPDX-License-Identifier: Apache-2.0
"""Checks that an array has the data type, shape and strides of a memory descriptor.

Raw bytes have none of these, so they are not checked: bytes, a bytearray, another buffer of bytes,
or a 1-D array of uint8.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zemm._library import library
from zemm._library.codes import items_of, span_of
from zemm._library.lists import TYPES
from zemm.dtypes import SUB_BYTE, numpy_dtype
from zemm.errors import InvalidArgumentsError
from zemm.memory_desc import MemoryDesc
from zemm.words import DataType

Shape = tuple[int, ...]

_RAW = "raw bytes (bytes, or a 1-D array of uint8) are taken as they are"


@dataclass(frozen=True)
class ArrayLayout:
    """How an array lies in a memory's buffer. strides, and offset of the first element, are in
    elements.

    For a 4-bit data type an element is a uint8 with two values.
    """

    data_type: DataType
    dtype: np.dtype[Any]
    shape: Shape
    strides: Shape
    offset: int = 0

    def view(self, data: NDArray[np.uint8]) -> NDArray[Any]:
        """A view of the elements in the bytes of a buffer."""
        size = self.dtype.itemsize
        strides = [size * s for s in self.strides]
        # Not as_strided(), which does not know all types of ml_dtypes.
        return np.ndarray(self.shape, self.dtype, data, self.offset * size, strides)

    def check(self, array: NDArray[Any], name: str) -> None:
        """Raise ValueError unless the array has this type and shape. Its strides may differ."""
        if array.dtype != self.dtype:
            convert = "astype() converts values, view() reads the bytes as another type"
            if self.data_type in SUB_BYTE:
                convert = f"{_span_text(self.data_type)}, see zemm.pack_int{TYPES[self.data_type].bits}()"
            raise InvalidArgumentsError(
                f"{name} has type {array.dtype}, the descriptor wants {self.dtype}: {convert}; {_RAW}"
            )
        if array.shape != self.shape:
            raise InvalidArgumentsError(
                f"{name} has shape {array.shape}, the descriptor wants {self.shape}; {_RAW}"
            )

    def check_in_place(self, array: NDArray[Any], name: str, size: int) -> None:
        """Raise ValueError unless the array's own memory can be the buffer, which has `size`
        bytes."""
        self.check(array, name)
        if self.offset:
            raise InvalidArgumentsError(
                f"the descriptor begins {self.offset} elements into its buffer, {name} at its first: give the"
                f" whole buffer; {_RAW}"
            )
        strides = tuple(s // array.itemsize for s in array.strides)
        pairs = zip(strides, self.strides, self.shape, strict=True)
        if array.size and any(have != want for have, want, count in pairs if count > 1):
            raise InvalidArgumentsError(
                f"{name} has strides {strides} in elements, the descriptor wants {self.strides}: bring the"
                f" array into that order, or write() it, which copies from any order; {_RAW}"
            )
        if array.nbytes < size:
            raise InvalidArgumentsError(
                f"{name} has {array.nbytes} bytes without its gaps, the descriptor wants {size}; {_RAW}"
            )


def layout_of(md: MemoryDesc, index: int = 0) -> ArrayLayout:
    """The layout of an array with the elements of buffer `index`. ValueError if no array can have
    it."""
    if md.format_kind == "sparse":
        return _layout_of_part(md, index)
    if md.format_kind != "blocked" or library.RUNTIME_DIM in (*md.dims, *md.strides):
        raise InvalidArgumentsError(f"{md!r} has no layout that an array could have")
    if md.inner_nblks:
        raise InvalidArgumentsError(
            f"{md!r} has blocks, which no array has: zemm.reorder() makes it from a row-major memory; {_RAW}"
        )
    if any(stride == 0 and count > 1 for stride, count in zip(md.strides, md.dims, strict=True)):
        raise InvalidArgumentsError(f"{md!r} has strides {md.strides}: elements share a place; {_RAW}")
    name, dims, strides, offset = md.data_type, md.dims, md.strides, md.offset0
    if name not in SUB_BYTE:
        return ArrayLayout(name, numpy_dtype(name), dims, strides, offset)
    inner = next((d for d in reversed(range(md.ndims)) if strides[d] == 1 and dims[d] > 1), None)
    span = span_of(name).elements
    if inner is None or dims[inner] % span or offset % span:
        raise InvalidArgumentsError(f"{md!r} has rows that end inside a byte, {_span_text(name)}; {_RAW}")
    parts = tuple(items_of(name, n) if d == inner else n for d, n in enumerate(dims))
    steps = tuple(1 if d == inner else items_of(name, s) for d, s in enumerate(strides))
    return ArrayLayout(name, np.dtype(np.uint8), parts, steps, items_of(name, offset))


def _span_text(name: str) -> str:
    span = span_of(name)
    return f"{name} has {span.elements} elements to {'a byte' if span.items == 1 else f'{span.items} bytes'}"


def _layout_of_part(md: MemoryDesc, index: int) -> ArrayLayout:
    """The layout of a buffer of a sparse tensor: a 1-D array of values or indices."""
    name = md.part_data_type(index)
    dtype = np.dtype(np.uint8) if name in SUB_BYTE else numpy_dtype(name)
    return ArrayLayout(name, dtype, (md.part_size(index) // dtype.itemsize,), (1,))


def is_raw(array: NDArray[Any]) -> bool:
    return array.dtype == np.uint8 and array.ndim == 1 and array.flags.c_contiguous


def array_of(buffer: Any) -> NDArray[Any] | None:
    """The object as an array, without a copy. None if it is neither an array nor a buffer of
    Python's."""
    if isinstance(buffer, (np.ndarray, np.generic)):
        return np.asarray(buffer)
    try:
        view = memoryview(buffer)
    except TypeError:
        return None
    is_bytes = view.format in ("B", "c", "<c") and view.c_contiguous
    return np.frombuffer(buffer, np.uint8) if is_bytes else np.asarray(view)
