# SPDX-License-Identifier: Apache-2.0
"""Variants of the matmul kernels, and the shapes that each variant runs with.

A variant is what decides which module is compiled. Shapes are not compiled in, except for a few
bits (K beyond a row's tile, K % 4, tiles of few rows).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from support_problem import Problem, Quant, zero_point

PACKED, PACKED_FLOATS = "BA16a64b4a", "BA16a64b"
# M around the heights of tiles (120, 64, 8) and of the groups of rows that are multiplied at once
# (4, 6, 8).
MS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 63, 64, 65, 119, 120, 121, 241)
# N around vectors (8, 16), tiles (16, 32, 64) and panels (64). With eight tiles of 64 columns all
# cores are busy, so tiles are not made lower. N = 1 makes another variant of plain weights.
NS = (15, 16, 17, 63, 64, 65, 100, 130, 449)
# K around quads, vectors and tiles (16, 64, 256). Sizes of 1 make other variants: see UNIT_SHAPES.
KS = (2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300, 512)
UNIT_SHAPES = ((1, 1, 1), (121, 65, 1), (9, 1, 300), (121, 1, 64))


@dataclass(frozen=True)
class Variant:
    """A problem whose shape is open. Integers that are scaled have limited values, so that every
    sum is exact in f32.
    """

    base: Problem
    group: int = 0  # elements of K in a group; 0: no groups
    batch: int = 0
    units: bool = False  # whether it also runs UNIT_SHAPES

    def of_shape(self, m: int, n: int, k: int, seed: int) -> Problem:
        src, wei, reduction = (m, k), (k, n), self.base.reduction_group
        if self.batch:
            src, wei = (self.batch, *src), (self.batch, *wei)
        return replace(
            self.base, src_dims=src, wei_dims=wei, seed=seed, reduction_group=reduction and (self.group or k)
        )


def _problem(src: str, wei: str, dst: str = "s32", **settings: object) -> Problem:
    return Problem((1, 1), (1, 1), src, wei, dst, **settings)  # type: ignore[arg-type]


INTEGERS = {
    # Without groups: bytes as they are, and bytes of the other signedness with compensation.
    "s8_s8_ab": Variant(_problem("s8", "s8"), units=True),
    "u8_u8_ba": Variant(_problem("u8", "u8", wei_order="ba", src_pad=3, wei_pad=5, dst_pad=1)),
    "s8_u8_packed": Variant(_problem("s8", "u8", wei_tag=PACKED)),
    "u8_s8_packed": Variant(_problem("u8", "s8", wei_tag=PACKED)),
    "s8_s8_packed_src_zp": Variant(_problem("s8", "s8", wei_tag=PACKED, src_zp=zero_point()), units=True),
    "u8_u8_packed_batch": Variant(_problem("u8", "u8", wei_tag="aCB16b64c4b"), batch=2),
    "u8_s4_packed_both_zp": Variant(
        _problem("u8", "s4", wei_tag=PACKED, src_zp=zero_point(dt="u8"), wei_zp=zero_point(2, (), "s8"))
    ),
    "s8_s4_ba_reductions": Variant(
        _problem("s8", "s4", wei_order="ba", wei_zp=zero_point(2), src_zp=zero_point(), reduction_group=1)
    ),
    # With groups.
    "s8_u8_packed_groups_of_4": Variant(
        _problem("s8", "u8", wei_tag=PACKED, wei_zp=zero_point(2, (), "u8"), reduction_group=4), group=4
    ),
    "u8_u4_ab_groups_of_32": Variant(
        _problem(
            "u8",
            "u4",
            "f32",
            limit=3,
            wei_scale=Quant(3, (32, 1)),
            wei_zp=zero_point(3, (32, 1), "s8"),
            src_zp=zero_point(2, (1, 32)),
        ),
        group=32,
    ),
    "s8_u8_ab_batch_groups_of_64": Variant(
        _problem(
            "s8",
            "u8",
            "f32",
            limit=3,
            src_pad=6,
            wei_pad=2,
            src_scale=Quant(7, (1, 64)),
            wei_scale=Quant(7, (64, 1)),
            wei_zp=zero_point(4),  # per column
            reduction_group=64,
        ),
        group=64,
        batch=3,
    ),
    "s8_u4_packed_groups_of_128": Variant(
        _problem(
            "s8",
            "u4",
            "f32",
            limit=3,
            wei_tag=PACKED,
            src_scale=Quant(3, (1, 128)),
            wei_scale=Quant(3, (128, 1), "f16"),
            wei_zp=zero_point(3, (128, 1), "u8"),
            reduction_group=128,
        ),
        group=128,
    ),
    "s8_s8_packed_groups_of_32": Variant(
        _problem(
            "s8",
            "s8",
            "f32",
            limit=3,
            wei_tag=PACKED,
            src_scale=Quant(1),
            wei_scale=Quant(3, (32, 1)),
            src_zp=zero_point(2, (1, 32)),
        ),
        group=32,
    ),
}
WEIGHT_ONLY = {"fpmath": ("any", True)}
FLOATS = {
    "f32_ab": Variant(_problem("f32", "f32", "f32")),
    "f32_packed": Variant(_problem("f32", "f32", "f32", wei_tag=PACKED_FLOATS)),
    "f16_ba": Variant(_problem("f16", "f16", "f32", wei_order="ba", src_pad=1, wei_pad=3)),
    "bf16_packed_batch": Variant(_problem("bf16", "bf16", "f32", wei_tag="aCB16b64c"), batch=2),
    "f32_u8_packed": Variant(
        _problem("f32", "u8", "f32", wei_tag=PACKED, limit=15, wei_zp=zero_point(2), **WEIGHT_ONLY)
    ),
    "f32_u4_packed_groups_of_32": Variant(
        _problem(
            "f32",
            "u4",
            "f32",
            limit=15,
            wei_tag=PACKED,
            wei_scale=Quant(3, (32, 1), "f16"),
            wei_zp=zero_point(3, (32, 1), "u8"),
            **WEIGHT_ONLY,
        ),
        group=32,
    ),
    "f16_s8_packed_groups_of_64": Variant(
        _problem(
            "f16",
            "s8",
            "f32",
            limit=15,
            wei_tag=PACKED,
            wei_scale=Quant(3, (64, 1)),
            wei_zp=zero_point(3, (64, 1), "s8"),
            **WEIGHT_ONLY,
        ),
        group=64,
    ),
    "bf16_s4_packed_groups_of_256": Variant(
        _problem("bf16", "s4", "f32", wei_tag=PACKED, wei_scale=Quant(3, (256, 1)), **WEIGHT_ONLY), group=256
    ),
    "f16_s4_ba_groups_of_64": Variant(
        _problem("f16", "s4", "f32", wei_order="ba", wei_scale=Quant(3, (64, 1)), **WEIGHT_ONLY), group=64
    ),
    "bf16_s4_ab_groups_of_64": Variant(
        _problem("bf16", "s4", "f32", wei_scale=Quant(3, (64, 1)), **WEIGHT_ONLY), group=64
    ),
}


def shapes(variants: dict[str, Variant], name: str) -> Iterator[tuple[int, int, int]]:
    """M, N and K of the runs.

    The variants without groups together meet all pairs of M and K, of N and K, and of M and N.
    """
    variant = variants[name]
    if variant.units:
        yield from UNIT_SHAPES
    if variant.group:
        for i, m in enumerate(MS):
            # At least two groups: a single group would be another variant.
            for groups in sorted({2 + i % 3, 512 // variant.group + i % 2}):
                if groups > 1:
                    yield m, NS[(i + groups) % len(NS)], groups * variant.group
        return
    plain = [other for other in variants if not variants[other].group]
    each = -(-len(MS) // len(plain))
    first = plain.index(name) * each
    for k, length in enumerate(KS):
        for t in range(first, first + each):
            yield MS[(t + k) % len(MS)], NS[(t + 2 * k) % len(NS)], length
