# SPDX-License-Identifier: Apache-2.0
"""Which sources src/units.py compiles together."""

import subprocess
import sys
from pathlib import Path

import pytest
from readme import ROOT

HIDDEN = "namespace zemm {\nnamespace {\n\n%s\n\n} // namespace\n} // namespace zemm\n"


def units(folder: Path, **sources: str) -> list[list[str]]:
    """The names of the sources of each unit."""
    paths = [folder / f"{name}.cpp" for name in sources]
    for path in paths:
        path.write_text(sources[path.stem])
    command = [sys.executable, ROOT / "src" / "units.py", folder / "units", *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    files = [Path(line) for line in done.stdout.splitlines()]
    return [[Path(line.split('"')[1]).stem for line in file.read_text().splitlines()] for file in files]


@pytest.mark.parametrize(
    "definition",
    [
        "int size() {\n    return 1;\n}",
        "int other() {\n    return 1;\n}\n\nbool size(int n) {\n    return n;\n}",
        "constexpr int size = 3;",
        "struct size {\n    int n;\n};",
        "enum kind { size, other };",
        "using size = int;",
    ],
)
def test_a_hidden_name_is_no_word_of_others(tmp_path: Path, definition: str) -> None:
    user = "int twice() {\n    return 2 * size();\n}\n"
    assert units(tmp_path, a=HIDDEN % definition, b=user) == [["a"], ["b"]]
    assert units(tmp_path, b=user, a=HIDDEN % definition) == [["b"], ["a"]]


def test_names_of_a_file_and_macros_are_hidden(tmp_path: Path) -> None:
    for definition in (
        "static int size() {\n    return 1;\n}\n",
        "#define size 3\n",
        "const int size = 3;\n",
    ):
        assert len(units(tmp_path, a=definition, b="int n = size;\n")) == 2


def test_other_sources_are_compiled_together(tmp_path: Path) -> None:
    first = HIDDEN % "int size() {\n    int n = 1;\n    return n;\n}"
    second = HIDDEN % '// Not the size.\nint length(int n) {\n    return n + "size"[0];\n}'
    assert units(tmp_path, a=first, b=second) == [["a", "b"]]


def test_a_unit_is_not_too_large(tmp_path: Path) -> None:
    long = "int a;\n" * 5000
    assert units(tmp_path, a=long, b=long, c="int c;\n") == [["a", "c"], ["b"]]
