# SPDX-License-Identifier: Apache-2.0
"""Weights of a case as blocks of ggml's formats Q8_0, Q4_0, Q4_1 and Q4_K. The blocks stand for exactly the
numbers of the case."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zemm.benchdnn.case import Case
from zemm.benchdnn.dtypes import Codes, Floats
from zemm.benchdnn.peers import PeerError
from zemm.benchdnn.peers.problem import given
from zemm.benchdnn.peers.weight_only import Matrices
from zemm.gguf.formats import FORMATS

_GROUP = 32
_GROUPS_OF_Q4_K = 8
_LARGEST_OF_6_BITS = 63
# The format for each data type of weights; that of u4 with offsets is Q4_1.
_FORMATS = {"s8": "Q8_0", "s4": "Q4_0", "u4": "Q4_K"}
WEIGHT_TYPES = tuple(_FORMATS)
Blocks = NDArray[np.void]


class Encoded(NamedTuple):
    """Blocks of the format `name`, [N, blocks of a row along K]."""

    name: str
    blocks: Blocks


def encoded(case: Case, found: Matrices) -> Encoded:
    """The weights in the format of their data type. PeerError if it cannot express them."""
    name = _FORMATS[case.dt[1]]
    if found.offsets is not None and name == "Q4_K":
        name = "Q4_1"
    k, n = found.weights.shape
    elements = FORMATS[name].elements
    options = given(case, "attr-scales", "attr-zero-points", "attr-offsets") or "no --attr-scales"
    if k % elements or found.group % _GROUP:
        raise PeerError(
            f"{name} has blocks of {elements} and groups of {_GROUP} along K, the case has K = {k} and "
            f"groups of {found.group} ({options})"
        )
    repeated = found.group // _GROUP
    scales = np.ones((k // found.group, n), np.float32) if found.scales is None else found.scales
    scales = np.repeat(scales, repeated, 0).T
    codes = found.weights.T.astype(np.int32).reshape(n, k // elements, elements)
    if name == "Q4_K":
        points = np.zeros((k // found.group, n)) if found.zero_points is None else found.zero_points
        minimums = scales * np.repeat(points.astype(np.float32), repeated, 0).T
        return Encoded(name, _q4_k(codes, scales, minimums, options))
    if found.zero_points is not None:
        raise PeerError(f"{name} has no zero points: {options}")
    if found.offsets is not None and name != "Q4_1":
        raise PeerError(f"{name} has no offsets: {options}")
    blocks = np.zeros((n, k // elements), FORMATS[name].block)
    blocks["d"] = _as_f16(scales, name, options)
    if found.offsets is not None:
        blocks["m"] = _as_f16(np.repeat(found.offsets, repeated, 0).T, name, options)
    if name == "Q4_0":
        codes = codes + 8
    blocks["q"] = codes if name == "Q8_0" else _nibbles(codes, 16)
    return Encoded(name, blocks)


def _q4_k(codes: Codes, scales: Floats, minimums: Floats, options: str) -> Blocks:
    """Q4_K: w = d * scale * code - dmin * minimum, with f16 d and dmin for a block, and scales and
    minimums of 6 bits for its groups."""
    blocks = np.zeros(codes.shape[:2], FORMATS["Q4_K"].block)
    blocks["q"] = _nibbles(codes, 32)
    grouped = (*codes.shape[:2], _GROUPS_OF_Q4_K)
    blocks["d"], scale = _multiples(scales.reshape(grouped), "scales", options)
    blocks["dmin"], minimum = _multiples(minimums.reshape(grouped), "zero points times scales", options)
    high = np.concatenate([scale[..., 4:] >> 4, minimum[..., 4:] >> 4], -1) << 6
    low = np.concatenate([scale[..., :4], minimum[..., :4]], -1)
    blocks["scales"] = np.concatenate([low | high, scale[..., 4:] & 15 | minimum[..., 4:] << 4], -1)
    return blocks


def _multiples(values: Floats, what: str, options: str) -> tuple[Floats, Codes]:
    """values [.., groups] as f16 units [..] and integers of 6 bits. The unit is the smallest value
    that is not zero."""
    unit = np.where(values > 0, values, np.inf).min(-1)
    unit = np.where(np.isinf(unit), np.float32(0), unit).astype(np.float16)
    factors = values / np.where(unit > 0, unit, 1).astype(np.float32)[..., None]
    integers = np.clip(np.rint(factors), 0, _LARGEST_OF_6_BITS).astype(np.uint8)
    if np.any(unit.astype(np.float32)[..., None] * integers != values):
        raise PeerError(
            f"Q4_K has {what} that are 0 to {_LARGEST_OF_6_BITS} times an f16 number for each "
            f"{_GROUPS_OF_Q4_K} groups, those of the case are not: {options}"
        )
    return unit, integers


def _as_f16(scales: Floats, name: str, options: str) -> NDArray[np.float16]:
    found = scales.astype(np.float16)
    if np.any(found != scales):
        raise PeerError(f"{name} has f16 scales, those of the case are not representable: {options}")
    return found


def _nibbles(codes: Codes, run: int) -> Codes:
    """Codes of 4 bits [N, blocks, elements] as bytes: the low nibbles of `run` bytes are the first
    elements, the high ones the next."""
    halves = codes.astype(np.uint8).reshape(*codes.shape[:2], -1, 2, run)
    joined: Codes = halves[..., 0, :] | halves[..., 1, :] << 4
    return joined.reshape(*codes.shape[:2], -1)
