# SPDX-License-Identifier: Apache-2.0
"""Finds the natural loops of a kernel, and the K loop among them."""

from dataclasses import dataclass

from zemm.isa.assembly import Block, Instruction, Kernel
from zemm.isa.pipes import DOTS


@dataclass
class Loop:
    header: str
    body: frozenset[str]  # names of its blocks, including those of inner loops
    blocks: list[Block]  # in their order

    def instructions(self, without: frozenset[str] = frozenset()) -> list[Instruction]:
        return [i for block in self.blocks if block.name not in without for i in block.instructions]

    def dots(self) -> int:
        return sum(i.op in DOTS for i in self.instructions())


def _dominators(kernel: Kernel) -> dict[str, set[str]]:
    names = [block.name for block in kernel.blocks]
    known = set(names)
    entry = names[0]
    dominators = {name: set(names) for name in names}
    dominators[entry] = {entry}
    changed = True
    while changed:
        changed = False
        for block in kernel.blocks[1:]:
            before = [dominators[p] for p in block.predecessors if p in known]
            new = (set.intersection(*before) if before else set()) | {block.name}
            if new != dominators[block.name]:
                dominators[block.name] = new
                changed = True
    return dominators


def loops(kernel: Kernel) -> list[Loop]:
    """All natural loops. Several back edges to the same header make one loop."""
    blocks = {block.name: block for block in kernel.blocks}
    dominators = _dominators(kernel)
    bodies: dict[str, set[str]] = {}
    for block in kernel.blocks:
        for header in block.successors:
            if header not in dominators[block.name]:
                continue
            body = bodies.setdefault(header, {header})
            pending = [block.name]
            while pending:
                name = pending.pop()
                if name not in body:
                    body.add(name)
                    pending += [p for p in blocks[name].predecessors if p in blocks]
    return [
        Loop(header, frozenset(body), [b for b in kernel.blocks if b.name in body])
        for header, body in bodies.items()
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
