# SPDX-License-Identifier: Apache-2.0
"""Small floats on the rows for Intel GPUs that multiply floats: every code of src, weights and scales, in
every place of a group of elements that are converted together.
"""

import itertools
from typing import Any

import numpy as np
import pytest
from support_calls import make_pd, result
from support_cases import PACKED, Problem, shape
from support_decisions import needed
from support_rows import BY_NAME, XE_ROWS
from support_xe import pad_of, tile_of
from test_small_floats import SMALL_FLOATS, as_f32, check_values, codes, finite, skip_unless_taken
from zemm.benchdnn.grammar.arguments import SCALES, SRC, WEI

Array = np.ndarray[Any, Any]
ROWS = [row for row in XE_ROWS if BY_NAME[row].src in ("half", "float")]
SMALLEST = [row for row in ROWS if tile_of(row).m == 8]
# Rows of one kind of src convert alike: in the quick tier one of each has all tests.
QUICK = list({BY_NAME[row].src: row for row in SMALLEST}.values())
K = 64
LAYOUTS = {"packed": PACKED, "ab": "--wtag=ab", "ba": "--wtag=ba"}


def rotated(values: Array) -> Array:
    """K rows with all values, each row moved on by one: each value is in each place."""
    return np.stack([np.roll(values, k) for k in range(K)]).astype(np.float64)


def identity_by_codes(src: str, dt: str, layout: str) -> Problem:
    return Problem(f"--dt={src}:{dt}:f32 {LAYOUTS[layout]} {shape(K, 256, K)}")


OF_WEIGHTS = list(itertools.product(("f16", "bf16"), SMALL_FLOATS, LAYOUTS))
WEIGHTS_NEEDED = needed(
    ROWS, OF_WEIGHTS, lambda row, name: identity_by_codes(*name), covers=lambda name: {name[:1], name[1:]}
)


