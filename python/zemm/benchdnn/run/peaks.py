# SPDX-License-Identifier: Apache-2.0
"""The device's measured limits (`--peak`), and the roofline: which of them bounds a case."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from zemm._library.kernels import rows
from zemm._library.lists import UNITS, own_and_emulated
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import BY_NAME

_BANDWIDTHS = ("copy", "read")
_UNIT_OF = {row.name: row.unit for row in rows()}


def names_for(engine: Any) -> list[str]:
    """The limits to measure on an engine's device: those of the units that it has, and bandwidths."""
    own, _ = own_and_emulated(engine.kind, engine.features)
    return [*(name for name, unit in UNITS.items() if unit["isa"] in ("none", *own)), *_BANDWIDTHS]


@dataclass(frozen=True)
class Peaks:
    """Limits by name, in operations or bytes per second. `missing` has the reasons why others could
    not be measured. `read_now` is the read bandwidth measured around the runs of one case, 0 if not
    known."""

    values: dict[str, float] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    read_now: float = 0.0

    def at(self, read: float) -> "Peaks":
        """These limits with the read bandwidth of one case. `values` is shared, so that a later
        raise_to() of this object also counts for the new one."""
        return replace(self, read_now=read)

    def value(self, name: str) -> float:
        """A limit as it counts for a case; 0 if it is not known."""
        return (name == "read" and self.read_now) or self.values.get(name, 0.0)

    def lines(self) -> list[str]:
        """The lines to print: measured limits, then one line for each limit that could not be
        measured."""
        shown = [
            f"{name} {value / 1e9:.4g} {'GB/s' if name in _BANDWIDTHS else 'GOPS'}"
            for name, value in self.values.items()
        ]
        head = [f"# peak: {', '.join(shown)}"] if shown else []
        return head + [f"# peak: {name} n/a: {reason}" for name, reason in self.missing.items()]

    def raise_to(self, other: "Peaks") -> None:
        """Raise each limit to that of the other object if it is higher there."""
        for name, value in other.values.items():
            self.values[name] = max(value, self.values.get(name, 0.0))
        self.missing.update(other.missing)

    def fastest(self, multiplies: str) -> str:
        """The known unit with the highest limit that multiplies a type; '' if none is known."""
        units = [name for name in self.values if name in UNITS and UNITS[name]["multiplies"] == multiplies]
        return max(units, key=self.value, default="")

    def bound(self, case: Case, size: int, unit: str) -> tuple[str, float]:
        """The limit that bounds the speed of a case, and the milliseconds that the case needs at
        this limit: to read `size` bytes once, or to compute its operations with a unit. ('', 0) if
        the unit's limit is not known."""
        limits = [
            (1e3 * amount / self.value(name), name)
            for name, amount in (("read", float(size)), (unit, float(case.problem.ops)))
            if self.value(name)
        ]
        if not self.value(unit):
            return "", 0.0
        time, name = max(limits)
        return name, time


def unit_of(case: Case, kernel: str) -> str:
    """The unit by which a kernel of zemm multiplies a case. For kernels that are no rows of
    kernels.def, and peers: "int8" if src has at most 8 bits or zemm quantises it to so many, else "f32"."""
    src = BY_NAME.get("s8" if case.attributes.src_dyn_quant else case.dt[0])
    return _UNIT_OF.get(kernel) or ("int8" if src and src.integral and src.bits <= 8 else "f32")


def measure(engine: Any, names: Sequence[str]) -> Peaks:
    """Measure limits of an engine's device."""
    peaks = Peaks()
    for name in names:
        try:
            peaks.values[name] = engine.measure_peak(name)
        except (NotImplementedError, RuntimeError, MemoryError) as error:
            peaks.missing[name] = str(error)
    return peaks
