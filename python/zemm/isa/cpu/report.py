# SPDX-License-Identifier: Apache-2.0
"""Lines of the table for CPUs: one for each kernel, problem and device."""

from dataclasses import dataclass
from typing import Any

from zemm.isa.cpu.analysis import Analysis
from zemm.isa.report import Named

HEADER = [
    "kernel", "problem", "device", "K", "multiplies", "loads", "spills", "cycles", "limit", "share", "bound",
    "block", "block cycles", "block share", "block bound",
]  # fmt: skip


@dataclass
class Line(Named):
    analysis: Analysis

    def cells(self) -> list[str]:
        a = self.analysis
        block = a.block
        return [
            *self.names(),
            str(a.k or "?"),
            str(a.multiplies),
            str(a.loop.loads),
            str(a.spills),
            f"{a.loop.cycles:.1f}",
            f"{a.loop.limit:.1f}",
            f"{100 * a.share:.0f} %",
            a.loop.bound,
            *(
                [
                    f"{block.trips} x {a.k}",
                    f"{block.estimate.cycles:.0f}",
                    f"{100 * (a.block_share or 0):.0f} %",
                    block.estimate.bound,
                ]
                if block
                else ["?"] * 4
            ),
        ]

    def json(self) -> dict[str, Any]:
        return super().json() | self.analysis.json()