@pytest.mark.quick(
    cases=lambda row, dt, layout, src: (row, dt, layout, src) == (QUICK[0], "f4_e2m1", "packed", "f16")
)
@pytest.mark.decided(cases=lambda row, dt, layout, src: WEIGHTS_NEEDED(row, (src, dt, layout)))
@pytest.mark.parametrize("src", ["f16", "bf16"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dt", SMALL_FLOATS)
@pytest.mark.parametrize("row", ROWS)
def test_every_code_of_weights(row: str, dt: str, layout: str, src: str) -> None:
    """The identity by weights with every finite code gives the weights, subnormal ones, too."""
    values = np.resize(finite(dt), 256)
    wei = rotated(values)
    p = identity_by_codes(src, dt, layout)
    skip_unless_taken(p)
    check_values(result(p, {SRC: np.eye(K), WEI: wei}), wei + 0.0)


def codes_by_identity(dt: str, wei: str) -> Problem:
    return Problem(f"--dt={dt}:{wei}:f32 {PACKED} {shape(256, K, K)}")


OF_SRC = list(itertools.product(SMALL_FLOATS, SMALL_FLOATS))
SRC_NEEDED = needed(ROWS, OF_SRC, lambda row, name: codes_by_identity(*name))


@pytest.mark.quick(cases=lambda row, dt, wei: row == QUICK[0] and dt == wei == "f8_e4m3")
@pytest.mark.decided(cases=lambda row, dt, wei: SRC_NEEDED(row, (dt, wei)))
@pytest.mark.parametrize("wei", SMALL_FLOATS)
@pytest.mark.parametrize("dt", SMALL_FLOATS)
@pytest.mark.parametrize("row", ROWS)
def test_every_code_of_src(row: str, dt: str, wei: str) -> None:
    src = rotated(np.resize(finite(dt), 256)).T
    p = codes_by_identity(dt, wei)
    skip_unless_taken(p)
    check_values(result(p, {SRC: src, WEI: np.eye(K)}), src + 0.0)


def specials(dt: str) -> Array:
    """NaN of both signs, and infinities if the type has them."""
    every = as_f32(codes(dt))
    return every[~np.isfinite(every)]


def beside_specials(dt: str, scaled: bool) -> Problem:
    """Rows of f16 by weights of a type."""
    scales = "wei:3:e8m0:32x1" if scaled else ""
    dims = shape(9, 2 * K, 96 if scaled else 70)
    return Problem(f"--dt=f16:{dt}:f32 {PACKED} --attr-scales={scales} {dims}")


OF_SPECIALS = list(itertools.product(("f8_e5m2", "f8_e4m3"), (False, True)))
SPECIALS_NEEDED = needed(ROWS, OF_SPECIALS, lambda row, name: beside_specials(*name))


@pytest.mark.quick(cases=lambda row, dt, scaled: row == QUICK[-1] and dt == "f8_e4m3" and scaled)
@pytest.mark.decided(cases=lambda row, dt, scaled: SPECIALS_NEEDED(row, (dt, scaled)))
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("dt", ["f8_e5m2", "f8_e4m3"])
@pytest.mark.parametrize("row", ROWS)
def test_nan_and_infinities(row: str, dt: str, scaled: bool) -> None:
    """One of src makes a row NaN or infinite, one of the weights a column, wherever it is along K. The
    columns between them stay as they are. Without scales K ends inside a quad of packed weights.
    """
    kinds, p = specials(dt), beside_specials(dt, scaled)
    k, n = p.case.problem.wei
    skip_unless_taken(p)
    src, wei = np.ones((9, k)), np.zeros((k, n))
    for i in range(n // 2):
        wei[7 * i % k, 2 * i] = kinds[i % kinds.size]
    with np.errstate(invalid="ignore"):
        check_values(result(p, {SRC: src, WEI: wei, SCALES | WEI: 1}), (src @ wei).astype(np.float32))

    p = p.but(f"--dt={dt}:{dt}:f32")
    src, wei = np.zeros((9, k)), np.ones((k, n))
    for i, row_of_src in enumerate(src):
        row_of_src[11 * i % k] = kinds[i % kinds.size] if i % 2 else 1.5
    with np.errstate(invalid="ignore"):
        check_values(result(p, {SRC: src, WEI: wei, SCALES | WEI: 1}), (src @ wei).astype(np.float32))


@pytest.mark.quick(cases=lambda row, dt: row == QUICK[0] and dt == "f8_e4m3")
@pytest.mark.parametrize("dt", SMALL_FLOATS)
@pytest.mark.parametrize("row", SMALLEST)
def test_nan_behind_a_part_of_packed_weights(row: str, dt: str) -> None:
    """Elements that follow a part along K belong to others: NaN there do not count. K ends inside of a group
    of elements that are converted together.
    """
    k = 41
    p = Problem(f"--dt=f16:{dt}:f32 {PACKED} {shape(9, 64, k)} wei_within=192x128@64x64")
    check_values(result(p, {SRC: 1, WEI: 0.5}), np.full((9, 64), k / 2))


@pytest.mark.full
@pytest.mark.parametrize("dt", ["e8m0", "f8_e4m3"])
@pytest.mark.parametrize("row", SMALLEST)
def test_every_scale_of_groups(row: str, dt: str) -> None:
    """Each code as the scale of a group along K of weights, and of src. Weights are f8_e5m2, which have no
    factor for their scales (small_float_factor())."""
    scales = as_f32(codes(dt)).astype(np.float64)
    n = scales.size
    src = np.zeros((9, 64))
    src[:, 32:] = 1 / 32
    p = Problem(f"--dt=bf16:f8_e5m2:f32 {PACKED} --attr-scales=wei:3:{dt}:32x1 {shape(9, n, 64)}")
    skip_unless_taken(p)
    two = np.stack([np.ones(n), scales])
    want = np.broadcast_to(scales.astype(np.float32), (9, n))
    check_values(result(p, {SRC: src, WEI: 1, SCALES | WEI: two}), want + 0.0)
    p = Problem(f"--dt=f8_e4m3:f4_e2m1:f32 --attr-scales=src:3:{dt}:1x32 {shape(n, 33, 64)}")
    src = np.zeros((n, 64))
    src[:, 40] = 1
    want = np.broadcast_to(scales.astype(np.float32)[:, None], (n, 33))
    check_values(result(p, {SRC: src, WEI: 1, SCALES | SRC: two.T}), want + 0.0)


@pytest.mark.quick(cases=lambda row, k: row == QUICK[-1] and k == 65)
@pytest.mark.parametrize("k", [1, 2, 3, 5, 7, 63, 65])
@pytest.mark.parametrize("row", SMALLEST)
def test_padding_of_src(row: str, k: int) -> None:
    """src of any strides, batches that share it, and K that fills no group."""
    p = Problem(
        f"--dt=f8_e4m3:f4_e2m1:f32 --stag=dcba 2x1x3x{k}:2x2x{k}x34 src_pad=1 wei_pad={pad_of(34, 'f4_e2m1')}"
    )
    src = np.arange(2 * 3 * k).reshape(2, 1, 3, k) % 7 / 2
    wei = np.arange(2 * 2 * k * 34).reshape(2, 2, k, 34) % 5 / 2
    np.testing.assert_array_equal(result(p, {SRC: src, WEI: wei}), (src @ wei).astype(np.float32))


@pytest.mark.parametrize("row", SMALLEST)
def test_scratchpad_has_room_for_padding(row: str) -> None:
    """A row of src in the scratchpad is as long as blocks of 64 elements, however small K is."""
    p = Problem("--dt=f8_e4m3:f8_e4m3:f32 --attr-scratchpad=user 1x1:1x64")
    assert make_pd(p).query_md("scratchpad_md").size >= 64 * 2
