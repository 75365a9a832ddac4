# SPDX-License-Identifier: Apache-2.0
"""The speed at which a K loop for few rows of src takes weights, beside that of memory.

With few rows every byte of the weights is read once, so a loop is fast enough if it takes weights
faster than memory brings them.
"""

from dataclasses import dataclass
from typing import Any

from zemm.isa.analysis import Analysis
from zemm.isa.memory import bytes_a_cycle

MOST_ROWS = 8  # rows of a tile up to which a loop is compared with memory


@dataclass(frozen=True)
class Shape:
    """What a tile of a row of kernels.def takes from the weights of a problem."""

    columns: int  # of the tile
    bits: int  # of an element
    products: int = 1  # DPAS for one product of elements, all of which count in Analysis.k


@dataclass(frozen=True)
class Stream:
    taken: float  # bytes of weights, without their parameters, that a thread takes in Analysis.count
    overlapped: float  # bytes that an XVE takes in a cycle if all pipes work at the same time
    in_turn: float  # the same if only loads run beside other work
    memory: float | None  # bytes that memory brings to an XVE in a cycle; None: not known

    @staticmethod
    def of(a: Analysis, shape: Shape, device: str) -> "Stream":
        taken = a.k * a.trips * shape.columns * shape.bits / 8 / shape.products
        return Stream(
            taken, taken / a.prediction.longest, taken / a.prediction.in_turn, bytes_a_cycle(device)
        )

    def ratios(self) -> tuple[float, float] | None:
        """`overlapped` and `in_turn` as multiples of `memory`."""
        return (self.overlapped / self.memory, self.in_turn / self.memory) if self.memory else None

    def json(self) -> dict[str, Any]:
        figures: dict[str, Any] = {
            "weight_bytes": self.taken,
            "weight_bytes_a_cycle": round(self.overlapped, 4),
            "weight_bytes_a_cycle_in_turn": round(self.in_turn, 4),
        }
        ratios = self.ratios()
        if self.memory and ratios:
            figures |= {
                "memory_bytes_a_cycle": round(self.memory, 4),
                "weights_to_memory": round(ratios[0], 4),
                "weights_to_memory_in_turn": round(ratios[1], 4),
            }
        return figures


HEADER = [
    "kernel", "problem", "device", "weights", "B/cycle", "B/cycle in turn", "memory B/cycle", "ratio",
    "ratio in turn",
]  # fmt: skip


@dataclass(frozen=True)
class Line:
    """A line of the table of weights."""

    names: tuple[str, str, str]  # of the kernel, the problems and the device
    stream: Stream

    def cells(self) -> list[str]:
        s = self.stream
        return [
            *self.names,
            f"{s.taken:.0f}",
            f"{s.overlapped:.2f}",
            f"{s.in_turn:.2f}",
            f"{s.memory:.2f}" if s.memory else "-",
            *(f"{ratio:.2f}" for ratio in s.ratios() or ()),
            *([] if s.memory else ["-", "-"]),
        ]
