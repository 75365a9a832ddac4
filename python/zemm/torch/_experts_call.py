# SPDX-License-Identifier: Apache-2.0
"""Runs a mixture of experts for one number of tokens as one call of the extension: sorts rows by expert,
gathers them, multiplies them, gates them, multiplies them again and adds them up for each token."""

import threading
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from zemm._arrays.torch_tensors import HOST
from zemm._layers.call import LinearCall, aligned, keep_in_flight, layer_call
from zemm._layers.experts_step import ExpertsPrimitiveDesc
from zemm._layers.gate import Gate
from zemm._layers.primitives import recent
from zemm._layers.slots import DST, ENDS, SRC, Place, Slot
from zemm._layers.slots import SCRATCH as OF_LAYER
from zemm._library import library
from zemm._library.library import ARG
from zemm._terminal import building
from zemm.linear import Linear
from zemm.primitive import Primitive
from zemm.words import DataType

_MOST_KEPT = 1 << 26  # bytes of scratch that a thread keeps from one call to the next
# The tensors of a call.
X, INDEX, WEIGHTS, UP_COLUMNS, DOWN_COLUMNS, Y, SCRATCH = range(7)


class _Scratch(threading.local):
    """The scratch of a thread, which all its calls share: fresh pages would take longer than many a call."""

    kept: NDArray[np.uint8] = np.empty(0, np.uint8)

    def take(self, size: int) -> NDArray[np.uint8]:
        if size <= len(self.kept):
            return self.kept
        room = np.empty(size + aligned(1), np.uint8)
        made = room[-room.ctypes.data % aligned(1) :]
        if size <= _MOST_KEPT:
            self.kept = made
        return made


_scratch = _Scratch()


class _Operand(NamedTuple):
    """A tensor of a step, `at` bytes behind the begin of the call's tensor."""

    slot: Slot
    tensor: int
    at: int = 0

    @property
    def place(self) -> Place:
        return (self.slot.memory._handle, 0, self.tensor, self.at)


class _Quantised(NamedTuple):
    """What a step writes in place of DST, by argument, and the fields of zemm_experts_t that say so."""

    operands: dict[int, _Operand]
    fields: dict[str, Any]


def _quantised(call: LinearCall, own: int | None) -> _Quantised:
    """own: where the scratch of the call begins; None: the call quantises its src itself, if it does."""
    q = call.quantizer
    if q is None or own is None:
        return _Quantised({}, {})
    args = ARG["DST"], ARG["ATTR_SCALES"] | ARG["DST"], ARG["ATTR_PRECOMPUTED_REDUCTIONS"] | ARG["DST"]
    operands = (_Operand(slot, SCRATCH, own + at) for slot, at in zip(q.slots, q.offsets, strict=True))
    names = "group", "sums_group", "has_reduced_range"
    return _Quantised(
        dict(zip(args, operands, strict=True)),
        {"is_quantised": True, **dict(zip(names, q.groups, strict=True))},
    )


class Types(NamedTuple):
    """f32, f16 or bf16."""

    x: DataType
    y: DataType
    weights: DataType


