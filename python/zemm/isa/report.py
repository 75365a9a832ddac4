# SPDX-License-Identifier: Apache-2.0
"""The table, as text."""

from zemm.isa.analysis import Analysis
from zemm.isa.pipes import Pipe

COLUMNS = ("XMX", "float", "int", "math", "send", "branch")


def row(name: str, device: str, a: Analysis) -> list[str]:
    busy = a.prediction.cycles
    return [
        name,
        device,
        f"{a.grf}/{a.threads}",
        str(a.spill),
        "?" if a.private is None else str(a.private),
        f"{a.k * a.trips}" + (f" ({a.trips}x{a.k})" if a.group else ""),
        *(str(a.count.number[Pipe(p)]) for p in COLUMNS),
        str(a.moved.loaded),
        f"{busy['XMX']:.0f}",
        f"{busy['float']:.0f}",
        f"{busy['int']:.0f}",
        f"{busy['L1'] + busy['SLM']:.0f}",
        a.prediction.bound,
        f"{100 * a.prediction.utilisation:.1f} %",
        f"{100 * a.prediction.serial:.1f} %",
    ]


HEADER = [
    "kernel", "device", "GRF/threads", "spill B", "private B", "K", *COLUMNS, "bytes", "XMX cyc", "float cyc",
    "int cyc", "load cyc", "bound", "XMX used", "in turn",
]  # fmt: skip


def table(rows: list[list[str]]) -> str:
    lines = [HEADER, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADER))]
    return "\n".join(
        "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines
    )
