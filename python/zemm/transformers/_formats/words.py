# SPDX-License-Identifier: Apache-2.0
"""Integers of 4 and 8 bits in words of 32 bits, as GPTQ and AWQ store them, without a longer form of all
of them."""

import math

import torch

from zemm.errors import InvalidArgumentsError
from zemm.words import DataType

UNSIGNED: dict[int, DataType] = {4: "u4", 8: "u8"}
_SIGNED: dict[int, DataType] = {4: "s4", 8: "s8"}


def bytes_of(words: torch.Tensor) -> torch.Tensor:
    """int32 [.., n] as uint8 [.., 4 n]: the first integers of a word are in its first bytes."""
    return words.contiguous().view(torch.uint8)


def unpack(packed: torch.Tensor, bits: int) -> torch.Tensor:
    """Bytes with the integers of a row, uint8 [.., n], as one byte for each integer."""
    if bits == 8:
        return packed
    pairs = torch.stack((packed & 15, packed >> 4), dim=-1)
    return pairs.flatten(-2)


def pack(values: torch.Tensor, bits: int) -> torch.Tensor:
    """The inverse of unpack()."""
    return values if bits == 8 else values[..., ::2] | values[..., 1::2] << 4


def centred(
    values: torch.Tensor, zero_points: torch.Tensor, bits: int
) -> tuple[torch.Tensor, torch.Tensor | None, DataType]:
    """Packed values, their zero points and their type. Where each zero point is the middle of the range,
    the values become signed ones that need none."""
    if not torch.all(zero_points == 2 ** (bits - 1)):
        return values, zero_points, UNSIGNED[bits]
    flipped = values ^ (0x88 if bits == 4 else 0x80)
    return (flipped.view(torch.int8) if bits == 8 else flipped), None, _SIGNED[bits]


def group_of(k: int, group: int) -> int:
    """The elements of K that share a scale. -1: all."""
    return k if group == -1 else group


def group_count(k: int, group: int) -> int:
    """How many groups K has. The last one may be shorter."""
    return -(-k // group_of(k, group))


def group_sizes(k: int, group: int) -> list[int]:
    size = group_of(k, group)
    return [min(size, k - first) for first in range(0, k, size)]


def common_group(sizes: list[int], parameters: list[torch.Tensor], name: str) -> list[torch.Tensor]:
    """Parameters [G, N] of groups of these sizes, repeated for the largest groups of one size.

    zemm's groups have one size. ValueError: there are only tiny ones."""
    unit = math.gcd(*sizes)
    if min(sizes) == max(sizes):
        return parameters
    if unit < 8:
        raise InvalidArgumentsError(
            f"{name} has groups of {', '.join(map(str, sorted(set(sizes))))} elements, which zemm cannot"
            " divide into groups of one size of at least 8"
        )
    times = torch.tensor([size // unit for size in sizes])
    return [parameter.repeat_interleave(times, dim=0) for parameter in parameters]


def order_of(
    k: int,
    group: int,
    g_idx: torch.Tensor | None,
    name: str,
    tensors: tuple[str, str] = ("g_idx", "scales"),
) -> tuple[list[int], torch.Tensor | None]:
    """The sizes of the groups of a layer, and the order of K that brings their rows together (None: they
    are). g_idx: the group of each row of K; None: they are in order. tensors: of the layer called name, for
    errors."""
    count = group_count(k, group)
    own = torch.arange(k) // group_of(k, group)
    if g_idx is None or torch.equal(g_idx.long(), own):
        return group_sizes(k, group), None
    if g_idx.min() < 0 or g_idx.max() >= count:
        raise InvalidArgumentsError(
            f"tensor {name}.{tensors[0]} has groups {g_idx.min()} to {g_idx.max()}, but {name}.{tensors[1]}"
            f" has {count} groups"
        )
    sizes = torch.bincount(g_idx, minlength=count).tolist()
    if 0 in sizes:
        raise InvalidArgumentsError(
            f"tensor {name}.{tensors[0]} has no row of group {sizes.index(0)} of {count}: zemm cannot bring"
            " the rows into groups"
        )
    return sizes, torch.argsort(g_idx, stable=True)
