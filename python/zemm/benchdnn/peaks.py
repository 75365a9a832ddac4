# SPDX-License-Identifier: Apache-2.0
"""The device's measured limits (`--peak`), and the roofline: which of them bounds a case."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from zemm.benchdnn.case import Case
from zemm.benchdnn.dtypes import BY_NAME

_UNITS = {"int8": "GOPS", "f32": "GOPS", "copy": "GB/s", "read": "GB/s"}
NAMES = tuple(_UNITS)


@dataclass(frozen=True)
class Peaks:
    """Limits by name, in operations or bytes per second. `missing` has the reasons why others could
    not be measured. `read_now` is the read bandwidth measured around the runs of one case, 0 if not
    known."""

    values: dict[str, float] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    read_now: float = 0.0

    def at(self, read: float) -> "Peaks":
        """The same limits with the read bandwidth of one case. `values` is shared, so that a later
        raise_to() of this object counts for the new one, too."""
        return replace(self, read_now=read)

    def value(self, name: str) -> float:
        """A limit as it counts for a case; 0 if it is not known."""
        return (name == "read" and self.read_now) or self.values.get(name, 0.0)

    def lines(self) -> list[str]:
        """The lines to print: measured limits, then one line for each limit that could not be
        measured."""
        shown = [f"{name} {value / 1e9:.4g} {_UNITS[name]}" for name, value in self.values.items()]
        head = [f"# peak: {', '.join(shown)}"] if shown else []
        return head + [f"# peak: {name} n/a: {reason}" for name, reason in self.missing.items()]

    def raise_to(self, other: "Peaks") -> None:
        """Raise each limit to that of the other object if it is higher there."""
        for name, value in other.values.items():
            self.values[name] = max(value, self.values.get(name, 0.0))
        self.missing.update(other.missing)

    def bound(self, case: Case, size: int, compute: str = "") -> tuple[str, float]:
        """The limit that bounds the speed of a case, and the milliseconds that the case needs at
        this limit: to read `size` bytes once, or to compute its operations. ('', 0) if the limit of
        operations is not known. compute: the name of that limit, by default by the type of src."""
        compute = compute or compute_peak(case)
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
    """The name of the limit for a case's operations: "int8" if src has at most 8 bits, else
    "f32"."""
    src = BY_NAME.get(case.dt[0])
    return "int8" if src and src.integral and src.bits <= 8 else "f32"


def measure(engine: Any, names: Sequence[str]) -> Peaks:
    """Measure limits of an engine's device."""
    peaks = Peaks()
    for name in names:
        try:
            peaks.values[name] = engine.measure_peak(name)
        except (NotImplementedError, RuntimeError, MemoryError) as error:
            peaks.missing[name] = str(error)
    return peaks
