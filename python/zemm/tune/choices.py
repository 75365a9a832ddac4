# SPDX-License-Identifier: Apache-2.0
"""Choices: a row of kernels.def and how it cuts a problem, as ZEMM_KERNEL and tuning files write
them (src/matmul/choose/tuning.hpp)."""

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

from zemm._library.kernels import Row, rows

_HEIGHTS = (16, 32, 48, 64, 96)  # and multiples of what the row multiplies at once
_COUNTS = (1, 2, 3, 4, 6, 8, 12, 16)


@dataclass(frozen=True)
class Choice:
    """0: the library decides."""

    row: str
    rows: int = 0
    ranges: int = 0
    slices: int = 0
    strip: int = 0

    def __str__(self) -> str:
        parts = ((part.name, getattr(self, part.name)) for part in fields(self)[1:])
        return self.row + "".join(f":{name}={value}" for name, value in parts if value)


@cache
def _table() -> dict[str, Row]:
    return {row.name: row for row in rows()}


def rows_for(kind: str, features: Collection[str]) -> list[str]:
    """The rows that dispatch may choose on an engine of this kind with these features."""

    def may_run(row: Row) -> bool:
        if row.has_tiles and row.policy not in features:
            return False  # the tiles would be in software
        if row.is_xe and kind != "gpu":
            return False
        return row.feature is None or row.feature in features

    return [name for name, row in _table().items() if may_run(row)]


def parts_of(choice: Choice) -> tuple[str, ...]:
    """The parts of the cut that the row lets one choose, in the order in which to search them."""
    first = "slices" if _table()[choice.row].is_xe else "rows"
    return (first, "ranges", "strip")


def variants(choice: Choice, part: str, m: int) -> list[Choice]:
    """The choice with other values of one part, for a matmul with m rows. The library may refuse
    some."""
    values = list(_COUNTS)
    if part == "rows":
        row = _table()[choice.row]
        highest = min(row.tile_m, m)
        values = sorted({highest, *(n for n in (*_HEIGHTS, row.rows, 2 * row.rows) if n < highest)})
    changes: list[dict[str, Any]] = [{part: value} for value in values]
    return [replace(choice, **change) for change in changes]
