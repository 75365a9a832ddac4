# SPDX-License-Identifier: Apache-2.0
"""The values of a peer's tensors. They are drawn as in zemm's timed runs, but for the peer's
case."""

from zemm.benchdnn import arguments as args
from zemm.benchdnn import data
from zemm.benchdnn.arguments import Argument
from zemm.benchdnn.case import Case
from zemm.benchdnn.dtypes import Floats
from zemm.benchdnn.ranges import filling

_DRAWN_AS_CHECKED = ("scales", "zero_points", "offsets", "precomputed_reductions")


def tensors(case: Case) -> list[tuple[Argument, Floats]]:
    """All arguments but dst, with their values."""
    ranges, found = filling(case), []
    src = None
    for argument in [*args.matrices(case), *args.quantizations(case), *args.post_op_tensors(case)]:
        if argument.arg == args.DST:
            continue
        if argument.role in _DRAWN_AS_CHECKED:
            values = data.values(case, argument, ranges, src)
        else:
            values = data.real_values(argument, argument.arg)
        if argument.arg == args.SRC:
            src = values
        found.append((argument, values))
    return found
