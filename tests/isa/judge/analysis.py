# SPDX-License-Identifier: Apache-2.0
"""Counts what a compiled kernel does in its K loop, and predicts its speed by the model."""

from dataclasses import dataclass
from typing import Any

from judge.assembly import Instruction
from judge.compiler import Compiled
from judge.errors import IsaError
from judge.loops import k_loop
from judge.messages import Traffic, traffic
from judge.model import Count, Family, Prediction, predict
from judge.overflow import overflows
from judge.pipes import CALLS, DOTS, dpas_depth, is_filler, repeat_count


@dataclass
class Analysis:
    grf: int  # registers of a thread
    spill: int  # bytes of a thread
    private: int | None  # bytes of private memory; None: not known
    calls: int  # calls in the loop, of functions that the compiler does not know
    k: int  # elements of K in one trip of the K loop; 0 if it has no DPAS or DP4A
    trips: int  # trips of the K loop in one trip of the loop around it
    group: bool  # the figures below are for one trip of the loop around it (one group of K)
    count: Count  # instructions, for one trip of either loop
    moved: Traffic
    operations: int  # multiply-adds of a thread
    prediction: Prediction

    def figures(self) -> dict[str, Any]:
        """The figures that the tests compare (isa_figures.json)."""
        return {
            "grf": self.grf,
            "spill_bytes": self.spill,
            "private_bytes": self.private,
            "k_per_trip": self.k,
            "trips": self.trips,
            "instructions": {p.value: n for p, n in self.count.number.items()},
            "bytes_loaded": self.moved.loaded,
            "bound": self.prediction.bound,
            "utilisation": round(self.prediction.utilisation, 4),
            "serial_utilisation": round(self.prediction.serial, 4),
        }


def _depth(multiplies: list[Instruction], tile: tuple[int, int] | None) -> int:
    """Elements of K that one trip adds to each sum; 0 if there is no DPAS or DP4A."""
    if not multiplies:
        return 0
    if not tile:  # a sum is known by its register, to which an unrolled loop adds several times
        sums = {i.operands.split()[0] for i in multiplies}
        return sum(dpas_depth(i) for i in multiplies) // len(sums)
    step = tile[0] * tile[1] * dpas_depth(multiplies[0])
    steps, rest = divmod(_work(multiplies), step)
    if rest:
        raise IsaError(
            f"the innermost loop has {len(multiplies)} DPAS, which are no whole steps of K of a tile of "
            f"{tile[0]}x{tile[1]}: it is not unrolled over the tile"
        )
    return steps * dpas_depth(multiplies[0])


def _work(instructions: list[Instruction]) -> int:
    """The multiply-adds of a thread in these instructions."""
    return sum(
        repeat_count(i) * i.lanes * dpas_depth(i) for i in instructions if i.op in DOTS and not is_filler(i)
    )


def analyse(
    compiled: Compiled, family: Family, group_k: int = 0, tile: tuple[int, int] | None = None
) -> Analysis:
    """Analyse the K loop of a compiled kernel for a GPU family. IsaError if it is not as expected.

    group_k: elements of K in a group, to count the loop over groups around the K loop as well; 0:
    do not. tile: rows and columns of a thread's sums; None: count the registers that DPAS write.
    """
    kernel = compiled.kernel
    found = k_loop(kernel)
    if not found:
        raise IsaError(f"the kernel {kernel.name} has no loop")
    if kernel.grf not in family.threads:
        raise IsaError(
            f"the kernel has {kernel.grf} registers, the model of {family.name} knows "
            f"{', '.join(map(str, family.threads))}"
        )
    wrong = overflows(kernel, family.grf_bytes)
    if wrong:
        raise IsaError(f"the compiler makes wrong code of {len(wrong)} block loads, the first in {wrong[0]}")
    inner = found.inner.instructions()
    multiplies = [i for i in inner if i.op in DOTS and not is_filler(i)]
    depth = _depth(multiplies, tile)
    outer = found.outer_only() if group_k and depth else []
    trips = 1
    if outer and group_k:
        if group_k % depth:
            raise IsaError(f"a group of {group_k} elements of K is no multiple of the {depth} of one trip")
        trips = group_k // depth
    count = Count.of(inner, family).plus(Count.of(outer, family), trips)
    moved = Traffic()
    for i in inner:
        moved = moved + traffic(i, family.grf_bytes)
    moved = moved * trips
    for i in outer:
        moved = moved + traffic(i, family.grf_bytes)
    return Analysis(
        grf=kernel.grf,
        spill=kernel.spill,
        private=compiled.private,
        calls=sum(i.op in CALLS for i in inner + outer),
        k=depth,
        trips=trips,
        group=bool(outer),
        count=count,
        moved=moved,
        operations=trips * _work(inner) + _work(outer),
        prediction=predict(count, moved, family),
    )
