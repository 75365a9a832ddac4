# SPDX-License-Identifier: Apache-2.0
"""Grouped matmuls: groups of rows with weights each (mixtures of experts), and groups of K. Groups begin, end
and are cut where kernels would rather not: few rows that share tiles, odd elements of K, sums past an s32.
"""

import os
from typing import Any

import numpy as np
import pytest
import zemm
from support_driver import check, check_row, prepared, turns
from support_rows import CPU_ROWS, ROWS

GENERIC = "matmul_any_any_any_64x32x64_generic"

# ---- groups of rows

MATRICES = {
    "f32": "",
    "tf32": "--attr-fpmath=tf32",
    "bf16_bias": "--dt=bf16 --bia-dt=f32",
    "f16_f32": "--dt=f16:f16:f32",
    "s8_u8_zero_points": "--dt=s8:u8:f32 --bia-dt=f32 --attr-scales=src:1+wei:5 --attr-zero-points=wei:5:u8",
    "s8_s8_both_zero_points": "--dt=s8:s8:f32 --attr-scales=src:1 --attr-zero-points=src:1+wei:5:s8",
    "u8_s4_groups": "--dt=u8:s4:bf16 --attr-scales=src:3:f16:1x32+wei:7:f16:32x1 "
    "--attr-zero-points=wei:7:s8:32x1",
    "reductions": "--dt=s8:u4:f16 --attr-scales=src:3:f16:1x32+wei:7:f16:64x1 "
    "--attr-zero-points=wei:7:u4:32x1 --attr-precomputed-reductions=src:3:s32:1x32",
    "offsets": "--dt=s8:u4:f32 --attr-scales=src:3:f16:1x32+wei:7:f16:32x1 --attr-offsets=wei:7:f16:32x1 "
    "--attr-precomputed-reductions=src:3:s32:1x32",
    "factors": "--dt=s8:u4:f32 --attr-scales=src:3:f16:1x32+wei:7:u8:32x1 "
    "--attr-scale-factors=wei:7:f16:64x1 --attr-offsets=wei:7:u8:32x1 --attr-offset-factors=wei:7:f16:96x1",
    "weight_only": "--dt=f16:u4:f16 --attr-scales=wei:7:f16:32x1 --attr-zero-points=wei:7:u4:32x1 "
    "--attr-fpmath=f16:true",
    "mxfp8": "--dt=f8_e4m3:f8_e4m3:bf16 --attr-scales=src:3:e8m0:1x32+wei:7:e8m0:32x1",
    "nvfp4": "--dt=f4_e2m1:f4_e2m1:bf16 --attr-scales=src:3:f8_e4m3:1x16+wei:7:f8_e4m3:16x1 "
    "--attr-post-ops=mul:f32:0",
    "shorter_groups": "--dt=s8:u8:f32 --attr-scales=src:3:f32:1x32+wei:7:f16:48x1 "
    "--attr-zero-points=wei:7:u8:32x1 --attr-precomputed-reductions=src:3:s32:1x16",
    "gate": "--attr-post-ops=swish:1+mul:f32:3+mul:f32:1",
    "grouped_src1": "--attr-post-ops=swish:1+mul:f32:3:grouped+mul:f32:1",
}
SIZES = (3, 0, 17, 1, 45, 0)


def of_rows(name: str, sizes: tuple[int, ...] = SIZES, tag: str = "any", k: int = 128, n: int = 64) -> str:
    grouped = f"--grouped=0:{len(sizes)}:{'+'.join(map(str, sizes))}"
    return f"--matmul {grouped} --wtag={tag} {MATRICES[name]} {sum(sizes)}x{k}:{len(sizes)}x{k}x{n}"


@pytest.mark.quick(cases=lambda name, tag: tag == "any")
@pytest.mark.parametrize("tag", ["any", "abc", "acb"])
@pytest.mark.parametrize("name", MATRICES)
def test_groups_of_rows(name: str, tag: str) -> None:
    check(of_rows(name, SIZES, tag, n=70))


@pytest.mark.each_value
@pytest.mark.parametrize(
    "sizes", [(5,), (0, 0, 3), (1,) * 33, (600, 0, 7, 250), (0, 0, 0, 31), (12, 30, 16, 16)], ids=str
)
@pytest.mark.parametrize("name", ["f32", "s8_u8_zero_points", "reductions", "mxfp8"])
def test_sizes(name: str, sizes: tuple[int, ...]) -> None:
    check(of_rows(name, sizes))


@pytest.mark.quick(cases=lambda name: name in ("f32", "reductions", "weight_only"))
@pytest.mark.parametrize("name", MATRICES)
def test_few_beside_many(name: str) -> None:
    """On CPUs groups of few rows may run on a kernel of their own."""
    check(of_rows(name, (1, 2, 40, 0, 4, 3, 17, 1, 16, 90), n=70))


