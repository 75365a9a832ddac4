# SPDX-License-Identifier: Apache-2.0
"""cl_intel_subgroup_2d_block_io: its functions, kernels that call one function each, and a numpy
version.

SPV_INTEL_2d_block_io states how the elements of a block are distributed to lanes. It gives each
lane two neighbouring columns of a transposed block of 32 rows. Intel's compiler leaves the
registers as the load fills them instead (a column's first 16 rows, then the others), and this file
follows the compiler.
"""

import functools
import itertools
from typing import NamedTuple

import numpy as np

LANES = 16
SCALARS = {8: "uchar", 16: "ushort", 32: "uint"}


class Block(NamedTuple):
    access: str
    bits: int
    rows: int
    columns: int
    count: int
    # Called by the compiler's own name: the values are ints, and eight lanes have a row of 32 bytes.
    flat: bool = False

    def __str__(self) -> str:
        return f"{self.access}_{self.bits}b_{self.rows}r{self.columns}x{self.count}c"

    @property
    def value_bits(self) -> int:
        if self.access == "read_transform":
            return 32
        if self.flat and self.bits == 8 and self.access == "read" and self.rows > 1:
            return 32
        return self.bits * 2 if self.columns == 32 else self.bits

    @property
    def values(self) -> int:
        """Number of values that a lane has."""
        of_a_block = -(-self.rows * self.columns * self.bits // (LANES * self.value_bits))
        return self.count * of_a_block


def _all_blocks() -> list[Block]:
    powers = (1, 2, 4, 8, 16, 32)
    plain = [
        *itertools.product((8,), powers, (32,), (1, 2)),
        *itertools.product((16,), powers, (16,), (1, 2)),
    ]
    plain += [*itertools.product((32,), powers, (8,), (1, 2)), *itertools.product((32,), powers, (16,), (1,))]
    plain += itertools.product((8,), (8, 16, 32), (16,), (4,))
    transform = [
        *itertools.product((8,), (32,), (16,), (1, 2, 4)),
        *itertools.product((16,), (16, 32), (16,), (1, 2)),
    ]
    writes = [
        *itertools.product((8,), powers[:4], (16, 32), (1,)),
        *itertools.product((16, 32), powers[:4], (16,), (1,)),
    ]
    result = [Block("read", *shape) for shape in plain]
    result += [Block("read_transform", *shape) for shape in transform]
    result += [Block("read_transpose", 32, rows, 8, 1) for rows in (16, 32)]
    result += [Block("write", *shape) for shape in writes]
    prefetches = [*plain, (8, 32, 16, 1), (8, 32, 16, 2)]
    return result + [Block("prefetch", *shape) for shape in prefetches]


BLOCKS = _all_blocks()


def block_kernel(b: Block) -> str:
    """A kernel in which each sub-group has its own matrix, position in coords, and part of `data`,
    lane after lane.
    """
    name = f"intel_sub_group_2d_block_{b}"
    scalar = SCALARS[b.value_bits]
    values = ", __private uint *values".replace("uint", scalar) if b.access != "prefetch" else ""
    before = f"for (int i = 0; i < {b.values}; i++) values[i] = data[i];" if b.access == "write" else ""
    after = f"for (int i = 0; i < {b.values}; i++) data[i] = values[i];" if "read" in b.access else ""
    return f"""
void __attribute__((overloadable)) {name}(
    global void *base, int width, int height, int pitch, int2 coord{values});
__attribute__((intel_reqd_sub_group_size({LANES}))) kernel void {b}(
    global uchar *base, int width, int height, int pitch, global int2 *coords, int n,
    global {scalar} *data) {{
    const int at = get_group_id(0) * get_num_sub_groups() + get_sub_group_id();
    if (at >= n)
        return;
    {scalar} values[{b.values}];
    base += at * height * pitch;
    data += (at * {LANES} + get_sub_group_local_id()) * {b.values};
    {before}
    {name}(base, width, height, pitch, coords[at]{", values" if values else ""});
    {after}
}}"""


# The older of Intel's compilers know only these reads, by other names. Those functions return the
# values.
FLAT = [b for b in BLOCKS if b.access == "read" and b.count == 2 and b.rows <= 8 and b.bits < 32]
FLAT += [Block("read", 8, 8, 32, 1), Block("read", 32, 8, 16, 1), Block("read_transform", 8, 32, 16, 1)]
FLAT += [Block("read_transform", 16, 16, 16, 1), Block("read_transpose", 32, 16, 8, 1)]
FLAT = [b._replace(flat=True) for b in FLAT]


def flat_kernel(b: Block) -> str:
    """A kernel like block_kernel's that calls the compiler's own name. All sub-groups share one
    matrix.
    """
    shape = {
        "read": f"u{b.bits}_m{b.rows}k{b.columns}v{b.count}",
        "read_transform": f"transform_u{b.bits}_k{b.rows}",
        "read_transpose": f"transpose_u{b.bits}_k{b.columns}",
    }[b.access]
    name = f"__builtin_IB_subgroup_block_read_flat_{shape}"
    vector = SCALARS[b.value_bits] + str(b.values)
    return f"""
{vector} {name}(long base, int width_less_1, int height_less_1, int pitch_less_1, int2 coord);
__attribute__((intel_reqd_sub_group_size({LANES}))) kernel void flat_{b}(
    global uchar *base, int width, int height, int pitch, global int2 *coords, int n,
    global {vector} *data) {{
    const int at = get_group_id(0) * get_num_sub_groups() + get_sub_group_id();
    if (at >= n)
        return;
    data[at * {LANES} + get_sub_group_local_id()] =
        {name}((long)base, width - 1, height - 1, pitch - 1, coords[at]);
}}"""


@functools.cache
def dealt(b: Block) -> np.ndarray:
    """The row and column, over all blocks, for each (lane, value, part). The row is -1 where a lane
    has nothing.
    """
    where = np.full((LANES, b.values, b.value_bits // b.bits, 2), -1)
    for block, row, column in itertools.product(range(b.count), range(b.rows), range(b.columns)):
        at = row, block * b.columns + column
        if b.access == "read_transform":
            packed = 32 // b.bits
            where[column, block * (b.rows // packed) + row // packed, row % packed] = at
        elif b.access == "read_transpose":
            where[row % LANES, column * (b.rows // LANES) + row // LANES, 0] = at
        else:
            in_lane = b.value_bits // b.bits
            element = row * b.columns + column  # in the block; lanes get elements row by row
            lane, value = element // in_lane % LANES, element // in_lane // LANES
            where[lane, block * (b.values // b.count) + value, element % in_lane] = at
    return where


def _places(b: Block, shape: tuple[int, ...], x: int, y: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each (lane, value, part): its row and column in the matrix, and whether the matrix has
    this element.
    """
    where = dealt(b)
    rows, columns = where[..., 0] + y, where[..., 1] + x
    inside = (where[..., 0] >= 0) & (rows >= 0) & (rows < shape[0]) & (columns >= 0) & (columns < shape[1])
    return rows, columns, inside


def read(b: Block, matrix: np.ndarray, x: int, y: int) -> np.ndarray:
    """The values that each lane reads from the blocks at (x, y) of a matrix of elements."""
    rows, columns, inside = _places(b, matrix.shape, x, y)
    parts = np.zeros(inside.shape, matrix.dtype)
    parts[inside] = matrix[rows[inside], columns[inside]]
    return parts.view(f"u{b.value_bits // 8}")[..., 0]


def written(b: Block, matrix: np.ndarray, x: int, y: int, values: np.ndarray) -> np.ndarray:
    """The matrix after the lanes have written their values at (x, y)."""
    rows, columns, inside = _places(b, matrix.shape, x, y)
    result = matrix.copy()
    result[rows[inside], columns[inside]] = values[..., None].view(matrix.dtype)[inside]
    return result
