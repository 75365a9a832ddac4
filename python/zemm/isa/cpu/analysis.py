# SPDX-License-Identifier: Apache-2.0
"""Judges the K loop of a CPU row: its cycles beside the least that its multiplies need."""

from dataclasses import dataclass
from typing import Any

from zemm.isa.cpu.assembly import Function, Instruction
from zemm.isa.cpu.devices import Cpu
from zemm.isa.cpu.loops import Loop, k_loops
from zemm.isa.cpu.mca import TILE_BYTES, Estimate, estimate
from zemm.isa.cpu.multiplies import TILE_PARTS, depth, is_tile
from zemm.isa.cpu.paths import around, of_tiles, outer
from zemm.isa.cpu.tools import Tools
from zemm.isa.errors import IsaError


@dataclass(frozen=True)
class Shape:
    """What a row multiplies at once."""

    rows: int
    columns: int
    block_k: int  # elements of K after which sums are scaled or stored


@dataclass
class Block:
    """One trip of the loop around the K loop: the products of a few rows and a block of K."""

    k: int  # elements of K
    trips: int  # of the K loop; with tiles those that multiply
    estimate: Estimate
    stored: int  # bytes of vectors of sums that are stored
    staged: int  # bytes of tiles of sums that are stored and loaded as vectors


@dataclass
class Analysis:
    instructions: int
    multiplies: int
    spills: int  # loads and stores of fixed places of the stack
    k: int  # elements of K of a trip
    loop: Estimate
    block: Block | None  # None: there is no loop around, or its trips are not known

    @property
    def share(self) -> float:
        return self.loop.limit / self.loop.cycles

    @property
    def block_share(self) -> float | None:
        """The share of the block's cycles in which the unit that multiplies works."""
        return self.block.trips * self.loop.limit / self.block.estimate.cycles if self.block else None

    def json(self) -> dict[str, Any]:
        result = {
            "instructions": self.instructions,
            "multiplies": self.multiplies,
            "k_per_trip": self.k,
            "cycles": round(self.loop.cycles, 2),
            "limit": round(self.loop.limit, 2),
            "share": round(self.share, 4),
            "bound": self.loop.bound,
            "loads": self.loop.loads,
            "stores": self.loop.stores,
            "spills": self.spills,
        }
        if self.block:
            result |= {
                "block_k": self.block.k,
                "block_trips": self.block.trips,
                "block_cycles": round(self.block.estimate.cycles, 1),
                "block_share": round(self.block_share or 0, 4),
                "block_bound": self.block.estimate.bound,
            }
        return result


def _k_of(loop: Loop, sums: int) -> int:
    """Elements of K in a trip of the loop; 0 if it is no whole number. sums: of a trip, as far as the
    loop does not say so itself: tiles of sums are its operands."""
    multiplies = loop.multiplies
    if is_tile(multiplies[0].op):
        tiles = {i.operands.rsplit(" ", 1)[-1] for i in multiplies}
        return sum(depth(i.op) for i in multiplies) // len(tiles)
    return 0 if loop.products % sums else loop.products // sums


def _of_one_row(found: list[Loop], columns: int) -> Loop:
    """The K loop for one row. Most policies have a loop for each number of rows; the one with the most
    products is for all that are multiplied at once. Others multiply all rows always."""
    best = found[0]
    if is_tile(best.multiplies[0].op):
        return best
    same = [loop for loop in found if depth(loop.multiplies[0].op) == depth(best.multiplies[0].op)]
    whole = [loop for loop in same if loop.products % columns == 0]
    return min(whole, key=lambda loop: loop.products, default=best)


def _spills(loop: Loop) -> int:
    """Loads and stores of fixed places of the stack. Panels are on the stack, too, but the loop walks
    through them by an index."""
    registers = ("%rsp", "%rbp") if loop.function.has_frame else ("%rsp",)
    return sum(any(f"({register})" in i.memory for register in registers) for i in loop.instructions)


def analyse(functions: list[Function], cpu: Cpu, tools: Tools, shape: Shape, one_row: bool) -> Analysis:
    """Analyse the K loop for as many rows as are multiplied at once, or for one. IsaError if there is
    none."""
    found = k_loops(functions)
    if not found:
        raise IsaError("the machine code has no loop that multiplies")
    loop = _of_one_row(found, shape.columns) if one_row else found[0]
    instructions = loop.instructions
    calls = sum(i.is_call for i in instructions)
    if calls:
        raise IsaError(f"the K loop calls {calls} functions")
    k = _k_of(loop, shape.columns * (shape.rows if loop is found[0] else 1))
    return Analysis(
        instructions=len(instructions),
        multiplies=len(loop.multiplies),
        spills=_spills(loop),
        k=k,
        loop=estimate(instructions, cpu, tools),
        block=_block(loop, cpu, tools, k, shape),
    )


def _parts_of_tiles(step: Loop, parts: Loop, steps: int) -> list[Instruction]:
    """The instructions of a loop over the parts of a group of rows, to which `steps` steps of tiles are
    dealt evenly; empty if that cannot be told."""
    ways = of_tiles(parts)
    if not ways:
        return []
    multiplies, scales = ways
    inside: list[Instruction] = []
    for part in range(TILE_PARTS):
        trips = (part + 1) * steps // TILE_PARTS - part * steps // TILE_PARTS
        inside += [*multiplies, *step.instructions * (trips - 1)] if trips else scales
    return inside


def _block(loop: Loop, cpu: Cpu, tools: Tools, k: int, shape: Shape) -> Block | None:
    parts = outer(loop) if is_tile(loop.multiplies[0].op) else None
    outside = around(parts or loop)
    if not outside or not k or shape.block_k % k:
        return None
    before, after = outside
    if any(i.is_call for i in (*before, *after)):
        return None
    if parts:
        trips = shape.rows * shape.columns * shape.block_k // loop.products
        inside = _parts_of_tiles(loop, parts, trips)
    else:
        trips = shape.block_k // k
        inside = loop.instructions * trips
    if not inside:
        return None
    found = estimate([*before, *inside, *after], cpu, tools)
    stores = [*before, *(inside if found.tile_stores else []), *after]
    # The way with the most instructions stores tiles in each of its trips, but they are stored once.
    staged = min(TILE_BYTES * found.tile_stores, shape.rows * shape.columns * 4)
    return Block(shape.block_k, trips, found, sum(i.stored_vector for i in stores), staged)
