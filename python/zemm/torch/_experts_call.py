# SPDX-License-Identifier: Apache-2.0
"""Runs a mixture of experts for one number of tokens as one call of the extension: sorts rows by expert,
gathers them, multiplies them, gates them, multiplies them again and adds them up for each token."""

import threading
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from zemm._arrays.torch_tensors import HOST
from zemm._layers.call import aligned, keep_in_flight, layer_call
from zemm._layers.experts_step import ExpertsPrimitiveDesc
from zemm._layers.gate import Gate
from zemm._layers.primitives import recent
from zemm._layers.slots import DST, ENDS, SRC, Slot
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

        def columns_of(layer: Linear, has_some: bool, place: int) -> dict[str, _Operand]:
            shape = experts, layer.in_features
            return {"SRC_3": tensor("columns", shape, "s64", place)} if has_some else {}

        of_up, of_down = columns_of(up, columns[0], UP_COLUMNS), columns_of(down, columns[1], DOWN_COLUMNS)
        if of_down:
            of_down |= {"SRC_1": index, "SRC_2": routes}
        moved = {SRC: (SCRATCH, taken), DST: (SCRATCH, given), OF_LAYER: (SCRATCH, own), ENDS: (SCRATCH, 0)}
        self._keep: list[Any] = [self._up.keep, self._down.keep]
        self._run = library.bound_chain(
            [
                self._step("gather", {"SRC": x, "DST": up_src, "SRC_1": index, "SRC_2": routes, **of_up}),
                self._up.within(moved),
                self._step("gate", {"SRC": up_dst, "DST": down_src, **of_down}, **gate.values),
                self._down.within(moved),
                self._step("combine", {"SRC": down_dst, "DST": y, "SRC_1": weights, "SRC_2": routes}),
            ],
            SCRATCH + 1,
        )
        self._has_run = False

    def _step(self, step: str, operands: dict[str, _Operand], **gate: Any) -> tuple[Any, Any]:
        src, dst = operands["SRC"].slot, operands["DST"].slot
        fields: dict[str, Any] = {
            "src_type": src.data_type,
            "dst_type": dst.data_type,
            "width": dst.shape[-1],
        }
        if step == "combine":
            fields["weights_type"] = operands["SRC_1"].slot.data_type
        fields |= {"has_columns": "SRC_3" in operands, **self._sizes, **gate}
        pd = ExpertsPrimitiveDesc(self._engine, step, **fields)
        args = {ARG[name]: operand.slot.memory for name, operand in operands.items()}
        places = [place for slot, *at in operands.values() for place in slot.places(*at)]
        executions = [(Primitive(pd), args)]
        self._keep.append(executions)
        return layer_call(executions, places, 0)

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
