# SPDX-License-Identifier: Apache-2.0
"""Runs a layer's matmul for one number of rows.

Each thread has its own objects of this kind, so they need no lock. Their memories get the addresses
of the caller's tensors at each call, which is one call of the extension: making new memories would take
longer.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zemm._arrays.host_tensors import Host
from zemm._arrays.operands import groups_of
from zemm._layers.slots import DST, SCRATCH, SRC, GroupedSlot, Place, Shape, Slot
from zemm._library import library
from zemm._library.library import ARG
from zemm._terminal import building
from zemm.engine import Stream, stream_of
from zemm.errors import InvalidArgumentsError
from zemm.memory import Memory
from zemm.primitive import Primitive
from zemm.words import DataType

_ALIGNMENT = 64
_FEW_BYTES = 1 << 16  # a call keeps so many from one run to the next


def aligned(size: int) -> int:
    """The size with what follows it up to where the next tensor may begin."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def layer_call(
    executions: Sequence[tuple[Primitive, Mapping[int, Memory]]], places: list[Place], experts: int
) -> tuple[Any, Any]:
    """library.layer_call() of objects, which the caller keeps."""
    handles = [(p._handle, {arg: m._handle for arg, m in args.items()}) for p, args in executions]
    return library.layer_call(handles, places, experts)


class KGroups(NamedTuple):
    """Elements of K that share a scale, and a sum, of a src that is quantised to s8, or to 7 bits of it."""

    scales: int
    sums: int
    has_reduced_range: bool = False


class Quantizer:
    """Quantises src with scales and sums for groups of K, on the engine. offsets: of the slots in the call's
    scratch."""

    def __init__(self, primitive: Primitive, src: Slot, values: Slot, dims: Shape, groups: KGroups) -> None:
        engine = primitive.engine
        of_scales, of_sums = ((*dims[:-1], groups_of(dims[-1], group)) for group in groups[:2])
        self.values = values
        self.scales = Slot.of("scales", of_scales, "f32", engine)
        self.sums = Slot.of("sums", of_sums, "s32", engine)
        self.slots = (self.values, self.scales, self.sums)
        self.offsets: list[int] = []
        self.primitive = primitive
        self.groups = groups
        self.args = {
            ARG["FROM"]: src.memory,
            ARG["TO"]: self.values.memory,
            ARG["ATTR_SCALES"] | ARG["DST"]: self.scales.memory,
            ARG["ATTR_PRECOMPUTED_REDUCTIONS"] | ARG["DST"]: self.sums.memory,
        }


def check_sizes(sizes: NDArray[np.int64], shape: Shape) -> None:
    """ValueError: these are not the numbers of rows of the groups of an x of the shape."""
    numbers = sizes.tolist()
    if min(numbers) < 0:
        raise InvalidArgumentsError(
            f"group_sizes are {numbers}, not {len(numbers)} numbers of rows, one for each expert"
        )
    if len(shape) != 2 or shape[0] != sum(numbers) or shape[0] > np.iinfo(np.int32).max:
        raise InvalidArgumentsError(f"x has shape {shape}, the groups have {sum(numbers)} rows together")


