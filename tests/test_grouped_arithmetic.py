# SPDX-License-Identifier: Apache-2.0
"""Grouped matmuls whose groups begin, end and are cut where kernels would rather not: few rows that share
tiles, odd elements of K, sums past the range of an s32.
"""

import os
from itertools import pairwise

import numpy as np
import pytest
import zemm
from support_grouped import Groups, ends_of, grouped_md, run, write_groups
from support_problem import RANGES, Problem, Quant, values, zero_point
from support_rows import CPU_ROWS, XE_ROWS
from support_run import ARGS


def sums_of_groups(
    engine: zemm.Engine,
    stream: zemm.Stream,
    types: str,
    sizes: tuple[int, ...],
    m: int,
    n: int,
    data: tuple[np.ndarray, np.ndarray] | None = None,
    behind: int = 0,
) -> zemm.MatmulPrimitiveDesc:
    """Multiply groups of K, and check dst.

    types: of src, weights and dst. data: src and weights; random ones without. behind: elements of K behind
    the last group, which belong to none.
    """
    src_dt, wei_dt, dst_dt = types.split(":")
    total, count = sum(sizes) + behind, len(sizes)
    rng = np.random.default_rng(total + n)
    if data is None:
        data = values(rng, src_dt, (m, total)), values(rng, wei_dt, (total, n))
    src, wei = (x.astype(np.float64) for x in data)
    md = grouped_md((m, total), src_dt, count, 1), grouped_md((total, n), wei_dt, count)
    attr = zemm.Attr()
    attr.set_fpmath_mode("any" if wei_dt in ("u4", "s4") else "strict", True)
    pd = zemm.MatmulPrimitiveDesc(engine, *md, zemm.MemoryDesc((count, m, n), dst_dt, "abc"), None, attr)
    args = {ARGS["src"]: zemm.Memory(md[0], engine), ARGS["wei"]: zemm.Memory(md[1], engine)}
    write_groups(args[ARGS["src"]], src.T, src_dt, ends_of(sizes))
    write_groups(args[ARGS["wei"]], wei, wei_dt, ends_of(sizes))
    args[ARGS["dst"]] = dst = zemm.Memory(pd.query_md("dst_md"), engine)
    dst.write(np.full(dst.md.size, 0xFF, np.uint8))
    zemm.Primitive(pd).execute(stream, args)
    stream.wait()
    got_dt = np.int32 if dst_dt == "s32" else np.float32
    got = dst.read().view(got_dt).reshape(count, m, n)
    expected = np.stack([src[:, a:b] @ wei[a:b] for a, b in pairwise([0, *ends_of(sizes)])])
    np.testing.assert_array_equal(got, expected.astype(got_dt))
    return pd


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


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("types", ["s8:s8:f32", "s8:u8:s32", "u8:s8:f32", "u8:u8:f32"])
def test_integers(engine: zemm.Engine, stream: zemm.Stream, types: str, m: int) -> None:
    """With one row src lies along K, as bytes that instructions take four at a time."""
    for n, behind in ((1, 6), (16, 0), (70, 0), (70, 6)):
        sums_of_groups(engine, stream, types, UNEVEN, m, n, behind=behind)


FOUR_BITS = [
    "f32:f4_e2m1:f32", "f4_e2m1:f4_e2m1:f32", "f4_e2m1:f8_e4m3:f32", "f32:u4:f32", "bf16:s4:f32", "s8:u4:f32",
    "u8:s4:s32",
]  # fmt: skip


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("types", FOUR_BITS)
def test_four_bits(engine: zemm.Engine, stream: zemm.Stream, types: str, m: int) -> None:
    """Groups that begin in the middle of a byte."""
    for n in (1, 2, 5, 64):
        sums_of_groups(engine, stream, types, (17, 40, 0, 90), m, n)


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
        sums_of_groups(engine, stream, types, sizes, m, 3, largest(src_dt, wei_dt, m, sum(sizes), 3))


@pytest.mark.parametrize("types", ["f32:f32:f32", "s8:u8:f32", "u8:u8:s32", "f32:u4:f32"])
def test_chosen_ranges(
    engine: zemm.Engine, stream: zemm.Stream, monkeypatch: pytest.MonkeyPatch, types: str
) -> None:
    """A choice that cuts K cuts each group."""
    for ranges in (2, 3):
        monkeypatch.setenv("ZEMM_KERNEL", f"{GENERIC}:ranges={ranges}")
        for sizes in ((150, 150), (3, 0, 297), (300,)):
            sums_of_groups(engine, stream, types, sizes, 2, 5)


def test_chosen_slices(engine: zemm.Engine, stream: zemm.Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZEMM_KERNEL", f"{GENERIC}:slices=2")
    with pytest.raises(NotImplementedError, match=f"{GENERIC} does not cut ranges of K into slices"):
        sums_of_groups(engine, stream, "f32:f32:f32", (150, 150), 2, 5)


@pytest.mark.full
@pytest.mark.parametrize("types", ["s8:s8:f32", "u8:u8:s32", "f16:f16:f32", "bf16:bf16:f32", *FOUR_BITS])
@pytest.mark.parametrize("row", [*CPU_ROWS, *XE_ROWS])
def test_row(
    engine: zemm.Engine, stream: zemm.Stream, monkeypatch: pytest.MonkeyPatch, row: str, types: str
) -> None:
    monkeypatch.setenv("ZEMM_KERNEL", row)
    for m, n in ((1, 1), (1, 70), (3, 1), (3, 64)):
        try:
            sums_of_groups(engine, stream, types, (17, 40, 0, 90), m, n)
        except NotImplementedError as error:
            why = str(error).split(f"{row}: ", 1)[1].split(";")[0]
            if "ZEMM_KERNEL" in why:
                raise
