# SPDX-License-Identifier: Apache-2.0
"""Finds the loops of a kernel, and the K loop among them."""

from dataclasses import dataclass

from judge.assembly import Block, Instruction, Kernel
from judge.flow import natural_loops
from judge.pipes import DOTS


@dataclass
class Loop:
    header: str
    body: frozenset[str]  # names of its blocks, including those of inner loops
    blocks: list[Block]  # in their order

    def instructions(self, without: frozenset[str] = frozenset()) -> list[Instruction]:
        return [i for block in self.blocks if block.name not in without for i in block.instructions]

    def dots(self) -> int:
        return sum(i.op in DOTS for i in self.instructions())


def loops(kernel: Kernel) -> list[Loop]:
    """All natural loops. Several back edges to the same header make one loop."""
    found = natural_loops(
        {block.name: block.successors for block in kernel.blocks},
        {block.name: block.predecessors for block in kernel.blocks},
    )
    return [
        Loop(header, body, [b for b in kernel.blocks if b.name in body]) for header, body in found.items()
    ]


@dataclass
class KLoop:
    """The K loop, and the loop over groups of K around it, if there is one."""

    inner: Loop
    outer: Loop | None

    def outer_only(self) -> list[Instruction]:
        return self.outer.instructions(self.inner.body) if self.outer else []


def k_loop(kernel: Kernel) -> KLoop | None:
    """The innermost loop with the most DPAS or DP4A or, if no loop has any, with the most
    instructions.

    None if the kernel has no loop.
    """
    found = loops(kernel)
    found = [loop for loop in found if loop.dots()] or found
    innermost = [a for a in found if not any(b.body < a.body for b in found)]
    if not innermost:
        return None
    inner = max(innermost, key=lambda loop: (loop.dots(), len(loop.instructions())))
    around = [loop for loop in found if inner.body < loop.body]
    return KLoop(inner, min(around, key=lambda loop: len(loop.body)) if around else None)
