# SPDX-License-Identifier: Apache-2.0
"""The CPUs whose machine code can be judged, and the cycles of a block of instructions on them by llvm-mca.
All loads hit the first cache level.

The models of newer Intel server cores have wrong rates for 512-bit multiplies (LLVM 19): one FMA a
cycle for icelake-server, one multiply of any kind a cycle for sapphirerapids, where the cores have
two ports for them (0 and 5). The model of Skylake's server cores has both ports, and as many 512-bit
loads a cycle, so it stands for all of them.

The model of znver4 has half the rate for vpdpbusd, unless it loads an operand, and a third for
vdpbf16ps, of which a loop is twice as fast as one of f32. It lets loads that broadcast an element
wait for the multiplying pipes. zemm's int8 row with groups reached 88 % of the multiplies of a
register-only loop on a Zen 4, where that model allows 74 %. So a multiply-add of f32 stands for both
(it has the pipes and the latency), and a plain load for one that broadcasts.

llvm-mca knows no tiles of AMX. A loop with them takes the cycles of its products or of its loads of tiles,
whichever are more, and in addition those of its stores of tiles and those of its other instructions. So it
was on an Emerald Rapids with everything in the first cache level: products run beside loads, and nothing
else beside them. Groups of 32 took 1.13 times as long there as this says, with what is done outside of the
loop, and weights in the second cache level.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from zemm._library.lists import isas_with

from judge.cpu.assembly import Instruction
from judge.cpu.loops import is_tile, products
from judge.cpu.tools import Tools

# Cycles between instructions of AMX on an Emerald Rapids. Intel's optimisation manual has 16, 8 and 16.
TILE_CYCLES = {"tdp": 16, "tileload": 10.5, "tilestore": 16}
SIMULATED = 20000  # instructions, roughly: the time to fill the pipeline then does not count
BUSY = 0.95  # of the cycles: a resource that is busy so long has no rest


@dataclass(frozen=True)
class Cpu:
    target: str  # for CL_CONFIG_CPU_TARGET_ARCH
    model: str  # for llvm-mca -mcpu
    features: frozenset[str]  # of those that rows of kernels.def want
    # Opcodes that llvm-mca gets instead: of any instruction, and of instructions that load.
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    load_stand_ins: Mapping[str, str] = field(default_factory=dict)


# AVX-VNNI is the instruction in a shorter encoding; the runtime encodes it as the CPU wants.
_VNNI = isas_with("avx512_vnni")
_TILES = isas_with("avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16")

# The runtime has no targets of other names (of those that can run the rows of kernels.def). Zen 4
# has the instructions of icelake-server.
CPUS = {
    "core-avx2": Cpu("core-avx2", "haswell", isas_with("avx2")),
    "skx": Cpu("skx", "skylake-avx512", isas_with("avx512")),
    "cascadelake": Cpu("cascadelake", "cascadelake", _VNNI),
    "icelake-server": Cpu("icelake-server", "cascadelake", _VNNI),
    "sapphirerapids": Cpu("sapphirerapids", "cascadelake", _TILES),
    "znver4": Cpu(
        "icelake-server",
        "znver4",
        _VNNI,
        stand_ins={"vpdpbusd": "vfmadd231ps", "vdpbf16ps": "vfmadd231ps"},
        load_stand_ins={"vpbroadcastd": "vmovups", "vbroadcastss": "vmovups"},
    ),
}


@dataclass
class Estimate:
    cycles: float  # of the block
    limit: float  # cycles of the multiplies alone
    bound: str  # the busiest resources
    loads: int  # instructions that load
    stores: int


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


def _bound(answer: dict[str, Any], cycles: float) -> str:
    """The busiest resources and, if none is busy all the time, how busy they are: then the block also
    waits for results, or for a resource that other instructions hold at the wrong time."""
    region, names = answer["CodeRegions"][0], answer["TargetInfo"]["Resources"]
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


def estimate_tiles(instructions: list[Instruction], cpu: Cpu, tools: Tools) -> Estimate:
    """The figures of a block with tiles, executed many times in turn."""
    counts = {start: sum(i.op.startswith(start) for i in instructions) for start in TILE_CYCLES}
    busy = {start: count * TILE_CYCLES[start] for start, count in counts.items()}
    rest = estimate([i for i in instructions if not is_tile(i)], cpu, tools)
    tiles = max(busy["tdp"], busy["tileload"])
    return Estimate(
        cycles=tiles + busy["tilestore"] + rest.cycles,
        limit=busy["tdp"],
        bound=f"tiles {tiles:.0f}, stores {busy['tilestore']}, vectors {rest.cycles:.0f}",
        loads=counts["tileload"] + rest.loads,
        stores=counts["tilestore"] + rest.stores,
    )


def estimate(instructions: list[Instruction], cpu: Cpu, tools: Tools) -> Estimate:
    """The figures of a block, executed many times in turn."""
    lines = [_line(i, cpu) for i in instructions]
    answer = tools.mca(lines, cpu.model, max(10, SIMULATED // len(lines)))
    region = answer["CodeRegions"][0]
    cycles = region["SummaryView"]["TotalCycles"] / region["SummaryView"]["Iterations"]
    multiplies = [_in_registers(i, cpu) for i in instructions if products(i)]
    alone = tools.mca(multiplies, cpu.model, 1)["CodeRegions"][0]["SummaryView"] if multiplies else {}
    info = region["InstructionInfoView"]["InstructionList"]
    return Estimate(
        cycles=cycles,
        limit=float(alone.get("BlockRThroughput", 0)),
        bound=_bound(answer, cycles),
        loads=sum(i["mayLoad"] for i in info),
        stores=sum(i["mayStore"] for i in info),
    )
