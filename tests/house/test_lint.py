# SPDX-License-Identifier: Apache-2.0
"""Formatting, typing and rules for every tracked file. A missing tool is a failure."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support_tree import ROOT, name_of, tracked

C_SUFFIXES = {".c", ".cpp", ".h", ".hpp", ".cl"}
SOURCE_SUFFIXES = C_SUFFIXES | {".py", ".def", ".map", ".build", ".options", ".sh"}


def tool(name: str) -> str:
    """The tool of this Python's environment, or else the system's."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    assert found, f"{name} is missing: pip install '.[test]' brings it"
    return found


def run(*command: str) -> None:
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, (
        f"{' '.join(command[:4])}\n{result.stdout[-6000:]}\n{result.stderr[-6000:]}"
    )


def clang_format() -> str:
    names = ["clang-format", "clang-format-15"]
    for name in names:
        beside = Path(sys.executable).parent / name
        found = str(beside) if beside.exists() else shutil.which(name)
        if found and "version 15." in subprocess.check_output([found, "--version"], text=True):
            return found
    raise AssertionError(f"none of {names} of version 15 is there: pip install '.[test]' brings it")


def test_clang_format() -> None:
    files = [name_of(path) for path in tracked() if path.suffix in C_SUFFIXES]
    assert len(files) > 50
    run(clang_format(), "--dry-run", "-Werror", "--style=file", *files)


def test_ruff_format() -> None:
    run(tool("ruff"), "format", "--check", ".")


def test_ruff_check() -> None:
    run(tool("ruff"), "check", ".")


@pytest.mark.xdist_group("mypy")
def test_mypy(mypy_cache: Path) -> None:
    run(tool("mypy"), "--cache-dir", str(mypy_cache))


def sources() -> list[Path]:
    return [
        path
        for path in tracked()
        if path.suffix in SOURCE_SUFFIXES or path.name == "meson.build" or name_of(path) == ".ci/run"
    ]


def offenders(files: list[Path], is_wrong: Callable[[str], object]) -> list[str]:
    assert files
    return [name_of(path) for path in files if is_wrong(path.read_text(encoding="utf-8"))]


def test_license_lines() -> None:
    def lacks_it(text: str) -> bool:
        lines = text.splitlines()
        if lines and lines[0].startswith("#!"):
            lines = lines[1:]
        return not lines or not re.search(r"SPDX-License-Identifier: Apache-2\.0( \*/)?$", lines[0])

    assert offenders(sources(), lacks_it) == []


def test_files_are_short() -> None:
    files = [path for path in sources() if name_of(path).startswith(("src/", "python/", "tests/"))]
    assert len(files) > 100
    assert (
        offenders([path for path in files if name_of(path).startswith("src/")], lambda t: t.count("\n") > 600)
        == []
    )
    assert offenders(files, lambda t: t.count("\n") > 800) == []


def texts() -> list[Path]:
    return [path for path in tracked() if b"\0" not in path.read_bytes()]


# The patterns are put together here, so that this file does not match them.
MACHINE_PATHS = "|".join(["/" + folder + "/" for folder in ("work", "root", "home", "Users", "mnt")])
REGISTRIES = "|".join(
    re.escape(".".join(parts))
    for parts in [
        ("pypi", "org"),
        ("files", "pythonhosted", "org"),
        ("deb", "debian", "org"),
        ("archive", "ubuntu", "com"),
        ("repositories", "intel", "com"),
        ("registry", "npmjs", "org"),
        ("crates", "io"),
        ("proxy", "golang", "org"),
        ("conda", "anaconda", "org"),
    ]
)


@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        ("absolute paths of a machine", rf"(?<![\w.>}}])({MACHINE_PATHS})"),
        ("hosts of package registries", REGISTRIES),
        ("trailing blanks", r"(?m)[ \t]+$"),
        ("carriage returns", r"\r\n"),
        ("marks of a merge", r"(?m)^(<{7}|>{7}|={7})( |$)"),
    ],
)
def test_no(what: str, pattern: str) -> None:
    found = offenders(texts(), lambda text: re.search(pattern, text))
    assert found == [], f"{what} in {found}"


def test_texts_end_with_a_newline() -> None:
    assert offenders(texts(), lambda text: text and not text.endswith("\n")) == []
