# SPDX-License-Identifier: Apache-2.0
"""Variants of the rows for Intel GPUs (what is compiled), and shapes around the tiles of each row.

2-D block loads need rows of at least 64 bytes whose length is a multiple of 4 bytes and whose
distance is a multiple of 16 bytes. `Variant.of_shape` pads rows accordingly. Variants with
`loads=False` have tensors that such loads cannot read. They never read plain 2-bit weights, which large tiles
pack first.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from support_case_lines import table
from support_problem import PER_BYTE, Problem
from support_rows import BY_NAME
from zemm._library.lists import TYPES

PACKED, PACKED_FLOATS = "BA16a64b4a", "BA16a64b"
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


@dataclass(frozen=True)
class Variant:
    """A problem whose shape is open. Integers that are scaled have limited values, so that every
    sum is exact in f32. `exact` is False where that is not possible.
    """

    base: Problem
    group: int = 0  # K is a multiple of this; 0: K is free
    loads: bool = True
    exact: bool = True

    def of_shape(self, m: int, n: int, k: int, seed: int) -> Problem:
        p = self.base
        inner = n if p.wei_order is None else k
        return replace(
            p,
            src_dims=(*p.src_dims[:-2], m, k),
            wei_dims=(*p.wei_dims[:-2], k, n),
            src_pad=pad_of(k, p.src_dt) if self.loads else p.src_pad,
            wei_pad=0 if p.wei_tag else pad_of(inner, p.wei_dt) if self.loads else p.wei_pad,
            seed=seed,
        )


INT8, HALF, TF32 = (table(f"xe {kind}", Variant) for kind in ("int8", "half", "tf32"))
# Small floats, which become f16 or bf16. src is put in the order of the weights first.
SMALL = table("xe small floats", Variant)
# f32 as bf16, or as sums of two bf16: for the rows with 8 lanes.
NARROWED = table("xe narrowed", Variant)
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
} | table("xe float", Variant)


def lengths(row: str, variant: Variant) -> list[int]:
    """K around a step of DPAS, one block and two blocks.

    Values of K below 64 bytes are only for variants that are read element by element, as block
    loads need 64 bytes.
    """
    block, group, p = tile_of(row).k, variant.group, variant.base
    if group:
        return [group * count for count in ((2, 3, 5) if group < 160 else (2, 3))]  # one is another variant
    if not BY_NAME[row].has_dots and tile_of(row).m > 8:
        return [16, 32, 48, 80, 128, 144]  # these rows take only whole blocks of K
    around = (1, 5, 31, 32, 33, 64, block - 1, block, block + 1, 2 * block - 3, 2 * block + 17)
    if not variant.loads:
        return [k for k in around if k > 0]
    in_columns = p.wei_order and p.wei_dt != "u2"
    fours = 8 if in_columns and BITS[p.wei_dt] == 4 else 32 // BITS[p.src_dt]
    least = max(64 * 8 // BITS[p.wei_dt] if in_columns else 0, 64 * 8 // BITS[p.src_dt])
    if in_columns and BITS[p.wei_dt] == 8:
        fours = 4
    near = {(k + fours - 1) // fours * fours for k in (least, 70, *around, 3 * block + 20)}
    return sorted(k for k in near | {block - fours, 2 * block - fours} if k >= least)


def columns(row: str, variant: Variant) -> list[int]:
    tile, p = tile_of(row), variant.base
    if variant.loads and not p.wei_tag and p.wei_order is None and p.wei_dt != "u2":
        unit = 64 * 8 // BITS[p.wei_dt]
        return [unit, unit + unit // 16, 2 * unit, 2 * unit + unit // 16, 100]
    each = PER_BYTE.get(p.wei_zp.dt, 1) if p.wei_zp else 1
    if each > 1:  # a parameter row needs whole bytes
        return [16 - each, 16, 16 + each, tile.n, tile.n + each, 64, 64 + each, 2 * tile.n + 3 * each]
    return [15, 16, 17, tile.n, tile.n + 1, 64, 65, 2 * tile.n + 3] + ([] if p.wei_order is None else [1])


def shapes(row: str, variants: dict[str, Variant], name: str) -> Iterator[tuple[int, int, int]]:
    """M, N and K of the runs.

    K exceeds a block in all runs or in none, as these are two different modules.
    """
    variant, tile, i = variants[name], tile_of(row), list(variants).index(name)
    ms = (tile.m + 1, 1, 2 * tile.m, 8, tile.m, 7, 2 * tile.m + 9, tile.m - 1)
    ns, ks = columns(row, variant), lengths(row, variant)
    short = [k for k in ks if k <= tile.k]
    long = [k for k in ks if k > tile.k]
    if not variant.group:
        ks = short if short and (i % 3 == 2 or not long) else long
    slow = variant.base.src_dt == "f16" and not variant.base.wei_dt.endswith("16")  # f16 arithmetic
    for j in range(2 if slow else 7):
        yield ms[(i + j) % len(ms)], ns[(2 * i + j) % len(ns)], ks[(i + 3 * j) % len(ks)]
