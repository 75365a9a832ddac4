# SPDX-License-Identifier: Apache-2.0
"""Up to 16 rows of bytes, or four of floats, by packed weights with scales along K, which have a loop of
their own (owner/work_item/few_rows.h): each type of src and weights, with each kind of zero points."""

import itertools

import numpy as np
import pytest
import zemm
from support_calls import make_pd, run
from support_cases import ANY, Problem, shape

ROWS = {True: (1, 2, 3, 4, 5, 11, 16), False: (1, 2, 3, 4)}  # of bytes; of floats
COLUMNS = (64, 145)  # whole tiles; the last one cut
SRC = ("s8", "u8", "f32", "f16")
WEIGHTS = ("u4", "s4", "u8", "s8")
POINTS = ("none", "u8", "s32", "f16", "offsets")
# Groups, and K. The words of a spread row are made anew after 1024 elements, f32 of a row after 128. The last
# group may be shorter.
GROUPS = ((32, 1184), (48, 336), (128, 640), (64, 200), (256, 768))
ROW_OF = {
    True: "matmul_int8_any_any_264x64x256_avx512_vnni",
    False: "matmul_float_any_any_4x64x128_avx512_widen",
}


def problem(src: str, wei: str, points: str, number: int) -> Problem:
    """number: chooses rows, columns and groups."""
    group, k = GROUPS[number % len(GROUPS)]
    floats = src in ("f32", "f16")
    scales = f"wei:3:f16:{group}x1" + ("" if floats else f"+src:3:f32:1x{group}")
    words = [ANY, f"--dt={src}:{wei}:f32", f"--attr-scales={scales}"]
    if points == "offsets":
        words.append(f"--attr-offsets=wei:3:f16:{group}x1")
    elif points != "none":
        words.append(f"--attr-zero-points=wei:3:{points}:{group}x1")
    if floats:
        words.append("--attr-fpmath=strict:true")
    rows = ROWS[not floats]
    words.append(shape(rows[number % len(rows)], COLUMNS[number // 2 % len(COLUMNS)], k))
    return Problem(" ".join(words))


FAMILY = {
    f"{src}-{wei}-{points}": problem(src, wei, points, number)
    for number, (src, wei, points) in enumerate(itertools.product(SRC, WEIGHTS, POINTS))
}


@pytest.mark.quick(cases=lambda name: name.endswith(("u4-u8", "u4-offsets", "s8-s8-none", "f32-s8-none")))
@pytest.mark.parametrize("name", FAMILY)
def test_family(engine: zemm.Engine, name: str) -> None:
    if "avx512_vnni" not in engine.features:
        pytest.skip("the device does not report avx512_vnni")
    run(FAMILY[name])


@pytest.mark.parametrize("src", SRC)
def test_row_that_runs(engine: zemm.Engine, src: str) -> None:
    """The loop is in these rows of kernels.def."""
    if "avx512_vnni" not in engine.features:
        pytest.skip("the device does not report avx512_vnni")
    for points in ("none", "offsets"):
        p = problem(src, "u4", points, 0)
        assert make_pd(p).impl_info == ROW_OF[src in ("s8", "u8")]


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("symmetric", [True, False])
def test_rows_alone_and_together(engine: zemm.Engine, bits: int, symmetric: bool) -> None:
    """A row has the same bits whether it is alone, takes turns with others or is in a larger tile."""
    rng = np.random.default_rng(0)
    w, x = (rng.standard_normal(dims, np.float32) for dims in ((1184, 145), (17, 1184)))
    how = {"group": 32, "activation": "int8", "engine": engine}
    layer = zemm.Linear.from_float(w, bits=bits, symmetric=symmetric, **how)
    together = layer(x)
    for rows in (1, 4, 5, 11, 16):
        assert np.array_equal(layer(x[:rows]), together[:rows]), rows
