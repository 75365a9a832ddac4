# SPDX-License-Identifier: Apache-2.0
"""The problems that the rows for Intel GPUs refuse, each with its reason."""

from dataclasses import replace

import pytest
from support_problem import Problem, Quant, zero_point
from support_rows import BY_NAME, LOADS_1D, XE_ROWS
from support_run import make_pd, run
from support_xe import tile_of

INT8_ROWS = [row for row in XE_ROWS if BY_NAME[row].src == "int8"]
HALF_ROWS = [row for row in XE_ROWS if BY_NAME[row].src == "half"]
TF32_ROWS = [row for row in XE_ROWS if BY_NAME[row].src == "tf32"]
FLOAT_ROWS = [row for row in XE_ROWS if BY_NAME[row].src == "float"]
ROUNDING = [row for row in XE_ROWS if row not in FLOAT_ROWS]
# Rows that take only what 2-D block loads can read.
LOADING = [row for row in XE_ROWS if tile_of(row).m > 8 and row not in LOADS_1D]

INT8 = Problem((9, 256), (256, 64), "s8", "u8", "s32")
F32 = Problem((9, 64), (64, 64))
WIDENED = Problem(
    (9, 256), (256, 64), "f16", "u8", "f32", fpmath=("any", True), wei_zp=zero_point(2, (), "u8")
)
HUGE = 2**30 + 32
REFUSED = {
    "f32": (ROUNDING, F32, "(src is f32|not f32 by f32|integer weights|mode strict does not allow)"),
    "f32 as bf16": (
        [row for row in HALF_ROWS if row in LOADS_1D],
        replace(F32, fpmath=("strict", False)),
        "it multiplies f32 as bf16 or sums of two, which the fpmath mode strict does not allow",
    ),
    "f32 by integers as bf16": (
        [row for row in HALF_ROWS if row in LOADS_1D],
        replace(F32, wei_dt="u4", fpmath=("strict", True)),
        "the fpmath mode strict does not allow; tf32, bf16, f16 and any do",
    ),
    "f32 by integers, strict": (
        TF32_ROWS,
        replace(F32, wei_dt="s8", fpmath=("strict", True)),
        "the fpmath mode strict does not allow; tf32, bf16, f16 and any do",
    ),
    "f32 by f16": (
        TF32_ROWS,
        replace(F32, wei_dt="f16", fpmath=("any", False)),
        "it multiplies f32 by f32 or integers, not f32 by f16",
    ),
    "f32 groups of 16": (
        TF32_ROWS,
        replace(F32, wei_dt="u8", fpmath=("any", True), wei_scale=Quant(3, (16, 1))),
        "multiples of 32, the greatest common divisor here is 16",
    ),
    "f32, s32 zero points": (
        TF32_ROWS,
        replace(F32, wei_dt="u8", fpmath=("tf32", True), wei_zp=zero_point(2)),
        "zero points have to be tensors of 8 bits or fewer",
    ),
    "bf16 by differences of 9 bits": (
        HALF_ROWS,
        replace(WIDENED, src_dt="bf16", wei_zp=zero_point(2, (), "s8")),
        "u8 weights less s8 zero points reach 383, and bf16 has the integers up to 256 only",
    ),
    "f16, float zero points, strict": (
        HALF_ROWS,
        replace(WIDENED, fpmath=("strict", True), wei_zp=zero_point(2, (), "f16")),
        "weights less their zero points are f16 in it, for which zero points have to be tensors of 8 bits",
    ),
    "f16, float zero points, mode for floats only": (
        HALF_ROWS,
        replace(WIDENED, fpmath=("any", False), wei_zp=zero_point(2, (), "f16")),
        "weights less their zero points are f16 in it, for which zero points have to be tensors of 8 bits",
    ),
    "f16 by f32": (
        ROUNDING,
        Problem((9, 64), (64, 64), "f16", "f32", "f32"),
        "(src is f16|not f16 by f32|integer weights)",
    ),
    "a dst of f4": (
        [row for row in INT8_ROWS if row in LOADS_1D],
        replace(INT8, dst_dt="f4_e2m1"),
        "(it does not store f4_e2m1, of which two elements share a byte|its tile is for scales along K)",
    ),
    "f16 in an int8 row": (INT8_ROWS, WIDENED, "it multiplies 8-bit integers, src is f16"),
    "int8 in a half row": (HALF_ROWS, INT8, "(not s8 by u8|integer weights)"),
    "int8 in a float row": (FLOAT_ROWS, INT8, "it multiplies floats, src is s8"),
    "float, K of 72": (
        [row for row in FLOAT_ROWS if tile_of(row).m > 8],
        replace(F32, src_dims=(9, 72), wei_dims=(72, 64), wei_tag="BA16a64b"),
        "K is 72, no multiple of 16",
    ),
    "groups of 48": (
        INT8_ROWS,
        replace(INT8, src_dims=(9, 192), wei_dims=(192, 64), wei_zp=zero_point(3, (48, 1))),
        "multiples of 32, the greatest common divisor here is 48",
    ),
    "groups of 64 and 16": (
        INT8_ROWS,
        replace(INT8, dst_dt="f32", src_scale=Quant(3, (1, 16)), wei_scale=Quant(3, (64, 1))),
        "multiples of 32, the greatest common divisor here is 16",
    ),
    "sums of 8": (
        INT8_ROWS,
        replace(INT8, wei_zp=zero_point(), reduction_group=8),
        "multiples of 32, the greatest common divisor here is 8",
    ),
    "widened, groups of 16": (
        HALF_ROWS,
        replace(WIDENED, wei_scale=Quant(3, (16, 1))),
        "multiples of 32, the greatest common divisor here is 16",
    ),
    "widened, s32 zero points": (
        HALF_ROWS,
        replace(WIDENED, wei_zp=zero_point(2)),
        "zero points have to be tensors of 8 bits or fewer",
    ),
    "widened, a host zero point": (
        HALF_ROWS,
        replace(WIDENED, wei_zp=zero_point(dt="u8", host=True)),
        "zero points have to be tensors of 8 bits or fewer",
    ),
    "huge K": (INT8_ROWS, replace(INT8, src_dims=(1, HUGE), wei_dims=(HUGE, 64)), "up to 2\\^30"),
    "huge M": (INT8_ROWS, replace(INT8, src_dims=(HUGE, 256)), "up to 2\\^30"),
    "huge N": (INT8_ROWS, replace(INT8, wei_dims=(256, HUGE)), "up to 2\\^30"),
    "huge batch of rows": (
        INT8_ROWS,
        replace(INT8, src_dims=(2**16, 2**15, 64), wei_dims=(1, 64, 64)),
        "up to 2\\^30",
    ),
    "huge src": (
        [row for row in INT8_ROWS if row in LOADS_1D],
        replace(INT8, src_dims=(2**24, 256)),
        "(bytes of src and of the weights up to 2\\^32|its tile is for scales along K)",
    ),
    "huge scales": (
        INT8_ROWS,
        replace(INT8, src_dims=(2**27, 256), dst_dt="f32", src_scale=Quant(3, (1, 32))),
        "bytes of scales, of zero points and of sums of src up to 2\\^31",
    ),
    "huge u2 zero points": (
        INT8_ROWS,
        replace(INT8, wei_dt="u2", wei_dims=(256, 2**30), wei_zp=zero_point(3, (32, 1), "u2")),
        "their elements up to 2\\^32",
    ),
}
# src tensors that block loads cannot read. Such weights are packed first (test_xe_pack_first.py).
UNREADABLE = {
    "rows of 60 bytes": replace(INT8, src_dims=(9, 60), wei_dims=(60, 64), src_pad=4),
    "rows of 66 bytes": replace(INT8, src_dims=(9, 66), wei_dims=(66, 64), src_pad=14),
    "rows 72 bytes apart": replace(INT8, src_dims=(9, 68), wei_dims=(68, 64), src_pad=4),
    "one row in each of a batch, 72 bytes apart": replace(INT8, src_dims=(3, 1, 72), wei_dims=(1, 72, 64)),
    "a batch that is a matrix of 2^24 rows": replace(INT8, src_dims=(2**20, 16, 64), wei_dims=(1, 64, 64)),
    "2^24 rows": replace(INT8, src_dims=(2**24, 64), wei_dims=(64, 64)),
    "K outside": replace(INT8, src_dims=(64, 64), wei_dims=(64, 64), src_order="ba"),
    "batches 66 bytes apart": replace(
        INT8, src_dims=(64, 2, 64), wei_dims=(64, 64, 64), src_order="bac", src_pad=2
    ),
}


@pytest.mark.parametrize(("row", "name"), [(row, name) for name in REFUSED for row in REFUSED[name][0]])
def test_refused(row: str, name: str) -> None:
    _, problem, why = REFUSED[name]
    with pytest.raises(NotImplementedError, match=f"{row}: [^;]*{why}"):
        make_pd(problem)


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize("row", [row for row in LOADING if row in INT8_ROWS])
def test_large_tiles_want_block_loads(row: str, name: str) -> None:
    with pytest.raises(NotImplementedError, match=f"{row}: 2-D block loads cannot read src: they want"):
        make_pd(UNREADABLE[name])


@pytest.mark.parametrize("name", [name for name in UNREADABLE if "2^24" not in name])
def test_the_smallest_tile_gathers(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    smallest = [row for row in INT8_ROWS if row not in LOADING]
    monkeypatch.setenv("ZEMM_KERNEL", smallest[0])
    assert run(UNREADABLE[name]).exact


def test_another_row_takes_what_these_refuse() -> None:
    for rows, problem, _ in REFUSED.values():
        assert make_pd(problem).impl_info not in rows
