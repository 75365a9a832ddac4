# SPDX-License-Identifier: Apache-2.0
"""The memory of one tensor: host memory between guards for a CPU engine, the library's memory for a
GPU."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zemm.benchdnn.data import contents
from zemm.benchdnn.data.layout import Bytes, Layout, SparseLayout, layout_of
from zemm.benchdnn.grammar.arguments import Argument
from zemm.benchdnn.grammar.dtypes import Floats
from zemm.benchdnn.grammar.encodings import Groups

_GUARD = 4096
_PATTERN = 0xA5
UNWRITTEN = 0xFF


class Buffer:
    """The memory object `memory` of a descriptor, and the bytes of its values.

    On a CPU engine each of its buffers lies between two guards, which show writes outside of the
    tensor. Values are 0xff until they are filled. A descriptor with several buffers needs `layout`,
    that of the values, and `metadata`, the content of the other buffers. behind: on a CPU engine, how many
    bytes after the start of a page a buffer begins.
    """

    def __init__(
        self,
        zemm: Any,
        engine: Any,
        md: Any,
        layout: Layout | SparseLayout | None = None,
        metadata: Sequence[NDArray[np.int32]] = (),
        behind: int = 0,
    ) -> None:
        self.layout = layout or layout_of(md)
        self.metadata = metadata
        self._guarded: list[_Guarded] = []
        if engine.kind == "cpu":
            self._guarded = [_Guarded(md.part_size(part), behind) for part in range(md.num_handles)]
            addresses = [guarded.address for guarded in self._guarded]
            self.memory = zemm.Memory.from_handle(md, engine, addresses, self._guarded)
        else:
            self.memory = zemm.Memory(md, engine)
        for part, content in enumerate(metadata, 1):
            self.memory.write(content.view(np.uint8), part)
        self.fill_bytes(UNWRITTEN)

    @property
    def size(self) -> int:
        """The bytes of the tensor."""
        return self.layout.size + sum(content.nbytes for content in self.metadata)

    def fill_bytes(self, byte: int) -> None:
        """Set every byte of the values, including gaps between strides."""
        raw = self.raw()
        raw[:] = byte
        self.write_raw(raw)

    def store(self, values: Floats, data_type: str = "") -> None:
        """Write values in logical order. data_type: another type of the same width to write them
        as."""
        raw = self.raw()
        replace(self.layout, data_type=data_type or self.layout.data_type).store(values, raw)
        self.write_raw(raw)

    def load(self) -> Floats:
        """The values in memory, in logical order."""
        return self.layout.load(self.raw())

    def raw(self) -> Bytes:
        """The bytes of the values: the memory itself on a CPU engine, else a copy."""
        if self._guarded:
            return self._guarded[0].inside
        raw: Bytes = self.memory.read() if self.layout.size else np.zeros(0, np.uint8)
        return raw

    def write_raw(self, raw: Bytes) -> None:
        """Replace all bytes of the values."""
        if self._guarded:
            inside = self._guarded[0].inside
            if inside is not raw:
                inside[:] = raw
        elif self.layout.size:
            self.memory.write(raw)

    def twin(self, zemm: Any, engine: Any) -> "Buffer":
        """A copy with memory of its own."""
        twin = Buffer(zemm, engine, self.memory.md, self.layout, self.metadata)
        twin.write_raw(self.raw())
        return twin

    def damage(self) -> str:
        """The place that was written and must not be; '' if there is none. On a GPU there are no guards."""
        for part, content in enumerate(self.metadata, 1):
            if not np.array_equal(self.memory.read(part), content.view(np.uint8)):
                return f"buffer {part}, which is an input,"
        return "" if all(g.is_intact() for g in self._guarded) else "memory before or behind a buffer"


class _Guarded:
    """`size` bytes of host memory between two guards. behind: how many bytes after the start of a page they
    begin."""

    def __init__(self, size: int, behind: int = 0) -> None:
        block = np.empty(size + 3 * _GUARD + behind, np.uint8)
        skip = -block.ctypes.data % _GUARD + behind
        self._all = block[skip : skip + size + 2 * _GUARD]
        self._all[:] = _PATTERN
        self.address = self._all.ctypes.data + _GUARD
        self.inside: Bytes = self._all[_GUARD : _GUARD + size]

    def is_intact(self) -> bool:
        before, behind = self._all[:_GUARD], self._all[_GUARD + self.inside.size :]
        return bool((before == _PATTERN).all() and (behind == _PATTERN).all())


def buffer_of(zemm: Any, engine: Any, md: Any, argument: Argument) -> Buffer:
    """The buffer of an argument, whose descriptor is md. Ends of groups and indices are written."""
    if argument.encoding is None:
        return Buffer(zemm, engine, md)
    if isinstance(argument.encoding, Groups):
        groups = argument.encoding
        layout = Layout(argument.dims, groups.strides(argument.dims), argument.data_type, md.size)
        return Buffer(zemm, engine, md, layout, [np.array(groups.ends, np.int32)])
    where = contents.places(argument)
    rows, columns = (index.astype(np.int32) for index in np.nonzero(where))
    if argument.encoding.kind == "csr":
        rows = np.concatenate([[0], np.cumsum(where.sum(axis=1))]).astype(np.int32)
        indices = [columns, rows]
    else:
        indices = [rows, columns]
    # A tensor without elements has no bytes of indices.
    indices = [content[: md.part_size(part) // content.itemsize] for part, content in enumerate(indices, 1)]
    return Buffer(zemm, engine, md, SparseLayout(where, argument.data_type, md.size), indices)
