# SPDX-License-Identifier: Apache-2.0
"""The primitives of a layer, and the objects that each thread keeps to call them."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from numpy.typing import NDArray

from zemm._arrays.operands import tensor
from zemm._arrays.reorder import quantizing_attr
from zemm._layers import first_pass
from zemm._layers.call import KGroups, LinearCall
from zemm._library.library import ARG, RUNTIME_DIM
from zemm._library.locks import Lock
from zemm.dtypes import type_of
from zemm.memory import Memory
from zemm.memory_desc import MemoryDesc
from zemm.packed_weights import PackedWeights, grouped_matmul_desc, matmul_desc, rows_of
from zemm.primitive import MatmulPrimitiveDesc, Primitive, PrimitiveDesc, ReorderPrimitiveDesc
from zemm.words import DataType, FpmathMode

Shape = tuple[int, ...]
MOST_CALLS = 64  # numbers of rows (times types and experts) whose objects a thread keeps


_lock = Lock()
numbers = count(1)
_primitives: "WeakValueDictionary[tuple[Any, ...], Primitive]" = WeakValueDictionary()


def _primitive(pd: PrimitiveDesc) -> Primitive:
    """The primitive that all layers of this problem on the engine share: a model has many of them, and what
    their calls touch stays in the caches. pd: without post-ops, before any next_impl()."""
    key = (id(pd.engine), pd._problem())  # a primitive keeps its engine alive
    with _lock.current:
        found = _primitives.get(key)
        if found is None:
            found = _primitives[key] = Primitive(pd)
        return found


_Key = TypeVar("_Key")
_Call = TypeVar("_Call")


def recent(calls: "OrderedDict[_Key, _Call]", key: _Key, make: Callable[[], _Call]) -> _Call:
    """The call of a key, which is made in place of the one that was not used for longest."""
    call = calls.get(key)
    if call is not None:
        calls.move_to_end(key)
        return call
    call = calls[key] = make()
    if len(calls) > MOST_CALLS:
        calls.popitem(last=False)
    return call


@dataclass
class Plan:
    """A call with an x of some kind, type and shape: checked once, for a thread.

    form: of y, for Host.empty(). converts: x becomes the type of src. call_key: arguments of
    LinearCalls.get(). call: once there was such a call."""

    src_shape: Shape
    shape: Shape
    dst_dtype: DataType
    form: Any
    converts: bool
    call_key: tuple[int, DataType, DataType, int | None, bool]
    call: LinearCall | None = None

    def __post_init__(self) -> None:
        self.is_empty = 0 in self.shape


class _Kept(threading.local):
    """Plans, by what they depend on, and calls that a thread keeps."""

    def __init__(self) -> None:
        self.plans: dict[tuple[Any, ...], Plan] = {}
        self.calls: OrderedDict[tuple[Any, ...], LinearCall] = OrderedDict()
        self.experts: OrderedDict[tuple[Any, ...], Any] = OrderedDict()  # zemm.torch._experts_call


class LinearCalls:
    """A primitive serves any number of rows, and the threads share it. quantizes: src is quantised to
    s8 in groups of `group` elements, with a reduced range to 7 bits."""

    def __init__(
        self,
        weights: PackedWeights,
        bias: NDArray[Any] | None,
        quantizes: bool,
        reduced_range: bool,
        group: int,
        fpmath: FpmathMode | None,
    ) -> None:
        self._weights, self._bias = weights, bias
        self._quantizes, self._reduced_range = quantizes, reduced_range
        self._group, self._fpmath = group, fpmath
        self._sums_group = weights._sums_group(group)
        self.number = next(numbers)  # no other layer of the process has it
        self.device = weights.engine.kind, weights.engine.index
        self._lock = Lock()  # for the two dicts; both only grow, by few entries
        self._primitives: dict[tuple[Any, ...], Primitive] = {}
        self._targets: dict[int | None, tuple[PackedWeights, Memory | None]] = {}
        self.kept = _Kept()
        first_pass.add(self)

    def keep_plan(self, key: tuple[Any, ...], plan: Plan) -> Plan:
        """Keep the plan in place of the oldest one."""
        plans = self.kept.plans
        if len(plans) >= MOST_CALLS:
            del plans[next(iter(plans))]
        plans[key] = plan
        return plan

    def bind(self, plan: Plan) -> LinearCall:
        plan.call = self.get(*plan.call_key)
        return plan.call

    def get(
        self,
        rows: int,
        src_dtype: DataType,
        dst_dtype: DataType,
        expert: int | None,
        in_groups: bool = False,
    ) -> LinearCall:
        """This thread's objects for a number of rows: of each expert, of the given one or, in groups, of
        all together."""
        key = (rows, src_dtype, dst_dtype, expert, in_groups)
        return recent(self.kept.calls, key, lambda: self._new_call(*key))

    def _new_call(
        self, rows: int, src_dtype: DataType, dst_dtype: DataType, expert: int | None, in_groups: bool
    ) -> LinearCall:
        first_pass.build(
            self,
            self._weights.engine,
            # Other layers with experts will be called in groups, as models call them.
            lambda calls: calls.descs(rows, src_dtype, dst_dtype, expert, in_groups or calls is not self),
        )
        if in_groups:
            return self._new_grouped_call(rows, src_dtype, dst_dtype)
        with self._lock.current:
            weights, bias = self._target(expert)
            matmul = self._matmul(weights, bias, src_dtype, dst_dtype)
        *batch, k, n = weights.dims
        args = weights._memories()
        if bias is not None:
            args[ARG["BIAS"]] = bias
        src, dst = ((*batch, rows, k), src_dtype), ((*batch, rows, n), dst_dtype)
        return LinearCall(matmul, args, src, dst)

    def _new_grouped_call(self, rows: int, src_dtype: DataType, dst_dtype: DataType) -> LinearCall:
        weights = self._weights
        count, k, n = weights.dims
        args = weights._memories()
        with self._lock.current:
            shared = self._target(None)[1]
            quantize = self._quantize(src_dtype) if self._quantizes else None
        if shared is not None:
            args[ARG["BIAS"]] = Memory.from_handle(
                self._grouped_bias(shared), weights.engine, shared.handle, keep=shared._handle
            )
        pd = self._grouped_desc(rows, src_dtype, dst_dtype, shared)
        src, dst = ((rows, k), src_dtype), ((rows, n), dst_dtype)
        groups = KGroups(self._group, self._sums_group, self._reduced_range)
        return LinearCall(_primitive(pd), args, src, dst, quantize, groups, count)

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
            self._primitives[key] = _primitive(self._matmul_desc(weights, bias, src_dtype, dst_dtype))
        return self._primitives[key]

    def _matmul_desc(
        self,
        weights: PackedWeights,
        bias: Memory | None,
        src_dtype: DataType,
        dst_dtype: DataType,
        rows: int = RUNTIME_DIM,
    ) -> MatmulPrimitiveDesc:
        return matmul_desc(
            weights,
            weights.md,
            src_dtype if self._quantizes else weights.src_dtype,
            dst_dtype,
            fpmath=self._fpmath,
            src_group=self._group,
            quantizes=self._quantizes,
            reduced_range=self._reduced_range,
            bias=bias.md if bias is not None else None,
            rows=rows,
        )

    def _grouped_desc(
        self, rows: int, src_dtype: DataType, dst_dtype: DataType, bias: Memory | None
    ) -> MatmulPrimitiveDesc:
        return grouped_matmul_desc(
            self._weights,
            rows,
            "s8" if self._quantizes else src_dtype,
            dst_dtype,
            fpmath=self._fpmath,
            src_group=self._group,
            reduced_range=self._reduced_range,
            bias=self._grouped_bias(bias) if bias is not None else None,
        )

    def _grouped_bias(self, bias: Memory) -> MemoryDesc:
        """The bias of all experts, as a matmul in groups takes it."""
        count, _, n = self._weights.dims
        return MemoryDesc((count, n), bias.md.data_type)

    def _quantize(self, src_dtype: DataType) -> Primitive:
        """For groups of rows: a matmul of these does not quantise."""
        key = ("quantize", src_dtype)
        if key not in self._primitives:
            self._primitives[key] = _primitive(self._quantize_desc(src_dtype))
        return self._primitives[key]

    def _quantize_desc(self, src_dtype: DataType, rows: int = RUNTIME_DIM) -> ReorderPrimitiveDesc:
        k = self._weights.dims[-2]
        src, dst = (rows_of((), rows, k, name) for name in (src_dtype, "s8"))
        attr = quantizing_attr(2, self._group, "f32", "s8", self._sums_group, self._reduced_range)
        return ReorderPrimitiveDesc(self._weights.engine, src, dst, attr)

    def descs(
        self, rows: int, src_dtype: DataType, dst_dtype: DataType, expert: int | None, in_groups: bool
    ) -> Iterator[PrimitiveDesc]:
        """The executions of a call. A layer without experts takes all calls as its own."""
        has_experts = len(self._weights.dims) == 3
        with self._lock.current:
            weights, bias = self._target(expert if has_experts else None)
        in_groups = in_groups and has_experts
        if not in_groups:
            yield self._matmul_desc(weights, bias, src_dtype, dst_dtype, rows)
            return
        if self._quantizes:
            yield self._quantize_desc(src_dtype, rows)
        yield self._grouped_desc(rows, src_dtype, dst_dtype, bias)
