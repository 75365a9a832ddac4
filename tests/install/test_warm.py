# SPDX-License-Identifier: Apache-2.0
"""zemm.warm() and zemm-doctor --warm fill the cache on disk, and the line that says what is built."""

import io
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import zemm
from readme import block
from support_process import captured
from zemm._library import library
from zemm._terminal import building

LINES = ["--dt=s8:s8:f32 --stag=ab --wtag=ab --dtag=ab 8x64:64x32"]
CREATE = """
import zemm
md = [zemm.MemoryDesc(d, t, tag="ab") for d, t in (((8, 64), "s8"), ((64, 32), "s8"), ((8, 32), "f32"))]
zemm.Primitive(zemm.MatmulPrimitiveDesc(zemm.Engine("cpu"), *md))
"""


def run(folder: Path, *command: str, code: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"ZEMM_CACHE_DIR": str(folder), **variables}
    done = captured([sys.executable, *command], env=env, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture(scope="session")
def warmed(engine: zemm.Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that the command of docs/install.md has filled, from a file with a case that is refused."""
    folder = tmp_path_factory.mktemp("warm")
    file = folder / "cases"
    file.write_text("# a comment\n" + "\n".join([*LINES, *LINES, "--dt=s8:f16:f32 8x16:16x8"]))
    done = run(folder / "cache", "-m", "zemm.doctor", "--warm", str(file), code=1)
    assert " s  " in done.stdout.splitlines()[0]
    assert "8x64:64x32" in done.stdout.splitlines()[0]
    assert done.stdout.count("8x64:64x32") == 1
    assert "refused" in done.stdout
    assert "f16 weights with an s8 src" in done.stdout
    assert "kernels built for 2 cases" in done.stdout
    assert not done.stdout.splitlines()[-1].startswith("0 ")
    assert list((folder / "cache").iterdir())
    return folder / "cache"


def test_a_primitive_finds_its_kernels(warmed: Path) -> None:
    done = run(warmed, "-c", CREATE, ZEMM_VERBOSE="profile_create")
    assert "create:persistent_cache_hit" in done.stdout
    assert "create:cache_miss" not in done.stdout


def test_a_second_time_builds_nothing(warmed: Path) -> None:
    before = {path: path.stat().st_ino for path in warmed.iterdir()}
    done = run(warmed, "-c", f"import zemm; print(zemm.warm({LINES!r}, processes=1))")
    assert done.stdout.startswith("Warmed(cases=1, built=0, ")
    assert {path: path.stat().st_ino for path in warmed.iterdir()} == before


def test_refusals(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cases: .*none\.txt"):
        zemm.warm(tmp_path / "none.txt")
    with pytest.raises(ValueError, match=r"cases: .*--nonsense"):
        zemm.warm(["--nonsense=1 1x1:1x1"])
    with pytest.raises(ValueError, match="cases: "):
        zemm.warm([])
    monkeypatch.setenv("ZEMM_CACHE", "0")
    with pytest.raises(ValueError, match="ZEMM_CACHE=0"):
        zemm.warm(LINES)


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"ZEMM_CACHE_DIR": "{0}/own"}, "own"),
        ({"ZEMM_CACHE_DIR": "{0}/own/", "XDG_CACHE_HOME": "{0}/xdg"}, "own/"),
        ({"XDG_CACHE_HOME": "{0}/xdg", "HOME": "{0}/home"}, "xdg/zemm"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "{0}/home"}, "home/.cache/zemm"),
        ({"ZEMM_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": "{0}/home"}, "home/.cache/zemm"),
        ({"ZEMM_CACHE_DIR": "own", "HOME": "/nowhere"}, "own"),
    ],
)
def test_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variables: dict[str, str], folder: str
) -> None:
    """The library names the folder that it uses, and makes it."""
    for name in ("ZEMM_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert library.cache_folder() == f"{tmp_path}/{folder}"
    assert (tmp_path / folder).stat().st_mode & 0o777 == 0o700


def test_no_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "cache"
    path.touch()
    monkeypatch.setenv("ZEMM_CACHE_DIR", str(path))
    with pytest.raises(ValueError, match=f"kernels are not kept: the folder {path} "):
        zemm.warm(LINES)
    for name in ("ZEMM_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="neither ZEMM_CACHE_DIR, XDG_CACHE_HOME nor HOME"):
        zemm.warm(LINES)


def test_snippet_of_the_page(warmed: Path) -> None:
    assert "kernels built" in run(warmed, "-c", block("First use", "python", "docs/install.md")).stdout


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """stderr as a terminal, with a display that appears at once."""
    screen = Terminal()
    monkeypatch.setattr(building, "sys", SimpleNamespace(stderr=screen))  # pytest replaces sys.stderr
    monkeypatch.setattr(building, "PATIENCE", 0.0)
    monkeypatch.delenv("ZEMM_VERBOSE", raising=False)
    return screen


def wait_for(text: str, screen: io.StringIO) -> None:
    deadline = time.monotonic() + 30
    while text not in screen.getvalue():
        assert time.monotonic() < deadline, f"no {text!r} in {screen.getvalue()!r}"
        time.sleep(0.01)


def test_a_terminal_shows_what_is_built(terminal: Terminal) -> None:
    for name in ("first", "second"):
        with building.watched(lambda name=name: name):
            wait_for(f"building kernel {name} ...", terminal)
        assert terminal.getvalue().endswith("\r\033[K")


@pytest.mark.parametrize("how", ["no terminal", "quiet", "log"])
def test_others_do_not(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    if how == "no terminal":
        monkeypatch.setattr(terminal, "isatty", lambda: False)
    elif how == "quiet":
        monkeypatch.setattr(building, "is_quiet", True)
    else:
        monkeypatch.setenv("ZEMM_VERBOSE", "error")
    with building.watched(lambda: "kernel"):
        time.sleep(0.3)
    assert terminal.getvalue() == ""
