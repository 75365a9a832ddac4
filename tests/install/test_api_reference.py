# SPDX-License-Identifier: Apache-2.0
"""The reference of the API: everything public has a comment, and the command of docs/install.md makes
pages of it.
"""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support_tree import ROOT

SCRIPT = ROOT / "docs" / "reference" / "build.py"


def script() -> object:
    spec = importlib.util.spec_from_file_location("build_reference", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_public_python_has_docstrings() -> None:
    import zemm

    assert list(script().undocumented(zemm)) == []  # type: ignore[attr-defined]


def test_pages(tmp_path: Path) -> None:
    if not shutil.which("doxygen"):
        pytest.skip("doxygen is not installed: apt-get install doxygen")
    if not importlib.util.find_spec("pdoc"):
        pytest.skip("pdoc is not installed: pip install pdoc")
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = "".join(path.read_text() for path in (tmp_path / "c").glob("zemm*8h.html"))
    for name in ("zemm_matmul_primitive_desc_create", "zemm_data_type_t", "ZEMM_ARG_ATTR_SCALES"):
        assert f">{name}" in pages
    assert "quantize_weights" in (tmp_path / "python" / "zemm.html").read_text()
