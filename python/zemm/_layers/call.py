# SPDX-License-Identifier: Apache-2.0
"""Runs a layer's matmul for one number of rows.

Each thread has its own objects of this kind, so they need no lock. Their memories get the addresses
of the caller's tensors at each call: making new memories would take longer than the call.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zemm._arrays.host_tensors import Host
from zemm._library import library
from zemm._library.library import ARG
from zemm._terminal import building
from zemm.dtypes import numpy_dtype
from zemm.engine import Engine, Stream, stream_of
from zemm.memory import Memory
from zemm.memory_desc import MemoryDesc
from zemm.primitive import Primitive
from zemm.words import DataType

Shape = tuple[int, ...]
_ALIGNMENT = 64
_FEW_BYTES = 1 << 16  # a call keeps so many from one run to the next


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


class Slot:
    """A memory whose bytes change with each call. On a CPU engine these are on the host, at an
    address that the call gives; a GPU has its own, which are copied."""

    def __init__(self, shape: Shape, data_type: DataType, engine: Engine) -> None:
        md = MemoryDesc(shape, data_type)
        self.shape, self.data_type, self.size = shape, data_type, md.size
        self.memory = Memory.from_handle(md, engine, 0) if engine.kind == "cpu" else Memory(md, engine)

    @property
    def operand(self) -> Memory:
        """What a matmul takes."""
        return self.memory

    @property
    def pointed(self) -> tuple[Memory, ...]:
        """The memories that get an address with each call."""
        return (self.memory,)

    def view(self, data: NDArray[np.uint8]) -> NDArray[Any]:
        """The bytes of the memory as an array."""
        return data.view(numpy_dtype(self.data_type)).reshape(self.shape)


class GroupedSlot(Slot):
    """The same for a matrix whose rows belong to `count` groups, one after the other."""

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

    @property
    def operand(self) -> Memory:
        return self._grouped

    @property
    def pointed(self) -> tuple[Memory, ...]:
        return (self.memory, self._grouped)

    def set_ends(self, ends: NDArray[np.int32]) -> None:
        """Say where groups end. The next execution reads ends before it returns."""
        if self._grouped.engine is not None and self._grouped.engine.kind == "cpu":
            address = library.pointer(ends.ctypes.data)
            library.call("memory_set_data_handle_v2", self._grouped._handle, address, 1)
        else:
            self._grouped.write(ends, 1)


class Quantizer:
    """Quantises src to s8 with scales and sums for groups of K, on the engine. groups: elements that
    share a scale, and a sum."""

    def __init__(
        self, primitive: Primitive, src: Slot, values: Slot, dims: Shape, groups: tuple[int, int]
    ) -> None:
        engine = primitive.engine
        of_scales, of_sums = ((*dims[:-1], dims[-1] // group) for group in groups)
        self.values = values
        self.scales = Slot(of_scales, "f32", engine)
        self.sums = Slot(of_sums, "s32", engine)
        self.slots = (self.values, self.scales, self.sums)
        self._kept: NDArray[np.uint8] | None = None
        self.primitive = primitive
        self.args = {
            ARG["FROM"]: src.memory,
            ARG["TO"]: self.values.memory,
            ARG["ATTR_SCALES"] | ARG["DST"]: self.scales.memory,
            ARG["ATTR_PRECOMPUTED_REDUCTIONS"] | ARG["DST"]: self.sums.memory,
        }

    def parameters(self, buffer: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Scales and sums, once the work is done. buffer: of allocate(), or None if the slots have bytes
        of their own."""
        if buffer is None:
            return self.scales.view(self.scales.memory.read()), self.sums.view(self.sums.memory.read())
        begin = _aligned(self.values.size)
        scales = self.scales.view(buffer[begin : begin + self.scales.size])
        begin += _aligned(self.scales.size)
        return scales, self.sums.view(buffer[begin : begin + self.sums.size])

    def keeps(self, buffer: Any) -> bool:
        """Whether the next call that is waited for gets these bytes again."""
        return buffer is self._kept

    def allocate(self, is_waited_for: bool) -> NDArray[np.uint8]:
        """Bytes for the slots, which the caller keeps until the work is done. Those of the last call of a
        few rows, if each call is waited for: work of another stream may still use others."""
        if is_waited_for and self._kept is not None:
            return self._kept
        buffer = np.empty(sum(_aligned(slot.size) for slot in self.slots), np.uint8)
        if is_waited_for and buffer.nbytes <= _FEW_BYTES:
            self._kept = buffer
        return buffer


