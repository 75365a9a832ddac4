# SPDX-License-Identifier: Apache-2.0
"""Variants of the rows for Intel GPUs (what is compiled), and shapes around the tiles of each row.

2-D block loads need rows of at least 64 bytes whose length is a multiple of 4 bytes and whose
distance is a multiple of 16 bytes. `of_shape` pads rows accordingly. Such loads never read plain 2-bit
weights, which large tiles pack first.

A variant is a problem whose shape is open. Integers that are scaled have limited values, so that every sum is
exact in f32. Its words:
- group: K is a multiple of this; without it K is free
- loads=0: it has tensors that 2-D block loads cannot read
- exact=0: not every sum is exact
"""

from collections.abc import Iterator
from dataclasses import dataclass

from support_cases import PER_BYTE, Problem, problems
from support_rows import BY_NAME
from zemm._library.lists import TYPES

BITS = {name: dt.bits for name, dt in TYPES.items()}


@dataclass(frozen=True)
class Tile:
    m: int
    n: int
    k: int


def tile_of(row: str) -> Tile:
    traits = BY_NAME[row]
    return Tile(traits.tile_m, traits.tile_n, traits.tile_k)


def pad_of(elements: int, dt: str) -> int:
    """Padding after a row, in elements: the distance of rows is a multiple of 16 bytes, and at
    least 64.
    """
    unit = 16 * 8 // BITS[dt]
    return max(-(-elements // unit) * unit, 4 * unit) - elements


def of_shape(p: Problem, m: int, n: int, k: int, seed: int) -> Problem:
    """A variant with dims. Rows are padded for block loads, unless it is one that they do not read."""
    if not p.number("loads", 1):
        return p.shaped(m, n, k, f"seed={seed}")
    wei_pad = 0 if p.is_packed else pad_of(n if p.is_along_n else k, p.dt[1])
    return p.shaped(m, n, k, f"src_pad={pad_of(k, p.dt[0])} wei_pad={wei_pad} seed={seed}")


INT8, HALF, TF32 = (problems(f"xe {kind}") for kind in ("int8", "half", "tf32"))
# Small floats, which become f16 or bf16. src is put in the order of the weights first.
SMALL = problems("xe small floats")
# f32 as bf16, or as sums of two bf16: for the rows with 8 lanes.
NARROWED = problems("xe narrowed")
# For the rows that multiply as f32: of the variants above, some of each kind of type and layout.
FLOAT = {
    name: variants[name]
    for variants, names in (
        (
            HALF,
            ("f16_packed", "bf16_ab_shared_weights", "f16_s4_packed_scales", "bf16_s8_packed_own_weights"),
        ),
        (HALF, ("f16_u4_packed_groups_of_128", "f16_any_strides", "bf16_u4_k_outside", "bf16_u2_packed")),
        (TF32, ("f32_packed", "f32_ab_post_ops", "u8_ab_zero_points", "s4_ba_groups_of_64_and_96")),
        (TF32, ("u2_packed_groups_of_64", "u2_ab")),
        (SMALL, ("f8_e4m3_f8_e4m3_packed_mx", "f4_e2m1_f4_e2m1_packed_nvfp4", "f8_e4m3_f8_e4m3_any_strides")),
    )
    for name in names
} | problems("xe float")


def lengths(row: str, p: Problem) -> list[int]:
    """K around a step of DPAS, one block and two blocks.

    Values of K below 64 bytes are only for variants that are read element by element, as block
    loads need 64 bytes.
    """
    block, group = tile_of(row).k, p.number("group")
    if group:
        return [group * count for count in ((2, 3, 5) if group < 160 else (2, 3))]  # one is another variant
    if not BY_NAME[row].has_dots and tile_of(row).m > 8:
        return [16, 32, 48, 80, 128, 144]  # these rows take only whole blocks of K
    around = (1, 5, 31, 32, 33, 64, block - 1, block, block + 1, 2 * block - 3, 2 * block + 17)
    if not p.number("loads", 1):
        return [k for k in around if k > 0]
    src_bits, wei_bits = (BITS[dt] for dt in p.dt[:2])
    in_columns = p.is_along_k and wei_bits != 2
    fours = {8: 4, 4: 8}.get(wei_bits, 32 // src_bits) if in_columns else 32 // src_bits
    least = max(64 * 8 // wei_bits if in_columns else 0, 64 * 8 // src_bits)
    near = {(k + fours - 1) // fours * fours for k in (least, 70, *around, 3 * block + 20)}
    return sorted(k for k in near | {block - fours, 2 * block - fours} if k >= least)


def columns(row: str, p: Problem) -> list[int]:
    tile, zero_points = tile_of(row), p.find("zero_points", "wei")
    if p.number("loads", 1) and p.is_along_n and p.dt[1] != "u2":
        unit = 64 * 8 // BITS[p.dt[1]]
        return [unit, unit + unit // 16, 2 * unit, 2 * unit + unit // 16, 100]
    each = PER_BYTE.get(zero_points.data_type, 1) if zero_points else 1
    if each > 1:  # a parameter row needs whole bytes
        return [16 - each, 16, 16 + each, tile.n, tile.n + each, 64, 64 + each, 2 * tile.n + 3 * each]
    return [15, 16, 17, tile.n, tile.n + 1, 64, 65, 2 * tile.n + 3] + [1] * p.is_along_k


def shapes(row: str, variants: dict[str, Problem], name: str) -> Iterator[tuple[int, int, int]]:
    """M, N and K of the runs.

    K exceeds a block in all runs or in none, as these are two different modules.
    """
    p, tile, i = variants[name], tile_of(row), list(variants).index(name)
    ms = (tile.m + 1, 1, 2 * tile.m, 8, tile.m, 7, 2 * tile.m + 9, tile.m - 1)
    ns, ks = columns(row, p), lengths(row, p)
    short = [k for k in ks if k <= tile.k]
    long = [k for k in ks if k > tile.k]
    if not p.number("group"):
        ks = short if short and (i % 3 == 2 or not long) else long
    slow = p.dt[0] == "f16" and not p.dt[1].endswith("16")  # f16 arithmetic
    for j in range(2 if slow else 7):
        yield ms[(i + j) % len(ms)], ns[(2 * i + j) % len(ns)], ks[(i + 3 * j) % len(ks)]
