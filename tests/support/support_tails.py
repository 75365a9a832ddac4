# SPDX-License-Identifier: Apache-2.0
"""Variants of the matmul kernels, and the shapes that each variant runs with.

A variant is what decides which module is compiled. Shapes are not compiled in, except for a few
bits (K beyond a row's tile, K % 4, tiles of few rows).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from support_case_lines import table
from support_problem import Problem

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
    units: bool = False  # whether it also runs UNIT_SHAPES

    def of_shape(self, m: int, n: int, k: int, seed: int) -> Problem:
        src, wei = (*self.base.src_dims[:-2], m, k), (*self.base.wei_dims[:-2], k, n)
        reduction = self.base.reduction_group
        return replace(
            self.base, src_dims=src, wei_dims=wei, seed=seed, reduction_group=reduction and (self.group or k)
        )


INTEGERS = table("tails of integers", Variant)
FLOATS = table("tails of floats", Variant)


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
