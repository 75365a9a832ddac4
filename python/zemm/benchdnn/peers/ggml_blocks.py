# SPDX-License-Identifier: Apache-2.0
"""Weights of a case as blocks of ggml's formats Q8_0, Q6_K, Q4_0, Q4_1, Q4_K and MXFP4. The blocks stand for
exactly the numbers of the case."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zemm._library.lists import GGUF_BLOCKS
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import Codes, Floats, encode
from zemm.benchdnn.peers import PeerError
from zemm.benchdnn.peers.problem import given
from zemm.benchdnn.peers.weight_only import Matrices
from zemm.gguf.formats import FORMATS

# The format for each data type of weights. For u4 with offsets it is Q4_1, for s8 in smaller groups Q6_K.
_FORMATS = {"s8": "Q8_0", "s4": "Q4_0", "u4": "Q4_K", "f4_e2m1": "MXFP4"}
WEIGHT_TYPES = tuple(_FORMATS)
Blocks = NDArray[np.void]


class Encoded(NamedTuple):
    """Blocks of the format `name`, [N, blocks of a row along K]."""

    name: str
    blocks: Blocks


class _Weights(NamedTuple):
    """Weights of a case by rows: codes [N, blocks, elements]; scales, zero points and offsets, if there are
    any, [N, blocks, groups of a block]. options: those of the case that say so, for refusals."""

    name: str
    codes: Codes
    scales: Floats
    zero_points: Codes | None
    offsets: Floats | None
    options: str

    def blocks(self) -> Blocks:
        """Blocks with the codes, and zeros as parameters."""
        blocks, row = np.zeros(self.codes.shape[:2], FORMATS[self.name].block), GGUF_BLOCKS[self.name]
        codes, low = self.codes + row["zero"], row["low_bits"]
        blocks["q"] = _packed(codes & 2**low - 1, low, row["low_run"]).view(blocks["q"].dtype)
        if high := row["high_bits"]:
            blocks["high"] = _packed(codes >> low, high, row["high_run"])
        return blocks

    def refuse(self, why: str) -> PeerError:
        return PeerError(f"{self.name} {why}: {self.options}")


def encoded(case: Case, found: Matrices) -> Encoded:
    """The weights in the format of their data type. PeerError if it cannot express them."""
    w = _weights(case, found)
    if w.zero_points is not None and w.name != "Q4_K":
        raise w.refuse("has no zero points")
    if w.offsets is not None and w.name != "Q4_1":
        raise w.refuse("has no offsets")
    return Encoded(w.name, _ENCODERS[GGUF_BLOCKS[w.name]["parameters"]](w))


def _weights(case: Case, found: Matrices) -> _Weights:
    """The weights by rows. PeerError: the blocks of their format do not fit."""
    name = _FORMATS[case.dt[1]]
    if found.offsets is not None and name == "Q4_K":
        name = "Q4_1"
    if name == "Q8_0" and found.group % FORMATS["Q8_0"].group and found.group % FORMATS["Q6_K"].group == 0:
        name = "Q6_K"
    k, n = found.weights.shape
    elements, group = FORMATS[name].elements, FORMATS[name].group
    options = given(case, "attr-scales", "attr-zero-points", "attr-offsets") or "no --attr-scales"
    if k % elements or found.group % group:
        raise PeerError(
            f"{name} has blocks of {elements} and groups of {group} along K, the case has K = {k} and "
            f"groups of {found.group} ({options})"
        )

    def by_groups(values: NDArray[Any]) -> NDArray[Any]:
        return np.repeat(values, found.group // group, 0).T.reshape(n, k // elements, elements // group)

    scales = np.ones((k // found.group, n), np.float32) if found.scales is None else found.scales
    codes = found.weights.view(np.uint8) if name == "MXFP4" else found.weights
    return _Weights(
        name,
        codes.T.astype(np.int32).reshape(n, k // elements, elements),
        by_groups(scales),
        None if found.zero_points is None else by_groups(found.zero_points),
        None if found.offsets is None else by_groups(found.offsets),
        options,
    )


def _f16(w: _Weights) -> Blocks:
    blocks = w.blocks()
    blocks["d"] = _as_f16(w, w.scales)
    return blocks


def _f16_and_offset(w: _Weights) -> Blocks:
    assert w.offsets is not None
    blocks = _f16(w)
    blocks["m"] = _as_f16(w, w.offsets)
    return blocks


def _q4_k(w: _Weights) -> Blocks:
    """w = d * scale * code - dmin * minimum, with f16 d and dmin for a block, and scales and minimums of
    6 bits for its groups."""
    minimums = w.scales * (0 if w.zero_points is None else w.zero_points.astype(np.float32))
    blocks = w.blocks()
    blocks["d"], scale = _multiples(w, w.scales, 63, "scales")
    blocks["dmin"], minimum = _multiples(w, minimums, 63, "zero points times scales")
    high = np.concatenate([scale[..., 4:] >> 4, minimum[..., 4:] >> 4], -1) << 6
    low = np.concatenate([scale[..., :4], minimum[..., :4]], -1)
    blocks["scales"] = np.concatenate([low | high, scale[..., 4:] & 15 | minimum[..., 4:] << 4], -1)
    return blocks


def _q6_k(w: _Weights) -> Blocks:
    """w = d * scale * code, with f16 d for a block, scales of 8 bits and codes of 6."""
    if np.any(w.codes + 32 & ~63):
        raise w.refuse("has codes of 6 bits, some of the case's are not in -32..31")
    blocks = w.blocks()
    blocks["d"], blocks["scales"] = _multiples(w, w.scales, 127, "scales")
    return blocks


def _mxfp4(w: _Weights) -> Blocks:
    exponents = encode(w.scales, "e8m0")
    if np.any(exponents.astype(np.float32) != w.scales):
        raise w.refuse("has powers of two as scales, those of the case are not")
    blocks = w.blocks()
    blocks["e"] = exponents.view(np.uint8)[..., 0]
    return blocks


# By the parameters of gguf_blocks.def.
_ENCODERS = {"f16": _f16, "f16_and_offset": _f16_and_offset, "q4_k": _q4_k, "q6_k": _q6_k, "mxfp4": _mxfp4}


def _multiples(w: _Weights, values: Floats, most: int, what: str) -> tuple[Floats, Codes]:
    """values [.., groups] as f16 units [..] and integers up to `most`. The unit is the smallest value
    that is not zero."""
    unit = np.where(values > 0, values, np.inf).min(-1)
    unit = np.where(np.isinf(unit), np.float32(0), unit).astype(np.float16)
    factors = values / np.where(unit > 0, unit, 1).astype(np.float32)[..., None]
    integers = np.clip(np.rint(factors), 0, most).astype(np.uint8)
    if np.any(unit.astype(np.float32)[..., None] * integers != values):
        raise w.refuse(
            f"has {what} that are 0 to {most} times an f16 number for each {values.shape[-1]} groups, "
            "those of the case are not"
        )
    return unit, integers


def _as_f16(w: _Weights, values: Floats) -> NDArray[np.float16]:
    """Values of groups that are blocks, [N, blocks, 1], as [N, blocks]."""
    found = values[..., 0].astype(np.float16)
    if np.any(found != values[..., 0]):
        raise w.refuse("has f16 scales, those of the case are not representable")
    return found


def _packed(codes: Codes, bits: int, run: int) -> Codes:
    """Codes [N, blocks, elements] in fields of `bits` bits. Each run of `run` bytes has the first codes in
    the lowest fields of all its bytes, the next ones in the next fields."""
    parts = codes.astype(np.uint8).reshape(*codes.shape[:2], -1, 8 // bits, run)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)[:, None]
    joined: Codes = np.bitwise_or.reduce(parts << shifts, axis=-2)
    return joined.reshape(*codes.shape[:2], -1)
