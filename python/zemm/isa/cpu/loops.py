# SPDX-License-Identifier: Apache-2.0
"""Finds the K loops of a module: innermost loops that multiply."""

from dataclasses import dataclass

from zemm.isa.cpu.assembly import Function, Instruction
from zemm.isa.cpu.multiplies import is_tile, products
from zemm.isa.flow import natural_loops


@dataclass
class Loop:
    function: Function
    header: str
    body: frozenset[str]  # names of its blocks

    @property
    def instructions(self) -> list[Instruction]:
        """In the order of their addresses."""
        return [i for b in self.function.blocks if b.name in self.body for i in b.instructions]

    @property
    def multiplies(self) -> list[Instruction]:
        """Beside products of tiles, those of vectors scale sums."""
        found = [i for i in self.instructions if products(i.op, i.operands)]
        return [i for i in found if is_tile(i.op)] or found

    @property
    def products(self) -> int:
        return sum(products(i.op, i.operands) for i in self.multiplies)

    @property
    def has_tiles(self) -> bool:
        return any(is_tile(i.op) for i in self.instructions)


def loops(function: Function) -> list[Loop]:
    successors = {b.name: b.successors for b in function.blocks}
    predecessors: dict[str, list[str]] = {b.name: [] for b in function.blocks}
    for name, targets in successors.items():
        for target in targets:
            predecessors[target].append(name)
    found = natural_loops(successors, predecessors)
    return [Loop(function, header, body) for header, body in found.items()]


def k_loops(functions: list[Function]) -> list[Loop]:
    """The innermost loops that multiply, those with the most products first. A loop that multiplies tiles
    may have one inside that scales sums; of two with the same products of tiles, the one that scales more
    is first."""
    found = []
    for function in functions:
        all_loops = loops(function)
        inner = [loop for loop in all_loops if loop.has_tiles] or all_loops
        found += [a for a in inner if a.products and not any(b.body < a.body for b in inner)]
    return sorted(found, key=lambda loop: -sum(products(i.op, i.operands) for i in loop.instructions))
