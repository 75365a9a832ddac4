# SPDX-License-Identifier: Apache-2.0
"""Memory of one tensor: guarded host memory used in place by the CPU engine, library memory on a GPU."""

from dataclasses import replace
from typing import Any

import numpy as np

from zemm.benchdnn.dtypes import Floats
from zemm.benchdnn.layout import Bytes, Layout, layout_of

_GUARD = 4096
_PATTERN = 0xA5
_UNWRITTEN = 0xFF


class Buffer:
    """`memory` is the library's object for descriptor `md`. On the CPU the tensor lies between two guards."""

    def __init__(self, zemm: Any, engine: Any, md: Any) -> None:
        self.layout = layout_of(md)
        self._guarded: Bytes | None = None
        if engine.kind == "cpu":
            self._guarded = _aligned(md.size + 2 * _GUARD)
            self._guarded[:] = _PATTERN
            self.memory = zemm.Memory(md, engine, self._inside(self._guarded))
        else:
            self.memory = zemm.Memory(md, engine)
        self.fill_bytes(_UNWRITTEN)

    @property
    def size(self) -> int:
        """Bytes of the tensor."""
        return self.layout.size

    def fill_bytes(self, byte: int) -> None:
        """Set every byte, gaps between strides included."""
        self.write_raw(np.full(self.size, byte, np.uint8))

    def store(self, values: Floats, data_type: str = "") -> None:
        """Write logical values, as `data_type` of the same width where it is not the tensor's own."""
        raw = self.raw()
        self.layout_as(data_type).store(values, raw)
        self.write_raw(raw)

    def load(self) -> Floats:
        """The logical values in memory."""
        return self.layout.load(self.raw())

    def layout_as(self, data_type: str) -> Layout:
        """The layout read with another data type."""
        return replace(self.layout, data_type=data_type or self.layout.data_type)

    def raw(self) -> Bytes:
        """The bytes of the tensor: on the CPU the memory itself, else a copy."""
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
        """Whether nothing was written before or behind the tensor (known on the CPU only)."""
        if self._guarded is None:
            return True
        before, behind = self._guarded[:_GUARD], self._guarded[_GUARD + self.size :]
        return bool((before == _PATTERN).all() and (behind == _PATTERN).all())

    def _inside(self, guarded: Bytes) -> Bytes:
        return guarded[_GUARD : _GUARD + self.size]


def _aligned(size: int) -> Bytes:
    """`size` bytes that start at a multiple of the guard's size, which keeps the tensor page-aligned."""
    block = np.empty(size + _GUARD, np.uint8)
    skip = -block.ctypes.data % _GUARD
    return block[skip : skip + size]
