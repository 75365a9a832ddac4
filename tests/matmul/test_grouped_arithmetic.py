# SPDX-License-Identifier: Apache-2.0
"""Grouped matmuls whose groups begin, end and are cut where kernels would rather not: few rows that share
tiles, odd elements of K, sums past the range of an s32.
"""

import os

import numpy as np
import pytest
import zemm
from support_grouped import Groups, run, run_groups_of_k
from support_problem import RANGES, Problem, Quant, zero_point
from support_rows import CPU_ROWS, XE_ROWS

GENERIC = "matmul_any_any_any_64x32x64_generic"


# ---- groups of rows


def few_rows(sizes: tuple[int, ...], dst: str) -> Groups:
    """Groups whose tiles are abreast, on a machine with up to 16 processors."""
    n = 512 * min(len(os.sched_getaffinity(0)), 16)
    matrix = Problem(
        (1, 128), (128, n), "s8", "u8", dst, src_scale=Quant(3, (1, 64), "f16"),
        wei_scale=Quant(2, (), "f16"), wei_zp=zero_point(2, dt="u8"),
    )  # fmt: skip
    return Groups(sizes, matrix, "abc")


@pytest.mark.parametrize("sizes", [(2,) * 9, (10, 0, 9)], ids=str)
@pytest.mark.parametrize("dst", ["f16", "bf16"])
def test_few_rows_of_many(engine: zemm.Engine, stream: zemm.Stream, dst: str, sizes: tuple[int, ...]) -> None:
    """All groups together have too many rows for tiles abreast, a single group has not."""
    run(engine, stream, few_rows(sizes, dst))


@pytest.mark.parametrize("row", [GENERIC, "matmul_float_any_any_8x32x16_xe_fma"])
def test_chosen_strip(
    engine: zemm.Engine, stream: zemm.Stream, monkeypatch: pytest.MonkeyPatch, row: str
) -> None:
    """Each entry of the table is a strip."""
    monkeypatch.setenv("ZEMM_KERNEL", f"{row}:strip=2")
    with pytest.raises(NotImplementedError, match=f"M has 1 work-groups for {row}, a strip has no 2"):
        run(engine, stream, Groups((200, 200), Problem((1, 64), (64, 64))))


# ---- groups of K

UNEVEN = (3, 0, 29, 5, 1)


@pytest.mark.quick(cases=lambda m, types: m == (1 if types in ("s8:u8:s32", "u8:s8:f32") else 3))
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("types", ["s8:s8:f32", "s8:u8:s32", "u8:s8:f32", "u8:u8:f32"])
def test_integers(engine: zemm.Engine, stream: zemm.Stream, types: str, m: int) -> None:
    """With one row src lies along K, as bytes that instructions take four at a time."""
    for n, behind in ((1, 6), (16, 0), (70, 0), (70, 6)):
        run_groups_of_k(engine, stream, types, UNEVEN, m, n, behind=behind)


FOUR_BITS = [
    "f32:f4_e2m1:f32", "f4_e2m1:f4_e2m1:f32", "f4_e2m1:f8_e4m3:f32", "f32:u4:f32", "bf16:s4:f32", "s8:u4:f32",
    "u8:s4:s32", "f32:u2:f32", "s8:u2:f32",
]  # fmt: skip


@pytest.mark.quick(cases=lambda m, types: m == 3 and types in FOUR_BITS[1::2])
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("types", FOUR_BITS)
def test_four_bits(engine: zemm.Engine, stream: zemm.Stream, types: str, m: int) -> None:
    """Groups that begin in the middle of a byte."""
    for n in (1, 2, 5, 64):
        run_groups_of_k(engine, stream, types, (17, 40, 0, 90), m, n)


def largest(src_dt: str, wei_dt: str, m: int, k: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """src and weights with the largest values of their types, but for every third of src."""
    src = np.full((m, k), RANGES[src_dt][1])
    src[:, ::3] -= 1
    return src, np.full((k, n), RANGES[wei_dt][1])


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("types", ["u8:u8:f32", "s8:u8:f32"])
def test_long_groups(engine: zemm.Engine, stream: zemm.Stream, types: str, m: int) -> None:
    """K is longer than an s32 can sum. A group may be, too."""
    src_dt, wei_dt, _ = types.split(":")
    for sizes in ((35000, 35000), (1, 40001, 0, 30000), (70000,)):
        run_groups_of_k(engine, stream, types, sizes, m, 3, largest(src_dt, wei_dt, m, sum(sizes), 3))


@pytest.mark.quick(cases=lambda types: types in ("f32:f32:f32", "s8:u8:f32"))
@pytest.mark.parametrize("types", ["f32:f32:f32", "s8:u8:f32", "u8:u8:s32", "f32:u4:f32"])
def test_chosen_ranges(
    engine: zemm.Engine, stream: zemm.Stream, monkeypatch: pytest.MonkeyPatch, types: str
) -> None:
    """A choice that cuts K cuts each group."""
    for ranges in (2, 3):
        monkeypatch.setenv("ZEMM_KERNEL", f"{GENERIC}:ranges={ranges}")
        for sizes in ((150, 150), (3, 0, 297), (300,)):
            run_groups_of_k(engine, stream, types, sizes, 2, 5)


@pytest.mark.full
@pytest.mark.parametrize("types", ["s8:s8:f32", "u8:u8:s32", "f16:f16:f32", "bf16:bf16:f32", *FOUR_BITS])
@pytest.mark.parametrize("row", [*CPU_ROWS, *XE_ROWS])
def test_row(
    engine: zemm.Engine, stream: zemm.Stream, monkeypatch: pytest.MonkeyPatch, row: str, types: str
) -> None:
    monkeypatch.setenv("ZEMM_KERNEL", row)
    for m, n in ((1, 1), (1, 70), (3, 1), (3, 64)):
        try:
            run_groups_of_k(engine, stream, types, (17, 40, 0, 90), m, n)
        except NotImplementedError as error:
            why = str(error).split(f"{row}: ", 1)[1].split(";")[0]
            if "ZEMM_KERNEL" in why:
                raise
