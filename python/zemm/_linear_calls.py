# SPDX-License-Identifier: Apache-2.0
"""The primitives of a layer, and the objects that each thread keeps to call them."""

import threading
from collections import OrderedDict
from typing import Any

from numpy.typing import NDArray

from zemm._library import ARG, RUNTIME_DIM
from zemm._linear_call import LinearCall
from zemm._reorder import quantizing_attr
from zemm._tensors import tensor
from zemm.dtypes import type_of
from zemm.memory import Memory
from zemm.packed_weights import PackedWeights, matmul_desc, rows_of
from zemm.primitive import Primitive, ReorderPrimitiveDesc
from zemm.words import DataType, FpmathMode

MOST_CALLS = 64  # numbers of rows (times types and experts) whose objects a thread keeps


class LinearCalls:
    """A primitive serves any number of rows, and the threads share it. quantizes: src is quantised to
    s8 in groups of `group` elements."""

    def __init__(
        self,
        weights: PackedWeights,
        bias: NDArray[Any] | None,
        quantizes: bool,
        group: int,
        fpmath: FpmathMode | None,
    ) -> None:
        self._weights, self._bias = weights, bias
        self._quantizes, self._group, self._fpmath = quantizes, group, fpmath
        self._lock = threading.Lock()  # for the two dicts; both only grow, by few entries
        self._primitives: dict[tuple[Any, ...], Primitive] = {}
        self._targets: dict[int | None, tuple[PackedWeights, Memory | None]] = {}
        self._local = threading.local()

    def get(self, rows: int, src_dtype: DataType, dst_dtype: DataType, expert: int | None) -> LinearCall:
        """This thread's objects for a number of rows."""
        calls: OrderedDict[tuple[Any, ...], LinearCall] | None = getattr(self._local, "calls", None)
        if calls is None:
            calls = self._local.calls = OrderedDict()
        key = (rows, src_dtype, dst_dtype, expert)
        call = calls.get(key)
        if call is not None:
            calls.move_to_end(key)
            return call
        call = calls[key] = self._new_call(*key)
        if len(calls) > MOST_CALLS:
            calls.popitem(last=False)
        return call

    def _new_call(
        self, rows: int, src_dtype: DataType, dst_dtype: DataType, expert: int | None
    ) -> LinearCall:
        with self._lock:
            weights, bias = self._target(expert)
            matmul = self._matmul(weights, bias, src_dtype, dst_dtype)
            quantize = self._quantize(weights, src_dtype) if self._quantizes else None
        *batch, k, n = weights.dims
        args = weights._memories()
        if bias is not None:
            args[ARG["BIAS"]] = bias
        src, dst = ((*batch, rows, k), src_dtype), ((*batch, rows, n), dst_dtype)
        return LinearCall(matmul, args, src, dst, quantize, self._group)

    def _target(self, expert: int | None) -> tuple[PackedWeights, Memory | None]:
        """The weights and the bias of an expert, or of all."""
        if expert not in self._targets:
            weights = self._weights if expert is None else self._weights[expert]
            memory = None
            if self._bias is not None:
                bias = self._bias if expert is None else self._bias[expert]
                bias = bias.reshape(*bias.shape[:-1], 1, bias.shape[-1])
                memory = tensor(bias, type_of(bias, "bias"), bias.ndim, self._weights.engine).memory(
                    self._weights.engine
                )
            self._targets[expert] = weights, memory
        return self._targets[expert]

    def _matmul(
        self, weights: PackedWeights, bias: Memory | None, src_dtype: DataType, dst_dtype: DataType
    ) -> Primitive:
        key = ("matmul", len(weights.dims), src_dtype, dst_dtype)
        if key not in self._primitives:
            pd = matmul_desc(
                weights,
                weights.md,
                "s8" if self._quantizes else src_dtype,
                dst_dtype,
                fpmath=self._fpmath,
                src_group=self._group,
                bias=bias.md if bias is not None else None,
            )
            self._primitives[key] = Primitive(pd)
        return self._primitives[key]

    def _quantize(self, weights: PackedWeights, src_dtype: DataType) -> Primitive:
        key = ("quantize", len(weights.dims), src_dtype)
        if key not in self._primitives:
            *batch, k, _ = weights.dims
            src, dst = (rows_of(batch, RUNTIME_DIM, k, name) for name in (src_dtype, "s8"))
            attr = quantizing_attr(len(weights.dims), self._group, "f32", "s8")
            self._primitives[key] = Primitive(ReorderPrimitiveDesc(self._weights.engine, src, dst, attr))
        return self._primitives[key]
