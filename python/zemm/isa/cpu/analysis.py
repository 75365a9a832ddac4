# SPDX-License-Identifier: Apache-2.0
"""Judges the K loop of a CPU row: its cycles beside the least that its multiplies need."""

from dataclasses import dataclass
from typing import Any

from zemm.isa.cpu.assembly import Function, Instruction
from zemm.isa.cpu.devices import Cpu
from zemm.isa.cpu.loops import Loop, k_loops, loops
from zemm.isa.cpu.mca import TILE_BYTES, Estimate, estimate
from zemm.isa.cpu.multiplies import depth
from zemm.isa.cpu.paths import around, outer
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
    trips: int  # of the K loop
    estimate: Estimate
    stored: int  # bytes of sums that are stored, as vectors and as tiles


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
    if loop.has_tiles:
        tiles = {i.operands.rsplit(" ", 1)[-1] for i in multiplies}
        return sum(depth(i.op) for i in multiplies) // len(tiles)
    return 0 if loop.products % sums else loop.products // sums


def _of_one_row(found: list[Loop], columns: int) -> Loop:
    """The K loop for one row. Most policies have a loop for each number of rows; the one with the most
    products is for all that are multiplied at once. Others multiply all rows always."""
    best = found[0]
    if best.has_tiles:
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
    trip = _trip(loop, shape, k)
    return Analysis(
        instructions=len(instructions),
        multiplies=len(loop.multiplies),
        spills=_spills(loop),
        k=k,
        loop=estimate(trip, cpu, tools),
        block=_block(loop, trip, cpu, tools, k, shape),
    )


def _stored(instructions: list[Instruction]) -> int:
    """Bytes of sums that are stored, as vectors and as tiles."""
    return sum(TILE_BYTES if i.op == "tilestored" else i.stored_vector for i in instructions)


def _trip(loop: Loop, shape: Shape, k: int) -> list[Instruction]:
    """The instructions of a trip of the K loop. A step of tiles also scales its part of the sums of the unit
    before, which are half of the columns: the loop that does so has as many trips as they take."""
    inner = [a for a in loops(loop.function) if a.body < loop.body and a.products] if loop.has_tiles else []
    if not inner or not k or not (outside := around(inner[0])):
        return loop.instructions
    before, after = outside
    trips = shape.rows * shape.columns * 4 // 2 // _stored(inner[0].instructions)
    steps = max(1, shape.block_k // k)
    return [*before, *inner[0].instructions * -(-trips // steps), *after]


def _in_a_block(loop: Loop, trip: list[Instruction], trips: int, shape: Shape) -> list[Instruction]:
    """The instructions of a block, in which the K loop has so many trips; empty if there is no loop around.
    With tiles the loop around is one over halves of the columns, unless it is unrolled: then its trip stores
    all tiles of sums."""
    found = around(loop)
    if not found:
        return []
    before, after = found
    tiles = sum(i.op == "tilestored" for i in (*before, *after))
    units = shape.rows * shape.columns * 4 // (TILE_BYTES * tiles) if tiles else 1
    unit = [*before, *trip * (trips // units), *after]
    if units == 1:
        return unit
    columns = outer(loop)
    found = around(columns) if columns else None
    return [*found[0], *unit * units, *found[1]] if found else []


def _block(loop: Loop, trip: list[Instruction], cpu: Cpu, tools: Tools, k: int, shape: Shape) -> Block | None:
    if not k or shape.block_k % k:
        return None
    trips = shape.block_k // k
    if loop.has_tiles:
        trips = shape.rows * shape.columns * shape.block_k // loop.products
    inside = _in_a_block(loop, trip, trips, shape)
    if not inside or any(i.is_call for i in inside):
        return None
    outside = inside if loop.has_tiles else _in_a_block(loop, [], 0, shape)
    return Block(shape.block_k, trips, estimate(inside, cpu, tools), _stored(outside))
