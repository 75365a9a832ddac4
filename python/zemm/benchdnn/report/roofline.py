# SPDX-License-Identifier: Apache-2.0
"""The roofline of a run as numbers: its points, its limits and the range of its axes."""

from dataclasses import dataclass

from zemm._library.lists import UNITS
from zemm.benchdnn.report.records import Record, Run

BANDWIDTH = "read"


@dataclass(frozen=True)
class Point:
    """A timed record: its operations per byte, and its speed in GOPS."""

    record: Record
    x: float
    y: float


@dataclass(frozen=True)
class Roofline:
    """`roofs`: the measured limits of operations in GOPS; `bandwidth` in GB/s, 0 if not measured.
    The axes reach from `low` to `high`, (operations per byte, GOPS)."""

    points: list[Point]
    roofs: dict[str, float]
    bandwidth: float
    low: tuple[float, float]
    high: tuple[float, float]

    def ridge(self, roof: float) -> float:
        """Operations per byte from which on a roof is the lower limit."""
        return max(roof / self.bandwidth, self.low[0]) if self.bandwidth else self.low[0]


def roofline(run: Run) -> Roofline | None:
    """The roofline of a run by its clock, without reference kernels; None if it has no point."""
    points = [
        Point(record, record.operations / record.bytes, record.operations / best / 1e6)
        for record in run.records
        if (best := run.best(record)) and record.bytes and record.operations and not record.is_reference
    ]
    if not points:
        return None
    roofs = {name: run.peaks[name] for name in UNITS if name in run.peaks}
    bandwidth = run.peaks.get(BANDWIDTH, 0.0)
    ridges = [roof / bandwidth for roof in roofs.values()] if bandwidth else []
    across = [*(point.x for point in points), *ridges]
    up = [*(point.y for point in points), *roofs.values()]
    low = (min(across) / 2.5, min(up) / 2.5)
    return Roofline(points, roofs, bandwidth, low, (max(across) * 2.5, max(up) * 1.8))
