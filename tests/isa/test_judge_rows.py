# SPDX-License-Identifier: Apache-2.0
"""The machine code of every Xe row by Debian's ocloc: no row spills, and the judge's figures are the stored
ones.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from support_process import captured

STORED = Path(__file__).with_name("isa_figures.json")
# This command rewrites the stored figures. Use it for a new row, or once you know why figures changed.
REWRITE = "python tests/isa/judge --json tests/isa/isa_figures.json"
# They share the figures.
pytestmark = [pytest.mark.intel_gpu_driver, pytest.mark.long, pytest.mark.xdist_group("isa_rows")]
NO_OCLOC = "there is no ocloc of Debian: apt-get install intel-opencl-icd brings it"


def key(figures: dict[str, Any]) -> str:
    return f"{figures['kernel']} {figures['problem']} {figures['device']}"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if not shutil.which("ocloc"):
        pytest.skip(NO_OCLOC)
    out = tmp_path_factory.mktemp("isa") / "figures.json"
    command = [sys.executable, str(STORED.with_name("judge")), "--json", str(out)]
    done = captured(command, timeout=1200)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(out.read_text())
    return result


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    result: dict[str, Any] = json.loads(STORED.read_text())
    return result


def test_no_spills(written: dict[str, Any]) -> None:
    """Registers are not spilled to memory, whatever the version of the compiler.

    Private memory is allowed: after the loop, sums wait there for the epilogue on Xe-HPG
    (store_values).
    """
    for figures in written["figures"]:
        assert figures["spill_bytes"] == 0, key(figures)
        assert figures["private_bytes"] == 0 or figures["device"] == "dg2", key(figures)


def test_figures_are_the_stored_ones(written: dict[str, Any], stored: dict[str, Any]) -> None:
    """A failure names the row, which got worse or better, or the judge counts otherwise (REWRITE)."""
    if written["compiler"] != stored["compiler"]:
        pytest.skip(f"the figures are of {stored['compiler']}, this is {written['compiler']}")
    assert written["skipped"] == stored["skipped"]
    now = {key(f): f for f in written["figures"]}
    before = {key(f): f for f in stored["figures"]}
    assert set(now) == set(before), f"rows came or went: {REWRITE}"
    changed = [
        f"{name}: {what} {value}, {before[name][what]} before"
        for name, figures in now.items()
        for what, value in figures.items()
        if value != before[name][what]
    ]
    assert changed == [], REWRITE
