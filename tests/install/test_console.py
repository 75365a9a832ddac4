# SPDX-License-Identifier: Apache-2.0
"""The package's programs end without a word when nobody reads what they print."""

import os
import re
import subprocess
import sys

import pytest
from support_tree import ROOT
from zemm._terminal import console

PACKAGE = ROOT / "python" / "zemm"


def programs() -> list[str]:
    """The modules that python -m runs: those of the scripts, and folders with a __main__."""
    project = (ROOT / "pyproject.toml").read_text()
    scripts = re.search(r"^\[project.scripts\]\n(.*?)\n\n", project, re.S | re.M)
    assert scripts
    found = set(re.findall(r'"zemm\.([\w.]+):main"', scripts[1]))
    found |= {".".join(path.relative_to(PACKAGE).parts[:-1]) for path in PACKAGE.rglob("__main__.py")}
    return sorted(found)


def run_unread(*command: str) -> tuple[int, str]:
    """The exit code and stderr of a program whose stdout nobody reads."""
    # argparse ignores that it cannot write its help, which it notices at once without a buffer.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, *command],
            stdout=writer,
            stderr=subprocess.PIPE,
            env=env,
            text=True,
            timeout=120,
        )
    finally:
        os.close(writer)
    return done.returncode, done.stderr


@pytest.mark.parametrize("name", programs())
def test_unread_help(name: str) -> None:
    start = f"import sys, zemm.{name} as m; sys.exit(m.main(['--help']))"
    is_folder = not name or (PACKAGE / name).is_dir()
    command = ["-m", f"zemm.{name}".rstrip("."), "--help"] if is_folder else ["-c", start]
    assert run_unread(*command) == (console.UNREAD, "")


# Prints, and flushes what it prints, in the middle of its work.
LISTING = ["-m", "zemm.benchdnn", "--mode=L", "--matmul", "--batch=test_matmul_quickstart"]


@pytest.mark.parametrize("options", [["-u"], []], ids=["unbuffered", "buffered"])
@pytest.mark.parametrize("command", [["-m", "zemm.doctor", "-v"], LISTING], ids=["doctor", "benchdnn"])
def test_unread_output(command: list[str], options: list[str]) -> None:
    assert run_unread(*options, *command) == (console.UNREAD, "")


def test_the_reader_of_another_pipe() -> None:
    """Only stdout's reader may go: a worker that has died is an error."""

    @console.program
    def main() -> int:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        main()
