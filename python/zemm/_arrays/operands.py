# SPDX-License-Identifier: Apache-2.0
"""Arrays as operands of a primitive: tensors, whose memory needs no copy on a CPU engine; and scales, zero
points and reductions, whose mask and groups are found from the shape of their array."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zemm._library import check
from zemm._library.codes import elements_of, span_of
from zemm._library.lists import TYPES, types_for
from zemm.attributes import Attr
from zemm.dtypes import FLOATING, SUB_BYTE, as_float32, dtype_name, pack_values, type_of
from zemm.engine import Engine
from zemm.errors import InvalidArgumentsError
from zemm.memory import Memory
from zemm.memory_desc import MemoryDesc
from zemm.words import DataType, DType, FpmathMode

Shape = tuple[int, ...]
SCALE_TYPES = types_for("scale")
INTEGER_WEIGHTS = tuple(name for name in types_for("weights") if TYPES[name].kind == "integer")
_FOR_MANY = ("e8m0", "f8_e4m3")  # the library takes no single scale of these types
ZERO_POINT_TYPES = tuple(name for name in types_for("zero_point") if name not in SUB_BYTE)
_OFFSET_TYPES = tuple(name for name in ZERO_POINT_TYPES if name in FLOATING)
_INTEGER_ZERO_POINTS = tuple(name for name in ZERO_POINT_TYPES if name not in FLOATING)


@dataclass(frozen=True)
class Tensor:
    """An array with the dims, data type and strides (in elements) of its memory descriptor."""

    array: NDArray[Any]
    dims: Shape
    data_type: DataType
    strides: Shape

    def md(self) -> MemoryDesc:
        return _describe(self.dims, self.data_type, self.strides)

    def memory(self, engine: Engine) -> Memory:
        md = self.md()
        if engine.kind == "cpu":
            return Memory.from_handle(md, engine, self.array.ctypes.data, keep=self.array)
        memory = Memory(md, engine)
        if md.size:
            memory.write(_bytes_in_order(self.array))
        return memory


@lru_cache(maxsize=1024)
def _describe(dims: Shape, data_type: DataType, strides: Shape) -> MemoryDesc:
    """Programs multiply the same few shapes, and making a descriptor takes longer than to find it."""
    return MemoryDesc(dims, data_type, strides=strides)


def operand(values: ArrayLike, name: str) -> NDArray[Any]:
    """src or weights as an array. Numbers that are in no array yet become float32.

    ValueError: they are no array, or integers of more than 8 bits.
    """
    array = check.array(values, name)
    if array.dtype == np.float64 and not hasattr(values, "dtype"):
        return as_float32(array, name)
    if array.dtype.kind in "iub" and array.dtype not in (np.int8, np.uint8):
        raise InvalidArgumentsError(
            f"{name} has type {array.dtype}: cast it, as in {name}.astype(np.int8) or .astype(np.float32)"
        )
    return array


def with_type(weights: NDArray[Any], wanted: DType | None) -> tuple[NDArray[Any], DataType]:
    """Weights as stored, and their data type. wanted: the type, of fewer than 8 bits, of bytes with
    several values each. Arrays of such types are packed along their last axis."""
    own = type_of(weights, "weights")
    dtype = None if wanted is None else dtype_name(wanted, "weights_dtype")
    if own in SUB_BYTE:
        if dtype not in (None, own):
            raise InvalidArgumentsError(f"weights have type {own}, weights_dtype is {dtype!r}")
        return pack_values(weights, own), own
    if dtype is not None and dtype != own and (dtype not in SUB_BYTE or own not in ("u8", "s8")):
        raise InvalidArgumentsError(
            f"weights have type {own}, weights_dtype is {dtype!r}: it is for bytes with several values"
            " each, of a type of 4 or 2 bits; astype() converts values, view() reads bytes as another type"
        )
    return weights, dtype or own


def bytes_of_weights(
    weights: NDArray[Any], wanted: DType | None, src: Shape
) -> tuple[NDArray[Any], DataType, int | None]:
    """The weights as stored, their data type, and the axis along which a byte holds several
    elements (-1 or -2; None if the type has 8 bits or more)."""
    stored, dtype = with_type(weights, wanted)
    if dtype not in SUB_BYTE:
        return stored, dtype, None
    if stored is not weights:
        return stored, dtype, -1
    k, rows, span = src[-1], weights.shape[-2], span_of(dtype)
    if rows == k:
        return (weights if weights.strides[-1] == 1 else np.ascontiguousarray(weights)), dtype, -1
    if elements_of(dtype, rows) == k and (weights.strides[-2] == 1 or rows == 1):
        return weights, dtype, -2
    raise InvalidArgumentsError(
        f"weights {weights.shape} of packed {dtype} do not fit src {src}: K = {k} needs [.., {k},"
        f" N / {span.elements}], or the transpose of [.., N, {k // span.elements}]"
    )


def unpacked(shape: Shape, packed_axis: int | None, data_type: DataType) -> Shape:
    if packed_axis is None:
        return shape
    axis = len(shape) + packed_axis
    return tuple(elements_of(data_type, n) if d == axis else n for d, n in enumerate(shape))


def tensor(
    array: NDArray[Any], data_type: DataType, ndims: int, engine: Engine, packed_axis: int = -1
) -> Tensor:
    """Describe an array for an engine, with ndims dimensions (1s are put in front).

    packed_axis: the axis (-1 or -2) along which a byte holds several elements of its type. An array
    that a memory descriptor cannot describe is copied to a dense one: overlapping, reversed,
    unaligned or with foreign byte order. So is an array with gaps for a GPU, as its bytes are
    copied as a whole. A copy keeps the order of the axes: it gives the bits that the array would.
    """
    array = array.reshape((1,) * (ndims - array.ndim) + array.shape)
    if not in_place(array, engine):
        swap = packed_axis != -1
        array = array.swapaxes(-1, -2) if swap else array
        # Bytes with several values need their axis innermost, and broadcast axes have no order.
        row_major = data_type in SUB_BYTE or 0 in array.strides
        array = np.array(array, array.dtype.newbyteorder("="), order="C" if row_major else "K")
        array = array.swapaxes(-1, -2) if swap else array
    dims = list(array.shape)
    strides = _element_strides(array)
    if data_type in SUB_BYTE:
        axis = ndims + packed_axis
        dims[axis] = elements_of(data_type, dims[axis])
        strides = [1 if d == axis else elements_of(data_type, stride) for d, stride in enumerate(strides)]
    return Tensor(array, tuple(dims), data_type, tuple(strides))


def in_place(array: NDArray[Any], engine: Engine) -> bool:
    """Whether the array can be a memory of the engine with its own bytes and strides."""
    if not array.dtype.isnative or not array.flags.aligned:
        return False
    gaps = engine.kind == "cpu"
    span = array.itemsize
    for stride, count in sorted((s, n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < span or stride % array.itemsize or (stride > span and not gaps):
            return False
        span = stride * count
    return True


def owned(array: NDArray[Any]) -> NDArray[Any]:
    """A copy for an object that keeps it: dense, row-major, in this machine's byte order, read-only."""
    made = np.array(array, array.dtype.newbyteorder("="), order="C")
    made.flags.writeable = False
    return made


