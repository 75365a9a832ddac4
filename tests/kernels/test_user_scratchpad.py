# SPDX-License-Identifier: Apache-2.0
"""The caller's scratchpad may begin at any address, whatever a row keeps in it."""

import numpy as np
import pytest
import zemm
from support_calls import Call, make_pd
from support_cases import PROBLEMS, Problem
from support_decisions import needed
from support_rows import ROWS, XE_ROWS, skip_without_feature
from support_tiers import SMALL_ROWS

GUARD = 64
# Sums of src, sums of ranges of K, and weights that some rows pack first.
CASES = {name: PROBLEMS[name] for name in (
    "user_scratchpad", "wei_zp", "k_in_ranges", "blocks_k_in_ranges", "packed_first", "blocks_groups",
    "blocks_s4", "blocks_f16", "blocks_f16_u8", "blocks_tf32",
)} | {
    "packed_k_in_ranges": Problem("--wtag=any --dt=s8:u8:f32 --attr-scales=wei:2 3x9000:9000x40"),
    "sums_of_groups": Problem(
        "--wtag=any --dt=s8:u8:f32 --attr-scales=src:3:f32:1x128 --attr-zero-points=wei:2 50x2048:2048x70"
    ),
    "bf16_in_ranges": Problem("--dt=bf16:bf16:f32 3x9000:9000x40"),
    "f16_in_ranges": Problem("--dt=f16:f16:f32 20x9000:9000x40"),
    "weight_only_in_ranges": Problem(
        "--wtag=any --dt=f32:u4:f32 --attr-fpmath=any:true 3x9000:9000x40"
    ),
}  # fmt: skip


def problem_of(row: str, name: str) -> Problem | None:
    """The problem that the row runs for the case; None: it keeps nothing in a scratchpad."""
    problem = CASES[name].but("--attr-scratchpad=user")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZEMM_KERNEL", row)
        try:
            pd = make_pd(problem)
        except NotImplementedError:
            return None
    return problem if pd.query_md("scratchpad_md").ndims else None


def is_quick(row: str) -> bool:
    return row in SMALL_ROWS and row not in XE_ROWS


# Each case on a row of each policy.
IS_NEEDED = needed(ROWS, CASES, problem_of)


@pytest.mark.quick(cases=is_quick)
@pytest.mark.parametrize("row", ROWS)
def test_any_address(engine: zemm.Engine, row: str) -> None:
    skip_without_feature(engine, row)
    taken = 0
    for i, name in enumerate(CASES):
        problem = problem_of(row, name)
        if not problem or not IS_NEEDED(row, name):
            continue
        call = Call(problem)
        md = call.pd.query_md("scratchpad_md")
        area = np.full(md.size + 64 + 2 * GUARD, 0xA5, np.uint8)
        first = GUARD - area.ctypes.data % 64 + (1, 2, 3, 4, 33, 63)[i % 6]
        call.args[zemm.ARG_SCRATCHPAD] = zemm.Memory(md, engine, area[first : first + md.size])
        call.execute()
        call.check()
        assert (area[:first] == 0xA5).all()
        assert (area[first + md.size :] == 0xA5).all()
        taken += 1
    if not taken and row in XE_ROWS:
        pytest.skip(f"{row} needs no scratchpad for the problems that it takes")
    assert taken
