# SPDX-License-Identifier: Apache-2.0
"""Sums of integer products that exceed s32: K is tens of thousands, values are at the ends of their
types.
"""

import numpy as np
import pytest
import support_bounds as bounds
from support_calls import fill, make_pd, run, run_exact
from support_cases import ARGS, Problem, problems, shape
from support_decisions import needed
from support_fill import RANGES, Values
from support_rows import BY_NAME, CPU_ROWS, XE_ROWS, constant_id, flag, state
from support_tiers import in_turns, nothing, takes
from support_xe import tile_of
from zemm.benchdnn.grammar.arguments import REDUCTIONS, SRC, WEI, ZERO_POINTS

PROBLEMS = problems("long sums")  # K is no multiple of the unit of a range
# Without scales, bias and post-ops, the sums in an s32 dst wrap.
BARE = problems("long sums of s32")


def extreme(p: Problem, seed: int) -> Values:
    """Most rows of src and columns of the weights have one value, the least or the largest. The
    others are random.
    """
    rng = np.random.default_rng(seed)
    data = fill(p)
    low, high = (np.array([RANGES[dt][i] for dt in p.dt[:2]]) for i in (0, 1))
    data[SRC][0], data[SRC][1] = low[0], high[0]
    data[WEI][:, 0:6:2], data[WEI][:, 1:6:2] = low[1], high[1]
    data[WEI][:, 6] = np.where(np.arange(p.k) < p.k // 2, low[1], high[1])
    for name, dt in zip(("src", "wei"), p.dt, strict=False):
        if (arg := ZERO_POINTS | ARGS[name]) in data:
            data[arg] = rng.choice(RANGES[dt], data[arg].shape)
    data.pop(REDUCTIONS | SRC, None)  # those of the new values are computed
    return data


def exact_sums(p: Problem, data: Values) -> np.ndarray:
    """Sums of values less their zero points."""
    return bounds.integer_product(p.but("--attr-precomputed-reductions="), data, slice(0, p.k))


def rows() -> list[str]:
    """All rows for CPUs, and for each kind of row for Intel GPUs the smallest and the first larger
    tile.
    """
    found: dict[tuple[str, bool], str] = {}
    for row in XE_ROWS:
        if BY_NAME[row].src == "int8":
            found.setdefault((BY_NAME[row].policy, tile_of(row).m > 8), row)
    return CPU_ROWS + list(found.values())


IS_TURN = in_turns(CPU_ROWS[::9], PROBLEMS, lambda row, name: PROBLEMS[name], covers=nothing)


@pytest.mark.quick(cases=IS_TURN)
@pytest.mark.decided(cases=needed(rows(), PROBLEMS, lambda row, name: PROBLEMS[name], first=IS_TURN))
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("row", rows())
def test_sums_beyond_s32(row: str, name: str) -> None:
    """The result is the exact sum, rounded to f32 once."""
    problem = PROBLEMS[name]
    if row in XE_ROWS and problem.scales_groups:
        problem = problem.but("scaled_at_once=32")
    data = extreme(problem, 0)
    assert np.abs(exact_sums(problem, data)).max() > 2**31
    if not takes(row, problem):
        return
    run(problem, data)
    if row in CPU_ROWS:  # the other rows take long here
        run(problem.but("seed=1"))


@pytest.mark.quick(cases=in_turns(CPU_ROWS[::9], BARE, lambda row, name: BARE[name], covers=nothing))
@pytest.mark.parametrize("name", BARE)
@pytest.mark.parametrize("row", CPU_ROWS)
def test_bare_s32_wraps(row: str, name: str) -> None:
    problem = BARE[name]
    if not takes(row, problem):
        return
    run_exact(problem, extreme(problem, 0))


@pytest.mark.parametrize(
    ("src", "wei", "longest"),
    [("u8", "u8", 33025), ("s8", "s8", 131071), ("u8", "s8", 65793), ("s8", "u4", 1118481)],
)
def test_k_that_always_fits_is_as_ever(src: str, wei: str, longest: int) -> None:
    for k, is_wide in ((longest, False), (longest + 1, True)):
        pd = make_pd(Problem(f"--dt={src}:{wei}:f32 {shape(300, 6144, k)}"))
        finish = [
            m.constants
            for m in pd.modules()
            if m.constants.get(constant_id("SPEC_STAGE")) == state("STAGE_ADD_RANGES")
        ]
        assert bool(finish) == is_wide
        assert all(constants[constant_id("SPEC_FLAGS")] & flag("FLAG_WIDE_SUMS") for constants in finish)
