# SPDX-License-Identifier: Apache-2.0
"""Runs a layer's matmul for one number of rows.

Each thread has its own objects of this kind, so they need no lock. Their memories get the addresses
of the caller's tensors at each call: making new memories would take longer than the call.
"""

from collections.abc import Callable
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


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


class Slot:
    """A memory whose bytes change with each call. On a CPU engine these are on the host, at an
    address that point_at() gives; a GPU has its own, which are copied."""

    def __init__(self, shape: Shape, data_type: DataType, engine: Engine) -> None:
        md = MemoryDesc(shape, data_type)
        self.shape, self.data_type, self.size = shape, data_type, md.size
        self.memory = Memory.from_handle(md, engine, 0) if engine.kind == "cpu" else Memory(md, engine)

    @property
    def operand(self) -> Memory:
        """What a matmul takes."""
        return self.memory

    def point_at(self, address: int) -> None:
        library.call("memory_set_data_handle", self.memory._handle, library.pointer(address))

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

    def point_at(self, address: int) -> None:
        super().point_at(address)
        library.call("memory_set_data_handle", self._grouped._handle, library.pointer(address))

    def set_ends(self, ends: NDArray[np.int32]) -> None:
        """Say where groups end. The next execution reads ends before it returns."""
        if self._grouped.engine is not None and self._grouped.engine.kind == "cpu":
            address = library.pointer(ends.ctypes.data)
            library.call("memory_set_data_handle_v2", self._grouped._handle, address, 1)
        else:
            self._grouped.write(ends, 1)


class _Step:
    """A primitive with its memories, bound to the stream that the thread uses on the engine."""

    def __init__(self, primitive: Primitive, args: dict[int, Memory]) -> None:
        self._primitive, self._args = primitive, args
        self.own_stream = stream_of(primitive.engine)
        self._submit: Callable[[], None] = primitive.bind(self.own_stream, args)

    @property
    def impl_info(self) -> str:
        return self._primitive.impl_info

    def submit(self, stream: Stream) -> None:
        if stream is self.own_stream:
            self._submit()
        else:
            self._primitive.execute(stream, self._args)


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
        self.step = _Step(
            primitive,
            {
                ARG["FROM"]: src.memory,
                ARG["TO"]: self.values.memory,
                ARG["ATTR_SCALES"] | ARG["DST"]: self.scales.memory,
                ARG["ATTR_PRECOMPUTED_REDUCTIONS"] | ARG["DST"]: self.sums.memory,
            },
        )

    def parameters(self, buffer: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Scales and sums, once the work is done. buffer: of allocate(), or None if the slots have bytes
        of their own."""
        if buffer is None:
            return self.scales.view(self.scales.memory.read()), self.sums.view(self.sums.memory.read())
        begin = _aligned(self.values.size)
        scales = self.scales.view(buffer[begin : begin + self.scales.size])
        begin += _aligned(self.scales.size)
        return scales, self.sums.view(buffer[begin : begin + self.sums.size])

    def allocate(self) -> Any:
        """Point the slots at new bytes, which the caller keeps until the work is done. New ones for
        each call: work of another stream may still use those of the last one."""
        buffer = np.empty(sum(_aligned(slot.size) for slot in self.slots), np.uint8)
        address = buffer.ctypes.data
        for slot in self.slots:
            slot.point_at(address)
            address += _aligned(slot.size)
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
        self._matmul = _Step(matmul, args)
        self._has_run = False
        operands = (self._src if self._quantizer is None else self._quantizer.values, self._dst)
        self._grouped = [slot for slot in operands if isinstance(slot, GroupedSlot)]

    def _submit(self, stream: Stream) -> None:
        if self._quantizer is not None:
            self._quantizer.step.submit(stream)
        self._matmul.submit(stream)

    def run(
        self, host: Host, x: Any, result: Any, stream: Stream | None, ends: NDArray[np.int32] | None = None
    ) -> QuantizedSums | None:
        """result = layer(x), both plain. stream: submit there and do not wait, unless the engine is a
        GPU: the host has to copy then. ends: where the groups of rows end, if there are groups. Returns
        the sums of the quantised x, if it is quantised: to be read once the work is done."""
        if ends is not None:
            for slot in self._grouped:
                slot.set_ends(ends)
        used = stream if stream is not None else self._matmul.own_stream
        if self._on_host:
            self._src.point_at(host.address(x))
            self._dst.point_at(host.address(result))
        else:
            self._src.memory.write(host.bytes_of(x))
        quantizer = self._quantizer
        buffer = quantizer.allocate() if quantizer is not None and self._on_host else None
        keep = (x, result, buffer)  # until the work is done, also if an exception ends this call
        used._in_flight[id(keep)] = keep
        if self._has_run:
            self._submit(used)
        else:
            with building.watched(lambda: self._matmul.impl_info):  # what first_pass does not know of
                self._submit(used)
            self._has_run = True
        if stream is None or not self._on_host:
            used.wait()
        if not self._on_host:
            np.copyto(host.bytes_of(result), self._dst.memory.read())
        return QuantizedSums(quantizer, buffer) if quantizer is not None else None
