# SPDX-License-Identifier: Apache-2.0
"""Plain weights that block loads cannot read: rows for Intel GPUs pack them first, or
gather them.
"""

import os
import subprocess
import sys

import pytest
from support_calls import make_pd, run_exact
from support_cases import PACKED, PACKED_FLOATS, Problem, shape
from support_rows import BY_NAME, LOADS_1D, XE_ROWS
from support_xe import BITS, tile_of

INT8 = Problem("--dt=s8:u8:s32 --attr-scratchpad=user 40x256:256x64")
WIDENED = Problem(
    "--dt=f16:u8:f32 --attr-fpmath=any:true --attr-zero-points=wei:2:u8 --attr-scratchpad=user"
    " 40x96:96x41 limit=15"
)
TF32 = Problem("--attr-fpmath=tf32 --attr-scratchpad=user 40x96:96x11")
LARGE = [row for row in XE_ROWS if tile_of(row).m > 8]
PACKING = [row for row in LARGE if row not in LOADS_1D and BY_NAME[row].predicate != "dpas_widened_on"]
# Columns that begin at odd addresses, rows that end in half a byte, rows that are too
# short.
UNREADABLE = {
    "int8": [
        INT8.but("--wtag=acb 2x9x64:2x64x70 wei_pad=13"),
        INT8.but("--dt=s8:s4:f32 --attr-scales=wei:3:f32:64x1 40x256:256x70 limit=7"),
    ],
    "half": [WIDENED.but("--dt=f16:f16:f32 --attr-zero-points="), WIDENED],
    "tf32": [TF32],
    "float": [WIDENED],
}


def unreadable(row: str) -> list[Problem]:
    return UNREADABLE[BY_NAME[row].src]


def packs(problem: Problem) -> bool:
    pd = make_pd(problem)
    modules = [module.name for module in pd.modules()]
    packed = "reorder_pack_lanes" in modules
    *_, k, n = problem.case.problem.wei
    assert not packed or pd.query_md("scratchpad_md").size >= k * n * BITS[problem.dt[1]] // 8
    return packed


@pytest.mark.quick(cases=lambda row: row == PACKING[0])
@pytest.mark.parametrize("row", PACKING)
def test_large_tiles_pack_first(row: str) -> None:
    """Rows with 2-D block loads. test_xe_rows.py covers the others."""
    problem = unreadable(row)[0]
    assert packs(problem)
    run_exact(problem)


@pytest.mark.parametrize("row", XE_ROWS)
def test_few_rows_are_not_worth_it(row: str) -> None:
    """For one row of tiles, the smallest tiles gather weights along N. For more rows they pack them
    first.
    """
    problem = unreadable(row)[-1]
    for m in (1, 8, 2000):
        shaped = problem.shaped(m, problem.case.problem.n, problem.k)
        if BY_NAME[row].predicate != "dp4a_scaled_on":
            shaped = shaped.but("--attr-scales=")
        assert packs(shaped) == (row in LARGE or m > 8)


@pytest.mark.parametrize(
    ("m", "words"), [(8, "weights element by element"), (2000, "packing the weights first")]
)
def test_the_log_says_what_becomes_of_the_weights(m: int, words: str) -> None:
    row = next(row for row in XE_ROWS if row in LOADS_1D and row not in LARGE)
    command = ["--engine=cpu", "--mode=I", "--matmul", "--dt=s8:s8:s32", "--wtag=ab"]
    result = subprocess.run(
        [sys.executable, "-m", "zemm.benchdnn", *command, f"{m}x1024:1024x40"],
        env=os.environ | {"ZEMM_KERNEL": row, "ZEMM_VERBOSE": "dispatch"},
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = {line for line in result.stdout.splitlines() if "create:cost" in line}
    assert row in line
    assert words in line


@pytest.mark.parametrize("row", [row for row in XE_ROWS if row not in LARGE])
def test_weights_that_block_loads_read_are_not_packed(row: str) -> None:
    problem = unreadable(row)[0]
    readable = problem.but("--wtag=abx 2000x256:256x128 wei_pad=0")
    assert packs(readable) == (row in LOADS_1D)
    assert not packs(readable.but(PACKED if problem.dt[1] in ("s8", "u8") else PACKED_FLOATS))


def test_packed_weights_of_too_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """N = 1 becomes a panel of 64 columns, so plain weights may fit where packed weights do not."""
    row = next(row for row in XE_ROWS if row in LOADS_1D and row in LARGE)
    monkeypatch.setenv("ZEMM_KERNEL", row)
    with pytest.raises(
        NotImplementedError, match="would be packed first, and have more bytes than the 2\\^32"
    ):
        make_pd(INT8.but(shape(40, 1, 2**26)))
