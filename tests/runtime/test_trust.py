# SPDX-License-Identifier: Apache-2.0
"""Nothing that strangers have put into the current directory, LD_LIBRARY_PATH, HOME or what the
environment names gets into a process that uses the CPU device.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support_planted import LIBRARY, PLANTED, clean_environment, compile_library, compile_program
from support_process import captured


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may write to, in which everybody may reach a file by its path."""
    folder = Path(tempfile.mkdtemp(prefix="zemm-trust-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def program(open_folder: Path) -> Path:
    folder = open_folder / "bin"
    folder.mkdir(mode=0o755)
    return compile_program(folder)


def names_looked_up(program: Path) -> set[str]:
    """The names of libraries that the dynamic linker looks for once the program runs."""
    done = captured([program], env=clean_environment(LD_DEBUG="libs"), cwd="/", timeout=100)
    assert done.stdout == "right\n"
    # Names that the driver finds by itself appear as the files that it opens.
    found = re.findall(r"find library=(\S+)|calling init: (\S+)", done.stderr.split("BEGIN\n", 1)[1])
    return {Path(name or file).name for name, file in found}


def plant(planted: Path, folder: Path, names: set[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o777)
    for name in names:
        shutil.copy(planted, folder / name)


def test_hostile_folders(program: Path, open_folder: Path) -> None:
    names = names_looked_up(program) | {"libz.so.1", "libintelocl.so", "libze_cpu.so", "libze_intel_gpu.so.1"}
    assert {"libze_loader.so.1", "libtbb.so.12", "libdl.so.2", "librt.so.1"} <= names
    planted = compile_library(PLANTED, open_folder / "planted.so", "planted.so")
    here, home, prefix = (open_folder / name for name in ("here", "home", "prefix"))
    places = ["here", "here/x86_64", "here/tls", "home", "home/.cache/ze_cpu", "prefix", "prefix/lib"]
    for place in places:
        plant(planted, open_folder / place, names)
    plant(planted, here / "../cpu_driver", names)
    (here / "cl.cfg").write_text("CL_CONFIG_DUMP_BIN = True\nCL_CONFIG_DUMP_ASM = True\n")
    before = sorted(here.rglob("*"))
    hostile = clean_environment(
        LD_LIBRARY_PATH=f"{here}::lib:{prefix / 'lib'}",
        HOME=str(home),
        VIRTUAL_ENV=str(prefix),
        CONDA_PREFIX=str(prefix),
        ZEMM_CACHE="1",
        XDG_RUNTIME_DIR=str(home),
        MARKER=str(open_folder / "marker"),
    )
    for variables in (hostile, {k: v for k, v in hostile.items() if k != "LD_LIBRARY_PATH"}):
        done = subprocess.run([program], env=variables, cwd=here, capture_output=True, text=True, timeout=100)
        assert (done.stdout, done.returncode) == ("right\n", 0)
        assert not (open_folder / "marker").exists(), (open_folder / "marker").read_text()
    assert sorted(here.rglob("*")) == before  # the configuration would have added files


def test_own_library_path_is_used(program: Path, tmp_path: Path) -> None:
    """Nobody else can write to this folder, so the user has chosen what is in it."""
    planted = compile_library(PLANTED, tmp_path / "libze_loader.so.1", "libze_loader.so.1")
    marker = tmp_path / "marker"
    variables = clean_environment(LD_LIBRARY_PATH=str(planted.parent), MARKER=str(marker))
    subprocess.run([program], env=variables, check=True, capture_output=True, timeout=100)
    assert marker.read_text() == f"{planted}\n"


def test_missing_driver(open_folder: Path) -> None:
    """The driver's place in a build tree is not used if strangers may have put something there."""
    installed = open_folder / "lib" / "zemm"
    installed.mkdir(parents=True)
    library = Path(shutil.copy(LIBRARY, installed))
    planted = open_folder / "lib" / "cpu_driver" / "libze_cpu.so"
    planted.parent.mkdir()
    compile_library(PLANTED, planted, "libze_cpu.so")
    program = compile_program(installed, library)
    marker = open_folder / "marker"
    for folder in (planted.parent, planted.parent.parent):
        folder.chmod(0o777)
        done = captured([program], env=clean_environment(MARKER=str(marker)))
        assert done.returncode == 1
        assert f"{folder} is writable by all users" in done.stdout
        assert not marker.exists()
        folder.chmod(0o755)


def test_gpu_beside_a_hostile_library_path(open_folder: Path) -> None:
    code = "import zemm\ntry: zemm.Engine('gpu')\nexcept Exception as error: print(error)"
    variables = clean_environment(LD_LIBRARY_PATH=str(open_folder))
    done = subprocess.run(["python3", "-c", code], env=variables, capture_output=True, text=True, timeout=100)
    assert f"{open_folder} is writable by all users" in done.stdout
    assert "LD_LIBRARY_PATH" in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a program as another user")
def test_set_uid_program(program: Path, open_folder: Path) -> None:
    """A user's environment does not choose what a program with other rights loads or writes."""
    planted = compile_library(PLANTED, open_folder / "planted.so", "planted.so")
    cache, here = open_folder / "cache", open_folder / "here"
    for folder in (cache, here):
        folder.mkdir()
        folder.chmod(0o777)
    marker = open_folder / "marker"
    variables = clean_environment(
        ZEMM_CPU_DRIVER=str(planted),
        ZE_CPU_OPENCL_LIBRARY=str(planted),
        ZE_CPU_CACHE_DIR=str(cache),
        ZEMM_CACHE="1",
        ZEMM_CACHE_DIR=str(cache / "modules"),
        XDG_CACHE_HOME=str(cache),
        HOME=str(cache),
        ZEMM_VERBOSE="all",
        CL_CONFIG_DUMP_BIN="True",
        MARKER=str(marker),
    )
    reached = subprocess.run([program], env=clean_environment(), user=65534, capture_output=True, timeout=100)
    if reached.returncode:
        pytest.skip("another user cannot reach the installation")
    program.chmod(0o4755)
    done = subprocess.run([program], env=variables, cwd=here, user=65534, capture_output=True, timeout=100)
    assert (done.stdout, done.returncode) == (b"right\n", 0)
    assert not marker.exists()
    assert not [*cache.rglob("*"), *here.rglob("*")]
    # A loader of Level Zero would load what this variable names.
    variables["ZE_ENABLE_ALT_DRIVERS"] = str(planted)
    done = subprocess.run([program], env=variables, cwd=here, user=65534, capture_output=True, timeout=100)
    assert (done.stdout, done.returncode) == (b"right\n", 0)
    assert not marker.exists()
