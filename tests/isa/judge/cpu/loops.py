# SPDX-License-Identifier: Apache-2.0
"""Finds the K loops of a module: innermost loops that multiply by vectors."""

import re
from dataclasses import dataclass

from judge.cpu.assembly import Function, Instruction
from judge.flow import natural_loops

TILE_SUMS = 16 * 16  # of a tile of AMX

# Products of an instruction that are summed in one element of its result.
_DEPTHS = [
    (re.compile(r"vpdpb[su][su]ds?"), 4),
    (re.compile(r"vpdpwssds?|vpmaddwd|vdpbf16ps"), 2),
    (re.compile(r"vfn?m(add|sub)\d+[ps][sh]"), 1),
    (re.compile(r"tdpb[su][su]d"), 64),
    (re.compile(r"tdp(bf|fp)16ps"), 32),
]
_BITS = {"x": 128, "y": 256, "z": 512}


def depth(op: str) -> int:
    """Elements of K of a multiply; 0 for other instructions."""
    op = op.removeprefix("{vex} ")
    return next((depth for pattern, depth in _DEPTHS if pattern.fullmatch(op)), 0)


def is_tile(i: Instruction) -> bool:
    """Whether it is an instruction of AMX that is executed in loops."""
    return i.op.startswith(("tdp", "tileload", "tilestore", "tilezero"))


def products(i: Instruction) -> int:
    """The products of one instruction; 0 if it does not multiply. Tiles are as if they were filled."""
    if is_tile(i):
        return depth(i.op) * TILE_SUMS
    found = re.search(r"%([xyz])mm\d+(?:\s*\{[^}]*\})*$", i.operands)
    scalar = re.search(r"\d+s[sh]$", i.op)
    return depth(i.op) * (1 if scalar or not found else _BITS[found[1]] // 32)


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
        """Those of tiles, if there are any. Vectors then scale."""
        found = [i for i in self.instructions if products(i)]
        return [i for i in found if is_tile(i)] or found

    @property
    def has_tiles(self) -> bool:
        return any(map(is_tile, self.multiplies))

    @property
    def products(self) -> int:
        return sum(map(products, self.multiplies))


def k_loops(functions: list[Function]) -> list[Loop]:
    """The innermost loops that multiply, those with the most products first."""
    found = []
    for function in functions:
        successors = {b.name: b.successors for b in function.blocks}
        predecessors: dict[str, list[str]] = {b.name: [] for b in function.blocks}
        for name, targets in successors.items():
            for target in targets:
                predecessors[target].append(name)
        bodies = natural_loops(successors, predecessors)
        loops = [Loop(function, header, body) for header, body in bodies.items()]
        found += [a for a in loops if a.products and not any(b.body < a.body for b in loops)]
    found.sort(key=lambda loop: -loop.products)
    return [loop for loop in found if loop.has_tiles] or found


def of_one_row(found: list[Loop], columns: int) -> Loop:
    """The K loop for one row. Most policies have a loop for each number of rows; the one with the most
    products is for all that are multiplied at once. Others multiply all rows always."""
    best = found[0]
    same = [loop for loop in found if depth(loop.multiplies[0].op) == depth(best.multiplies[0].op)]
    whole = [loop for loop in same if loop.products % columns == 0]
    return min(whole, key=lambda loop: loop.products, default=best)


def spills(loop: Loop) -> int:
    """Loads and stores of fixed places of the stack; of a loop with tiles only stores, as it loads what tiles
    stored there. Panels are on the stack, too, but the loop walks through them by an index."""
    registers = ("%rsp", "%rbp") if loop.function.has_frame else ("%rsp",)
    found = (i for i in loop.instructions if any(f"({register})" in i.memory for register in registers))
    return sum(not loop.has_tiles or i.operands.endswith(i.memory) for i in found)
