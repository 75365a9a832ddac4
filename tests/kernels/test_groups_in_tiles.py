# SPDX-License-Identifier: Apache-2.0
"""Groups of 32 along K, in tiles of AMX with half of the usual bytes: the same bits as the row of VNNI."""

import pytest
import zemm
from support_calls import check_same_bits, make_pd
from support_cases import ANY, Problem, shape
from support_rows import constant_id

TILES = "matmul_int8_any_any_256x64x1024_amx_int8"
VECTORS = "matmul_int8_any_any_264x64x256_avx512_vnni"
BOTH = "src:3:f32:1x32+wei:3:f16:32x1"


def problem(
    m: int, n: int, k: int, types: str, scales: str = BOTH, points: str = "", more: str = ""
) -> Problem:
    return Problem(
        f"{ANY} --dt={types} --attr-scales={scales} --attr-zero-points={points} {more} {shape(m, n, k)} rough"
    )


# Rows and columns that fill no tile; blocks of K that are cut short; an odd number of groups; weights in
# place and in a panel.
PROBLEMS = {
    "s8": problem(48, 64, 1024, "s8:s8:f32"),
    "u8_src": problem(33, 70, 1120, "u8:s8:f32"),
    "few_rows": problem(5, 64, 96, "s8:u8:f32"),
    "several_tiles": problem(273, 130, 2080, "s8:s4:f16"),
    "plain": problem(40, 66, 352, "s8:u4:f32", more="--wtag=ab"),
    "f32_scales": problem(35, 64, 512, "u8:u4:bf16", scales="src:3:f32:1x32+wei:3:f32:32x1"),
    "wei_scales": problem(36, 64, 320, "s8:s8:f32", scales="src:1+wei:3:f32:32x1"),
    "src_scales": problem(37, 64, 320, "s8:s8:f32", scales="src:3:f32:1x32", points="wei:2:s8"),
    "last_terms": problem(38, 64, 320, "s8:u8:f16", scales="src:3:f32:1x32", points="wei:2:u8"),
    "zero_points": problem(39, 64, 1088, "s8:u4:f32", points="wei:3:u8:32x1"),
    "s32_zero_points": problem(41, 64, 320, "s8:s8:f32", points="wei:3:s32:32x1"),
    "src_zero_points": problem(42, 64, 320, "u8:s8:f32", points="src:common:3+wei:3:s8:32x1"),
    "src_zero_points_along_k": problem(
        34, 64, 320, "s8:s8:f32", scales="wei:3:f32:32x1", points="src:3:s8:1x32"
    ),
    "offsets": problem(43, 64, 544, "s8:u4:f32", more="--attr-offsets=wei:3:f16:32x1"),
    "float_zero_points": problem(44, 64, 320, "s8:u4:f32", points="wei:3:f16:32x1"),
}


@pytest.mark.quick(cases=lambda name: name in ("several_tiles", "zero_points", "src_zero_points_along_k"))
@pytest.mark.parametrize("name", PROBLEMS)
def test_same_bits(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    if "avx512_vnni" not in engine.features:
        pytest.skip("the device does not report avx512_vnni")
    check_same_bits(PROBLEMS[name], (TILES, VECTORS), monkeypatch)


SIZES = {
    "groups_of_32": (problem(32, 64, 1024, "s8:s8:f32"), 32),
    "groups_of_64": (problem(32, 64, 1024, "s8:s8:f32", scales="wei:3:f32:64x1"), 64),
    "shorter_last_group": (problem(32, 64, 1032, "s8:s8:f32", scales="wei:3:f32:32x1"), 64),
    "unlike_groups": (problem(32, 64, 1024, "s8:s8:f32", scales="src:3:f32:1x128+wei:3:f32:32x1"), 64),
}


@pytest.mark.parametrize("name", SIZES)
def test_bytes_of_tiles(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    if "avx512_vnni" not in engine.features:
        pytest.skip("the device does not report avx512_vnni")
    p, size = SIZES[name]
    monkeypatch.setenv("ZEMM_KERNEL", TILES)
    assert make_pd(p).modules()[0].constants[constant_id("SPEC_TILE_BYTES")] == size


@pytest.mark.parametrize(("rows", "is_chosen"), [(23, False), (24, True)])
def test_chosen(engine: zemm.Engine, rows: int, is_chosen: bool) -> None:
    if "amx_int8" not in engine.features:
        pytest.skip("the device has no tiles")
    assert make_pd(problem(rows, 64, 1024, "s8:s8:f32")).impl_info.endswith(TILES) == is_chosen
