# SPDX-License-Identifier: Apache-2.0
"""The CPU device beside another TBB: an older one with the name of the OpenCL runtime's own, as
OpenVINO, PaddlePaddle and the package tbb bring. And in a folder in which the runtime does not work.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support_planted import FOREIGN, clean_environment, compile_library, compile_program


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("foreign_tbb")
    yield folder
    shutil.rmtree(folder)  # the copies take 105 MB each


@pytest.fixture(scope="session")
def program(folder: Path) -> Path:
    return compile_program(folder)


@pytest.fixture(scope="session")
def foreign(folder: Path) -> Path:
    return compile_library(FOREIGN, folder / "libtbb.so.12", "libtbb.so.12")


def run(program: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    env = clean_environment(**variables)
    return subprocess.run([program], env=env, capture_output=True, text=True, timeout=100)


@pytest.mark.parametrize(
    "way",
    [
        {"FIRST": "{}"},
        {"FIRST": "{}", "GLOBAL": "1"},
        {"LD_PRELOAD": "{}"},
        {"LAST": "{}", "GLOBAL": "1"},
    ],
    ids=["before", "before and global", "preloaded", "afterwards"],
)
def test_order(program: Path, foreign: Path, folder: Path, way: dict[str, str]) -> None:
    variables = {name: value.format(foreign) for name, value in way.items()}
    done = run(program, ZE_CPU_CACHE_DIR=str(folder / "copies"), **variables)
    assert (done.stdout, done.returncode) == ("right\n", 0), done.stderr


def test_copies_are_kept_and_made_again(program: Path, foreign: Path, folder: Path) -> None:
    cache = folder / "kept"

    def use() -> Path:
        done = run(program, ZE_CPU_CACHE_DIR=str(cache), FIRST=str(foreign))
        assert (done.stdout, done.returncode) == ("right\n", 0), done.stderr
        (copies,) = cache.iterdir()
        assert copies.stat().st_mode & 0o777 == 0o700
        return copies / "libintelocl.so"

    copy = use()
    first = copy.stat().st_ino
    assert use() == copy
    assert copy.stat().st_ino == first
    copy.chmod(0o666)  # others may have written to it
    assert use() == copy
    assert copy.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kind", ["file", "everybody"])
def test_folder_that_cannot_be_used(program: Path, foreign: Path, folder: Path, kind: str) -> None:
    """Below a file, or where others can replace it: the user's folder of run time files is taken."""
    place, run_time = folder / kind, folder / f"run_{kind}"
    if kind == "file":
        place.touch()
    else:
        place.mkdir()
        place.chmod(0o777)
    variables = {"ZE_CPU_CACHE_DIR": str(place / "cache"), "HOME": "/proc", "XDG_RUNTIME_DIR": str(run_time)}
    done = run(program, FIRST=str(foreign), **variables)
    assert (done.stdout, done.returncode) == ("right\n", 0), done.stderr
    assert kind == "file" or not list(place.iterdir())
    assert list((run_time / "ze_cpu").iterdir())


def runtime_in(folder: Path, link: Callable[[Path, Path], None]) -> Path:
    """The runtime's file, in a folder of links."""
    folder.mkdir()
    for file in (Path(sys.prefix) / "lib").iterdir():
        if file.is_file():
            link(file, folder / file.name)
    library = folder / "libintelocl.so"
    if not library.exists():
        pytest.skip("the OpenCL runtime is not in this environment")
    return library


def test_folder_with_a_space(program: Path, folder: Path) -> None:
    """The runtime would create no context there. Neither would a copy in such a folder."""
    try:
        library = runtime_in(folder / "my runtime", os.link)
    except OSError as error:
        pytest.skip(f"the runtime's files cannot have other names: {error}")
    variables = {"ZE_CPU_OPENCL_LIBRARY": str(library), "ZE_CPU_CACHE_DIR": str(folder / "my cache")}
    done = run(program, HOME="/proc", XDG_RUNTIME_DIR=str(folder / "of_space"), **variables)
    assert (done.stdout, done.returncode) == ("right\n", 0), done.stderr
    assert list((folder / "of_space" / "ze_cpu").iterdir())


def test_no_room_for_the_copies(foreign: Path, folder: Path) -> None:
    """As on a full disk. The runtime is another one than that of which this machine may have copies."""
    code = (
        "import ctypes, resource, sys, zemm\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
        "ctypes.CDLL(sys.argv[1])\n"
        "try: zemm.Engine('cpu')\n"
        "except Exception as error: print(error)"
    )
    library = runtime_in(folder / "runtime", os.symlink)
    env = clean_environment(ZE_CPU_CACHE_DIR=str(folder / "full"), ZE_CPU_OPENCL_LIBRARY=str(library))
    command = [sys.executable, "-c", code, str(foreign)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=100)
    assert f"the process has another TBB, {foreign}" in done.stdout, done.stderr
    assert "let ZE_CPU_CACHE_DIR name a folder" in done.stdout
    assert not list((folder / "full").iterdir())
