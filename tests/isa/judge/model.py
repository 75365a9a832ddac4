# SPDX-License-Identifier: Apache-2.0
"""The model of a vector engine (XVE): cycles of the loop of a thread. docs/xe.md has the sources.

The pipes of an XVE work at the same time for different threads. If the threads hide each other's
latency, a loop takes as long as its busiest pipe or its loads. If pipes wait for each other, it
takes the sum of their times.
"""

from dataclasses import dataclass
from typing import Any

from zemm._library.lists import GPUS

from judge.assembly import Instruction
from judge.errors import IsaError
from judge.messages import Traffic
from judge.pipes import BITS, DOTS, MULTIPLIES, Pipe, dpas_depth, is_filler, pipe_of, repeat_count, widest


@dataclass(frozen=True)
class Family:
    name: str
    grf_bytes: int
    sub_group: int  # lanes of a DPAS
    xve: int  # XVEs of an Xe core
    threads: dict[int, int]  # threads of an XVE, by registers of a thread
    lanes: int  # 32-bit lanes in a cycle of the float and int pipes; 16-bit floats: twice as many
    math_lanes: int  # the same for the pipe of extended math
    math_shares_int: bool  # integers and extended math share a port
    dpas_row_cycles: int  # cycles of one row (repeat) of a DPAS of any type; 0: there is no XMX
    l1_bytes: int  # bytes that an Xe core loads from its L1 cache in a cycle
    slm_bytes: int  # the same from shared local memory
    block2d: bool  # has 2-D block loads
    one_alu: bool = False  # one pipe for floats and integers


def _threads(gpu: dict[str, Any], most: int) -> dict[int, int]:
    """most: threads of an XVE where the compiler chooses the registers of a thread, else 0."""
    if most:  # an XVE has as many registers as eight threads of 128
        registers = gpu["t128"] * 128
        return {taken: min(most, registers // taken) for taken in (32, 64, 96, 128, 160, 192, 256)}
    return {taken: gpu[f"t{taken}"] for taken in (128, 256) if gpu[f"t{taken}"]}


def _family(gpu: dict[str, Any], pipes: dict[str, Any]) -> Family:
    # A row of a DPAS of int8 multiplies 32 bytes of K in each lane; two operations are a multiply-add.
    operations = gpu["sub_group"] * 32 * 2
    return Family(
        name=gpu["name"],
        grf_bytes=gpu["grf"],
        sub_group=gpu["sub_group"],
        xve=pipes["xves"],
        threads=_threads(gpu, pipes["most_threads"]),
        lanes=pipes["lanes"],
        math_lanes=pipes["math_lanes"],
        math_shares_int=pipes["math_shares_int"],
        dpas_row_cycles=operations // gpu["int8"] if gpu["int8"] else 0,
        l1_bytes=gpu["l1_rate"],
        slm_bytes=pipes["slm_rate"],
        block2d=gpu["block_2d"],
        one_alu=pipes["one_alu"],
    )


def _devices() -> dict[str, Family]:
    """The GPUs that ocloc has a name for."""
    rows = {macro: [row for row in GPUS if row["macro"] == macro] for macro in {row["macro"] for row in GPUS}}
    pipes = {row["family"]: row for row in rows["ZEMM_GPU_FAMILY"]}
    return {
        target["target"]: _family(gpu, pipes[gpu["family"]])
        for target in rows["ZEMM_GPU_TARGET"]
        for gpu in rows["ZEMM_GPU"]
        if gpu["ip"] == target["ip"] and gpu["first"] <= target["release"] <= gpu["last"]
    }


DEVICES = _devices()


def family_of(device: str) -> Family:
    if device not in DEVICES:
        raise IsaError(f"device {device!r} is not in the model; it has {', '.join(DEVICES)}")
    return DEVICES[device]


def cycles(i: Instruction, family: Family) -> float:
    """The cycles in which the instruction's pipe accepts no other instruction."""
    pipe = pipe_of(i)
    if pipe is Pipe.XMX:
        dpas_depth(i)  # IsaError for unknown types; a row takes the same time for all others
        return repeat_count(i) * family.dpas_row_cycles
    if pipe in (Pipe.SYNC, Pipe.BRANCH, Pipe.SEND):
        return 1 if pipe is not Pipe.SYNC else 0
    bits = widest(i)
    lanes = family.math_lanes if pipe is Pipe.MATH else family.lanes
    if pipe is Pipe.FLOAT and bits <= 16 and all(t in ("hf", "bf") for t in i.types):
        lanes *= 2
    if bits == 64:
        lanes //= 2
    if pipe is Pipe.INT and i.op in MULTIPLIES and sum(BITS[t] >= 32 for t in i.types[1:3]) == 2:
        lanes //= 4
    return max(1.0, i.lanes / max(lanes, 1))


@dataclass
class Count:
    """The number of instructions, and the cycles that they keep pipes busy, by pipe."""

    number: dict[Pipe, int]
    busy: dict[Pipe, float]
    multiplying: float = 0.0  # cycles of `busy` for DPAS and DP4A, without fillers

    @staticmethod
    def of(instructions: list[Instruction], family: Family) -> "Count":
        count = Count(dict.fromkeys(Pipe, 0), dict.fromkeys(Pipe, 0.0))
        for i in instructions:
            pipe = pipe_of(i)
            count.number[pipe] += 1
            count.busy[pipe] += cycles(i, family)
            if i.op in DOTS and not is_filler(i):
                count.multiplying += cycles(i, family)
        return count

    def plus(self, other: "Count", times: int) -> "Count":
        """This count `times` times, plus the other one."""
        return Count(
            {p: times * self.number[p] + other.number[p] for p in Pipe},
            {p: times * self.busy[p] + other.busy[p] for p in Pipe},
            times * self.multiplying + other.multiplying,
        )


@dataclass
class Prediction:
    cycles: dict[str, float]  # of each pipe and memory, which may be the bound
    bound: str  # the one with the most cycles
    utilisation: float  # of XMX, or of the pipe of DP4A, if all pipes work at the same time
    serial: float  # the same if only loads run beside other work
    longest: float  # cycles of the loop if all pipes work at the same time
    in_turn: float  # the same if only loads run beside other work


def predict(count: Count, moved: Traffic, family: Family) -> Prediction:
    busy = {
        "XMX": count.busy[Pipe.XMX],
        "float": count.busy[Pipe.FLOAT] + count.busy[Pipe.LONG],
        "int": count.busy[Pipe.INT] + (count.busy[Pipe.MATH] if family.math_shares_int else 0),
        "math": count.busy[Pipe.MATH],
        "send": count.busy[Pipe.SEND],
        "L1": family.xve * (moved.loaded - moved.slm_loaded + moved.stored) / family.l1_bytes,
        "SLM": family.xve * moved.slm_loaded / family.slm_bytes,
    }
    if family.one_alu:
        busy["int"] += busy["float"]
    bound = max(busy, key=lambda name: busy[name])
    in_turn = busy["XMX"] + busy["int"] + (0 if family.one_alu else busy["float"]) + count.busy[Pipe.BRANCH]
    if not family.math_shares_int:
        in_turn += busy["math"]
    longest = busy[bound]
    in_turn = max(in_turn, longest)
    return Prediction(
        busy,
        bound,
        count.multiplying / longest if longest else 0.0,
        count.multiplying / in_turn if longest else 0.0,
        longest,
        in_turn,
    )
