# SPDX-License-Identifier: Apache-2.0
"""Finds the way that a trip of the loop around a K loop takes."""

from zemm.isa.cpu.assembly import Block, Instruction
from zemm.isa.cpu.loops import Loop, loops


def _longest(blocks: dict[str, Block], begin: str, ends: set[str], back: set[tuple[str, str]]) -> list[str]:
    """The path with the most instructions from a block to one of the ends. No path takes a back edge,
    so each inner loop on it is passed once. Empty if there is none."""
    best: dict[str, tuple[int, list[str]]] = {}

    def visit(name: str) -> tuple[int, list[str]]:
        if name not in best:
            tails = [visit(n) for n in blocks[name].successors if n in blocks and (name, n) not in back]
            tails = [tail for tail in tails if tail[1]]
            if name in ends:
                tails.append((0, []))
            length, path = max(tails, key=lambda tail: tail[0], default=(-1, []))
            here = len(blocks[name].instructions)
            best[name] = (length + here, [name, *path]) if length >= 0 else (0, [])
        return best[name]

    return visit(begin)[1]


def outer(inner: Loop) -> Loop | None:
    """The next loop around one."""
    found = (loop for loop in loops(inner.function) if inner.body < loop.body)
    return min(found, key=lambda loop: len(loop.body), default=None)


def around(k_loop: Loop) -> tuple[list[Instruction], list[Instruction]] | None:
    """The instructions before and after the K loop in a trip of the next loop around it; None if
    there is no such loop.

    The way with the most instructions counts, but none through another loop that multiplies: that
    is the same for another number of rows. Other loops on the way are passed once. With tiles no way
    counts that calls a function: it copies what cannot be multiplied from where it is.
    """
    found = loops(k_loop.function)
    outside = outer(k_loop)
    if not outside:
        return None
    others: set[str] = set()
    for loop in found:
        if loop.body < outside.body and loop.products and not loop.body & k_loop.body:
            others |= loop.body
    if k_loop.has_tiles:
        others |= {b.name for b in k_loop.function.blocks if any(i.is_call for i in b.instructions)}
    blocks = {b.name: b for b in k_loop.function.blocks if b.name in outside.body - others}
    back = {(b, loop.header) for loop in found for b in loop.body if loop.header in blocks}
    before = _longest(blocks, outside.header, {k_loop.header}, back)
    exits = {n for name in k_loop.body for n in blocks[name].successors if n in blocks} - k_loop.body
    latches = {name for name, block in blocks.items() if outside.header in block.successors}
    ways = [_longest(blocks, name, latches, back) for name in sorted(exits - {outside.header})]
    after = max(ways, key=lambda way: sum(len(blocks[n].instructions) for n in way), default=[])
    if not before or (not after and outside.header not in exits):
        return None
    return (
        [i for name in before[:-1] for i in blocks[name].instructions],
        [i for name in after for i in blocks[name].instructions],
    )
