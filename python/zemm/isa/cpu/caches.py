# SPDX-License-Identifier: Apache-2.0
"""Adds to the cycles of a block what llvm-mca leaves out of it: loads of tiles, and lines of the second
cache level.

The model, in which nothing of this overlaps:
- A load of a tile takes as long as a product.
- A line that comes from the second level, or goes back there, takes two cycles.
- A block reads its part of src from there, since other tiles have used the first level in between.
- It loads and stores sums. They come from there, too, unless all of the tile's sums fit into the first
  level, beside the panel of weights and the tile's part of src.
- The panel, and tiles of sums that become vectors, stay in the first level if they fit beside what the
  block reads and writes.
- Rows of src lie in few sets of the first level if their distance is a multiple of much of its size. If
  the rows of a block need more lines of a set than it has, each load of a line comes from the second
  level.
"""

from dataclasses import dataclass
from math import gcd

LINE = 64  # bytes
LINE_CYCLES = 2
# Four loads beside four products halved the rate of products on a Sapphire Rapids.
TILE_LOAD_CYCLES = 16
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
    """The blocks of a tile of dst: `rows` of its `tile_rows` by all of its columns and a part of K."""

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


def extra(blocks: Blocks, stored: int, staged: int, tile_loads: int, level: Level1) -> Extra:
    """stored: bytes of sums that a block stores, after it has loaded them. staged: bytes of tiles of
    sums that it stores, and loads as vectors; there is room for two blocks."""
    b = blocks
    panel = b.k * b.columns * b.panel_bytes
    src_of_row, sums_of_row = b.k * b.src_bytes, b.columns * 4
    lines = b.rows * src_of_row / LINE
    crowded = conflicts(b.rows, b.stride, level)
    if crowded:
        # With tiles once for the prefetch and once for each half of the columns.
        lines *= 1 + b.columns / _TILE_COLUMNS if b.has_tiles else LINE / _WORD
    if panel + b.tile_rows * (src_of_row + sums_of_row) > level.size:
        lines += 2 * stored / LINE
    if panel + b.rows * (src_of_row + sums_of_row) + 2 * staged > level.size:
        lines += (panel + 2 * staged) / LINE
    elif b.tile_rows == b.rows:  # the panel is not used again
        lines += panel / LINE
    return Extra(lines, tile_loads, crowded)
