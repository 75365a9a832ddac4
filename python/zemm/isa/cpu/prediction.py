# SPDX-License-Identifier: Apache-2.0
"""Predicts which share of a unit's limit a row reaches, and says what it reached."""

from dataclasses import dataclass, replace
from typing import Any

from zemm._library.lists import TYPES
from zemm.isa.cpu.analysis import Analysis, Block
from zemm.isa.cpu.caches import Blocks, Extra, Level1, extra
from zemm.isa.report import Named
from zemm.isa.rows import Problem, Row

_PANEL_BYTES = {"int8": 1, "half": 2, "tf32": 4, "f32": 4}  # of an element, by what a row multiplies
HEADER = [
    "kernel", "problem", "device", "block cycles", "tile loads", "lines", "cycles", "predicted",
]  # fmt: skip
MEASURED_HEADER = [*HEADER, "limit", "measured"]


@dataclass(frozen=True)
class Measured:
    """A timed run. Rates are per second."""

    operations: float
    seconds: float
    unit: str
    limit: float  # operations
    read: float  # bytes
    moved: int  # bytes of all tensors

    @property
    def share(self) -> float:
        return self.operations / self.seconds / self.limit

    @property
    def memory_share(self) -> float:
        """What reading all tensors once leaves of the limit."""
        return self.operations / self.limit / (self.moved / self.read)


@dataclass
class Prediction(Named):
    block_cycles: float
    multiply_cycles: float
    extra: Extra
    is_loop: bool = False  # the cycles are those of the K loop, as the block is not known
    measured: Measured | None = None

    @property
    def cycles(self) -> float:
        return self.block_cycles + self.extra.cycles

    @property
    def share(self) -> float:
        """The share of the unit's limit. With one row of src memory is slower than the core at most
        problems, and its bandwidth is known where it was measured."""
        core = self.multiply_cycles / self.cycles
        return min(core, self.measured.memory_share) if self.measured else core

    def cells(self) -> list[str]:
        cells = [
            *self.names(),
            f"{self.block_cycles:.0f}{' (loop)' if self.is_loop else ''}",
            str(self.extra.tile_loads),
            f"{self.extra.lines:.0f}{' (sets)' if self.extra.conflicts else ''}",
            f"{self.cycles:.0f}",
            f"{100 * self.share:.0f} %",
        ]
        if not self.measured:
            return cells
        limit = f"{self.measured.limit / 1e9:.0f} {self.measured.unit}"
        return [*cells, limit, f"{100 * self.measured.share:.0f} %"]

    def json(self) -> dict[str, Any]:
        result = super().json() | {
            "block_cycles": round(self.block_cycles, 1),
            "is_loop": self.is_loop,
            "tile_loads": self.extra.tile_loads,
            "lines": round(self.extra.lines, 1),
            "conflicts": self.extra.conflicts,
            "cycles": round(self.cycles, 1),
            "predicted": round(self.share, 4),
        }
        if self.measured:
            result |= {
                "unit": self.measured.unit,
                "limit": self.measured.limit,
                "measured": round(self.measured.share, 4),
            }
        return result


def predict(
    names: Named, analysis: Analysis, row: Row, problem: Problem, src_rows: int, level: Level1
) -> Prediction | None:
    """The prediction for a problem with so many rows of src. If the block is not known, the K loop alone
    counts; None if its step of K is not known either, or it multiplies tiles."""
    src, wei, _ = problem.types
    one_row = src_rows == 1
    k = min(problem.group or row.tile_k, row.tile_k)
    if not analysis.block and (row.has_tiles or not analysis.k):
        return None
    blocks = Blocks(
        rows=min(row.rows, src_rows),
        tile_rows=min(row.rows if row.has_tiles else row.tile_m, src_rows),
        columns=row.tile_n,
        k=k,
        src_bytes=TYPES[src].bits / 8,
        panel_bytes=TYPES[wei].bits / 8 if one_row else _PANEL_BYTES[row.operands],
        stride=problem.k * TYPES[src].bits // 8,
        has_tiles=row.has_tiles,
    )
    block = analysis.block or Block(
        k=k,
        trips=k // analysis.k,
        estimate=replace(analysis.loop, cycles=k // analysis.k * analysis.loop.cycles),
        stored=blocks.rows * blocks.columns * 4,
    )
    found = extra(blocks, block.stored, block.estimate.tile_loads, level)
    multiplies = block.trips * analysis.loop.limit
    return Prediction(
        names.kernel, names.problem, names.device,
        block.estimate.cycles, multiplies, found, is_loop=not analysis.block,
    )  # fmt: skip
