# SPDX-License-Identifier: Apache-2.0
"""Plain values of weights in a kernel's blocked layout.

A reorder computes the place of each element; here numpy moves blocks, which is some ten times as fast. The
outer blocks are dense, and along one dimension they are neighbours: those are moved at once.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zemm._arrays.weight_codes import joined
from zemm._library.lists import TYPES
from zemm.dtypes import per_byte, split
from zemm.memory_desc import MemoryDesc

Bytes = NDArray[np.uint8]


def row_major(md: MemoryDesc, data: Bytes) -> NDArray[np.unsignedinteger] | None:
    """The elements of a memory's bytes as unsigned integers, [.., K, N]. Of fewer than 8 bits: bytes with
    several along N, or along K if a row along N would end inside one. None: the layout is another than blocks
    in a dense order."""
    bits, each, dims = TYPES[md.data_type].bits, per_byte(md.data_type), md.dims
    is_packed = each > 1
    blocks = [1] * len(dims)
    for block, dim in zip(md.inner_blks, md.inner_idxs, strict=True):
        blocks[dim] *= block
    outer = [padded // block for padded, block in zip(md.padded_dims, blocks, strict=True)]
    order = sorted(range(len(dims)), key=lambda dim: -md.strides[dim])
    axis = -2 if dims[-1] % each else -1  # of the values in a byte
    paired = len(dims) + axis
    is_cut = is_packed and blocks[paired] % each and paired != order[-1]
    if not md.inner_nblks or md.offset0 or is_cut or not _is_dense(md, order, outer):
        return None
    shape = [size // each if dim == paired else size for dim, size in enumerate(dims)]
    plain = np.empty(shape, np.uint8 if is_packed else f"u{bits // 8}")
    for place, chunk in _chunks(md, data.view(plain.dtype), order, outer, blocks):
        if is_packed:
            chunk = joined(chunk, axis, bits)
            first, last, _ = place[paired].indices(dims[paired])
            place[paired] = slice(first // each, last // each)
        plain[tuple(place)] = chunk
    return plain


def _is_dense(md: MemoryDesc, order: list[int], outer: list[int]) -> bool:
    stride = math.prod(md.inner_blks)
    for dim in reversed(order):
        if outer[dim] > 1 and md.strides[dim] != stride:
            return False
        stride *= outer[dim]
    return True


def _chunks(
    md: MemoryDesc, data: NDArray[np.unsignedinteger], order: list[int], outer: list[int], blocks: list[int]
) -> Iterator[tuple[list[slice], NDArray[np.unsignedinteger]]]:
    """A run of elements along the last outer dimension: its place in the plain array, and its elements."""
    *others, last = order
    inner = list(md.inner_blks)
    axes = []
    for dim in range(len(outer)):
        axes += [0] if dim == last else []
        axes += [1 + i for i, own in enumerate(md.inner_idxs) if own == dim]
    sizes = [outer[dim] * blocks[dim] if dim == last else blocks[dim] for dim in range(len(outer))]
    length = math.prod(sizes)
    elements_per_item = per_byte(md.data_type)
    for number, index in enumerate(np.ndindex(*(outer[dim] for dim in others))):
        items = length // elements_per_item
        part = data[number * items : (number + 1) * items]
        if elements_per_item > 1:
            part = split(part, 8 // elements_per_item)
        chunk = part.reshape(outer[last], *inner).transpose(axes).reshape(sizes)
        place = [slice(0, md.dims[dim]) for dim in range(len(outer))]
        for dim, i in zip(others, index, strict=True):
            place[dim] = slice(i * blocks[dim], min((i + 1) * blocks[dim], md.dims[dim]))
        yield place, chunk[tuple(slice(0, own.stop - own.start) for own in place)]
