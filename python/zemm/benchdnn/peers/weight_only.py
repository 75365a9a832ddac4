# SPDX-License-Identifier: Apache-2.0
"""The cases that neural network libraries can run: a product of two matrices, with optionally
quantised weights.

PeerError says why a case is not of this form.
"""

from dataclasses import dataclass

import numpy as np

from zemm._library.codes import join
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import BY_NAME, Codes, Floats, encode
from zemm.benchdnn.grammar.masks import has_one_value
from zemm.benchdnn.peers import PeerError
from zemm.benchdnn.peers.problem import check_is_plain, given
from zemm.benchdnn.peers.tensors import tensors

_REFUSED = (
    "bia-dt", "attr-post-ops", "attr-precomputed-reductions", "attr-dropout", "attr-rounding-mode",
    "attr-scale-factors", "attr-offset-factors",
)  # fmt: skip


@dataclass
class Matrices:
    """src [M, K] and weights [K, N] as codes of their data types. `scales`, `zero_points` and `offsets`
    of weights, if there are any, are [K / group, N]. src has one scale and one zero point."""

    src: Codes
    weights: Codes
    group: int
    scales: Floats | None = None
    zero_points: Codes | None = None
    offsets: Floats | None = None
    src_scale: float = 1.0
    src_zero_point: int = 0


def matrices(
    case: Case,
    src_types: tuple[str, ...],
    wei_types: tuple[str, ...],
    dst_types: tuple[str, ...],
    takes_src_parameters: bool = False,
    takes_offsets: bool = False,
    quantises_src: bool = False,
) -> Matrices:
    """The tensors of a case. PeerError unless it is 2-D and dense, has the given data types, and
    has no bias, post-ops, reductions and parameters of src or dst. takes_src_parameters: src may have
    a common scale and zero point; takes_offsets: weights may have offsets; quantises_src: as
    --attr-src-dyn-quant wants."""
    problem, attributes = case.problem, case.attributes
    check_is_plain(case)
    if problem.ndims != 2:
        raise PeerError(f"it is given products of two matrices only, the problem is {problem}")
    for name, dt, known in zip(
        ("src", "wei", "dst"), case.dt, (src_types, wei_types, dst_types), strict=True
    ):
        if dt not in known:
            raise PeerError(
                f"{name} is {dt}, which it takes as {' or '.join(known)} only: --peer-dt gives it other types"
            )
    taken = {"attr-offsets": takes_offsets, "attr-src-dyn-quant": quantises_src}
    if refused := given(case, *_REFUSED, *(name for name, is_taken in taken.items() if not is_taken)):
        raise PeerError(f"it takes no {refused}")
    also = " and one for src" if takes_src_parameters else ""
    for name, entries in (("scales", attributes.scales), ("zero-points", attributes.zero_points)):
        of_src = [e for e in entries if takes_src_parameters and e.arg == args.SRC and has_one_value(e.mask)]
        if any(entry.arg != args.WEI or entry.on_host for entry in entries if entry not in of_src):
            raise PeerError(
                f"it takes {name} for weights in memory{also} only, not {given(case, f'attr-{name}')}"
            )
    found = {argument.arg: (argument, values) for argument, values in tensors(case)}
    result = Matrices(
        encode(found[args.SRC][1], case.dt[0]), encode(found[args.WEI][1], case.dt[1]), problem.k
    )
    scales, points, offsets = (
        found.get(kind | args.WEI) for kind in (args.SCALES, args.ZERO_POINTS, args.OFFSETS)
    )
    rows = max([values.shape[0] for _, values in filter(None, (scales, points, offsets))], default=1)
    result.group = problem.k // rows
    if scales:
        result.scales = _spread(scales[1], rows, problem.n)
    if points:
        result.zero_points = encode(_spread(points[1], rows, problem.n), case.dt[1])
    if offsets:
        result.offsets = _spread(offsets[1], rows, problem.n)
    if scale := attributes.find("scales", args.SRC):
        result.src_scale = scale.value
    if point := attributes.find("zero_points", args.SRC):
        result.src_zero_point = int(point.value)
    return result


def packed(codes: Codes, bits: int) -> Codes:
    """Codes along the last dimension as bytes."""
    return join(codes.astype(np.uint8), bits)


def bits_of(dt: str) -> int:
    """The bits of one element of a data type."""
    return BY_NAME[dt].bits


def _spread(values: Floats, rows: int, n: int) -> Floats:
    """Scales or zero points repeated to one for each of `rows` groups and each of n columns."""
    repeated: Floats = np.repeat(values, rows // values.shape[0], axis=0)
    return np.ascontiguousarray(np.broadcast_to(repeated, (rows, n)))
