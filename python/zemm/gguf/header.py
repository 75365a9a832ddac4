# SPDX-License-Identifier: Apache-2.0
"""Reads the header of a GGUF file: metadata, and a list of tensors.

The package gguf has a reader, too. It takes more than ten times as long for a file with a usual
vocabulary, because it keeps an array for every string, and follows a damaged count until memory ends.
Here every count and offset is compared with the size of the file before it is used.
"""

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zemm.errors import InvalidArgumentsError

_NUMBERS = {
    "UINT8": "u1",
    "INT8": "i1",
    "UINT16": "<u2",
    "INT16": "<i2",
    "UINT32": "<u4",
    "INT32": "<i4",
    "FLOAT32": "<f4",
    "BOOL": "?",
    "UINT64": "<u8",
    "INT64": "<i8",
    "FLOAT64": "<f8",
}
_MOST_DIMS = 4
_MOST_DEPTH = 8  # of arrays in arrays; no known file has any


class TensorEntry(NamedTuple):
    """A tensor in the list. dims: ggml's, K first. offset: in the part of the file with data."""

    name: str
    dims: tuple[int, ...]
    type: int
    offset: int


class Header(NamedTuple):
    """data_start: where in the file the tensors' data begins."""

    metadata: dict[str, Any]
    tensors: list[TensorEntry]
    data_start: int


def read_header(data: NDArray[np.uint8], gguf: ModuleType) -> Header:
    """The header of a file of these bytes. gguf: the package of that name.

    ValueError: it is no GGUF file, of another version, or damaged.
    """
    cursor = _Cursor(data, gguf)
    if data[:4].tobytes() != b"GGUF":
        raise InvalidArgumentsError(f"it begins with {data[:4].tobytes()!r}, not with b'GGUF'")
    cursor.skip(4)
    version = cursor.uint32("the version")
    if version & 0xFFFF == 0:
        raise InvalidArgumentsError(
            "it is big-endian: convert it with gguf_convert_endian.py of the package gguf"
        )
    if version not in (2, 3):
        raise InvalidArgumentsError(f"it has version {version} of the format; zemm reads versions 2 and 3")
    tensor_count = cursor.uint64("the number of tensors")
    field_count = cursor.uint64("the number of fields")
    metadata: dict[str, Any] = {}
    cursor.check_count(field_count, 13, "fields")
    for index in range(field_count):
        key = cursor.text(f"the name of field {index}")
        if key in metadata:
            raise InvalidArgumentsError(f"it has the field {key!r} twice")
        metadata[key] = cursor.value(cursor.uint32(f"the type of field {key!r}"), f"field {key!r}")
    cursor.check_count(tensor_count, 32, "tensors")
    tensors = [cursor.tensor(index) for index in range(tensor_count)]
    alignment = metadata.get("general.alignment", gguf.GGUF_DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise InvalidArgumentsError(f"its general.alignment is {alignment!r}, no power of two")
    return Header(metadata, tensors, -(-cursor.place // alignment) * alignment)


class _Cursor:
    """A place in the header, which moves as values are read."""

    def __init__(self, data: NDArray[np.uint8], gguf: ModuleType) -> None:
        self.data = data.data
        self.types = {kind.value: kind.name for kind in gguf.GGUFValueType}
        self.place = 0

    def skip(self, size: int) -> None:
        self.place += size

    def _take(self, size: int, what: str) -> int:
        """The place of the next `size` bytes, which are then behind the cursor."""
        place = self.place
        if size > self.data.nbytes - place:
            raise InvalidArgumentsError(
                f"it ends at byte {self.data.nbytes}, inside {what}: {size} bytes from byte {place}"
            )
        self.place += size
        return place

    def check_count(self, count: int, least_size: int, what: str) -> None:
        """Refuse a count of things, each of some least size in bytes, that the file cannot hold."""
        if count * least_size > self.data.nbytes - self.place:
            raise InvalidArgumentsError(
                f"it is damaged: {count} {what} do not fit into {self.data.nbytes} bytes"
            )

    def uint32(self, what: str) -> int:
        return self._integer(4, what)

    def uint64(self, what: str) -> int:
        return self._integer(8, what)

    def _integer(self, size: int, what: str) -> int:
        place = self._take(size, what)
        return int.from_bytes(self.data[place : place + size], "little")

    def text(self, what: str, errors: str = "strict") -> str:
        """A string. errors: of bytes.decode()."""
        size = self._integer(8, what)
        place = self._take(size, what)
        try:
            return str(self.data[place : place + size], "utf-8", errors)
        except UnicodeDecodeError:
            raise InvalidArgumentsError(f"it is damaged: {what} is not UTF-8") from None

    def value(self, type_number: int, what: str, depth: int = 0) -> Any:
        """A value of metadata: a number, bool or str of Python. An array is an array of numpy, or a
        list if its elements are not numbers."""
        name = self._type_name(type_number, what)
        if name in _NUMBERS:
            return self._numbers(name, 1, what)[0].item()
        if name == "STRING":
            # Tokens of a vocabulary may be parts of UTF-8 sequences: other bytes become surrogates.
            return self.text(what, "surrogateescape")
        element, count = self.uint32(f"the type of {what}"), self.uint64(f"the length of {what}")
        name = self._type_name(element, what)
        if name in _NUMBERS:
            return self._numbers(name, count, what).copy()
        if depth == _MOST_DEPTH:
            raise InvalidArgumentsError(f"it is damaged: {what} has arrays in arrays, more than {depth} deep")
        self.check_count(count, 8, f"elements of {what}")
        return [self.value(element, what, depth + 1) for _ in range(count)]

    def _type_name(self, number: int, what: str) -> str:
        if number not in self.types:
            raise InvalidArgumentsError(f"it is damaged: {what} has the unknown type {number}")
        return self.types[number]

    def _numbers(self, name: str, count: int, what: str) -> NDArray[Any]:
        dtype = np.dtype(_NUMBERS[name])
        place = self._take(count * dtype.itemsize, what)
        return np.frombuffer(self.data, dtype, count, place)

    def tensor(self, index: int) -> TensorEntry:
        name = self.text(f"the name of tensor {index}")
        what = f"the entry of tensor {name!r}"
        ndims = self.uint32(what)
        if not 1 <= ndims <= _MOST_DIMS:
            raise InvalidArgumentsError(f"tensor {name!r} has {ndims} dimensions, not 1 to {_MOST_DIMS}")
        dims = tuple(self.uint64(what) for _ in range(ndims))
        if 0 in dims:
            raise InvalidArgumentsError(f"tensor {name!r} has dims {dims}: it has no elements")
        return TensorEntry(name, dims, self.uint32(what), self.uint64(what))