def shares_places(array: NDArray[Any]) -> bool:
    """Whether elements of the array may overlap in memory."""
    if array.size < 2:  # numpy gives arrays without elements strides of 0
        return False
    span = array.itemsize
    for stride, count in sorted(
        (abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1
    ):
        if stride < span:
            return True
        span += stride * (count - 1)
    return False


def _element_strides(array: NDArray[Any]) -> list[int]:
    """The array's strides in elements. Dimensions of size 1, where numpy's strides are arbitrary,
    get those of a dense array."""
    strides = [0] * array.ndim
    inner = 1
    for d in reversed(range(array.ndim)):
        strides[d] = array.strides[d] // array.itemsize if array.shape[d] > 1 else inner
        inner = max(inner, strides[d] * max(array.shape[d], 1))
    return strides


def _bytes_in_order(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of a dense array in the order of their addresses."""
    order = sorted(range(array.ndim), key=lambda d: (-array.strides[d], d))
    return array.transpose(order).reshape(-1).view(np.uint8)


@dataclass(frozen=True)
class Parameter:
    """A dense tensor of scales, zero points or reductions, with its mask and groups.

    k_group: elements of K that share a value (for src and weights).
    """

    values: NDArray[Any]
    mask: int
    groups: Shape
    k_group: int

    @property
    def data_type(self) -> DataType:
        return dtype_name(self.values.dtype)


def scale_values(values: ArrayLike, name: str) -> NDArray[Any]:
    array = check.array(values, name)
    if array.dtype.kind in "iu" or (array.size == 1 and type_of(array, name) in _FOR_MANY):
        array = array.astype(np.float32)
    return _of_type(as_float32(array, name, may_vanish=False), name, SCALE_TYPES)


def zero_point_values(values: ArrayLike, name: str) -> NDArray[Any]:
    """Zero points of src or dst: integers."""
    return _of_type(_integers_of_32_bits(values, name), name, _INTEGER_ZERO_POINTS)


def weights_zero_point_values(values: ArrayLike, name: str) -> NDArray[Any]:
    """Zero points of weights: integers or floats. float64 becomes float32."""
    return _of_type(as_float32(_integers_of_32_bits(values, name), name), name, ZERO_POINT_TYPES)


def offset_values(values: ArrayLike, name: str) -> NDArray[Any]:
    """Offsets of weights, or factors: floats. Integers and float64 become float32."""
    array = check.array(values, name)
    if array.dtype.kind in "iu":
        array = array.astype(np.float32)
    return _of_type(as_float32(array, name), name, _OFFSET_TYPES)


def factored_values(values: ArrayLike, name: str) -> NDArray[Any]:
    """Scales or offsets that have factors: integers of 8 bits."""
    array = check.array(values, name)
    if (dtype := type_of(array, name)) not in ("s8", "u8"):
        raise InvalidArgumentsError(f"{name} has type {dtype}, {name[:-1]}_factors multiply s8 or u8")
    return array


def _integers_of_32_bits(values: ArrayLike, name: str) -> NDArray[Any]:
    array = check.array(values, name)
    if array.dtype.kind in "iu" and array.dtype not in (np.int32, np.int8, np.uint8):
        array = _as_int32(array, name)
    return array


def reduction_values(values: ArrayLike, name: str) -> NDArray[Any]:
    array = check.array(values, name)
    if array.dtype == np.int64 and not hasattr(values, "dtype"):  # numbers that are in no array yet
        array = _as_int32(array, name)
    return _of_type(array, name, ("s32",))


def _as_int32(array: NDArray[Any], name: str) -> NDArray[np.int32]:
    limits = np.iinfo(np.int32)
    if array.size and (array.min() < limits.min or array.max() > limits.max):
        raise InvalidArgumentsError(f"{name} lies in {array.min()}..{array.max()}, outside 32 bits")
    return array.astype(np.int32)


def _of_type(array: NDArray[Any], name: str, types: tuple[str, ...]) -> NDArray[Any]:
    dtype = type_of(array, name)
    if dtype not in types:
        raise InvalidArgumentsError(f"{name} has type {dtype}, not {' or '.join(types)}")
    return array


def groups_of(k: int, group: int) -> int:
    """The number of groups of K, of which the last one may be shorter."""
    return -(-k // group)


def inferred_group(k: int, groups: int, group: int | None) -> int | None:
    """The elements of K in each of so many groups: `group`, which may leave a shorter one at the end, or what
    divides K. None: neither makes so many."""
    if group is not None and groups_of(k, group) == groups:
        return min(group, k)
    return None if groups == 0 or k % groups else k // groups


def describe(values: NDArray[Any], name: str, owner: str, dims: Shape, group: int | None = None) -> Parameter:
    """The parameter `values` of its owner ("weights" or "dst"), whose dims are given.

    The dimensions of `values` belong to the last ones of dims. Each is as large as the owner's (one
    value for each index), 1 (one value for all) or, along K of weights, a number of groups: that of
    groups of `group` elements, of which the last one may be shorter, or one that divides K. With groups
    there must be a value for each column: otherwise [N, 1] would be taken for N groups. A single value
    has mask 0. ValueError if the shape does not fit.
    """
    k = dims[-2]
    if values.size == 0 and (k or owner != "weights"):
        raise _misfit(values, name, owner, dims)
    if values.size == 1:
        return Parameter(values.reshape(1), 0, (), k)
    shape = (1,) * (len(dims) - values.ndim) + values.shape
    more = len(shape) - len(dims)  # batch dimensions that the owner lacks: they must be 1
    if any(size != 1 for size in shape[:more]):
        raise _misfit(values, name, owner, dims)
    shape = shape[more:]
    mask, groups = 0, [1, 1]
    k_dim = len(dims) - 2 if owner == "weights" else None
    if k_dim is not None and shape[-2] > 1 and shape[-1] != dims[-1]:
        raise _misfit(values, name, owner, dims)
    for d, (have, full) in enumerate(zip(shape, dims, strict=True)):
        if have == full:
            mask |= int(full > 1) << d
        elif d == k_dim and have > 1 and (size := inferred_group(full, have, group)):
            mask |= 1 << d
            groups[d - len(dims)] = size
        elif have != 1:
            raise _misfit(values, name, owner, dims, group)
    k_group = groups[0] if k_dim is not None and mask >> k_dim & 1 else k
    dense = np.ascontiguousarray(values).reshape(shape)
    return Parameter(dense, mask, tuple(groups) if groups != [1, 1] else (), k_group)


def describe_src(
    values: NDArray[Any],
    name: str,
    dims: Shape,
    ndims: int,
    flat: bool,
    common: bool = True,
    group: int | None = None,
) -> Parameter:
    """A parameter of src, [.., M, G]: one value for each row and group of K / G elements, or of `group`
    elements if there are as many groups of these.

    dims: of src. ndims: of the primitive, which may have more. flat: the primitive has the leading
    dimensions of src merged with its rows. common: a single value is allowed and has mask 0.
    ValueError if the shape does not fit.
    """
    if common and values.size == 1:
        return Parameter(values.reshape(1), 0, (), dims[-1])
    fits = values.ndim == len(dims) and values.shape[:-1] == dims[:-1]
    if fits and dims[-1] == 0:
        return Parameter(values, 0, (), 0)
    groups = values.shape[-1] if fits else 0
    size = inferred_group(dims[-1], groups, group) if groups else None
    if size is None:
        raise _misfit(values, name, "src", dims, group)
    values = np.ascontiguousarray(values)
    leading = (-1,) if flat else (*(1,) * (ndims - len(dims)), *dims[:-1])
    return Parameter(values.reshape(*leading, groups), (1 << ndims) - 1, (1, size), size)


def _misfit(
    values: NDArray[Any], name: str, owner: str, dims: Shape, group: int | None = None
) -> InvalidArgumentsError:
    rules = {
        "src": f"one value, or [.., M, G] {_groups_of(dims[-1], group)}",
        "weights": f"one value, [N], or [.., G, N] {_groups_of(dims[-2], group)}",
        "dst": "one value or [N]",
    }
    return InvalidArgumentsError(
        f"{name} of shape {values.shape} does not fit {owner} of shape {dims}: it must be {rules[owner]}"
    )


def _groups_of(k: int, group: int | None) -> str:
    """Which numbers of groups fit K."""
    if group is None:
        return "where the number of groups G divides K, or the size of a group is given, too"
    return f"where the number of groups G is {groups_of(k, group)}, of groups of {group}, or divides K"


def set_fpmath(attr: Attr, src_dtype: DataType, weights_dtype: DataType, fpmath: FpmathMode | None) -> None:
    """Set the fpmath mode. Integer weights of a floating-point src are converted to src's type
    unless fpmath says something else."""
    weight_only = TYPES[src_dtype].kind == "floating" and weights_dtype in INTEGER_WEIGHTS
    if fpmath is not None or weight_only:
        own: dict[str, FpmathMode] = {"bf16": "bf16", "f16": "f16", "f32": "strict"}
        mode = own.get(src_dtype, "any")
        if fpmath is not None:
            check.choice(fpmath, FpmathMode, "fpmath")
            mode = fpmath
        attr.set_fpmath_mode(mode, apply_to_int=weight_only)