class ExpertsCall:
    """tokens by top_k rows. The rows between the products have the type that up gives for that of x. columns:
    whether up has some, and down."""

    def __init__(
        self,
        up: Linear,
        down: Linear,
        gate: Gate,
        tokens: int,
        top_k: int,
        types: Types,
        columns: tuple[bool, bool],
    ) -> None:
        assert up.experts is not None
        rows, experts = tokens * top_k, up.experts
        self._engine, self._sizes = up.engine, {"tokens": tokens, "top_k": top_k, "experts": experts}
        gathered, products = up._src_dtype(types.x), up._dst_dtype(types.x)
        gated, results = down._src_dtype(products), down._dst_dtype(products)
        self._up = up._calls.get(rows, gathered, products, None, True)
        self._down = down._calls.get(rows, gated, results, None, True)

        def tensor(part: str, shape: tuple[int, ...], data_type: DataType, *place: int) -> _Operand:
            return _Operand(Slot.of(part, shape, data_type, up.engine), *place)

        index = tensor("index", (tokens, top_k), "s64", INDEX)
        weights = tensor("factors", (tokens, top_k), types.weights, WEIGHTS)
        routes = tensor("routes", (experts + rows,), "s32", SCRATCH, 0)
        x = tensor("x", (tokens, up.in_features), types.x, X)
        y = tensor("y", (tokens, down.out_features), types.y, Y)
        # Inputs and outputs of layers have two places, which the layers share.
        taken = aligned(routes.slot.size)
        up_src = tensor("src", (rows, up.in_features), gathered, SCRATCH, taken)
        down_src = tensor("src", (rows, down.in_features), gated, SCRATCH, taken)
        given = taken + aligned(max(up_src.slot.size, down_src.slot.size))
        up_dst = tensor("dst", (rows, up.out_features), products, SCRATCH, given)
        down_dst = tensor("dst", (rows, down.out_features), results, SCRATCH, given)
        own = given + aligned(max(up_dst.slot.size, down_dst.slot.size))
        self._size = own + max(self._up.scratch_size, self._down.scratch_size)

        # Steps quantise what they make, but gathered tokens that get another type before.
        of_tokens = _quantised(self._up, own if gathered == types.x or columns[0] else None)
        of_rows = _quantised(self._down, own)

        def columns_of(layer: Linear, has_some: bool, place: int) -> dict[str, _Operand]:
            shape = experts, layer.in_features
            return {"SRC_3": tensor("columns", shape, "s64", place)} if has_some else {}

        of_up, of_down = columns_of(up, columns[0], UP_COLUMNS), columns_of(down, columns[1], DOWN_COLUMNS)
        if of_down:
            of_down |= {"SRC_1": index, "SRC_2": routes}
        moved = {SRC: (SCRATCH, taken), DST: (SCRATCH, given), OF_LAYER: (SCRATCH, own), ENDS: (SCRATCH, 0)}
        self._keep: list[Any] = [self._up.keep, self._down.keep]
        tokens_and_routes = {"SRC": x, "DST": up_src, "SRC_1": index, "SRC_2": routes, **of_up}
        gated_rows = {"SRC": up_dst, "DST": down_src, **of_down}
        summed_rows = {"SRC": down_dst, "DST": y, "SRC_1": weights, "SRC_2": routes}
        self._run = library.bound_chain(
            [
                self._step("gather", tokens_and_routes, of_tokens),
                self._up.within(moved, quantizes=not of_tokens.operands),
                self._step("gate", gated_rows, of_rows, **gate.values),
                self._down.within(moved, quantizes=not of_rows.operands),
                self._step("combine", summed_rows, of_rows),
            ],
            SCRATCH + 1,
        )
        self._has_run = False

    def _step(
        self, step: str, operands: dict[str, _Operand], quantised: _Quantised, **fields: Any
    ) -> tuple[Any, Any]:
        """operands: by the names of arguments."""
        src, dst = operands["SRC"].slot, operands["DST"].slot
        fields |= {"src_type": src.data_type, "dst_type": dst.data_type, "width": dst.shape[-1]}
        if step == "combine":
            fields["weights_type"] = operands["SRC_1"].slot.data_type
        fields |= {"has_columns": "SRC_3" in operands, **self._sizes, **quantised.fields}
        pd = ExpertsPrimitiveDesc(self._engine, step, **fields)
        all_operands = {ARG[name]: operand for name, operand in operands.items()}
        if step != "combine":
            all_operands |= quantised.operands
        args = {arg: operand.slot.memory for arg, operand in all_operands.items()}
        executions = [(Primitive(pd), args)]
        self._keep.append(executions)
        return layer_call(executions, [operand.place for operand in all_operands.values()], 0)

    def run(self, tensors: list[Any]) -> None:
        """tensors: pointers to dense ones, from X to Y. InvalidArgumentsError: there is no such expert."""
        stream = self._up.own_stream
        scratch = _scratch.take(self._size)
        tensors = [*tensors, library.pointer_to(scratch)]
        try:
            if self._has_run:
                self._run(stream._handle, tensors)
            else:
                with building.watched(self._names):
                    self._run(stream._handle, tensors)
        except BaseException:
            keep_in_flight(stream, (tensors, self._run, self._keep))  # work may still use them
            raise
        self._has_run = True

    def _names(self) -> str:
        return f"{self._up.impl_info}, {self._down.impl_info}"


def call_of(
    up: Linear,
    down: Linear,
    gate: Gate,
    top_k: int,
    tensors: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    columns: tuple[bool, bool],
) -> ExpertsCall:
    """This thread's call for x, y and weights."""
    x, y, weights = tensors
    key = down._calls, gate, len(x), top_k, x.dtype, y.dtype, weights.dtype, columns

    def make() -> ExpertsCall:
        types = Types(*(HOST.type_name(tensor, "a tensor") for tensor in tensors))
        return ExpertsCall(up, down, gate, len(x), top_k, types, columns)

    return recent(up._calls.kept.experts, key, make)
