# SPDX-License-Identifier: Apache-2.0
"""Scales and offsets of weights in two levels: integers of short groups, times a float of a longer one."""

import itertools

import pytest
import zemm
from support_calls import run
from support_cases import ANY, Problem, shape
from support_rows import BY_NAME
from support_tiers import POLICY_ROWS, SMALL_ROWS, in_turns, takes

WEIGHTS = zemm.ARG_WEIGHTS
SCALES, OFFSETS = zemm.ARG_ATTR_SCALES | WEIGHTS, zemm.ARG_ATTR_OFFSETS | WEIGHTS
SCALE_FACTORS = zemm.ARG_ATTR_SCALE_FACTORS | WEIGHTS
OFFSET_FACTORS = zemm.ARG_ATTR_OFFSET_FACTORS | WEIGHTS


def problem(
    src: str, wei: str, scale: str = "u8", offset: str = "u8", factor: str = "f16", group: int = 32,
    factor_group: int = 128, m: int = 9, n: int = 57, k: int = 512, more: str = "",
) -> Problem:  # fmt: skip
    """offset: its type, or "none". Seven columns of a tile are missing."""
    floats = src not in ("s8", "u8")
    of_src = "" if floats else f"src:3:f32:1x{group}+"
    words = [f"--dt={src}:{wei}:f32 --attr-scales={of_src}wei:3:{scale}:{group}x1"]
    words.append(f"--attr-scale-factors=wei:3:{factor}:{factor_group}x1")
    if offset != "none":
        words.append(f"--attr-offsets=wei:3:{offset}:{group}x1")
        words.append(f"--attr-offset-factors=wei:3:{factor}:{factor_group}x1")
    if floats:
        words.append("--attr-fpmath=strict:true")
    return Problem(f"{' '.join(words)} {shape(m, n, k)} rough").but(more)


OFTEN = [("s8", "u4"), ("u8", "u8"), ("f32", "u4"), ("f16", "s8")]
ALL = [(src, wei) for src in ("s8", "u8", "f32", "f16", "bf16") for wei in ("s8", "u8", "s4", "u4", "u2")]
# Rows for GPUs take minutes for all.
CASES = [(name, *types) for name, row in BY_NAME.items() for types in (OFTEN if row.is_xe else ALL)]
QUICK = [row for row in BY_NAME if row in (POLICY_ROWS & SMALL_ROWS if BY_NAME[row].is_xe else POLICY_ROWS)]
IS_TURN = in_turns(QUICK[::2], OFTEN, lambda row, types: problem(*types, more=ANY))


@pytest.mark.quick(cases=lambda row, src, wei: IS_TURN(row, (src, wei)))
@pytest.mark.parametrize(("row", "src", "wei"), CASES)
def test_rows(row: str, src: str, wei: str) -> None:
    """Every row in the layout of weights that it prefers, by every pair of types that it takes. Rows that round
    weights with offsets take none."""
    both = [problem(src, wei, offset=offset, more=ANY) for offset in ("u8", "none")]
    p = next((p for p in both if takes(row, p)), None)
    if p is None:
        pytest.skip(f"{row}: not on this device")
    run(p)


ROWS, COLUMNS = (1, 2, 4, 5, 33), (64, 57, 145)
# Groups of scales and of factors, and K. The last of either may be shorter, and factors may be for all of K.
GROUPS = (
    (32, 256, 1024), (16, 256, 768), (32, 32, 320), (16, 64, 336), (32, 64, 200), (16, 1024, 1024),
    (64, 256, 640),
)  # fmt: skip
KINDS = list(
    itertools.product(
        ("s8", "u8", "f32", "f16", "bf16"), ("u4", "s8", "u8", "s4"), ("u8", "s8"), ("none", "u8", "s8")
    )
)


def member(number: int) -> Problem:
    """Number chooses what pairs of types leave open, in turns of different lengths."""
    src, wei, scale, offset = KINDS[number % len(KINDS)]
    group, factor_group, k = GROUPS[number % len(GROUPS)]
    factor = ("f16", "f32", "bf16")[number // 2 % 3]
    m, n = ROWS[(number + number // 5) % len(ROWS)], COLUMNS[number // 3 % len(COLUMNS)]
    return problem(src, wei, scale, offset, factor, group, factor_group, m, n, k, ANY)


@pytest.mark.quick(cases=lambda number: number % 9 == 0)
@pytest.mark.parametrize("number", range(2 * len(KINDS)))
def test_family(number: int) -> None:
    run(member(number))
