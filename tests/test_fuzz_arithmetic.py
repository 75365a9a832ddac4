# SPDX-License-Identifier: Apache-2.0
"""Runs `fuzz.py arithmetic` for a short time, and tests what it consists of."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import zemm
from fuzz_arithmetic import Watched, fuzz
from fuzz_decisions import plans_of
from fuzz_forms import KINDS, Category, Form, Forms, Sizes
from fuzz_sizes import FEW, SizeDrawer
from support_rows import BY_NAME, constant_id


@pytest.mark.parametrize("seconds", [3, pytest.param(60, marks=pytest.mark.full)])
def test_random_matmuls(seconds: int, tmp_path: Path) -> None:
    report = fuzz(seconds, 1, failures=tmp_path / "failures")
    assert report.failures == [], report.summary()
    assert report.states["PASSED"] > seconds / 3, report.summary()
    assert report.executed, report.summary()


def test_the_log_tells_the_decision(engine: zemm.Engine) -> None:
    """ZEMM_VERBOSE=plan says row and constants of the kernels, as the descriptor does, once when it is
    chosen and once when it is executed.
    """
    line = "--matmul --engine=cpu --dt=s8:u8:f32 --stag=ab --wtag=ab --attr-zero-points=wei:2:u8 3x64:64x20"
    done = subprocess.run(
        [sys.executable, "-m", "zemm.benchdnn", *line.split()],
        env=os.environ | {"ZEMM_VERBOSE": "plan"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    (chosen, executed) = plans_of(done.stdout.splitlines())
    assert (chosen.event, executed.event) == ("create", "exec")
    assert chosen.decision == executed.decision
    attr = zemm.Attr()
    attr.set_zero_points(zemm.ARG_WEIGHTS, 2, (), "u8")
    descs = zemm.MemoryDesc((3, 64), "s8"), zemm.MemoryDesc((64, 20), "u8"), zemm.MemoryDesc((3, 20), "f32")
    pd = zemm.MatmulPrimitiveDesc(engine, *descs, attr=attr)
    assert chosen.decision.row == pd.impl_info
    flags = pd.modules()[0].constants[constant_id("SPEC_FLAGS")]
    assert f"{constant_id('SPEC_FLAGS')}={flags};" in chosen.decision.constants
    assert "along m: one" in chosen.decision.cut
    assert BY_NAME[pd.impl_info].tile_n != 20
    assert "along n: last is narrower" in chosen.decision.cut


def test_sizes_on_both_sides_of_a_threshold() -> None:
    """Where the answer changes between 8 and 9 units, and between 27 and 28 rows."""
    draw = SizeDrawer(random.Random(1), Form(("f32", "f32", "f32"), unit=7))
    start = Sizes(1, 1, 7)
    assert [s.k for s in draw.thresholds(start, "k", lambda s: s.k > 60)] == [56, 63]
    assert [s.m for s in draw.thresholds(start, "m", lambda s: s.m > 27)] == [27, 28]
    grouped = SizeDrawer(random.Random(1), Form(("f32", "f32", "f32"), grouping="rows"))
    start = grouped.with_groups(start, 3)
    found = list(grouped.thresholds(start, "m", lambda s: max(s.groups) > 27))
    assert [(s.m, s.groups) for s in found] == [(81, (27,) * 3), (84, (28,) * 3)]


def test_each_category_has_its_turn() -> None:
    """A category is not left out because others have more that is new. Forms with few rows have groups of
    few rows, though not always few in all, and long dimensions of weights.
    """
    forms = Forms(random.Random(1), ())
    turns = [forms.category() for _ in range(40)]
    assert {turn: turns.count(turn) for turn in turns} == {
        Category(grouping, kind, few): 1 if grouping == "k" else 2
        for grouping in ("", "rows", "k") for kind in KINDS for few in (False, True)
    }  # fmt: skip
    form = forms.draw(Category("rows", "int8", True))
    assert form.grouping == "rows"
    assert {form.dt[0], form.dt[1]} <= {"s8", "u8"}
    sizes = [SizeDrawer(forms.rng, form).size() for _ in range(100)]
    assert max(max(s.groups) for s in sizes) <= FEW
    assert 10 < sum(s.m > FEW for s in sizes) < 90
    assert 10 < sum(s.n >= 512 for s in sizes) < 90


@pytest.mark.parametrize(
    ("ending", "said"), [("os.abort()", "ends the process with status -6"), ("pass", "")]
)
def test_a_process_that_ends(ending: str, said: str) -> None:
    code = f"import os; print('{json.dumps({'start': 'line'})}', flush=True); {ending}"
    watched = Watched([sys.executable, "-c", code])
    assert watched.step() == {"start": "line"}
    assert watched.step() == said