@pytest.mark.parametrize(
    ("sizes", "kernels"),
    [
        ((1, 2, 16, 3), ["avx512_vnni"]),
        ((1, 2, 90, 3), ["avx512_segments"]),  # three groups are not worth a launch
        ((1, 2, 90, 16, 3), ["avx512_segments", "avx512_vnni"]),
        ((17, 33, 90, 44, 20), ["avx512_segments"]),
    ],
)
def test_kernels_of_sizes(
    engine: zemm.Engine, capfd: pytest.CaptureFixture[str], sizes: tuple[int, ...], kernels: list[str]
) -> None:
    if "avx512_vnni" not in engine.features or "amx_int8" in engine.features:
        pytest.skip("the kernels are those of AVX512-VNNI")
    zemm.set_verbose(1)
    try:
        check(of_rows("offsets", sizes))
    finally:
        zemm.set_verbose(0)
    (line,) = (line for line in capfd.readouterr().out.splitlines() if ",exec,cpu,matmul," in line)
    assert [name.split("_", 5)[-1] for name in line.split(",")[6].split("+")] == kernels


def test_as_many_rows_as_groups() -> None:
    """[G, 1] then is a value for each group, although it has the dims of a value for each row."""
    check("--matmul --grouped=0:3:3+0+0 --wtag=abc --attr-post-ops=mul:f32:0 3x128:3x128x70")


@pytest.mark.each_value
@pytest.mark.parametrize("sizes", ["2+2+2+2+2+2+2+2+2", "10+0+9"])
@pytest.mark.parametrize("dst", ["f16", "bf16"])
def test_few_rows_of_many(dst: str, sizes: str) -> None:
    """All groups together have too many rows for tiles abreast, a single group has not."""
    n, count = 512 * min(len(os.sched_getaffinity(0)), 16), sizes.count("+") + 1
    attributes = "--attr-scales=src:3:f16:1x64+wei:5:f16 --attr-zero-points=wei:5:u8"
    rows = sum(map(int, sizes.split("+")))
    grouped = f"--grouped=0:{count}:{sizes} --wtag=abc {attributes}"
    check(f"--matmul --dt=s8:u8:{dst} {grouped} {rows}x128:{count}x128x{n}")


@pytest.mark.full
@pytest.mark.decided(cases=turns(3))
@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("row", ROWS)
def test_row(monkeypatch: pytest.MonkeyPatch, row: str, name: str) -> None:
    check_row(monkeypatch, row, of_rows(name))


@pytest.mark.parametrize("row", [GENERIC, "matmul_float_any_any_8x32x16_xe_fma"])
def test_chosen_strip(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch, row: str) -> None:
    """Each entry of the table is a strip."""
    monkeypatch.setenv("ZEMM_KERNEL", f"{row}:strip=2")
    with pytest.raises(NotImplementedError, match=f"M has 1 work-groups for {row}, a strip has no 2"):
        prepared(engine, "--matmul --grouped=0:2:200+200 --wtag=abc 400x64:2x64x64")


# ---- groups of K


def of_k(types: str, sizes: tuple[int, ...], m: int, n: int, more: str = "") -> str:
    k, grouped = sum(sizes), f"--grouped=1:{len(sizes)}:{'+'.join(map(str, sizes))}"
    return f"--matmul --dt={types} {grouped} {more} {m}x{k}:{k}x{n}"


@pytest.mark.parametrize("dt", ["f32", "f16", "bf16", "f8_e4m3:f8_e4m3:f32"])
def test_groups_of_k(dt: str) -> None:
    """A group without K gives zeros."""
    for sizes in ((10, 20, 30, 40), (0, 1, 2, 0, 3, 0), (8,), (0, 7, 300)):
        check(of_k(dt, sizes, 33, 65, "--dtag=any,abc,acb"))


OF_BYTES = ["s8:s8:f32", "s8:u8:s32", "u8:s8:f32", "u8:u8:f32"]
FOUR_BITS = [
    "f32:f4_e2m1:f32", "f4_e2m1:f4_e2m1:f32", "f4_e2m1:f8_e4m3:f32", "s8:u4:f32", "u8:s4:s32", "s8:u2:f32",
]  # fmt: skip


@pytest.mark.quick(cases=lambda types, m: (types, m) in (("s8:u8:s32", 1), ("f4_e2m1:f8_e4m3:f32", 3)))
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("types", [*OF_BYTES, *FOUR_BITS])
def test_odd_groups(types: str, m: int) -> None:
    """With one row src lies along K, as bytes that instructions take four at a time. Groups of 4 bits begin
    in the middle of a byte."""
    for n in (1, 16, 70):
        check(of_k(types, (3, 0, 29, 5, 1), m, n))
        check(of_k(types, (17, 40, 0, 90), m, n))