class QuantizedSums(NamedTuple):
    """The sums of the src that a call has quantised, for callers that go on with them."""

    quantizer: Quantizer
    buffer: Any

    def read(self, groups: int) -> NDArray[np.float32]:
        """Sums over K / groups elements, times their scales, each rounded once. The call's work is done;
        its own sums are over as many elements or fewer."""
        scales, sums = self.quantizer.parameters(self.buffer)
        wide = sums * np.repeat(scales.astype(np.float64), sums.shape[-1] // scales.shape[-1], axis=-1)
        together = wide.reshape(*sums.shape[:-1], groups, sums.shape[-1] // groups)
        return together.sum(axis=-1).astype(np.float32)


class LinearCall:
    """src_dims -> dst_dims. args: the memories of weights and bias. quantize: a reorder that
    quantises src; None: src is multiplied as it is. k_groups: elements of K that share a scale, and a
    sum, of the quantised src. groups: how many there are if the rows belong to groups, else None."""

    def __init__(
        self,
        matmul: Primitive,
        args: dict[int, Memory],
        src: tuple[Shape, DataType],
        dst: tuple[Shape, DataType],
        quantize: Primitive | None,
        k_groups: tuple[int, int],
        groups: int | None = None,
    ) -> None:
        engine = matmul.engine

        def slot(shape: Shape, data_type: DataType) -> Slot:
            if groups is None:
                return Slot(shape, data_type, engine)
            return GroupedSlot(shape, data_type, engine, groups)

        self._on_host = engine.kind == "cpu"
        self._src = slot(*src) if quantize is None else Slot(*src, engine)
        self._dst = slot(*dst)
        self._quantizer: Quantizer | None = None
        args = {**args, ARG["SRC"]: self._src.operand, ARG["DST"]: self._dst.operand}
        if quantize is not None:
            q = self._quantizer = Quantizer(quantize, self._src, slot(src[0], "s8"), src[0], k_groups)
            args[ARG["SRC"]] = q.values.operand
            args[ARG["ATTR_SCALES"] | ARG["SRC"]] = q.scales.memory
            if ARG["ATTR_ZERO_POINTS"] | ARG["WEIGHTS"] in args:
                args[ARG["ATTR_PRECOMPUTED_REDUCTIONS"] | ARG["SRC"]] = q.sums.memory
        self._matmul = matmul
        executions = [(matmul, args)]
        slots = [self._src, self._dst]
        if self._quantizer is not None:
            executions.insert(0, (self._quantizer.primitive, self._quantizer.args))
            slots += self._quantizer.slots
        self._own_stream = stream_of(engine)
        self._has_run = False
        self._pointed_at: NDArray[np.uint8] | None = None  # the bytes of the quantizer's slots, if kept
        pointed = [(memory, slot) for slot in slots for memory in slot.pointed] if self._on_host else []
        self._call = library.BoundCall(
            [
                (primitive._handle, {arg: m._handle for arg, m in used.items()})
                for primitive, used in executions
            ],
            [memory._handle for memory, _ in pointed],
        )
        self._places = [[i for i, (_, of) in enumerate(pointed) if of is slot] for slot in slots]
        self._keep = executions, self._call  # while work of a stream uses them
        operands = (self._src if self._quantizer is None else self._quantizer.values, self._dst)
        self._grouped = [slot for slot in operands if isinstance(slot, GroupedSlot)]

    def _point(self, slot: int, address: int) -> None:
        for place in self._places[slot]:
            self._call.addresses[place] = address

    def _point_quantizer(self, quantizer: Quantizer, is_waited_for: bool) -> NDArray[np.uint8]:
        """Point the slots of the quantizer at bytes, which are returned."""
        buffer = quantizer.allocate(is_waited_for)
        if buffer is not self._pointed_at:
            address = library.address_of(buffer)
            for number, slot in enumerate(quantizer.slots, start=2):
                self._point(number, address)
                address += _aligned(slot.size)
            self._pointed_at = buffer if quantizer.keeps(buffer) else None
        return buffer

    def run(
        self, host: Host, x: Any, result: Any, stream: Stream | None, ends: NDArray[np.int32] | None = None
    ) -> QuantizedSums | None:
        """result = layer(x), both plain. stream: submit there and do not wait, unless the engine is a
        GPU: the host has to copy then. ends: where the groups of rows end, if there are groups. Returns
        the sums of the quantised x, if it is quantised: to be read once the work is done."""
        if ends is not None:
            for slot in self._grouped:
                slot.set_ends(ends)
        used = stream if stream is not None else self._own_stream
        is_waited_for = stream is None or not self._on_host
        quantizer, buffer = self._quantizer, None
        if self._on_host:
            self._point(0, host.address(x))
            self._point(1, host.address(result))
            if quantizer is not None:
                buffer = self._point_quantizer(quantizer, is_waited_for)
        else:
            self._src.memory.write(host.bytes_of(x))
        keep = (x, result, buffer, self._keep)  # until the work is done, also if an exception ends this call
        used._in_flight[id(keep)] = keep
        if self._has_run:
            self._call.run(used._handle, is_waited_for)
        else:
            with building.watched(lambda: self._matmul.impl_info):  # what first_pass does not know of
                self._call.run(used._handle, is_waited_for)
            self._has_run = True
        if is_waited_for:
            used._in_flight.clear()
        if not self._on_host:
            np.copyto(host.bytes_of(result), self._dst.memory.read())
        return QuantizedSums(quantizer, buffer) if quantizer is not None else None
