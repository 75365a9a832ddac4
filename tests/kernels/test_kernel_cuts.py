# SPDX-License-Identifier: Apache-2.0
"""How a matmul is cut: K in ranges, weights packed first, few rows with weights along K, tiles of
few columns.
"""

import os
from dataclasses import replace

import numpy as np
import pytest
import zemm
from support_case_lines import problems, table
from support_decisions import needed
from support_problem import Problem, zero_point
from support_rows import BY_NAME, CPU_ROWS, constant_id, flag
from support_run import make_pd, run
from support_tiers import POLICY_ROWS, in_turns, nothing, takes

PACKED = "BA16a64b4a"


def scratchpad(problem: Problem) -> int:
    """Bytes that the chosen kernel needs between its launches."""
    return make_pd(replace(problem, scratchpad="user")).query_md("scratchpad_md").size


# ---- K in ranges

SPLIT = table("split", lambda base, group=1: (base, group))  # with the unit of a range
# M, N, K: one tile or few of every row; K is no multiple of the unit of a range.
SHAPES = ((1, 15, 30004), (3, 40, 8200), (33, 16, 17000), (17, 5, 60001))


def split_problem(row: str, name: str) -> Problem:
    base, unit = SPLIT[name]
    return replace(base, src_dims=(1, 64 * unit), wei_dims=(64 * unit, 8))


IS_TURN_OF_SPLIT = in_turns(CPU_ROWS[::4], SPLIT, split_problem, covers=nothing)


@pytest.mark.quick(cases=IS_TURN_OF_SPLIT)
@pytest.mark.decided(cases=needed(CPU_ROWS, SPLIT, split_problem, first=IS_TURN_OF_SPLIT))
@pytest.mark.parametrize("name", SPLIT)
@pytest.mark.parametrize("row", CPU_ROWS)
def test_k_in_ranges(row: str, name: str) -> None:
    """The sums of ranges are added up, exactly for integers, whatever the zero points and
    scales.
    """
    base, unit = SPLIT[name]
    if not takes(row, split_problem(row, name)):
        return  # test_kernel_tails checks the reasons
    for seed, (any_m, n, any_k) in enumerate(SHAPES):
        # Many tiles of few rows would leave no core without work, so that K is not split. Two tiles of AMX
        # do so for two cores.
        few = BY_NAME[row].rows if BY_NAME[row].has_tiles else BY_NAME[row].tile_m
        m = min(any_m, few) if few < 33 else any_m
        k = any_k // unit * unit
        problem = replace(base, src_dims=(m, k), wei_dims=(k, n), seed=seed)
        assert scratchpad(problem) >= 2 * m * n * 4, f"K is not split: {m}, {n}, {k}"
        assert run(problem).exact, f"M {m}, N {n}, K {k}: the values are not small enough for exact sums"


def test_ranges_are_added_in_their_order() -> None:
    """Floats with all their digits round alike in every run."""
    problem = Problem((2, 20000), (20000, 24), rough=True)
    assert scratchpad(problem) > 0
    first = run(problem)
    assert not first.exact
    for _ in range(5):
        assert np.array_equal(first.dst, run(problem).dst)


def test_batches_of_ranges() -> None:
    problem = Problem(
        (2, 3, 20000), (2, 20000, 24), "s8", "s8", "s32", src_zp=zero_point(), scratchpad="user"
    )
    assert scratchpad(problem) > 0
    assert run(problem).exact


@pytest.mark.parametrize(
    "dims",
    [((1, 512), (512, 16)), ((4, 1000), (1000, 64)), ((31, 2560), (2560, 2560)), ((1, 64), (64, 4096))],
)
def test_short_or_wide_problems_are_not_split(dims: tuple[tuple[int, int], tuple[int, int]]) -> None:
    assert scratchpad(Problem(*dims, "s8", "u8", "s32", any_tags=True, src_zp=zero_point())) == 0


# ---- weights packed first

PACK_FIRST = problems("packed first")


