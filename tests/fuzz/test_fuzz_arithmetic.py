# SPDX-License-Identifier: Apache-2.0
"""Runs `fuzz.py arithmetic` for a short time, and tests what it consists of."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import zemm
from fuzz_arithmetic import fuzz
from fuzz_decisions import plans_of
from support_rows import BY_NAME, constant_id


@pytest.mark.full
def test_random_matmuls(tmp_path: Path) -> None:
    report = fuzz(60, 1, failures=tmp_path / "failures")
    assert report.failures == [], report.summary()
    assert report.states["PASSED"] > 20, report.summary()
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
