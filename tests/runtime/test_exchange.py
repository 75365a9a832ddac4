# SPDX-License-Identifier: Apache-2.0
"""A stranger exchanges files while they are looked at: before each system call that names one, in turn."""

import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support_planted import FOREIGN, PLANTED, clean_environment, compile_c, compile_library, compile_program

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of a stranger")
STRANGER = 54321
FASTEST_TO_BUILD = "matmul_any_any_any_64x32x64_generic"


class Place:
    """A folder of root's, the path that leads to it through a stranger's hands, and what he has to put in
    its place.
    """

    def __init__(self, top: Path) -> None:
        self.way = top / "way"  # watched
        self.path = self.way / "home"
        self.exchanged = self.path, self.way / "evil"
        self.way.mkdir(mode=0o755)


def in_his_folder(top: Path) -> Place:
    place = Place(top)
    for folder in place.exchanged:
        folder.mkdir(mode=0o700)
    os.chown(place.way, STRANGER, STRANGER)
    return place


def behind_a_link(top: Path) -> Place:
    place = in_his_folder(top)
    place.path = top / "link"
    place.path.symlink_to("way/../way/home")
    return place


def by_his_link(top: Path) -> Place:
    """A folder with the sticky bit, as /tmp, in which he has made the link."""
    place = Place(top)
    place.way.chmod(0o1777)
    for link in place.exchanged:
        (top / link.name).mkdir(mode=0o700)
        link.symlink_to(top / link.name)
        os.chown(link, STRANGER, STRANGER, follow_symlinks=False)
    return place


def in_his_group(top: Path) -> Place:
    place = in_his_folder(top)
    os.chown(place.way, 0, STRANGER)
    place.way.chmod(0o775)
    return place


WAYS = (in_his_folder, behind_a_link, by_his_link, in_his_group)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="zemm-exchange-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)  # the copies of the runtime take 105 MB


@pytest.fixture(scope="module")
def exchange(folder: Path) -> Path:
    source = Path(__file__).with_name("support_exchange.c").read_text()
    return compile_c(source, folder / "exchange")


@pytest.fixture(scope="module")
def program(folder: Path) -> Path:
    return compile_program(folder)


@pytest.fixture(params=WAYS)
def place(folder: Path, request: pytest.FixtureRequest) -> Place:
    top = folder / request.param.__name__ / request.function.__name__
    top.mkdir(parents=True)
    return request.param(top)


def every_step(exchange: Path, program: Path, place: Place, evil: Path, **variables: str) -> Iterator[str]:
    """The program's output, each time with an exchange at the next step, for what is in `evil`."""
    one, other = place.exchanged
    for step in range(1000):
        shutil.rmtree(other.resolve())
        shutil.copytree(evil, other.resolve())
        command = [exchange, str(step), one, other, place.way, program]
        done = subprocess.run(
            command, env=clean_environment(**variables), capture_output=True, text=True, timeout=100
        )
        yield done.stdout
        assert done.stdout.endswith("right\n"), (step, done.stdout, done.stderr)
        assert done.returncode == 0
        (steps,) = re.findall(r"^(\d+) steps$", done.stderr, re.MULTILINE)
        if step >= int(steps):
            assert step > 0, "nothing has looked at the place"
            return
        between = one.with_name("between")  # back again
        for old, new in ((one, between), (other, one), (between, other)):
            old.rename(new)
    pytest.fail("there is no end of steps")


@pytest.mark.quick(cases=lambda place: place in (in_his_folder, by_his_link))
def test_copies_of_the_runtime(exchange: Path, program: Path, place: Place, folder: Path) -> None:
    """Beside another TBB the driver loads copies that it has made in a folder of the user."""
    marker, safe = folder / "marker", folder / "safe"
    marker.unlink(missing_ok=True)
    foreign = compile_library(FOREIGN, folder / "libtbb.so.12", "libtbb.so.12")
    variables = {
        "FIRST": str(foreign),
        "MARKER": str(marker),
        "HOME": str(place.path),
        "XDG_RUNTIME_DIR": str(safe),
        "ZEMM_CACHE": "1",
        "ZEMM_CACHE_DIR": str(folder / "kernels"),
    }
    made = subprocess.run([program], env=clean_environment(**variables), capture_output=True, timeout=100)
    assert made.stdout == b"right\n"
    copies, *_ = [*place.path.glob(".cache/ze_cpu/runtime-*"), *safe.glob("ze_cpu/runtime-*")]
    evil = place.way.parent / "evil's"
    planted = evil / ".cache/ze_cpu" / copies.name
    planted.mkdir(parents=True)
    for name in ("libintelocl.so", "libuAb.so.12"):
        compile_library(PLANTED, planted / name, name)
    for _ in every_step(exchange, program, place, evil, **variables):
        assert not marker.exists(), marker.read_text()


@pytest.mark.quick(cases=lambda place: place in (in_his_folder, by_his_link))
def test_kernels(exchange: Path, program: Path, place: Place, folder: Path) -> None:
    """Kernels that are kept on disk are code, too. Here any that is taken from the place is a foreign one."""
    kept = folder / "kept"
    variables = {"ZEMM_CACHE": "1", "ZEMM_VERBOSE": "warn,profile_create", "ZEMM_KERNEL": FASTEST_TO_BUILD}
    built = clean_environment(ZEMM_CACHE_DIR=str(kept), **variables)
    subprocess.run([program], env=built, check=True, capture_output=True, timeout=100)
    shutil.copytree(kept, place.path, dirs_exist_ok=True)
    for output in every_step(exchange, program, place, kept, ZEMM_CACHE_DIR=str(place.path), **variables):
        assert "cache_hit" not in output
        assert "others could put another folder in its place" in output


def test_home_of_a_stranger(tmp_path: Path) -> None:
    """After `sudo -E` the user's home is what the password database says."""
    os.chown(tmp_path, STRANGER, STRANGER)
    code = "from zemm._library import library; print(library.cache_folder())"
    env = clean_environment(HOME=str(tmp_path), ZEMM_CACHE="1")
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=100)
    assert done.stdout == f"{pwd.getpwuid(0).pw_dir}/.cache/zemm\n", done.stderr
    assert not list(tmp_path.iterdir())
