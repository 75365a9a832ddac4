# SPDX-License-Identifier: Apache-2.0
"""Integers of 3, 4 and 8 bits in words of 32 bits, as GPTQ and AWQ store them.

Values stay packed, two of 4 bits in a byte. What is small is computed by numpy, on the calling thread: torch
would wake its pool for each step.
"""

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from zemm.errors import InvalidArgumentsError
from zemm.words import DataType

Bytes = NDArray[np.uint8]
_UNSIGNED: dict[int, DataType] = {3: "u3", 4: "u4", 8: "u8"}
_SIGNED: dict[int, DataType] = {4: "s4", 8: "s8"}


def bytes_of(words: torch.Tensor) -> Bytes:
    """int32 [.., n] as bytes [.., 4 n]: the first integers of a word are in its first bytes."""
    # flatten(): a dimension of one element may have any stride, which view() minds.
    return words.contiguous().flatten().numpy().view(np.uint8).reshape(*words.shape[:-1], -1)


def centred(values: Bytes, zero_points: Bytes, bits: int) -> tuple[NDArray[Any], Bytes | None, DataType]:
    """Packed values, their zero points and their type. Where each zero point is the middle of the range,
    the values become signed ones that need none."""
    if bits not in _SIGNED or not np.all(zero_points == 2 ** (bits - 1)):
        return values, zero_points, _UNSIGNED[bits]
    flipped = values ^ np.uint8(0x88 if bits == 4 else 0x80)
    return (flipped.view(np.int8) if bits == 8 else flipped), None, _SIGNED[bits]


def group_sizes(k: int, group: int) -> list[int]:
    """The elements of K in each group; -1: all are one. The last group may be shorter."""
    size = k if group == -1 else group
    return [min(size, k - first) for first in range(0, k, size)]


def common_group(sizes: list[int], parameters: list[Any], name: str) -> tuple[list[Any], int | None]:
    """Parameters [G, N] of groups of these sizes, repeated for the largest groups of one size, and that size
    if the last group is shorter.

    zemm's other groups have one size. ValueError: there are only tiny ones."""
    unit = math.gcd(*sizes)
    if min(sizes) == max(sizes):
        return parameters, None
    if min(sizes[:-1]) == max(sizes[:-1]) > sizes[-1]:
        return parameters, sizes[0]
    if unit < 8:
        raise InvalidArgumentsError(
            f"{name} has groups of {', '.join(map(str, sorted(set(sizes))))} elements, which zemm cannot"
            " divide into groups of one size of at least 8"
        )
    groups = np.repeat(np.arange(len(sizes)), [size // unit for size in sizes])
    return [parameter[groups] for parameter in parameters], None


def order_of(
    k: int,
    group: int,
    g_idx: torch.Tensor | None,
    name: str,
    tensors: tuple[str, str] = ("g_idx", "scales"),
) -> tuple[list[int], NDArray[np.intp] | None]:
    """The sizes of the groups of a layer, and the order of K that brings their rows together (None: they
    are). g_idx: the group of each row of K; None: they are in order. tensors: of the layer called name, for
    errors."""
    sizes = group_sizes(k, group)
    count = len(sizes)
    groups = g_idx.numpy() if g_idx is not None else None
    if groups is None or np.array_equal(groups, np.repeat(np.arange(count), sizes)):
        return sizes, None
    if groups.min() < 0 or groups.max() >= count:
        raise InvalidArgumentsError(
            f"tensor {name}.{tensors[0]} has groups {groups.min()} to {groups.max()}, but {name}.{tensors[1]}"
            f" has {count} groups"
        )
    rows = np.bincount(groups, minlength=count)
    if not rows.all():
        raise InvalidArgumentsError(
            f"tensor {name}.{tensors[0]} has no row of group {rows.argmin()} of {count}: zemm cannot bring"
            " the rows into groups"
        )
    return rows.tolist(), np.argsort(groups, kind="stable")
