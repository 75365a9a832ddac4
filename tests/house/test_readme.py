# SPDX-License-Identifier: Apache-2.0
"""The README is a front page: short, with numbers and pictures that are made by commands."""

import re
import runpy
import sys
from pathlib import Path

from readme import block
from support_process import captured
from support_tree import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURES = ROOT / "docs" / "pictures"


def test_length() -> None:
    assert len(README.splitlines()) <= 200


def test_bits_of_a_weight(tmp_path: Path) -> None:
    """The README has those that docs/layers.md computes."""
    (tmp_path / "bits.py").write_text(block("Memory", "python", "docs/layers.md"))
    result = captured([sys.executable, "bits.py"], cwd=tmp_path, timeout=300)
    found = re.findall(r"(\d) bits, groups of (\d+), scales (\w+): ([\d.]+)\n", result.stdout)
    assert len(found) == 4, result.stderr
    for bits, group, scales, whole in found:
        row = rf"\| [us]{bits}\b[^|]*\| {group} \| {scales} \|[^|]*\| {re.escape(whole)} \|"
        assert re.search(row, README), row


def test_layers_are_those_of_the_design() -> None:
    draw = runpy.run_path(str(PICTURES / "draw.py"))
    picture = draw["layers"]()
    assert picture == (PICTURES / "layers.svg").read_text(encoding="utf-8")
    assert "></text>" not in picture


def test_pictures() -> None:
    named = set(re.findall(r"!\[[^]]+\]\(docs/pictures/(\S+)\)", README))
    files = {path.name: path.stat().st_size for path in PICTURES.iterdir() if path.suffix in (".svg", ".png")}
    assert named <= set(files)
    assert max(files.values()) < 200_000, files


def test_no_command_wants_a_registry_that_has_zemm() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    assert [page.name for page in pages if re.search("pip install '?zemm", page.read_text("utf-8"))] == []
