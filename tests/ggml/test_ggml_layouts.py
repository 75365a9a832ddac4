# SPDX-License-Identifier: Apache-2.0
"""The backend for ggml restores blocks from layouts that it learns."""

from pathlib import Path

import pytest
from support_process import captured
from support_tree import ROOT
from zemm.gguf.formats import FORMATS

TYPES = ["Q6_K", "MXFP4", "Q4_0"]  # their codes begin at byte 0, 1 and 2 of a word


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ggml") / "layouts"
    sources = [ROOT / "src" / "ggml" / f"{name}.cpp" for name in ("formats", "functions", "layout")]
    folders = [f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}"]
    checks = ["-Wall", "-Wextra", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = ["c++", "-std=c++20", "-O1", "-mavx2", *checks, *folders]
    done = captured([*command, ROOT / "tests" / "ggml" / "layouts.cpp", *sources, "-ldl", "-o", path])
    assert done.returncode == 0, done.stderr
    return path


@pytest.mark.parametrize("name", TYPES)
def test_restores(name: str, program: Path) -> None:
    done = captured([program, str(FORMATS[name].number)])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
