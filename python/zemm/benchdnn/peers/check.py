# SPDX-License-Identifier: Apache-2.0
"""Compares a peer's result with the driver's reference before it is timed."""

from functools import lru_cache

import numpy as np

from zemm.benchdnn.data.layout import Layout
from zemm.benchdnn.data.reference import expected
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import Floats
from zemm.benchdnn.peers import PeerError
from zemm.benchdnn.peers.tensors import tensors

# As many rows from the beginning and from the end of dst are compared.
_ROWS = 8
# The largest error as a share of the largest expected value. That of an 8-bit src is 0.01.
_TOLERANCE = 0.05
_OF_SRC = (args.SRC, args.SCALES | args.SRC, args.ZERO_POINTS | args.SRC)


def check(case: Case, dst: Floats) -> None:
    """PeerError if dst is far from what the case should give. Products of two matrices without
    post-ops, dropout, random rounding and scales of dst are checked, others are not."""
    attributes = case.attributes
    unusual = attributes.post_ops or attributes.rounding_mode or attributes.dropout.p
    of_dst = attributes.find("scales", args.DST) or attributes.find("zero_points", args.DST)
    if case.problem.ndims != 2 or not case.is_dense or unusual or of_dst or 0 in case.problem.dst:
        return
    rows, wanted = _wanted(case)
    is_finite = np.isfinite(wanted)
    largest = float(np.abs(wanted[is_finite]).max(initial=0)) or 1.0
    error = float(np.abs(dst[rows] - wanted)[is_finite].max(initial=0))
    if not error <= _TOLERANCE * largest:
        raise PeerError(
            f"its result is wrong: an element differs by {error:g}, the largest one should be {largest:g}"
        )


@lru_cache(maxsize=1)  # the next peer often has the same case
def _wanted(case: Case) -> tuple[list[int], Floats]:
    """Some rows of dst, and what they should be."""
    m = case.problem.dst[0]
    rows = sorted({*range(min(m, _ROWS)), *range(max(m - _ROWS, 0), m)})
    values = {argument.arg: tensor for argument, tensor in tensors(case)}
    for arg in (*_OF_SRC, args.BIAS):
        if arg in values and values[arg].shape[0] == m:
            values[arg] = values[arg][rows]
    shape = (len(rows), case.problem.n)
    layout = Layout(shape, (shape[1], 1), case.dt[2], 0)
    return rows, expected(case, values, np.zeros(shape, np.float32), layout).dst
