# SPDX-License-Identifier: Apache-2.0
"""Builds one matmul from numpy arrays (descriptors, attributes, memories) and runs it."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zemm import _check
from zemm._library import ARG
from zemm._locks import Lock
from zemm._numbers import as_float32
from zemm._parameters import Parameter
from zemm._post_ops import full_name, parameters
from zemm._tensors import Tensor, in_place, tensor
from zemm.attributes import Attr, PostOps
from zemm.dtypes import FOUR_BIT, numpy_dtype, type_of
from zemm.engine import Engine, Stream
from zemm.errors import InvalidArgumentsError
from zemm.memory import Memory
from zemm.memory_desc import MemoryDesc
from zemm.primitive import MatmulPrimitiveDesc, Primitive
from zemm.words import BinaryName, DataType, EltwiseName, PostOp

if TYPE_CHECKING:
    from zemm.packed_weights import PackedWeights

Shape = tuple[int, ...]

_INSTEAD_OF_0 = 2  # a number of elements that 4-bit types can have, too

_lock = Lock()  # for the list, which gets its one element when that is ready
_engines: list[Engine] = []


def default_engine() -> Engine:
    """The first GPU, else the CPU. The process has one such object."""
    with _lock.current:
        if not _engines:
            _engines.append(Engine("gpu" if Engine.count("gpu") else "cpu"))
        return _engines[0]


def stream_of(engine: Engine) -> Stream:
    """The stream that the calling thread uses on the engine, which keeps it."""
    streams = engine.thread_local
    if not hasattr(streams, "stream"):
        streams.stream = Stream(engine)
    stream: Stream = streams.stream
    return stream


def check_stream(stream: Stream, engine: Engine) -> None:
    if not isinstance(stream, Stream):
        raise InvalidArgumentsError(f"stream is a {type(stream).__name__}, not a Stream")
    if stream.engine is not engine:
        raise InvalidArgumentsError(
            f"the stream is on {stream.engine!r}, the work on {engine!r}: another engine object"
        )


class Call:
    """The arguments of one zemm.matmul() call. shape: dst's shape for the caller; dims: for the
    primitive.

    flat: the weights are one matrix, so the leading dimensions of src are merged with its rows, and
    the primitive is two-dimensional. stream: where run() submits without waiting.
    """

    def __init__(self, engine: Engine, shape: Shape, flat: bool, stream: Stream | None = None) -> None:
        if stream is not None:
            check_stream(stream, engine)
        self.engine = engine
        self.stream = stream
        self.shape = shape
        self.flat = flat
        self.dims: Shape = (int(np.prod(shape[:-1])), shape[-1]) if flat else shape
        self.attr = Attr()
        self._mds: dict[int, MemoryDesc] = {}
        self._memories: dict[int, Memory] = {}
        self._inputs: list[NDArray[Any]] = []
        self._adds_old_dst = False
        self._k_groups: list[int] = []
        # For K = 0 the library writes nothing. Zeros are multiplied instead. Then scales and
        # zero points of src and weights belong to nothing.
        self._k_is_0 = False

    def _add(self, arg: int, t: Tensor) -> None:
        self._mds[arg] = t.md()
        self._memories[arg] = t.memory(self.engine)
        self._inputs.append(t.array)

    def set_src(self, array: NDArray[Any], data_type: DataType) -> None:
        if array.shape[-1] == 0:
            self._k_is_0 = True
            array = np.zeros((*array.shape[:-1], _INSTEAD_OF_0), array.dtype)
        if self.flat:
            array = array.reshape(-1, array.shape[-1])
        self._add(ARG["SRC"], tensor(array, data_type, len(self.dims), self.engine))

    def set_weights(self, array: NDArray[Any], data_type: DataType, packed_axis: int | None) -> Shape:
        """Add the weights. packed_axis: the axis (-1 or -2) along which a byte holds two 4-bit
        values, None for other types. Returns the dims in elements."""
        if self.flat:
            array = array.reshape(array.shape[-2:])
        axis = -1 if packed_axis is None else packed_axis
        if self._k_is_0:
            rows = _INSTEAD_OF_0 // 2 if packed_axis == -2 else _INSTEAD_OF_0
            array = np.zeros((*array.shape[:-2], rows, array.shape[-1]), array.dtype)
        t = tensor(array, data_type, len(self.dims), self.engine, axis)
        self._add(ARG["WEIGHTS"], t)
        return (*t.dims[:-2], 0, t.dims[-1]) if self._k_is_0 else t.dims

    def set_packed_weights(self, packed: "PackedWeights") -> None:
        """Add weights with their scales and zero points."""
        if len(packed.dims) != len(self.dims):
            raise InvalidArgumentsError(
                f"packed weights {packed.dims} do not fit dst {self.dims}, which has other dimensions"
            )
        packed._declare(self.attr)
        memories = packed._memories()
        self._mds[ARG["WEIGHTS"]] = packed.md
        self._memories.update(memories)
        operands = (packed.scales, packed.zero_points)
        self._k_groups += [operand.parameter.k_group for operand in operands if operand is not None]

    def set_bias(self, values: ArrayLike) -> None:
        self._add(ARG["BIAS"], self._like_dst(values, "bias"))

    def _like_dst(self, values: ArrayLike, name: str) -> Tensor:
        """A tensor of values that broadcast to dst. ValueError if they do not."""
        array = as_float32(_check.array(values, name), name)
        try:
            fits = np.broadcast_shapes(array.shape, self.shape) == self.shape
        except ValueError:
            fits = False
        if not fits:
            raise InvalidArgumentsError(
                f"{name} of shape {array.shape} does not broadcast to dst {self.shape}"
            )
        data_type = type_of(array, name)
        if data_type in FOUR_BIT:
            raise InvalidArgumentsError(f"{name} has type {data_type}: convert it to a type of 8 bits")
        array = np.atleast_1d(array)
        last = array.shape[-1]
        if self.flat:
            if array.size != last:
                array = np.broadcast_to(array, (*self.shape[:-1], last))
            array = array.reshape(-1, last)
        return tensor(array, data_type, len(self.dims), self.engine)

    def _parameter(self, flag: str, of: str, parameter: Parameter) -> tuple[int, int, Shape, DataType]:
        values = parameter.values
        self._add(ARG[flag] | ARG[of], tensor(values, parameter.data_type, values.ndim, self.engine))
        if of != "DST":
            self._k_groups.append(parameter.k_group)
        return ARG[of], parameter.mask, parameter.groups, parameter.data_type

    def scales(self, of: str, parameter: Parameter) -> None:
        if self._k_is_0 and of != "DST":
            return
        self.attr.set_scales(*self._parameter("ATTR_SCALES", of, parameter))

    def zero_points(self, of: str, parameter: Parameter) -> None:
        if self._k_is_0 and of != "DST":
            return
        self.attr.set_zero_points(*self._parameter("ATTR_ZERO_POINTS", of, parameter))

    def reductions(self, parameter: Parameter) -> None:
        """Add precomputed reductions, after scales and zero points. Sums that span several groups
        of one of these cannot be used, so they are left out."""
        if self._k_is_0 or any(group % parameter.k_group for group in self._k_groups):
            return
        self.attr.set_precomputed_reductions(
            *self._parameter("ATTR_PRECOMPUTED_REDUCTIONS", "SRC", parameter)
        )

    def set_post_ops(self, entries: Iterable[PostOp], has_out: bool) -> None:
        wrong = (str, bytes, Mapping, Set, np.ndarray)
        if isinstance(entries, wrong) or not isinstance(entries, Iterable):
            raise InvalidArgumentsError(
                f"post_ops is {_check.shown(entries)}, not a sequence of post-ops such as [('relu', 0.1)]"
            )
        post_ops = PostOps()
        for index, entry in enumerate(entries):
            try:
                self._append(post_ops, index, entry, has_out)
            except InvalidArgumentsError as error:
                raise InvalidArgumentsError(f"post_ops[{index}]: {error}") from None
        if len(post_ops):
            self.attr.set_post_ops(post_ops)

    def _append(self, post_ops: PostOps, index: int, entry: Any, has_out: bool) -> None:
        parts: Sequence[Any] = (entry,) if isinstance(entry, str) else entry
        if not isinstance(parts, Sequence) or not parts or not isinstance(parts[0], str):
            first = (
                f" that begins with {_check.shown(parts[0])}" if isinstance(entry, tuple) and parts else ""
            )
            raise InvalidArgumentsError(
                f"{_check.shown(entry)}{first} is no name, nor a tuple that starts with one"
            )
        name, values = parts[0], parts[1:]
        kind = full_name(name)
        if kind == "sum":
            if not has_out:
                raise InvalidArgumentsError("sum adds the old dst, but no out is given")
            _check_count(name, values, 0, 3, "scale, zero point and data type")
            self._adds_old_dst = True
            post_ops.append_sum(*values)
        elif kind == "prelu":
            _check_count(name, values, 1, 1, "an array of slopes")
            slopes = self._slopes(values[0])
            self._add_operand(index, "WEIGHTS", slopes)
            post_ops.append_prelu(sum(1 << d for d, size in enumerate(slopes.dims) if size > 1))
        elif kind.startswith("binary_"):
            if kind == "binary_select":
                _check_count(name, values, 2, 2, "an array and a condition")
            else:
                _check_count(name, values, 1, 1, "an array")
            operands = [self._like_dst(value, f"the array of {name}") for value in values]
            for arg, operand in zip(("SRC_1", "SRC_2"), operands, strict=False):
                self._add_operand(index, arg, operand)
            post_ops.append_binary(cast(BinaryName, kind), *(operand.md() for operand in operands))
        else:
            _check_count(name, values, 0, 2, "alpha and beta")
            alpha, beta = (*values, None, None)[:2]
            post_ops.append_eltwise(
                cast(EltwiseName, kind), *parameters(name, alpha, beta, may_be_unused=False)
            )

    def _slopes(self, values: ArrayLike) -> Tensor:
        """Slopes of a prelu in the layout that the library reads: f32, dimension 1 innermost."""
        array = self._like_dst(values, "the slopes").array.astype(np.float32)
        array = np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)
        return tensor(array, "f32", len(self.dims), self.engine)

    def _add_operand(self, index: int, arg: str, operand: Tensor) -> None:
        self._add(ARG["ATTR_MULTIPLE_POST_OP_BASE"] * (index + 1) | ARG[arg], operand)

    def run(self, data_type: DataType, out: NDArray[Any] | None) -> NDArray[Any]:
        result = self._result(data_type, out)
        dst = tensor(result, data_type, len(self.dims), self.engine)
        md = dst.md()
        src, weights, bias = (self._mds.get(ARG[name]) for name in ("SRC", "WEIGHTS", "BIAS"))
        assert src is not None
        assert weights is not None
        pd = MatmulPrimitiveDesc(self.engine, src, weights, md, bias, self.attr)
        primitive = Primitive(pd)
        on_host = self.engine.kind == "cpu"
        memory = dst.memory(self.engine) if on_host or self._adds_old_dst else Memory(md, self.engine)
        stream = self.stream if self.stream is not None else stream_of(self.engine)
        primitive.execute(stream, {**self._memories, ARG["DST"]: memory})
        copies = not on_host or (out is not None and not np.may_share_memory(result, out))
        if self.stream is None or copies:
            stream.wait()
        if not on_host:
            np.copyto(result, memory.read().view(result.dtype).reshape(result.shape))
        if out is None:
            return result.reshape(self.shape)
        if not np.may_share_memory(result, out):
            np.copyto(out, result.reshape(self.shape))
        return out

    def _result(self, data_type: DataType, out: NDArray[Any] | None) -> NDArray[Any]:
        """The array that dst is computed in: `out` if the device can write it in place and it
        overlaps no input, else a dense array, with the values of `out` for a sum post-op."""
        if out is None:
            return np.empty(self.dims, numpy_dtype(data_type))
        result = out.reshape(self.dims)
        usable = (
            self.engine.kind == "cpu" and in_place(result, self.engine) and np.may_share_memory(result, out)
        )
        if usable and not any(np.may_share_memory(result, array) for array in self._inputs):
            return result
        return np.array(result, result.dtype.newbyteorder("="), order="C")


def _check_count(name: str, values: Sequence[Any], least: int, most: int, what: str) -> None:
    if not least <= len(values) <= most:
        raise InvalidArgumentsError(f"{name} takes {what}; {len(values)} values are given")
