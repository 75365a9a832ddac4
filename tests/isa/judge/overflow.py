# SPDX-License-Identifier: Apache-2.0
"""Finds 2-D block loads that write more registers than their variable has.

IGC 1.0.12504 silently takes the name of any 2-D read builtin for one of the few shapes that it
knows. One block then becomes two, and the second one overwrites the registers after the variable.
"""

import re

from judge.assembly import Instruction, Kernel

_TARGET = re.compile(r"^r(\d+):(\d+)$")


def _written(i: Instruction) -> tuple[int, int] | None:
    """The first register and the number of registers that a 2-D block load writes. None for other
    instructions."""
    if not i.op.startswith("load_block2d"):
        return None
    found = next((_TARGET.match(o) for o in i.operands.split() if _TARGET.match(o)), None)
    if not found:
        return None
    count = int(found[2])
    return int(found[1]), 32 if count == 31 else count  # dumps show 32 registers as 31


def overflows(kernel: Kernel, grf_bytes: int) -> list[str]:
    """A sentence for each such load. Empty for a dump without declarations of variables."""
    sentences = []
    for i in (i for block in kernel.blocks for i in block.instructions):
        written = _written(i)
        if not written or not kernel.variables:
            continue
        first, count = written
        end = (first + count) * grf_bytes
        starts = [v for v in kernel.variables if v[0] <= first < v[0] + max(1, v[1] // grf_bytes)]
        if not any(register * grf_bytes + size >= end for register, size in starts):
            largest = max((size - (first - register) * grf_bytes for register, size in starts), default=0)
            sentences.append(
                f"line {i.line}: {i.op} writes {count * grf_bytes} bytes from r{first} on, where the "
                f"compiler has a variable of {largest}: it takes the builtin for one of another shape"
            )
    return sentences
