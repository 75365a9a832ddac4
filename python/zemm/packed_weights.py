# SPDX-License-Identifier: Apache-2.0
"""Weights that are kept on an engine in the layout that its kernel wants, with their quantisation
parameters."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zemm._arrays.blocked import row_major
from zemm._arrays.operands import (
    Parameter,
    describe,
    factored_values,
    offset_values,
    operand,
    owned,
    scale_values,
    set_fpmath,
    tensor,
    weights_zero_point_values,
    with_type,
)
from zemm._arrays.reorder import reorder
from zemm._arrays.scales import check_group, common_group
from zemm._library import check
from zemm._library.codes import elements_of, items_of, join, span_of, split
from zemm._library.library import ARG, RUNTIME_DIM
from zemm._library.lists import TYPES
from zemm.attributes import Attr
from zemm.dtypes import SUB_BYTE, numpy_dtype, own_dtype
from zemm.engine import Engine, default_engine
from zemm.errors import InvalidArgumentsError
from zemm.memory import Memory
from zemm.memory_desc import MemoryDesc
from zemm.primitive import MatmulPrimitiveDesc
from zemm.words import DataType, DType, FpmathMode, PackedFor

Shape = tuple[int, ...]
# That packed weights may have, in the order in which attributes are set.
PARAMETERS = ("scale_factors", "scales", "zero_points", "offset_factors", "offsets")


@dataclass(frozen=True)
class Operand:
    """Scales, zero points, offsets or factors of weights: their mask and groups, and the memory of their
    values."""

    parameter: Parameter
    memory: Memory

    @classmethod
    def of(cls, parameter: Parameter, engine: Engine) -> "Operand":
        values = owned(parameter.values)  # the caller may change the array later
        t = tensor(values, parameter.data_type, values.ndim, engine)
        return cls(replace(parameter, values=values), t.memory(engine))

    def declaration(self) -> tuple[int, int, Shape, DataType]:
        """Arguments of Attr.set_scales() and the setters of the others."""
        p = self.parameter
        return ARG["WEIGHTS"], p.mask, p.groups, p.data_type

    def expert(self, index: int, count: int) -> "Operand":
        """The part that belongs to one matrix of [count, K, N]. Values that all matrices share stay
        whole."""
        p = self.parameter
        if p.mask == 0:
            return self
        own = p.values.shape[0] == count
        values = p.values[index if own else 0]
        part = Parameter(values, p.mask >> 1, p.groups, p.k_group)
        return Operand(part, _part(self.memory, MemoryDesc(values.shape, p.data_type), index * own))


def _part(memory: Memory, md: MemoryDesc, index: int, bits: int | None = None, stride: int = 0) -> Memory:
    """The part of a memory with the layout md that begins after index strides (in elements)."""
    step = md.size if bits is None else stride * bits // 8
    assert memory.engine is not None
    return Memory.from_handle(md, memory.engine, memory.handle + index * step, keep=memory._handle)


class PackedWeights:
    """Weights [K, N] or [E, K, N] on an engine, made by zemm.pack(). Immutable.

    zemm.matmul() takes them in place of an array, with their scales and zero points or offsets.
    packed[e] is the matrix e of [E, K, N], without a copy. Any number of threads may use them at once.
    """

    engine: Engine
    dims: Shape
    data_type: DataType
    src_dtype: DataType
    memory: Memory
    scales: Operand | None
    zero_points: Operand | None
    offsets: Operand | None = None
    scale_factors: Operand | None = None
    offset_factors: Operand | None = None

    def __init__(self) -> None:
        raise TypeError("zemm.PackedWeights are made by zemm.pack()")

    @property
    def k_group(self) -> int:
        """The elements of K that share a scale and a zero point or offset; K without groups."""
        return common_group(self.dims[-2], *(o.parameter.k_group for o in self._operands().values()))

    def _operands(self) -> dict[str, Operand]:
        """The quantisation parameters that the weights have, by name."""
        found = {name: getattr(self, name) for name in PARAMETERS}
        return {name: value for name, value in found.items() if value is not None}

    def _sums_group(self, src_group: int) -> int:
        """The elements of K that share a sum of src. src_group: those that share a scale of src. A
        sum must lie within one group of src and of the weights."""
        return common_group(self.dims[-2], self.k_group, src_group)

    def _uneven_group(self) -> int | None:
        """The size of groups of which K has a shorter one at the end. None: all are of one size, which their
        number tells."""
        sizes = (o.parameter.k_group for o in self._operands().values())
        return next((size for size in sizes if self.dims[-2] % size), None)

    @property
    def md(self) -> MemoryDesc:
        """The packed layout."""
        return self.memory.md

    @property
    def nbytes(self) -> int:
        """Bytes on the engine, with scales and zero points or offsets."""
        operands = [o.memory for o in self._operands().values()]
        return sum(memory.md.size for memory in (self.memory, *operands))

    def __len__(self) -> int:
        if len(self.dims) != 3:
            raise InvalidArgumentsError(f"weights of dims {self.dims} are one matrix, not [E, K, N]")
        return self.dims[0]

    def __getitem__(self, expert: int) -> "PackedWeights":
        count = len(self)
        if isinstance(expert, bool) or not isinstance(expert, (int, np.integer)):
            raise InvalidArgumentsError(f"expert {expert!r} is not an integer")
        if not -count <= expert < count:
            # A list's error: it ends a loop over the experts.
            raise IndexError(f"expert {expert} is not in 0..{count - 1}")
        index = int(expert) % count
        part = PackedWeights.__new__(PackedWeights)
        part.engine, part.data_type, part.src_dtype = self.engine, self.data_type, self.src_dtype
        part.dims = self.dims[1:]
        md = self.md.submemory((1, *part.dims), (0, 0, 0)).reshape(part.dims)
        part.memory = _part(self.memory, md, index, TYPES[self.data_type].bits, self.md.strides[0])
        part.scales = part.zero_points = None
        for name, of_all in self._operands().items():
            setattr(part, name, of_all.expert(index, count))
        return part

    def _refuse_beside(self, engine: Engine | None, *given: Any) -> None:
        """ValueError: an argument of a matmul contradicts the weights. given: the arguments that describe
        weights which are not packed."""
        names = (
            "weights_dtype", "weights_scales", "weights_zero_points", "weights_offsets",
            "weights_scale_factors", "weights_offset_factors",
        )  # fmt: skip
        for name, value in zip(names, given, strict=True):
            if value is not None:
                raise InvalidArgumentsError(
                    f"{name} is given, but packed weights have their own: leave it out"
                )
        if engine is not None and engine is not self.engine:
            raise InvalidArgumentsError(
                f"the weights are packed on another engine object ({self.engine!r}) than engine={engine!r}"
            )

    def _declare(self, attr: Attr) -> None:
        """Add scales and zero points or offsets to the attributes of a matmul."""
        for name, parameter in self._operands().items():
            getattr(attr, f"set_{name}")(*parameter.declaration())

    def _memories(self) -> dict[int, Memory]:
        """The arguments of an execution, by ARG number."""
        of_weights = ARG["WEIGHTS"]
        made = {of_weights: self.memory}
        for name, parameter in self._operands().items():
            made[ARG[f"ATTR_{name.upper()}"] | of_weights] = parameter.memory
        return made

    def unpack(self) -> NDArray[Any]:
        """A copy of the values in row-major order: [.., K, N]. Values of fewer than 8 bits share bytes: u4
        is [.., K, N / 2], or if N ends inside a byte [.., K / 2, N] whose bytes have values along K."""
        if (found := row_major(self.md, self.memory.read())) is not None:
            return found if self.data_type in SUB_BYTE else found.view(numpy_dtype(self.data_type))
        *leading, k, n = self.dims
        if self.data_type not in SUB_BYTE:
            plain = reorder(self.memory, MemoryDesc(self.dims, self.data_type)).as_numpy()
            return plain
        if n % span_of(self.data_type).elements == 0:
            plain = reorder(self.memory, MemoryDesc(self.dims, self.data_type)).read()
            return plain.reshape(*leading, k, items_of(self.data_type, n))
        strides = (*([k * n] * len(leading)), 1, k)
        plain = reorder(self.memory, MemoryDesc(self.dims, self.data_type, strides=strides)).read()
        return plain.reshape(*leading, n, items_of(self.data_type, k)).swapaxes(-1, -2)

    def __repr__(self) -> str:
        with_ = list(self._operands())
        group = f", group {self.k_group}" if self.k_group != self.dims[-2] else ""
        parameters = f" with {' and '.join(with_)}{group}" if with_ else ""
        return (
            f"<PackedWeights {self.data_type} {self.dims}{parameters}, for src {self.src_dtype},"
            f" {self.md._layout()}, {self.nbytes} bytes on {self.engine!r}>"
        )


def are_along_k(values: NDArray[Any], data_type: Any, dims: Shape) -> bool:
    """Whether PackedWeights.unpack() has given values of these dims [.., K, N] as bytes with several of them
    along K."""
    return (
        isinstance(data_type, str)
        and data_type in SUB_BYTE
        and elements_of(data_type, values.shape[-2]) == dims[-2]
    )


def pack(
    weights: ArrayLike,
    scales: ArrayLike | None = None,
    zero_points: ArrayLike | None = None,
    *,
    offsets: ArrayLike | None = None,
    scale_factors: ArrayLike | None = None,
    offset_factors: ArrayLike | None = None,
    group: int | None = None,
    src_dtype: PackedFor = "f32",
    src_group: int | None = None,
    weights_dtype: DType | None = None,
    transposed: bool = False,
    fpmath: FpmathMode | None = None,
    engine: Engine | None = None,
) -> PackedWeights:
    """Copy weights to an engine, in the layout that its fastest kernel wants.

        packed = zemm.pack(*zemm.quantize_weights(w, bits=8, group=128))
        y = zemm.matmul(x, packed)

    weights: [K, N] or [E, K, N] (E matrices), of any type that zemm.matmul() takes.
    weights_dtype: the type of values that share bytes ("u4", "s4", "f4_e2m1", "u2"), the first in the lowest
    bits: u4 is [.., K, N / 2], or with transposed [.., N, K / 2]. Those of zemm.quantize_weights() know it.

    scales, zero_points: of the weights; a number, [N] or [.., G, N] for G groups of K / G elements.
    offsets: likewise, in place of zero points; weights are then scales * values + offsets. group: the
    elements of K in a group, where that does not divide K: the last group is shorter then.
    scale_factors, offset_factors: int8 or uint8 scales, or offsets, are multiplied by them; likewise, for
    longer groups.

    transposed: weights are [.., N, K], as torch and GGUF keep them, and scales and the others [.., N, G].

    src_dtype: the data type of the activations: "f32", "f16", "bf16", "s8" or "u8". src_group: for
    s8 and u8, the elements of K that share a scale of src; by default as many as share one of the
    weights. The layout is chosen for these; zemm.matmul() takes other activations as well, but may
    have to convert the weights then at every call.

    fpmath: as in zemm.matmul(). engine: by default a GPU if there is one, else the CPU.

    ValueError: shapes or types do not fit. NotImplementedError: no implementation takes the
    combination.
    """
    check.choice(src_dtype, PackedFor, "src_dtype")
    weights_dtype = own_dtype(weights, weights_dtype)
    check.flag(transposed, "transposed")
    array, data_type, axis = _stored(operand(weights, "weights"), weights_dtype, transposed)
    packed = PackedWeights.__new__(PackedWeights)
    packed.engine = default_engine() if engine is None else check.instance(engine, Engine, "engine")
    packed.data_type, packed.src_dtype = data_type, src_dtype
    plain = tensor(array, data_type, array.ndim, packed.engine, axis)
    packed.dims = plain.dims
    if 0 in packed.dims:
        raise InvalidArgumentsError(f"weights have dims {packed.dims}: nothing to multiply")

    def parameter(values: NDArray[Any], name: str) -> Operand:
        if transposed and values.ndim > 1:
            values = values.swapaxes(-1, -2)
        return Operand.of(describe(values, name, "weights", packed.dims, group), packed.engine)

    if group is not None:
        check_group(group)
    if src_group is not None:
        check_group(src_group, "src_group")
    packed.scales = packed.zero_points = None
    for name, given, values_of in (
        ("scale_factors", scale_factors, offset_values),
        ("scales", scales, scale_values if scale_factors is None else factored_values),
        ("zero_points", zero_points, weights_zero_point_values),
        ("offset_factors", offset_factors, offset_values),
        ("offsets", offsets, offset_values if offset_factors is None else factored_values),
    ):
        if given is not None:
            setattr(packed, name, parameter(values_of(given, name), name))
    md = MemoryDesc(packed.dims, data_type, tag="any")
    pd = matmul_desc(packed, md, src_dtype, "f32", fpmath=fpmath, src_group=src_group)
    packed.memory = reorder(plain.memory(packed.engine), pd.query_md("weights_md"))
    return packed


def _stored(
    weights: NDArray[Any], wanted: DType | None, transposed: bool
) -> tuple[NDArray[Any], DataType, int]:
    """The weights as [.., K, N], their data type, and the axis along which a byte has several
    values."""
    if weights.ndim not in (2, 3):
        raise InvalidArgumentsError(f"weights have shape {weights.shape}, not [K, N] or [E, K, N]")
    stored, dtype = with_type(weights, wanted)
    if dtype != packed_type(dtype):
        stored = join(split(stored, TYPES[dtype].bits), TYPES[packed_type(dtype)].bits)
        dtype = packed_type(dtype)
    if dtype in SUB_BYTE:
        stored = np.ascontiguousarray(stored)
    stored = stored.swapaxes(-1, -2) if transposed else stored
    return stored, dtype, -2 if transposed else -1


def packed_type(data_type: DataType) -> DataType:
    """The type in which weights are packed. Kernels multiply u3 as u4: here it becomes that once."""
    return "u4" if data_type == "u3" else data_type


def matmul_desc(
    packed: PackedWeights,
    weights: MemoryDesc,
    src_dtype: DataType,
    dst_dtype: DataType,
    *,
    bias: MemoryDesc | None = None,
    rows: int = RUNTIME_DIM,
    **settings: Any,
) -> MatmulPrimitiveDesc:
    """The matmul, by default of any number of rows. settings: of _matmul_attr()."""
    *batch, k, n = packed.dims
    attr = _matmul_attr(packed, src_dtype, 2 ** len(packed.dims) - 1, **settings)
    src, dst = (rows_of(batch, rows, size, dt) for size, dt in ((k, src_dtype), (n, dst_dtype)))
    return MatmulPrimitiveDesc(packed.engine, src, weights, dst, bias, attr)


def grouped_matmul_desc(
    packed: PackedWeights,
    rows: int,
    src_dtype: DataType,
    dst_dtype: DataType,
    *,
    bias: MemoryDesc | None = None,
    **settings: Any,
) -> MatmulPrimitiveDesc:
    """The descriptor for [E, K, N], where each row belongs to the group of a matrix: the executions say how
    many of all rows. bias: [E, N]. settings: of _matmul_attr()."""
    count, k, n = packed.dims
    attr = _matmul_attr(packed, src_dtype, 3, **settings)
    src, dst = (
        MemoryDesc.grouped((rows, size), dt, 0, count) for size, dt in ((k, src_dtype), (n, dst_dtype))
    )
    return MatmulPrimitiveDesc(packed.engine, src, packed.md, dst, bias, attr)


def _matmul_attr(
    packed: PackedWeights,
    src_dtype: DataType,
    src_mask: int,
    *,
    fpmath: FpmathMode | None = None,
    src_group: int | None = None,
    quantizes: bool = False,
    reduced_range: bool = False,
) -> Attr:
    """src_mask: all dimensions of src. An 8-bit src has a scale for each group of src_group elements and, if
    the weights have zero points or offsets, reductions in groups of _sums_group(). quantizes: src is of
    floats, which the matmul makes such a src of. reduced_range: it has 7 bits."""
    attr = Attr()
    packed._declare(attr)
    multiplied = "s8" if quantizes else src_dtype
    set_fpmath(attr, multiplied, packed.data_type, fpmath)
    if multiplied not in ("s8", "u8"):
        return attr
    group = src_group if src_group is not None else packed.k_group
    if reduced_range:
        attr.set_reduced_range(ARG["SRC"])
    if quantizes:
        attr.set_src_dyn_quant_params(group)
        return attr
    attr.set_scales(ARG["SRC"], src_mask, (1, group))
    if packed.zero_points is not None or packed.offsets is not None:
        attr.set_precomputed_reductions(ARG["SRC"], src_mask, (1, packed._sums_group(group)))
    return attr


def rows_of(batch: list[int] | Shape, rows: int, size: int, data_type: DataType) -> MemoryDesc:
    """[.., rows, size], row-major, where rows may be RUNTIME_DIM."""
    if rows != RUNTIME_DIM or not batch:
        return MemoryDesc((*batch, rows, size), data_type, strides=None if rows > 0 else (size, 1))
    return MemoryDesc((*batch, rows, size), data_type, strides=(RUNTIME_DIM, size, 1))
