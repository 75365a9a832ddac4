# SPDX-License-Identifier: Apache-2.0
"""Adds to the cycles of a block what llvm-mca leaves out of it: loads of tiles, and lines of the second
cache level.

The model, in which nothing of this overlaps:
- A load of a tile takes the eight cycles of Intel's optimisation manual.
- A line that comes from the second level, or goes back there, takes two cycles.
- A block reads its part of src from there, since other tiles have used the first level in between.
- It loads and stores sums. They come from there, too, unless all of the tile's sums fit into the first
  level, beside the panel of weights and the tile's part of src.
- The panel stays in the first level if it fits beside what the block reads and writes.
- Rows of src lie in few sets of the first level if their distance is a multiple of much of its size. If
  the rows of a block need more lines of a set than it has, each load of a line comes from the second
  level.
- With tiles the sums and results of a group of rows stay over several blocks, so the panel comes from the
  second level for each group. So does src for the other half of the columns, if it does not stay. Rows
  that lie in few sets are copied before.
"""

from dataclasses import dataclass
from math import gcd

LINE = 64  # bytes
LINE_CYCLES = 2
TILE_LOAD_CYCLES = 8
_WORD = 4  # bytes of src that vectors broadcast at once
_TILE_COLUMNS = 32  # that a trip with tiles multiplies


@dataclass(frozen=True)
class Level1:
    """The first cache level."""

    size: int  # bytes
    ways: int

    @property
    def sets(self) -> int:
        return self.size // LINE // self.ways


@dataclass(frozen=True)
class Blocks:
    """The blocks of a tile of dst: `rows` of its `tile_rows` by all of its columns and a part of K. With
    tiles both are those whose results stay in the first level."""

    rows: int
    tile_rows: int
    columns: int
    k: int
    src_bytes: float  # of an element
    panel_bytes: float
    stride: int  # bytes from row to row of src
    has_tiles: bool


@dataclass(frozen=True)
class Extra:
    """What a block does beside the instructions that llvm-mca counts."""

    lines: float
    tile_loads: int
    conflicts: bool  # whether rows of src need more lines of a set than it has

    @property
    def cycles(self) -> float:
        return LINE_CYCLES * self.lines + TILE_LOAD_CYCLES * self.tile_loads


def conflicts(rows: int, stride: int, level: Level1) -> bool:
    """Whether lines at one place of so many rows do not fit into their sets."""
    if stride % LINE:
        return False  # lines at one place of the rows are in different sets
    used = level.sets // gcd(level.sets, stride // LINE)
    return -(-rows // used) > level.ways


def extra(blocks: Blocks, stored: int, tile_loads: int, level: Level1) -> Extra:
    """stored: bytes of sums that a block stores; it has loaded them, or loads them afterwards."""
    b = blocks
    panel = b.k * b.columns * b.panel_bytes
    src = b.rows * b.k * b.src_bytes
    stays = panel + src + stored <= level.size
    crowded = not b.has_tiles and conflicts(b.rows, b.stride, level)
    lines = src / LINE
    if crowded:
        lines *= LINE / _WORD
    elif b.has_tiles and not stays:
        lines *= b.columns / _TILE_COLUMNS
    if panel + b.tile_rows / b.rows * (src + stored) > level.size:
        lines += 2 * stored / LINE
    if not stays or b.tile_rows == b.rows:  # the panel is not used again
        lines += panel / LINE
    return Extra(lines, tile_loads, crowded)
