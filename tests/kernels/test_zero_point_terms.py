# SPDX-License-Identifier: Apache-2.0
"""Zero-point terms of weights that kernels compute in f32 (ZP_TERM_F32): where, and that this is exact."""

from itertools import product

import numpy as np
import pytest
from support_calls import fill, make_pd, result, run
from support_cases import ANY, Problem, shape
from support_decisions import needed
from support_fill import RANGES
from support_rows import BY_NAME, constant_id, state
from support_tiers import takes
from zemm.benchdnn.grammar.arguments import SCALES, SRC, WEI, ZERO_POINTS

VNNI_ROWS = [row for row in BY_NAME if BY_NAME[row].family in ("avx2_vnni", "avx512_vnni")]
SEGMENTS_ROWS = [row for row in BY_NAME if BY_NAME[row].family == "avx512_segments"]
AMX_ROWS = [row for row in BY_NAME if BY_NAME[row].policy == "amx_int8"]


def grouped(src: str, wei: str, group: int, zp: str | None, src_zp: str = "") -> Problem:
    """A problem of two groups along K."""
    points = "+".join(filter(None, [src_zp, f"wei:3:{zp}:{group}x1" if zp else ""]))
    return Problem(
        f"--dt={src}:{wei}:f32 --attr-scales=wei:3:f32:{group}x1 --attr-zero-points={points}"
        f" {shape(5, 66, 2 * group)}"
    )


def along_src(dst: str, rows: int = 5, k: int = 512, zp: str = "u8", more: str = "") -> Problem:
    """A problem whose src scales alone change along K."""
    return Problem(
        f"--dt=s8:u8:{dst} --attr-scales=src:3:f32:1x128 --attr-zero-points=wei:2:{zp} {shape(rows, 66, k)}"
    ).but(more)


def batch(own_weights: bool) -> Problem:
    """Two matrices of nine rows, each with weights of its own or not."""
    return Problem(
        "--dt=s8:u8:f16 --attr-scales=src:7:f32:1x128 --attr-zero-points=wei:4:u8"
        f" 2x9x512:{2 if own_weights else 1}x512x66"
    )


TERMS = {
    "u8": (grouped("s8", "u8", 128, "u8"), "ZP_TERM_F32"),
    "256": (grouped("u8", "u8", 256, "s8"), "ZP_TERM_F32"),
    "beyond_256": (grouped("s8", "u8", 260, "u8"), "ZP_TERM_S32"),
    "s32": (grouped("s8", "u8", 128, "s32"), "ZP_TERM_S32"),
    "src_zero_points": (grouped("s8", "u8", 128, "u8", src_zp="src:common:1"), "ZP_TERM_S32"),
    "flipped_without_zero_points": (grouped("s8", "s8", 128, None), "ZP_TERM_F32"),
    "same_along_k": (along_src("f16", more=ANY), "ZP_TERM_LAST"),
    "same_along_k_plain": (along_src("f16", rows=17), "ZP_TERM_LAST"),
    "same_along_k_abreast": (along_src("f16", rows=16), "ZP_TERM_F32"),
    "batch_of_few_rows": (batch(own_weights=True), "ZP_TERM_F32"),
    "batch_that_shares_weights": (batch(own_weights=False), "ZP_TERM_LAST"),
    "same_along_k_to_f32": (along_src("f32"), "ZP_TERM_F32"),
    "nothing_to_subtract": (grouped("s8", "u8", 128, None), "ZP_TERM_S32"),
    "not_scaled_along_k": (Problem("--dt=s8:u8:f32 --attr-zero-points=wei:2:u8 5x256:256x66"), "ZP_TERM_S32"),
}


@pytest.mark.parametrize("row", VNNI_ROWS)
@pytest.mark.parametrize(("problem", "term"), TERMS.values(), ids=TERMS)
def test_where_terms_are_f32(row: str, problem: Problem, term: str) -> None:
    if not takes(row, problem):
        pytest.skip(f"{row}: not on this device")
    module = make_pd(problem).modules()[0]
    assert module.constants[constant_id("SPEC_ZP_TERM")] == state(term)


SIGNS = [(src, wei, zp) for src in ("s8", "u8") for wei in ("s8", "u8", "s4") for zp in ("s8", "u8", None)]
ENDS_NEEDED = needed(
    VNNI_ROWS + SEGMENTS_ROWS,
    list(product((256, 1024), SIGNS)),
    lambda row, name: grouped(*name[1][:2], name[0], name[1][2]),
)


@pytest.mark.quick(
    cases=lambda row, group, src, wei, zp: (
        row in (VNNI_ROWS[-1], *SEGMENTS_ROWS) and (group, src, wei, zp) == (256, "u8", "u8", "s8")
    )
)
@pytest.mark.decided(cases=lambda row, group, src, wei, zp: ENDS_NEEDED(row, (group, (src, wei, zp))))
@pytest.mark.parametrize(("src", "wei", "zp"), SIGNS)
@pytest.mark.parametrize("group", [256, 1024])
@pytest.mark.parametrize("row", VNNI_ROWS + SEGMENTS_ROWS)
def test_ends_of_types_are_exact(row: str, group: int, src: str, wei: str, zp: str | None) -> None:
    """Sums and terms as large as they get, whose difference may be small and odd. In groups of 1024
    they exceed what f32 holds.
    """
    problem = grouped(src, wei, group, zp)
    if not takes(row, problem):
        pytest.skip(f"{row}: not on this device")
    data = fill(problem)
    x, weights = data[SRC], data[WEI]
    least, most = RANGES[src]
    x[0], x[1], x[2] = least, most, most
    x[2, ::group] -= 1  # an odd sum of each group
    for column, end in enumerate(RANGES[wei]):
        weights[:, column::2] = end
    weights[::group, 4:] ^= 1
    data[SCALES | WEI][:] = 1
    if zp:
        points = np.random.default_rng(7).choice(RANGES[zp], data[ZERO_POINTS | WEI].shape)
        data[ZERO_POINTS | WEI] = points
        weights = weights - np.repeat(points, group, axis=0)
    first, second = ((x[:, k : k + group] @ weights[k : k + group]).astype(np.float32) for k in (0, group))
    np.testing.assert_array_equal(result(problem, data), first + second)


@pytest.mark.quick(cases=lambda row, zp, rows, k: (row, zp, rows) == (VNNI_ROWS[-1], "u8", 5))
@pytest.mark.parametrize(("rows", "k"), [(5, 512), (70, 640), (3, 16384)])
@pytest.mark.parametrize("zp", ["u8", "s8"])
@pytest.mark.parametrize("row", VNNI_ROWS + AMX_ROWS)
def test_terms_at_the_end(row: str, zp: str, rows: int, k: int) -> None:
    """Terms that are subtracted once for all of K, or once for a range of it."""
    scales = "--attr-scales=src:3:f32:1x128+wei:2"
    problem = along_src("f16", rows, k, zp, f"{scales} {ANY if rows < 70 else ''} rough")
    if not takes(row, problem):
        pytest.skip(f"{row}: not on this device")
    run(problem)


@pytest.mark.parametrize("own_weights", [False, True])
def test_terms_of_a_batch(own_weights: bool) -> None:
    """The rows of a batch that shares its weights are rows of one matrix."""
    run(batch(own_weights).but("rough"))
