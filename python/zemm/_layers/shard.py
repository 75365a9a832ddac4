# SPDX-License-Identifier: Apache-2.0
"""Cuts the plain arrays of a layer into equal parts, one for each of several processes."""

import json
import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from zemm._layers.state import State
from zemm._library.codes import join, span_of, split
from zemm._library.lists import TYPES
from zemm.dtypes import SUB_BYTE
from zemm.errors import InvalidArgumentsError
from zemm.packed_weights import are_along_k

Along = Literal["N", "K", "E"]
_PARTS = {"E": ("experts", -3), "K": ("rows", -2), "N": ("columns", -1)}  # their name, their dimension


def check_parts(
    dims: tuple[int, ...],
    of_groups: Mapping[str, int],
    activation_group: int | None,
    along: Along,
    size: int,
    blocks: int = 1,
) -> None:
    """ValueError: weights [K, N] or [E, K, N] have no `size` equal parts, or a part would begin inside of a
    group.

    of_groups: elements of K in a group of scales, zero points and offsets. activation_group: of activations
    that are quantised. blocks: as in part_of().
    """
    what, dim = _PARTS[along]
    if len(dims) < -dim:
        raise InvalidArgumentsError(f"the weights {dims} are one matrix, not [E, K, N]: cut it along N or K")
    if dims[dim] % (size * blocks):
        raise InvalidArgumentsError(
            f"the weights {dims} have {dims[dim] // blocks} {what}, which {size} does not divide"
        )
    if along != "K" or size == 1:
        return
    k = dims[dim]
    groups = {f"the group of {name}": group for name, group in of_groups.items() if group < k}
    if activation_group is not None:
        groups["activation_group"] = activation_group
    for name, group in groups.items():
        if k // size % group:
            raise InvalidArgumentsError(
                f"{name}, {group}, does not divide the {k // size} rows of a part: make the layer with a"
                " smaller group, or cut it along N"
            )


def part_of(state: State, along: Along, rank: int, size: int, blocks: int = 1) -> State:
    """The part `rank` of a layer that check_parts() takes. state: as pack_state() makes it, without a prefix.

    along: "N": columns. "K": rows; the part's result is f32, as it is added to others, and has no bias, but
    of a layer with experts the part 0 has it, as the sum has a weight for each expert. "E": whole experts.
    blocks: of columns that lie side by side, each of which is cut.
    """
    config = json.loads(state["config"].tobytes())
    dims = tuple(config["dims"])
    dim = _PARTS[along][1]
    length = dims[dim] // blocks
    first, end = (length * i // size for i in (rank, rank + 1))
    at: Any = slice(first, end)
    if blocks > 1:
        at = np.concatenate([np.arange(first, end) + length * i for i in range(blocks)])
    part = {"values": _cut_values(state["values"], config["weights_dtype"], dims, along, at)}
    for name, array in state.items():
        if name not in ("values", "config", "bias"):
            part[name] = _cut_parameter(array, dims, along, at)
    bias = state.get("bias")
    if along == "K":
        config["dst_dtype"] = "f32"
        bias = bias if len(dims) == 3 and rank == 0 else None
    if bias is not None:
        part["bias"] = bias if along == "K" else bias[..., at] if along == "N" else bias[at]
    config["dims"][dim] //= size
    config["types"] = {name: config["types"][name] for name in part}
    config["shapes"] = {name: array.shape for name, array in part.items()}
    part["config"] = np.frombuffer(json.dumps(config).encode(), np.uint8)
    return part


def _cut_parameter(array: NDArray[Any], dims: tuple[int, ...], along: Along, at: Any) -> NDArray[Any]:
    """Scales, zero points, offsets or factors, a number, or [G, N] or [E, G, N], each of which may be 1. A
    value serves each part. Groups of factors may be cut into smaller ones."""
    dim = _PARTS[along][1]
    count, length = array.shape[dim] if array.ndim > 1 else 1, dims[dim]
    if count == 1:
        return array
    if along != "K":
        return array[..., at] if along == "N" else array[at]
    if length % count:  # with a shorter last group there is one part
        return array
    group = length // count
    within = math.gcd(group, at.stop - at.start)
    return np.repeat(array, group // within, axis=dim)[..., at.start // within : at.stop // within, :]


def _cut_values(
    values: NDArray[Any], data_type: str, dims: tuple[int, ...], along: Along, at: Any
) -> NDArray[Any]:
    """Bytes with several values along N, or along K, become such bytes again."""
    if along == "E":
        return values[at]
    cut: Any = (..., at, slice(None)) if along == "K" else (..., at)
    if data_type not in SUB_BYTE:
        return values[cut]
    span, bits = span_of(data_type).elements, TYPES[data_type].bits
    along_k = are_along_k(values, data_type, dims)
    codes = split(values.swapaxes(-1, -2) if along_k else values, bits)
    codes = (codes.swapaxes(-1, -2) if along_k else codes)[cut]
    *_, k, n = codes.shape
    if n % span == 0:
        return join(codes, bits)
    if k % span == 0:
        return join(codes.swapaxes(-1, -2), bits).swapaxes(-1, -2)
    raise InvalidArgumentsError(
        f"a part of {k} rows and {n} columns of {data_type} ends inside a byte: cut the weights into fewer"
        " parts"
    )
