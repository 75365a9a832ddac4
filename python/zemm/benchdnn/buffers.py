# SPDX-License-Identifier: Apache-2.0
"""The memory of one tensor: host memory between guards for a CPU engine, the library's memory for a
GPU or a sparse tensor."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zemm.benchdnn.dtypes import Floats, encode
from zemm.benchdnn.layout import Bytes, Layout, layout_of

_GUARD = 4096
_PATTERN = 0xA5
UNWRITTEN = 0xFF


class Buffer:
    """The memory object `memory` of a descriptor, and its bytes.

    On a CPU engine the bytes lie between two guards, which show writes outside of the tensor. Bytes
    are 0xff until they are filled.
    """

    def __init__(self, zemm: Any, engine: Any, md: Any) -> None:
        self.layout = layout_of(md)
        self._guarded: Bytes | None = None
        if engine.kind == "cpu":
            self._guarded = _aligned(md.size + 2 * _GUARD)
            self._guarded[:] = _PATTERN
            self.memory = zemm.Memory(md, engine, self._inside(self._guarded))
        else:
            self.memory = zemm.Memory(md, engine)
        self.fill_bytes(UNWRITTEN)

    @property
    def size(self) -> int:
        """The bytes of the tensor."""
        return self.layout.size

    def fill_bytes(self, byte: int) -> None:
        """Set every byte, including gaps between strides."""
        self.write_raw(np.full(self.size, byte, np.uint8))

    def store(self, values: Floats, data_type: str = "") -> None:
        """Write values in logical order. data_type: another type of the same width to write them
        as."""
        raw = self.raw()
        self.layout_as(data_type).store(values, raw)
        self.write_raw(raw)

    def load(self) -> Floats:
        """The values in memory, in logical order."""
        return self.layout.load(self.raw())

    def layout_as(self, data_type: str) -> Layout:
        """The layout with another data type; unchanged for an empty one."""
        return replace(self.layout, data_type=data_type or self.layout.data_type)

    def raw(self) -> Bytes:
        """The bytes of the tensor: the memory itself on a CPU engine, else a copy."""
        if self._guarded is not None:
            return self._inside(self._guarded)
        raw: Bytes = self.memory.read() if self.size else np.zeros(0, np.uint8)
        return raw

    def write_raw(self, raw: Bytes) -> None:
        """Replace all bytes of the tensor."""
        if self._guarded is not None:
            inside = self._inside(self._guarded)
            if inside.ctypes.data != raw.ctypes.data:
                inside[:] = raw
        elif self.size:
            self.memory.write(raw)

    def is_intact(self) -> bool:
        """Whether both guards are unchanged. Always true on a GPU, where there are none."""
        if self._guarded is None:
            return True
        before, behind = self._guarded[:_GUARD], self._guarded[_GUARD + self.size :]
        return bool((before == _PATTERN).all() and (behind == _PATTERN).all())

    def _inside(self, guarded: Bytes) -> Bytes:
        return guarded[_GUARD : _GUARD + self.size]


class SparseBuffer:
    """The memory object `memory` of a tensor in CSR or COO, in the library's memory. places: whether an
    element is stored, as zeros may be, too."""

    def __init__(self, zemm: Any, engine: Any, md: Any, places: NDArray[np.bool_], is_coo: bool) -> None:
        self.memory = zemm.Memory(md, engine)
        self.size = sum(md.part_size(part) for part in range(3))
        self.places = places
        rows, columns = (index.astype(np.int32) for index in np.nonzero(places))
        if is_coo:
            metadata = (rows, columns)
        else:
            ends = np.cumsum(places.sum(axis=1), dtype=np.int32)
            metadata = (columns, np.concatenate([np.zeros(1, np.int32), ends]))
        for part, indices in enumerate(metadata, 1):
            if md.part_size(part):  # else the tensor has no elements
                self.memory.write(indices.view(np.uint8), part)

    def store(self, values: Floats) -> None:
        """Write the stored ones of values, which are in logical order."""
        if not self.memory.md.size:
            return
        stored = encode(values[self.places], self.memory.md.data_type)
        self.memory.write(np.ascontiguousarray(stored).view(np.uint8))

    def fill_bytes(self, byte: int) -> None:
        """Set every byte of the values."""
        self.memory.write(np.full(self.memory.md.part_size(0), byte, np.uint8))

    def is_intact(self) -> bool:
        """True: there are no guards."""
        return True


def _aligned(size: int) -> Bytes:
    """`size` bytes that begin at a multiple of the guard's size, a page, so that the tensor does as
    well."""
    block = np.empty(size + _GUARD, np.uint8)
    skip = -block.ctypes.data % _GUARD
    return block[skip : skip + size]
