# SPDX-License-Identifier: Apache-2.0
"""Asks llvm-mca for the cycles of a block of instructions, of which all loads hit the first cache
level."""

import re
from dataclasses import dataclass
from typing import Any

from zemm.isa.cpu.assembly import Instruction
from zemm.isa.cpu.devices import Cpu
from zemm.isa.cpu.multiplies import is_tile, products
from zemm.isa.cpu.tools import Tools

SIMULATED = 20000  # instructions, roughly: the time to fill the pipeline then does not count
BUSY = 0.95  # of the cycles: a resource that is busy so long has no rest

# llvm-mca has no times of tile instructions, or guesses. Cycles from one to the next, by Intel's
# optimisation manual: products, loads, stores, zeros. The four work side by side.
TILE_BYTES = 1024
TILE_CYCLES = {"tile products": 16, "tile loads": 8, "tile stores": 16, "tile zeros": 1}


@dataclass
class Estimate:
    cycles: float  # of the block
    limit: float  # cycles of the multiplies alone
    bound: str  # the busiest resources
    loads: int  # instructions that load
    stores: int
    tile_loads: int = 0
    tile_stores: int = 0


def _tile_kind(op: str) -> str:
    if is_tile(op):
        return "tile products"
    kinds = {"tileloadd": "tile loads", "tilestored": "tile stores", "tilezero": "tile zeros"}
    return kinds.get(op.removesuffix("t1"), "")


def _line(i: Instruction, cpu: Cpu) -> str:
    if i.target is not None:
        return f"{i.op} block"
    stand_ins = {**cpu.stand_ins, **cpu.load_stand_ins} if i.memory else cpu.stand_ins
    return f"{stand_ins.get(i.op.removeprefix('{vex} '), i.op)} {i.operands}"


def _in_registers(i: Instruction, cpu: Cpu) -> str:
    """A multiply without its load."""
    register = re.search(r"%([xyz]mm)\d+\S*$", i.operands)
    kind = register[1] if register else "xmm"
    return _line(i, cpu).replace(i.memory, f"%{kind}0") if i.memory else _line(i, cpu)


def _region(answer: dict[str, Any]) -> dict[str, Any]:
    region: dict[str, Any] = answer["CodeRegions"][0]
    return region


def _bound(answer: dict[str, Any], cycles: float) -> str:
    """The busiest resources and, if none is busy all the time, how busy they are: then the block also
    waits for results, or for a resource that other instructions hold at the wrong time."""
    region, names = _region(answer), answer["TargetInfo"]["Resources"]
    count = len(region["Instructions"])
    busy = dict.fromkeys(names, 0.0)
    for use in region["ResourcePressureView"]["ResourcePressureInfo"]:
        if use["InstructionIndex"] < count:  # the last entries are the sums
            busy[names[use["ResourceIndex"]]] += use["ResourceUsage"]
    summary = region["SummaryView"]
    busy["front end"] = summary["TotaluOps"] / summary["Iterations"] / summary["DispatchWidth"]
    most = max(busy.values())
    found = [re.sub(r"^(SKX|HW|Zn4)", "", name) for name in busy if busy[name] >= BUSY * most]
    share = "" if most >= BUSY * cycles else f" {100 * most / cycles:.0f} %"
    return "+".join(found) + share


def estimate(instructions: list[Instruction], cpu: Cpu, tools: Tools) -> Estimate:
    """The figures of a block, executed many times in turn."""
    tiles = {
        kind: each * sum(_tile_kind(i.op) == kind for i in instructions) for kind, each in TILE_CYCLES.items()
    }
    others = [i for i in instructions if not _tile_kind(i.op)]
    answer = tools.mca([_line(i, cpu) for i in others], cpu.model, max(10, SIMULATED // len(others)))
    summary = _region(answer)["SummaryView"]
    cycles = summary["TotalCycles"] / summary["Iterations"]
    bound = _bound(answer, cycles)
    if max(tiles.values()) > cycles:
        bound = max(tiles, key=lambda kind: tiles[kind])
        cycles = float(tiles[bound])
    multiplies = [_in_registers(i, cpu) for i in others if products(i.op, i.operands)]
    limit = float(tiles["tile products"])
    if multiplies and not limit:
        limit = float(_region(tools.mca(multiplies, cpu.model, 1))["SummaryView"]["BlockRThroughput"])
    info = _region(answer)["InstructionInfoView"]["InstructionList"]
    tile_loads, tile_stores = (
        sum(_tile_kind(i.op) == kind for i in instructions) for kind in ("tile loads", "tile stores")
    )
    return Estimate(
        cycles=cycles,
        limit=limit,
        bound=bound,
        loads=sum(i["mayLoad"] for i in info) + tile_loads,
        stores=sum(i["mayStore"] for i in info) + tile_stores,
        tile_loads=tile_loads,
        tile_stores=tile_stores,
    )
