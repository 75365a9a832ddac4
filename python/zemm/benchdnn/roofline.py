# SPDX-License-Identifier: Apache-2.0
"""The roofline of a run as numbers: its points, its roofs and the range of its axes."""

import math
from dataclasses import dataclass

from zemm.benchdnn.records import Record, Run

COMPUTE = ("int8", "f32")
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

    def ridge(self, roof: str) -> float:
        """Operations per byte from which on a roof is the lower limit."""
        return max(self.roofs[roof] / self.bandwidth, self.low[0]) if self.bandwidth else self.low[0]

    def slope(self) -> list[tuple[float, float]]:
        """The ends of the line of the bandwidth; empty if there is none."""
        if not self.bandwidth:
            return []
        highest = max(self.roofs.values(), default=self.high[1])
        left = max(self.low[0], self.low[1] / self.bandwidth)
        right = min(highest / self.bandwidth, self.high[0])
        return [(x, x * self.bandwidth) for x in (left, right)] if left < right else []


def roofline(run: Run) -> Roofline | None:
    """The roofline of a run; None if no record has a time."""
    points = [
        Point(record, record.operations / record.bytes, record.gops)
        for record in run.records
        if record.gops and record.bytes and record.operations
    ]
    if not points:
        return None
    roofs = {name: run.peaks[name] for name in COMPUTE if name in run.peaks}
    bandwidth = run.peaks.get(BANDWIDTH, 0.0)
    ridges = [roof / bandwidth for roof in roofs.values()] if bandwidth else []
    across = [*(point.x for point in points), *ridges]
    up = [*(point.y for point in points), *roofs.values()]
    low = (min(across) / 2.5, min(up) / 2.5)
    return Roofline(points, roofs, bandwidth, low, (max(across) * 2.5, max(up) * 1.8))


def ticks(low: float, high: float) -> list[float]:
    """Round numbers for a logarithmic axis: powers of ten, with 2 and 5 if these are few."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1,) if math.log10(high / low) > 3 else (1, 2, 5)
    return [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]
