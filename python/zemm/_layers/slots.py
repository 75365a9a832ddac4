# SPDX-License-Identifier: Apache-2.0
"""Memories of a layer's call whose bytes change with each call.

The calls of a thread, one after the other, give them their addresses, and an execution reads these when it is
submitted. So the layers of a model share them where shapes and types are equal: what all calls touch stays in
the caches while the weights of a model pass through them.
"""

import threading
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from zemm.engine import Engine
from zemm.memory import Memory
from zemm.memory_desc import MemoryDesc
from zemm.words import DataType

Shape = tuple[int, ...]
Place = tuple[Any, int, int, int]  # as library.layer_call() takes it
S = TypeVar("S", bound="Slot")
# The tensors of a call, in the order of layer_run(). ENDS says where groups end.
SRC, DST, SCRATCH, ENDS = range(4)


class _Shared(threading.local):
    def __init__(self) -> None:
        self.slots: WeakValueDictionary[tuple[Any, ...], Any] = WeakValueDictionary()


_shared = _Shared()


def _shared_slot(key: tuple[Any, ...], make: Callable[[], S]) -> S:
    """The thread's slot of a key, which has the id of its engine. A slot keeps its engine alive."""
    found: S | None = _shared.slots.get(key)
    if found is None:
        found = _shared.slots[key] = make()
    return found


class Slot:
    """A tensor of a call. On a CPU engine its bytes are on the host, at an address that the call gives; a GPU
    has its own, which are copied."""

    def __init__(self, shape: Shape, data_type: DataType, engine: Engine) -> None:
        md = MemoryDesc(shape, data_type)
        self.shape, self.data_type, self.size = shape, data_type, md.size
        self.memory = Memory.from_handle(md, engine, 0) if engine.kind == "cpu" else Memory(md, engine)

    @classmethod
    def of(cls, part: str, shape: Shape, data_type: DataType, engine: Engine) -> "Slot":
        """The thread's slot for a part of a call: the parts of one call have slots of their own."""
        return _shared_slot((part, shape, data_type, id(engine)), lambda: cls(shape, data_type, engine))

    @property
    def operand(self) -> Memory:
        """The memory that a matmul takes."""
        return self.memory

    def places(self, tensor: int, offset: int = 0) -> list[Place]:
        """The buffers that get the address of a call's tensor."""
        return [(self.memory._handle, 0, tensor, offset)]


class GroupedSlot(Slot):
    """A slot for a matrix whose rows belong to `count` groups, one after the other."""

    def __init__(self, shape: Shape, data_type: DataType, engine: Engine, count: int) -> None:
        md = MemoryDesc.grouped(shape, data_type, 0, count)
        if engine.kind == "cpu":
            super().__init__(shape, data_type, engine)
            self._grouped = Memory.from_handle(md, engine, [0, 0])
            return
        self._grouped = Memory(md, engine)
        plain = MemoryDesc(shape, data_type)
        self.shape, self.data_type, self.size = shape, data_type, plain.size
        self.memory = Memory.from_handle(plain, engine, self._grouped.handle, keep=self._grouped._handle)

    @classmethod
    def in_groups(
        cls, part: str, shape: Shape, data_type: DataType, engine: Engine, count: int
    ) -> "GroupedSlot":
        """As Slot.of()."""
        return _shared_slot(
            (part, shape, data_type, id(engine), count), lambda: cls(shape, data_type, engine, count)
        )

    @property
    def operand(self) -> Memory:
        return self._grouped

    def places(self, tensor: int, offset: int = 0) -> list[Place]:
        """An execution has read where groups end when it returns."""
        handle = self._grouped._handle
        return [*super().places(tensor, offset), (handle, 0, tensor, offset), (handle, 1, ENDS, 0)]

    def write_ends(self, sizes: NDArray[np.int64]) -> None:
        """Say on a GPU how many rows each group has."""
        self._grouped.write(np.cumsum(sizes, dtype=np.int32), 1)
