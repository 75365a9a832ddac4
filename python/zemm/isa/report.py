# SPDX-License-Identifier: Apache-2.0
"""Prints the results as a table with a line for each kernel, problem and device."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from zemm._terminal.columns import aligned
from zemm.isa.analysis import Analysis
from zemm.isa.pipes import Pipe
from zemm.isa.weights import Stream

PIPES = ("XMX", "float", "int", "math", "send", "branch")
HEADER = [
    "kernel", "problem", "device", "GRF", "spill", "private", "K", *PIPES, "bytes", "XMX cyc", "float cyc",
    "int cyc", "load cyc", "bound", "XMX used", "in turn", "build s",
]  # fmt: skip


@dataclass
class Named:
    """What a line is about."""

    kernel: str
    problem: str
    device: str

    def names(self) -> list[str]:
        return [self.kernel, self.problem, self.device]

    def json(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "problem": self.problem, "device": self.device}


@dataclass
class Line(Named):
    analysis: Analysis
    stream: Stream | None = None  # of weights, for rows of kernels.def for few rows of src

    def cells(self) -> list[str]:
        a = self.analysis
        busy = a.prediction.cycles
        return [
            *self.names(),
            str(a.grf),
            str(a.spill),
            "?" if a.private is None else str(a.private),
            f"{a.trips} x {a.k}" if a.group else str(a.k),
            *(str(a.count.number[Pipe(p)]) for p in PIPES),
            str(a.moved.loaded),
            f"{busy['XMX']:.0f}",
            f"{busy['float']:.0f}",
            f"{busy['int']:.0f}",
            f"{busy['L1'] + busy['SLM']:.0f}",
            a.prediction.bound,
            f"{100 * a.prediction.utilisation:.1f} %",
            f"{100 * a.prediction.serial:.1f} %",
            f"{a.build_seconds:.1f}",
        ]

    def json(self) -> dict[str, Any]:
        return super().json() | self.analysis.json() | (self.stream.json() if self.stream else {})


class Row(Protocol):
    """A line of a table."""

    def cells(self) -> list[str]: ...


def text(header: list[str], lines: Sequence[Row]) -> str:
    return aligned([header, *(line.cells() for line in lines)])


# Columns that differ from run to run, or that follow from the others.
_NOT_IN_DOCUMENTS = {"private", "XMX cyc", "float cyc", "int cyc", "load cyc", "build s"}


def markdown(header: list[str], lines: Sequence[Row]) -> str:
    left = 3  # columns of names
    kept = [i for i, name in enumerate(header) if name not in _NOT_IN_DOCUMENTS]
    rule = ["---"] * left + ["---:"] * (len(kept) - left)
    cells = [header, *(line.cells() for line in lines)]
    rows = [[row[i] for i in kept] for row in cells]
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], rule, *rows[1:]])