@pytest.mark.quick(cases=lambda shape: shape[0] == 240)
@pytest.mark.parametrize("name", PACK_FIRST)
@pytest.mark.parametrize("shape", [(240, 65, 64), (300, 130, 320), (481, 64, 192)])
def test_weights_packed_first(name: str, shape: tuple[int, int, int]) -> None:
    """Plain weights that many tiles read are packed into the scratchpad, in both scratchpad
    modes. The shapes are for tiles of 120 rows.
    """
    m, n, k = shape
    problem = replace(PACK_FIRST[name], src_dims=(m, k), wei_dims=(k, n))
    row = BY_NAME[make_pd(problem).impl_info]
    if row.weights == "plain":
        pytest.skip("the generic kernels read plain weights as they are")
    problem = replace(problem, src_dims=(m * max(row.tile_m, 120) // 120, k))
    bits = {"u4": 4, "u8": 8, "s8": 8, "f16": 16, "f32": 32}[problem.wei_dt]
    assert scratchpad(problem) >= k * n * bits // 8
    for mode in ("library", "user"):
        assert run(replace(problem, scratchpad=mode)).exact
    assert scratchpad(replace(problem, src_dims=(100, k))) < k * n * bits // 8


def test_batched_weights_are_not_packed_first() -> None:
    problem = Problem((2, 300, 64), (2, 64, 70), "s8", "s8", "s32")
    assert run(problem).exact


# ---- few rows, with weights along K

ALONG_K = problems("along K")
INT8_ROWS = [row for row in CPU_ROWS if BY_NAME[row].src == "int8"]


def problem_along_k(row: str, name: str) -> Problem:
    return replace(ALONG_K[name], src_dims=(1, 192), wei_dims=(192, 8))


IS_TURN_ALONG_K = in_turns(INT8_ROWS[::4], ALONG_K, problem_along_k)


@pytest.mark.quick(cases=IS_TURN_ALONG_K)
@pytest.mark.decided(cases=needed(INT8_ROWS, ALONG_K, problem_along_k, first=IS_TURN_ALONG_K))
@pytest.mark.parametrize("name", ALONG_K)
@pytest.mark.parametrize("row", INT8_ROWS)
def test_few_rows_along_k(row: str, name: str) -> None:
    """M up to 6 and above, N around vectors and tiles, K of whole vectors and of more than
    a block.
    """
    base = ALONG_K[name]
    if not takes(row, problem_along_k(row, name)):
        return
    ks = (192, 384, 1536) if base.wei_scale else (64, 192, 256, 320, 1024)
    for seed, k in enumerate(ks):
        for m in (1, 2, 5, 6, 7):
            for n in (1, 15, 16, 17, 63, 64, 130):
                problem = replace(base, src_dims=(m, k), wei_dims=(k, n), seed=seed)
                assert run(problem).exact, (m, n, k)


PLAIN_FLOATS = problems("plain floats")


@pytest.mark.quick(cases=lambda row, name: "x16x" in row and name == "f32")
@pytest.mark.parametrize("name", PLAIN_FLOATS)
@pytest.mark.parametrize("row", [row for row in CPU_ROWS if BY_NAME[row].policy == "avx512"])
def test_few_rows_of_floats(row: str, name: str) -> None:
    """Plain weights, which are multiplied from where they are: M up to 8 and above, K around vectors
    and of more than a block.
    """
    base = PLAIN_FLOATS[name]
    if not takes(row, base):
        return
    for seed, k in enumerate((5, 16, 63, 1024, 2059)):
        for m in (1, 2, 3, 5, 8, 9):
            for n in (1, 15, 17, 64, 128, 130):
                problem = replace(base, src_dims=(m, k), wei_dims=(k, n), seed=seed)
                assert run(problem).exact, (m, n, k)


# ---- few rows, with weights along N: several tiles in a work-item

ABREAST = problems("abreast")


@pytest.mark.quick(cases=lambda row, name: row in POLICY_ROWS and name == "u4")
@pytest.mark.parametrize("name", ABREAST)
@pytest.mark.parametrize(
    "row", [row for row in INT8_ROWS if BY_NAME[row].rows <= 8 and not row.endswith("_segments")]
)
def test_tiles_abreast(row: str, name: str) -> None:
    """As many columns as it takes for four tiles of a work-item and a last one with fewer; K of whole
    blocks, of a part of one, and so long that it is split.
    """
    base = ABREAST[name]
    n = BY_NAME[row].tile_n * 4 * 4 * (os.cpu_count() or 1) + 18
    if not takes(row, replace(base, src_dims=(1, 64), wei_dims=(64, n))):
        return
    for seed, (m, k) in enumerate(((1, 64), (1, 96), (5, 64), (16, 32), (17, 32), (2, 2048))):
        problem = replace(base, src_dims=(m, k), wei_dims=(k, n), seed=seed)
        flags = [made.constants.get(constant_id("SPEC_FLAGS"), 0) for made in make_pd(problem).modules()]
        assert any(value & flag("FLAG_ABREAST") for value in flags) == (m <= 16)
        assert run(problem).exact, (m, n, k)
        # Without the last tile the others are whole: few rows make no panel of them.
        assert run(replace(problem, wei_dims=(k, n - 18))).exact, (m, n, k)
        if not base.wei_scale or "bias" in name:
            assert run(replace(problem, src_dims=(m, k + 1), wei_dims=(k + 1, n))).exact


def test_batch_of_one_row_along_k() -> None:
    """Weights that the whole batch shares, and weights of each matrix."""
    for wei in ((1, 192, 40), (3, 192, 40)):
        problem = Problem((3, 1, 192), wei, "s8", "u8", "s32", wei_order="acb", wei_zp=zero_point())
        assert run(problem).exact


# ---- tiles of few columns

WIDE, NARROW = "120x64x256_avx512_vnni", "120x16x256_avx512_vnni"


@pytest.mark.parametrize(
    ("m", "n", "order", "tile"),
    [
        (128, 16, None, NARROW),
        (128, 48, None, NARROW),
        (128, 49, None, WIDE),
        (128, 64, None, WIDE),
        (128, 80, None, NARROW),
        (128, 256, None, WIDE),
        (4, 4096, "ba", WIDE),
        (5, 4096, "ba", WIDE),
        (6, 4096, None, WIDE),
    ],
)
def test_tile_of_few_columns(engine: zemm.Engine, m: int, n: int, order: str | None, tile: str) -> None:
    if "avx512_vnni" not in engine.features:
        pytest.skip("the device does not report avx512_vnni")
    if m >= 16 and "amx_int8" in engine.features:
        pytest.skip("the device has AMX, whose row takes these problems")
    problem = Problem((m, 256), (256, n), "s8", "u8", "s32", wei_order=order, any_tags=order is None)
    assert make_pd(problem).impl_info.endswith(tile)
