# SPDX-License-Identifier: Apache-2.0
"""Where something is missing, setting up the build ends with one sentence that names it and the package
that has it.
"""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support_tree import ROOT


def refusal(tmp_path: Path, *options: str, **env: str) -> str:
    """The sentence with which `meson setup` ends."""
    setup = [sys.executable, "-m", "mesonbuild.mesonmain", "setup"]
    command = [*setup, str(tmp_path / "build"), str(ROOT), *options]
    done = subprocess.run(
        command, env={**os.environ, **env}, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode != 0, done.stdout[-3000:]
    (line,) = [line for line in done.stdout.splitlines() if "ERROR: " in line]
    return line.split("ERROR: Problem encountered: ")[1]


def path_without(folder: Path, *hidden: str) -> str:
    """A PATH with the programs of this one, except those whose names begin with a hidden word."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for found in Path(place).glob("*"):
            if not found.name.startswith(hidden) and not (folder / found.name).exists():
                (folder / found.name).symlink_to(found)
    return str(folder)


@pytest.mark.parametrize("hidden", ["clang-", "llvm-spirv-"])
def test_no_compiler_of_kernels(tmp_path: Path, hidden: str) -> None:
    sentence = refusal(tmp_path, PATH=path_without(tmp_path / "bin", hidden))
    assert sentence.startswith("No clang-N with an llvm-spirv-N of the same version")
    assert "install clang-15 llvm-spirv-15 (Debian 12) or clang-18 llvm-spirv-18 (Debian 13" in sentence


@pytest.mark.parametrize("option", ["clang=clang-99", "llvm_spirv=llvm-spirv-99"])
def test_a_named_compiler_of_kernels_is_missing(tmp_path: Path, option: str) -> None:
    sentence = refusal(tmp_path, f"-D{option}")
    assert sentence.startswith(
        "No clang-99, which -Dclang or -Dllvm_spirv asks for: install the package clang-99"
    )
    clang = shutil.which("cc")
    sentence = refusal(tmp_path, f"-Dclang={clang}", "-Dllvm_spirv=/nix/llvm-spirv-99")
    assert sentence.startswith("No /nix/llvm-spirv-99, ")
    assert "install the package llvm-spirv-99," in sentence


def test_newest_pair_of_compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "clang-15",
        "llvm-spirv-15",
        "clang-98",
        "llvm-spirv-98",
        "llvm-spirv-99",
        "llvm-spirv-100x",
    ):
        (tmp_path / name).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    newest_pair = runpy.run_path(str(ROOT / "src/compilers.py"))["newest_pair"]
    assert newest_pair() == ("clang-98", "llvm-spirv-98")


def test_no_compiler(tmp_path: Path) -> None:
    refused = refusal(tmp_path, CXX=str(tmp_path / "c++"))
    assert refused == "No C or no C++ compiler: install g++, or set CC and CXX."


def compiler_that_refuses(tmp_path: Path, condition: str) -> str:
    """A C++ compiler that fails if the condition of bash is true."""
    compiler = tmp_path / "c++"
    refuse = f"if {condition}; then echo 'not here' >&2; exit 1; fi"
    compiler.write_text(f'#!/bin/bash\n{refuse}\nexec {shutil.which("c++")} "$@"\n')
    compiler.chmod(0o755)
    return str(compiler)


def test_compiler_without_cpp20(tmp_path: Path) -> None:
    sentence = refusal(tmp_path, CXX=compiler_that_refuses(tmp_path, '[[ "$*" = *-std=c++2* ]]'))
    assert re.match(r"The C\+\+ compiler \(gcc [\d.]+\) lacks C\+\+20: install g\+\+ 11 or", sentence)


def test_no_headers_of_python(tmp_path: Path) -> None:
    without = compiler_that_refuses(tmp_path, 'grep -qs "Python[.]h" -- "$@"')
    sentence = refusal(tmp_path, "-Dpython=true", CXX=without)
    assert re.fullmatch(r"No headers of Python 3\.\d+ \(Python\.h\): install python3-dev\.", sentence)


def test_old_python() -> None:
    """pip asks the build backend first, and shows what it says."""
    code = "import sys; sys.version_info, sys.version = (3, 9, 2), '3.9.2 (main)'; import build_backend"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "python", capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"zemm needs Python 3.10 or newer, and {sys.executable} is 3.9.2: make the "
    )


def test_oldest_python_is_the_same_everywhere() -> None:
    """The build backend reads that of pyproject.toml. The others have it as a text."""
    patterns = {
        "pyproject.toml": [r'requires-python = ">=3\.(\d+)"', r'target-version = "py3(\d+)"'],
        "meson.build": [r"'python3', .*version: '>=3\.(\d+)'", r"No python3 of version 3\.(\d+) or newer"],
        "python/meson.build": [r"limited_api = '3\.(\d+)'"],
        "docs/install.md": [
            r"zemm needs Python 3\.(\d+),",
            r"every CPython from 3\.(\d+) on",
            "`cp3(\\d+)-abi3`",
        ],
    }
    found = {
        (page, pattern): re.findall(pattern, (ROOT / page).read_text(encoding="utf-8"))
        for page, of_page in patterns.items()
        for pattern in of_page
    }
    (oldest,) = found["pyproject.toml", patterns["pyproject.toml"][0]]
    assert {where: minors for where, minors in found.items() if minors != [oldest]} == {}
    classified = re.findall(
        r'"Programming Language :: Python :: 3\.(\d+)"', (ROOT / "pyproject.toml").read_text()
    )
    assert min(classified, key=int) == oldest
