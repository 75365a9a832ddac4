# SPDX-License-Identifier: Apache-2.0
"""Quantises weights and packs them, some columns at a time: beside the result only these are in memory."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zemm._arrays.operands import Parameter, describe, groups_of, tensor
from zemm._arrays.reorder import reorder_to
from zemm._arrays.scales import check_group
from zemm._arrays.weight_codes import Rule, codes_of, has_rows_of_k, naming_elements
from zemm._library.codes import join, span_of
from zemm._library.lists import TYPES
from zemm.dtypes import SUB_BYTE, numpy_dtype
from zemm.engine import Engine
from zemm.errors import InvalidArgumentsError
from zemm.memory import Memory
from zemm.memory_desc import MemoryDesc
from zemm.packed_weights import Operand, PackedWeights, matmul_desc, packed_type
from zemm.words import DataType, FpmathMode

Shape = tuple[int, ...]
_ELEMENTS = 1 << 23  # that are quantised before they are packed
_COLUMNS = 64


def pack_floats(
    w: NDArray[Any],
    rule: Rule,
    engine: Engine,
    *,
    src_dtype: DataType,
    src_group: int | None,
    fpmath: FpmathMode | None,
) -> PackedWeights:
    """zemm.pack(*zemm.quantize_weights(w)), with the same bits. w: [K, N] or [E, K, N]. A row along N
    may end inside a byte if one along K does not."""
    if 0 in w.shape:
        raise InvalidArgumentsError(f"w has shape {w.shape}: nothing to multiply")
    *leading, k, n = w.shape
    if src_group is not None:
        check_group(src_group, "src_group")
    packed = PackedWeights.__new__(PackedWeights)
    packed.engine, packed.dims, packed.src_dtype = engine, w.shape, src_dtype
    packed.data_type = packed_type(rule.data_type)
    axis = _paired_axis(w, packed.data_type)
    shape = (*leading, groups_of(k, rule.group), n)
    parameters = {"scales": np.ones(shape, numpy_dtype(rule.scale_type))}
    if not rule.is_signed:
        parameters["zero_points"] = np.zeros(shape, np.uint8)
    _set_operands(packed, parameters, rule.group)
    md = MemoryDesc(w.shape, packed.data_type, tag="any")
    pd = matmul_desc(packed, md, src_dtype, "f32", fpmath=fpmath, src_group=src_group)
    packed.memory = Memory(pd.query_md("weights_md"), engine)
    with naming_elements(w):
        for at, columns, memory in _parts_of(packed):
            own = {name: array[at][:, columns] for name, array in parameters.items()}
            plain = _quantised(w[at], columns, rule, axis, own)
            t = tensor(plain, packed.data_type, 2, engine, -1 if axis is None else axis)
            reorder_to(t.memory(engine), memory)
    _set_operands(packed, parameters, rule.group)  # a GPU has copied them
    return packed


def _paired_axis(w: NDArray[Any], data_type: DataType) -> int | None:
    """The axis along which a byte has several values: -1 or -2."""
    if data_type not in SUB_BYTE:
        return None
    k, n = w.shape[-2:]
    span = span_of(data_type).elements
    wanted = (-2, -1) if has_rows_of_k(w) else (-1, -2)
    for axis in wanted:
        if w.shape[axis] % span == 0:
            return axis
    raise InvalidArgumentsError(
        f"w {w.shape}: K = {k} or N = {n} must be a multiple of {span} for {data_type} values, {span} of"
        " which share a byte"
    )


def _set_operands(packed: PackedWeights, arrays: dict[str, NDArray[Any]], group: int) -> None:
    packed.scales = packed.zero_points = None
    for name, array in arrays.items():
        found = describe(array, name, "weights", packed.dims, group)
        values = found.values.view()
        values.flags.writeable = False
        parameter = Parameter(values, found.mask, found.groups, found.k_group)
        memory = tensor(values, parameter.data_type, values.ndim, packed.engine).memory(packed.engine)
        setattr(packed, name, Operand(parameter, memory))


def _parts_of(packed: PackedWeights) -> Iterator[tuple[Shape, slice, Memory]]:
    """The matrices of the weights, and pieces of their columns as memories, if they lie apart."""
    *leading, k, n = packed.dims
    md, bits = packed.md, TYPES[packed.data_type].bits
    matrix = md.submemory((1, k, n), (0, 0, 0)).reshape((k, n)) if leading else md
    tag = matrix._tag()
    blocks = [size for size, d in zip(matrix.inner_blks, matrix.inner_idxs, strict=True) if d == 1]
    block = math.prod(blocks)
    unit = math.lcm(block, _COLUMNS)
    wide = max(_ELEMENTS // k // unit, 1) * unit
    piece = MemoryDesc((k, min(wide, n)), packed.data_type, tag)
    if not matrix._has_tag(tag) or piece.strides != matrix.strides:
        wide = n
    for at in np.ndindex(*leading):
        of_matrix = at[0] * md.strides[0] if at else 0
        for begin in range(0, n, wide):
            columns = slice(begin, min(begin + wide, n))
            whole = columns == slice(0, n)
            own = matrix if whole else MemoryDesc((k, columns.stop - begin), packed.data_type, tag)
            offset = of_matrix + begin // block * matrix.strides[1]
            address = packed.memory.handle + offset * bits // 8
            yield at, columns, Memory.from_handle(own, packed.engine, address, keep=packed.memory._handle)


def _quantised(
    matrix: NDArray[Any], columns: slice, rule: Rule, axis: int | None, parameters: dict[str, NDArray[Any]]
) -> NDArray[Any]:
    """The values of some columns, as bytes; scales and zero points are written to their arrays."""
    k, count = len(matrix), columns.stop - columns.start
    rows = axis == -2 or (axis is None and has_rows_of_k(matrix))
    values = np.empty((count, k), rule.values_type).T if rows else np.empty((k, count), rule.values_type)
    for codes in codes_of(matrix, rule, columns):
        own = slice(codes.n.start - columns.start, codes.n.stop - columns.start)
        values[codes.k, own] = codes.values
        parameters["scales"][codes.groups(rule), own] = codes.scales
        if codes.zero_points is not None:
            parameters["zero_points"][codes.groups(rule), own] = codes.zero_points
    if axis is None:
        return values
    bits = TYPES[packed_type(rule.data_type)].bits
    return join(values.T, bits).T if axis == -2 else join(values, bits)
