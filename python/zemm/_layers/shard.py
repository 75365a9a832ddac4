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

Along = Literal["N", "K"]


def check_parts(
    dims: tuple[int, ...],
    of_groups: Mapping[str, int],
    activation_group: int | None,
    along: Along,
    size: int,
) -> None:
    """ValueError: weights [K, N] have no `size` equal parts, or a part would begin inside of a group.

    of_groups: elements of K in a group of scales, zero points and offsets. activation_group: of activations
    that are quantised.
    """
    what, length = ("columns", dims[1]) if along == "N" else ("rows", dims[0])
    if length % size:
        raise InvalidArgumentsError(f"the weights {dims} have {length} {what}, which {size} does not divide")
    if along == "N" or size == 1:
        return
    groups = {f"the group of {name}": group for name, group in of_groups.items() if group < dims[0]}
    if activation_group is not None:
        groups["activation_group"] = activation_group
    for name, group in groups.items():
        if length // size % group:
            raise InvalidArgumentsError(
                f"{name}, {group}, does not divide the {length // size} rows of a part: make the layer with a"
                " smaller group, or cut it along N"
            )


def part_of(state: State, along: Along, rank: int, size: int) -> State:
    """The part `rank` of a layer without experts that check_parts() takes. state: as pack_state() makes
    it, without a prefix.

    along: "N": columns. "K": rows, without the bias; the part's result is f32, as it is added to others.
    """
    config = json.loads(state["config"].tobytes())
    dims = k, n = config["dims"]
    at = slice(*((k if along == "K" else n) * i // size for i in (rank, rank + 1)))
    part = {"values": _cut_values(state["values"], config["weights_dtype"], dims, along, at)}
    for name, array in state.items():
        if name not in ("values", "config", "bias"):
            part[name] = _cut_parameter(array, along, at, k)
    if along == "N" and "bias" in state:
        part["bias"] = state["bias"][at]
    if along == "K":
        config["dst_dtype"] = "f32"
    config["dims"] = (at.stop - at.start, n) if along == "K" else (k, at.stop - at.start)
    config["types"] = {name: config["types"][name] for name in part}
    config["shapes"] = {name: array.shape for name, array in part.items()}
    part["config"] = np.frombuffer(json.dumps(config).encode(), np.uint8)
    return part


def _cut_parameter(array: NDArray[Any], along: Along, at: slice, k: int) -> NDArray[Any]:
    """Scales, zero points, offsets or factors, a number, [N] or [G, N]. A number serves each part, and one
    group the rows of each. Groups of factors may be cut into smaller ones."""
    if along == "N":
        return array[..., at] if array.shape[-1:] not in ((), (1,)) else array
    if array.ndim < 2 or len(array) == 1 or k % len(array):  # with a shorter last group there is one part
        return array
    group = k // len(array)
    within = math.gcd(group, at.stop - at.start)
    return np.repeat(array, group // within, axis=0)[at.start // within : at.stop // within]


def _cut_values(
    values: NDArray[Any], data_type: str, dims: tuple[int, int], along: Along, at: slice
) -> NDArray[Any]:
    """Bytes with several values along N, or along K, become such bytes again."""
    if data_type not in SUB_BYTE:
        return values[at] if along == "K" else values[:, at]
    span, bits = span_of(data_type).elements, TYPES[data_type].bits
    along_k = are_along_k(values, data_type, dims)
    packed = values.T if along_k else values
    codes = split(packed, bits)
    codes = codes.T if along_k else codes
    codes = codes[at] if along == "K" else codes[:, at]
    if codes.shape[1] % span == 0:
        return join(codes, bits)
    if codes.shape[0] % span == 0:
        return join(codes.T, bits).T
    raise InvalidArgumentsError(
        f"a part of {codes.shape[0]} rows and {codes.shape[1]} columns of {data_type} ends inside a byte: cut"
        " the weights into fewer parts"
    )
