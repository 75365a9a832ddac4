# SPDX-License-Identifier: Apache-2.0
"""The snippets of docs/layers.md run."""

import subprocess
import sys
from pathlib import Path

import pytest
from readme import block

SECTIONS = {
    "A layer": None,
    "Streams": None,
    "Packed weights for zemm.matmul()": None,
    "Files": "safetensors",
    "torch": "torch",
    "DLPack": None,
}


@pytest.mark.parametrize("section", SECTIONS)
def test_snippet(section: str, tmp_path: Path) -> None:
    if package := SECTIONS[section]:
        pytest.importorskip(package, reason=f"needs the package {package}")
    (tmp_path / "snippet.py").write_text(block(section, "python", "docs/layers.md"))
    result = subprocess.run(
        [sys.executable, "snippet.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr
