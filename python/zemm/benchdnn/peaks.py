# SPDX-License-Identifier: Apache-2.0
"""The device's measured limits (`--peak`) and what they mean for a case: the roofline."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from zemm.benchdnn.case import Case
from zemm.benchdnn.dtypes import BY_NAME

_UNITS = {"int8": "GOPS", "f32": "GOPS", "copy": "GB/s", "read": "GB/s"}
NAMES = tuple(_UNITS)


@dataclass(frozen=True)
class Peaks:
    """Operations or bytes per second by name; what could not be measured has its reason in `missing`.
    `read_now`: the read bandwidth around the runs of one case, 0 where that is not known."""

    values: dict[str, float] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    read_now: float = 0.0

    def at(self, read: float) -> "Peaks":
        """The same limits, which go on rising with this object's, with the read bandwidth of one case."""
        return replace(self, read_now=read)

    def value(self, name: str) -> float:
        """A limit as it counts for a case; 0 where it is not known."""
        return (name == "read" and self.read_now) or self.values.get(name, 0.0)

    def lines(self) -> list[str]:
        """What was measured, and a line for each limit that was not."""
        shown = [f"{name} {value / 1e9:.4g} {_UNITS[name]}" for name, value in self.values.items()]
        head = [f"# peak: {', '.join(shown)}"] if shown else []
        return head + [f"# peak: {name} n/a: {reason}" for name, reason in self.missing.items()]

    def raise_to(self, other: "Peaks") -> None:
        """Take over what was measured higher."""
        for name, value in other.values.items():
            self.values[name] = max(value, self.values.get(name, 0.0))
        self.missing.update(other.missing)

    def bound(self, case: Case, size: int) -> tuple[str, float]:
        """Which limit keeps a case from being faster, and the milliseconds that this limit asks for: `size`
        bytes once through memory, or the case's operations. ('', 0) where no limit is known."""
        compute = compute_peak(case)
        limits = [
            (1e3 * amount / self.value(name), name)
            for name, amount in (("read", float(size)), (compute, float(case.problem.ops)))
            if self.value(name)
        ]
        if not self.value(compute):
            return "", 0.0
        time, name = max(limits)
        return name, time


def compute_peak(case: Case) -> str:
    """The limit of a case's multiply-adds."""
    src = BY_NAME.get(case.dt[0])
    return "int8" if src and src.integral and src.bits <= 8 else "f32"


def measure(engine: Any, names: Sequence[str]) -> Peaks:
    """Limits of an engine's device."""
    peaks = Peaks()
    for name in names:
        try:
            peaks.values[name] = engine.measure_peak(name)
        except (NotImplementedError, RuntimeError, MemoryError) as error:
            peaks.missing[name] = str(error)
    return peaks
