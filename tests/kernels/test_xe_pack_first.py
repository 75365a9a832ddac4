# SPDX-License-Identifier: Apache-2.0
"""Plain weights that block loads cannot read: rows for Intel GPUs pack them first, or
gather them.
"""

import os
import subprocess
import sys
from dataclasses import replace

import pytest
from support_case_lines import problem_of
from support_problem import Problem, Quant
from support_rows import BY_NAME, LOADS_1D, XE_ROWS
from support_run import make_pd, run
from support_xe import BITS, tile_of

INT8 = Problem((40, 256), (256, 64), "s8", "u8", "s32", scratchpad="user")
WIDENED = problem_of(
    "--dt=f16:u8:f32 --attr-fpmath=any:true --attr-zero-points=wei:2:u8 --attr-scratchpad=user"
    " 40x96:96x41 limit=15"
)
TF32 = Problem((40, 96), (96, 11), fpmath=("tf32", False), scratchpad="user")
LARGE = [row for row in XE_ROWS if tile_of(row).m > 8]
PACKING = [row for row in LARGE if row not in LOADS_1D and BY_NAME[row].predicate != "dpas_widened_on"]
# Columns that begin at odd addresses, rows that end in half a byte, rows that are too
# short.
UNREADABLE = {
    "int8": [
        replace(INT8, src_dims=(2, 9, 64), wei_dims=(2, 64, 70), wei_order="acb", wei_pad=13),
        replace(INT8, wei_dt="s4", wei_dims=(256, 70), dst_dt="f32", limit=7, wei_scale=Quant(3, (64, 1))),
    ],
    "half": [replace(WIDENED, wei_dt="f16", wei_zp=None), WIDENED],
    "tf32": [TF32],
    "float": [WIDENED],
}


def unreadable(row: str) -> list[Problem]:
    return UNREADABLE[BY_NAME[row].src]


def packs(problem: Problem) -> bool:
    pd = make_pd(problem)
    modules = [module.name for module in pd.modules()]
    packed = "reorder_pack_lanes" in modules
    *_, k, n = problem.wei_dims
    assert not packed or pd.query_md("scratchpad_md").size >= k * n * BITS[problem.wei_dt] // 8
    return packed


@pytest.mark.quick(cases=lambda row: row == PACKING[0])
@pytest.mark.parametrize("row", PACKING)
def test_large_tiles_pack_first(row: str) -> None:
    """Rows with 2-D block loads. test_xe_rows.py covers the others."""
    problem = unreadable(row)[0]
    assert packs(problem)
    assert run(problem).exact


@pytest.mark.parametrize("row", XE_ROWS)
def test_few_rows_are_not_worth_it(row: str) -> None:
    """For one row of tiles, the smallest tiles gather weights along N. For more rows they pack them
    first.
    """
    problem = unreadable(row)[-1]
    for m in (1, 8, 2000):
        shaped = replace(problem, src_dims=(m, problem.src_dims[1]))
        if BY_NAME[row].predicate != "dp4a_scaled_on":
            shaped = replace(shaped, wei_scale=None)
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
    readable = replace(problem, src_dims=(2000, 256), wei_dims=(256, 128), wei_order=None, wei_pad=0)
    assert packs(readable) == (row in LOADS_1D)
    tag = "BA16a64b4a" if problem.wei_dt in ("s8", "u8") else "BA16a64b"
    assert not packs(replace(readable, wei_tag=tag))


def test_packed_weights_of_too_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """N = 1 becomes a panel of 64 columns, so plain weights may fit where packed weights do not."""
    row = next(row for row in XE_ROWS if row in LOADS_1D and row in LARGE)
    monkeypatch.setenv("ZEMM_KERNEL", row)
    with pytest.raises(
        NotImplementedError, match="would be packed first, and have more bytes than the 2\\^32"
    ):
        make_pd(replace(INT8, src_dims=(40, 2**26), wei_dims=(2**26, 1)))
