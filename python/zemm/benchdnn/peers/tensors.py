# SPDX-License-Identifier: Apache-2.0
"""The values of a peer's tensors. They are drawn as in zemm's timed runs, but for the peer's
case."""

from zemm.benchdnn.data import contents
from zemm.benchdnn.data.ranges import filling
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.arguments import Argument
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import Floats


def tensors(case: Case) -> list[tuple[Argument, Floats]]:
    """All arguments but dst, with their values."""
    ranges, found = filling(case), []
    src = None
    for argument in [*args.matrices(case), *args.quantizations(case), *args.post_op_tensors(case)]:
        if argument.arg == args.DST:
            continue
        if argument.role in args.KINDS:
            values = contents.values(case, argument, ranges, src)
        else:
            values = contents.real_values(argument, argument.arg)
        if argument.arg == args.SRC:
            src = values
        found.append((argument, values))
    return found
