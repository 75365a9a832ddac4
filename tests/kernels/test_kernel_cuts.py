# SPDX-License-Identifier: Apache-2.0
"""How a matmul is cut: K in ranges, weights packed first, few rows with weights along K, tiles of
few columns.
"""

import os

import numpy as np
import pytest
import zemm
from support_calls import make_pd, run, run_exact
from support_cases import ANY, Problem, problems, shape
from support_decisions import needed
from support_rows import BY_NAME, CPU_ROWS, constant_id, flag
from support_tiers import POLICY_ROWS, in_turns, nothing, takes
from zemm._library.lists import TYPES


def scratchpad(problem: Problem) -> int:
    """Bytes that the chosen kernel needs between its launches."""
    return make_pd(problem.but("--attr-scratchpad=user")).query_md("scratchpad_md").size


# ---- K in ranges

SPLIT = problems("split")  # the word group: the unit of a range
# M, N, K: one tile or few of every row; K is no multiple of the unit of a range.
SHAPES = ((1, 15, 30004), (3, 40, 8200), (33, 16, 17000), (17, 5, 60001))


def split_problem(row: str, name: str) -> Problem:
    return SPLIT[name].shaped(1, 8, 64 * SPLIT[name].number("group", 1))


IS_TURN_OF_SPLIT = in_turns(CPU_ROWS[::6], SPLIT, split_problem, covers=nothing)


@pytest.mark.quick(cases=IS_TURN_OF_SPLIT)
@pytest.mark.decided(cases=needed(CPU_ROWS, SPLIT, split_problem, first=IS_TURN_OF_SPLIT))
@pytest.mark.parametrize("name", SPLIT)
@pytest.mark.parametrize("row", CPU_ROWS)
def test_k_in_ranges(row: str, name: str) -> None:
    """The sums of ranges are added up, exactly for integers, whatever the zero points and
    scales.
    """
    unit = SPLIT[name].number("group", 1)
    if not takes(row, split_problem(row, name)):
        return  # test_kernel_tails checks the reasons
    for seed, (any_m, n, any_k) in enumerate(SHAPES):
        # Many tiles of few rows would leave no core without work, so that K is not split. Two tiles of AMX
        # do so for two cores.
        few = BY_NAME[row].rows if BY_NAME[row].has_tiles else BY_NAME[row].tile_m
        m = min(any_m, few) if few < 33 else any_m
        k = any_k // unit * unit
        problem = SPLIT[name].shaped(m, n, k, f"seed={seed}")
        assert scratchpad(problem) >= 2 * m * n * 4, f"K is not split: {m}, {n}, {k}"
        run_exact(problem)


def test_ranges_are_added_in_their_order() -> None:
    """Floats with all their digits round alike in every run."""
    problem = Problem("2x20000:20000x24 rough")
    assert scratchpad(problem) > 0
    first = run(problem)
    assert not first.is_exact
    for _ in range(5):
        assert np.array_equal(first.raw, run(problem).raw)


def test_batches_of_ranges() -> None:
    problem = Problem(
        "--dt=s8:s8:s32 --attr-zero-points=src:common:1 --attr-scratchpad=user 2x3x20000:2x20000x24"
    )
    assert scratchpad(problem) > 0
    run_exact(problem)


@pytest.mark.parametrize("dims", ["1x512:512x16", "4x1000:1000x64", "31x2560:2560x2560", "1x64:64x4096"])
def test_short_or_wide_problems_are_not_split(dims: str) -> None:
    assert scratchpad(Problem(f"{ANY} --dt=s8:u8:s32 --attr-zero-points=src:common:1 {dims}")) == 0


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
    problem = PACK_FIRST[name].shaped(m, n, k)
    row = BY_NAME[make_pd(problem).impl_info]
    if row.weights == "plain":
        pytest.skip("the generic kernels read plain weights as they are")
    problem = problem.shaped(m * max(row.tile_m, 120) // 120, n, k)
    bits = TYPES[problem.dt[1]].bits
    assert scratchpad(problem) >= k * n * bits // 8
    for mode in ("library", "user"):
        run_exact(problem.but(f"--attr-scratchpad={mode}"))
    assert scratchpad(problem.shaped(100, n, k)) < k * n * bits // 8


def test_batched_weights_are_not_packed_first() -> None:
    problem = Problem("--dt=s8:s8:s32 2x300x64:2x64x70")
    run_exact(problem)


# ---- few rows, with weights along K

ALONG_K = problems("along K")
INT8_ROWS = [row for row in CPU_ROWS if BY_NAME[row].src == "int8"]


def problem_along_k(row: str, name: str) -> Problem:
    return ALONG_K[name].shaped(1, 8, 192)


IS_TURN_ALONG_K = in_turns(INT8_ROWS[::4], ALONG_K, problem_along_k, covers=nothing)


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
    ks = (192, 384, 1536) if base.find("scales", "wei") else (64, 192, 256, 320, 1024)
    for seed, k in enumerate(ks):
        for m in (1, 2, 5, 6, 7):
            for n in (1, 15, 16, 17, 63, 64, 130):
                problem = base.shaped(m, n, k, f"seed={seed}")
                run_exact(problem)


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
                problem = base.shaped(m, n, k, f"seed={seed}")
                run_exact(problem)


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
    if not takes(row, base.shaped(1, n, 64)):
        return
    for seed, (m, k) in enumerate(((1, 64), (1, 96), (5, 64), (16, 32), (17, 32), (2, 2048))):
        problem = base.shaped(m, n, k, f"seed={seed}")
        flags = [made.constants.get(constant_id("SPEC_FLAGS"), 0) for made in make_pd(problem).modules()]
        assert any(value & flag("FLAG_ABREAST") for value in flags) == (m <= 16)
        run_exact(problem)
        # Without the last tile the others are whole: few rows make no panel of them.
        run_exact(problem.shaped(m, n - 18, k))
        if not base.find("scales", "wei") or "bias" in name:
            run_exact(problem.shaped(m, n, k + 1))


def test_batch_of_one_row_along_k() -> None:
    """Weights that the whole batch shares, and weights of each matrix."""
    for count in (1, 3):
        line = f"--dt=s8:u8:s32 --wtag=acb --attr-zero-points=wei:common:1 3x1x192:{count}x192x40"
        run_exact(Problem(line))


# ---- tiles of few columns

WIDE, NARROW = "264x64x256_avx512_vnni", "120x16x256_avx512_vnni"


@pytest.mark.parametrize(
    ("m", "n", "tag", "tile"),
    [
        (128, 16, "any", NARROW),
        (128, 48, "any", NARROW),
        (128, 49, "any", WIDE),
        (128, 64, "any", WIDE),
        (128, 80, "any", NARROW),
        (128, 256, "any", WIDE),
        (4, 4096, "ba", WIDE),
        (5, 4096, "ba", WIDE),
        (6, 4096, "any", WIDE),
    ],
)
def test_tile_of_few_columns(engine: zemm.Engine, m: int, n: int, tag: str, tile: str) -> None:
    if "avx512_vnni" not in engine.features:
        pytest.skip("the device does not report avx512_vnni")
    if m >= 16 and "amx_int8" in engine.features:
        pytest.skip("the device has AMX, whose row takes these problems")
    problem = Problem(f"{ANY if tag == 'any' else '--wtag=ba'} --dt=s8:u8:s32 {shape(m, n, 256)}")
    assert make_pd(problem).impl_info.endswith(tile)