def keep_in_flight(stream: Stream, objects: tuple[Any, ...]) -> None:
    stream._in_flight[id(objects)] = objects


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
        quantize: Primitive | None = None,
        k_groups: KGroups | None = None,
        groups: int | None = None,
    ) -> None:
        engine = matmul.engine

        def slot(part: str, shape: Shape, data_type: DataType) -> Slot:
            if groups is None:
                return Slot.of(part, shape, data_type, engine)
            return GroupedSlot.in_groups(part, shape, data_type, engine, groups)

        self._on_host = engine.kind == "cpu"
        self._src = slot("src", *src) if quantize is None else Slot.of("src", *src, engine)
        self._dst = slot("dst", *dst)
        self.quantizer: Quantizer | None = None
        args = {**args, ARG["SRC"]: self._src.operand, ARG["DST"]: self._dst.operand}
        executions = [(matmul, args)]
        places = [*self._src.places(SRC), *self._dst.places(DST)]
        self.scratch_size = 0
        if quantize is not None and k_groups is not None:
            q = self.quantizer = Quantizer(
                quantize, self._src, slot("values", src[0], "s8"), src[0], k_groups
            )
            args[ARG["SRC"]] = q.values.operand
            args[ARG["ATTR_SCALES"] | ARG["SRC"]] = q.scales.memory
            if {ARG["ATTR_ZERO_POINTS"] | ARG["WEIGHTS"], ARG["ATTR_OFFSETS"] | ARG["WEIGHTS"]} & args.keys():
                args[ARG["ATTR_PRECOMPUTED_REDUCTIONS"] | ARG["SRC"]] = q.sums.memory
            executions.insert(0, (quantize, q.args))
            for part in q.slots:
                places += part.places(SCRATCH, self.scratch_size)
                q.offsets.append(self.scratch_size)
                self.scratch_size += aligned(part.size)
        self._matmul = matmul
        self.own_stream = stream_of(engine)
        self._has_run = False
        self._rows = src[0][-2]
        self._scratch = library.NULL  # of calls of few rows that are waited for
        self._is_usual = False  # whether calls that are waited for need no more than _call
        self._places = places if self._on_host else []
        experts = groups if groups is not None and self._on_host else 0
        made = layer_call(executions, self._places, experts)
        self._call, self._chain = library.bound_call(made), library.chain([made])
        self.keep = executions, self._call  # while work of a stream uses them
        self.known: Any = None  # to zemm.torch._calls
        operands = (self._src if self.quantizer is None else self.quantizer.values, self._dst)
        self._grouped = [slot for slot in operands if isinstance(slot, GroupedSlot)]

    def within(self, tensors: Mapping[int, tuple[int, int]], *, quantizes: bool = True) -> tuple[Any, Any]:
        """The layer_call() of a chain. tensors: for each of this call, the one of the chain, and how many
        bytes after its begin. quantizes: else the chain has quantised src before."""
        places = []
        for memory, index, tensor, offset in self._places:
            to, begin = tensors[tensor]
            places.append((memory, index, to, begin + offset))
        return layer_call(self.keep[0] if quantizes else self.keep[0][-1:], places, 0)

    def run(
        self, host: Host, x: Any, result: Any, stream: Stream | None, sizes: NDArray[np.int64] | None = None
    ) -> None:
        """result = layer(x), both plain. stream: submit there and do not wait, unless the engine is a
        GPU: the host has to copy then. sizes: of the groups of rows, if there are groups. ValueError:
        they do not fit."""
        if not self._on_host:
            self._run_on_gpu(host, x, result, stream or self.own_stream, sizes)
            return
        src, dst = host.pointer(x), host.pointer(result)
        of_sizes = library.NULL if sizes is None else library.sizes_of(sizes)
        used, scratch, waits = stream or self.own_stream, self._scratch, stream is None
        if not (waits and self._is_usual):
            scratch = self._prepare(used, x, result, waits)
        try:
            if self._has_run:
                fits = self._call(used._handle, src, dst, scratch, of_sizes, self._rows, waits)
            else:
                fits = self._first_call(used._handle, src, dst, scratch, of_sizes, self._rows, waits)
        except BaseException:
            keep_in_flight(used, (x, result, scratch, self.keep))  # work may still use them
            raise
        if not fits:
            assert sizes is not None
            check_sizes(sizes, self._src.shape)

    def usual(self) -> tuple[tuple[int, int, int, int], Any] | None:
        """Addresses of chain_run(), and of its calls, stream and scratch, for calls of this thread that are
        waited for, and what to keep alive meanwhile. None: such calls need more, or none has run."""
        if not (self._on_host and self._is_usual) or self._grouped:
            return None
        pointers = self._chain, self.own_stream._handle, self._scratch
        chain, stream, scratch = map(library.address, pointers)
        return (library.CHAIN_RUN, chain, stream, scratch), (self.keep, pointers)

    @property
    def impl_info(self) -> str:
        """The implementation of the matmul."""
        return self._matmul.impl_info

    def _first_call(self, *args: Any) -> bool:
        with building.watched(lambda: self.impl_info):  # what first_pass does not know of
            fits = self._call(*args)
        self._has_run = True
        self._is_usual = bool(self._scratch) or not self.scratch_size
        return fits

    def _prepare(self, stream: Stream, x: Any, result: Any, waits: bool) -> Any:
        """A pointer to bytes for the slots of the quantizer. Few bytes serve all calls that are waited for,
        others live until the work is done: work of another stream may still use them."""
        scratch = self._scratch if waits else library.NULL
        if self.scratch_size and not scratch:
            scratch = library.pointer_to(np.empty(self.scratch_size, np.uint8))
            if waits and self.scratch_size <= _FEW_BYTES:
                self._scratch = scratch
        if not waits:
            keep_in_flight(stream, (x, result, scratch, self.keep))
        return scratch

    def _run_on_gpu(
        self, host: Host, x: Any, result: Any, stream: Stream, sizes: NDArray[np.int64] | None
    ) -> None:
        """The host copies, and therefore waits."""
        if sizes is not None:
            check_sizes(sizes, self._src.shape)
            for slot in self._grouped:
                slot.write_ends(sizes)
        self._src.memory.write(host.bytes_of(x))
        keep_in_flight(stream, self.keep)
        null = library.NULL
        (self._call if self._has_run else self._first_call)(stream._handle, null, null, null, null, 0, True)
        stream._in_flight.clear()
        np.copyto(host.bytes_of(result), self._dst.memory.read())