@pytest.mark.quick(cases=lambda types: types == "s8:u8:f32")
@pytest.mark.parametrize("types", ["f32", "s8:u8:f32", "u8:u8:s32"])
def test_chosen_ranges(monkeypatch: pytest.MonkeyPatch, types: str) -> None:
    """A choice that cuts K cuts each group."""
    for ranges in (2, 3):
        monkeypatch.setenv("ZEMM_KERNEL", f"{GENERIC}:ranges={ranges}")
        for sizes in ((150, 150), (3, 0, 297), (300,)):
            check(of_k(types, sizes, 2, 5))


@pytest.mark.parametrize("types", [("u8", "u8"), ("s8", "u8")])
@pytest.mark.parametrize("sizes", [(35000, 35000), (1, 40001, 0, 30000)])
def test_long_groups(engine: zemm.Engine, stream: zemm.Stream, types: Any, sizes: tuple[int, ...]) -> None:
    """K is longer than an s32 can sum. A group may be, too."""
    pd, tensors = prepared(engine, of_k(f"{':'.join(types)}:f32", sizes, 1, 3))
    largest = [255 if dt == "u8" else 127 for dt in types]
    for arg, value in zip((zemm.ARG_SRC, zemm.ARG_WEIGHTS), largest, strict=True):
        count = sum(sizes) * (1 if arg == zemm.ARG_SRC else 3)
        tensors.memories[arg].write(np.full(count, value, np.uint8), 0)
    zemm.Primitive(pd).execute(stream, tensors.memories)
    stream.wait()
    got = tensors.memories[zemm.ARG_DST].as_numpy().reshape(len(sizes), 3)
    want = np.outer(np.array(sizes, np.int64) * largest[0] * largest[1], np.ones(3)).astype(np.float32)
    np.testing.assert_array_equal(got, want)


@pytest.mark.full
@pytest.mark.parametrize("types", ["f32", "f16:f16:f32", "bf16:bf16:f32", *OF_BYTES, *FOUR_BITS])
@pytest.mark.parametrize("row", CPU_ROWS)
def test_row_of_k(monkeypatch: pytest.MonkeyPatch, row: str, types: str) -> None:
    for m, n in ((1, 1), (1, 70), (3, 64)):
        check_row(monkeypatch, row, of_k(types, (17, 40, 0, 90), m, n))


# ---- offsets


def execute(engine: zemm.Engine, stream: zemm.Stream, arg: int, ends: list[int]) -> None:
    """Execute with other offsets of an argument; dst must then keep its values."""
    pd, tensors = prepared(engine, of_rows("grouped_src1", (4, 0, 5)))
    tensors.memories[arg].write(np.array(ends, np.int32), 1)
    dst = tensors.memories[zemm.ARG_DST]
    before = dst.read(0).tobytes()
    try:
        zemm.Primitive(pd).execute(stream, tensors.memories)
    finally:
        stream.wait()
        assert dst.read(0).tobytes() == before


WRONG = {
    "decreasing": ([5, 4, 9], "group 1 ends at 4, before it begins at 5"),
    "negative": ([-1, 4, 9], "group 0 ends at -1, before it begins at 0"),
    "past the end": ([4, 4, 10], "the last group ends at 10, past the 9 of dimension 0"),
    "far past the end": ([4, 4, 2**31 - 1], "the last group ends at 2147483647"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("arg", [zemm.ARG_SRC, zemm.ARG_DST])
def test_wrong_offsets(engine: zemm.Engine, stream: zemm.Stream, arg: int, name: str) -> None:
    ends, words = WRONG[name]
    with pytest.raises(ValueError, match=words):
        execute(engine, stream, arg, ends)


@pytest.mark.parametrize("arg", [zemm.ARG_DST, zemm.ARG_ATTR_MULTIPLE_POST_OP(1) | zemm.ARG["SRC_1"]])
def test_different_offsets(engine: zemm.Engine, stream: zemm.Stream, arg: int) -> None:
    with pytest.raises(ValueError, match=r"group 1 ends at 4 in src and at 5 in ARG_.*must be equal"):
        execute(engine, stream, arg, [4, 5, 9])


def test_rows_past_the_last_group(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """Groups need not cover the tensor."""
    pd, tensors = prepared(engine, of_rows("f32", (4, 0, 5)))
    for arg in (zemm.ARG_SRC, zemm.ARG_DST):
        tensors.memories[arg].write(np.array([2, 2, 3], np.int32), 1)
    dst = tensors.memories[zemm.ARG_DST]
    before = dst.read(0).view(np.float32).reshape(9, -1).copy()
    zemm.Primitive(pd).execute(stream, tensors.memories)
    stream.wait()
    after = dst.read(0).view(np.float32).reshape(9, -1)
    assert (after[:3] != before[:3]).any(axis=1).all()
    np.testing.assert_array_equal(after[3:], before[3:])
