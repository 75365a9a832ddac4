# SPDX-License-Identifier: Apache-2.0
"""The disk cache of built modules, observed in the logs of processes that share a folder."""

import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# A matmul that sums its src, because it has zero points: that takes two modules. The result is
# compared, which shows that a module loaded from the folder is the right one.
SCRIPT = """
import sys, numpy as np, zemm
rng = np.random.default_rng(1)
n = int(sys.argv[1]) if len(sys.argv) > 1 else 24
a = rng.integers(-128, 128, (5, 64), dtype=np.int8)
b = rng.integers(0, 256, (64, n), dtype=np.uint8)
zp = rng.integers(0, 256, (1, n), dtype=np.uint8)
y = zemm.matmul(a, b, weights_zero_points=zp, dst_dtype="f32")
assert np.array_equal(y, (a.astype(np.int64) @ (b.astype(np.int64) - zp)).astype(np.float32))
"""
VARIABLES = (
    "ZEMM_CACHE",
    "ZEMM_CACHE_DIR",
    "ZEMM_CACHE_SIZE",
    "XDG_CACHE_HOME",
    "ZEMM_KERNEL",
    "ZEMM_DEVICE_MASK",
)
KERNEL = "matmul_any_any_any_64x32x64_generic"  # the kernel that builds fastest
MODULES = 2


def start(
    folder: Path | str | None = None, *, cwd: Path | None = None, script: str = SCRIPT, **variables: str
) -> subprocess.Popen[str]:
    env = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    if folder is not None:
        env["ZEMM_CACHE_DIR"] = str(folder)
    env |= {"ZEMM_VERBOSE": "warn,profile_create", "ZEMM_KERNEL": KERNEL} | variables
    command = [sys.executable, "-c", script]
    return subprocess.Popen(
        command, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def finish(process: subprocess.Popen[str]) -> tuple[str, list[str]]:
    """Wait for the process. Returns the cache's answer at creation, and the warnings."""
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    (found,) = re.findall(r"primitive,create:(\w+),", output)
    return found, [line for line in output.splitlines() if ",warn," in line]


def run(
    folder: Path | str | None = None, *, cwd: Path | None = None, **variables: str
) -> tuple[str, list[str]]:
    return finish(start(folder, cwd=cwd, **variables))


MISS: tuple[str, list[str]] = ("cache_miss", [])
HIT: tuple[str, list[str]] = ("persistent_cache_hit", [])


def entries(folder: Path) -> list[Path]:
    """The files of the folder. They must all be entries."""
    files = sorted(folder.iterdir())
    assert all(re.fullmatch(r"[0-9a-f]{32}\.zemm", file.name) for file in files), files
    return files


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("original") / "cache"
    assert run(folder) == MISS
    return {file.name: file.read_bytes() for file in entries(folder)}


@pytest.fixture
def folder(tmp_path: Path, original: dict[str, bytes]) -> Path:
    """A folder with all entries."""
    made = tmp_path / "cache"
    made.mkdir(0o700)
    for name, content in original.items():
        (made / name).write_bytes(content)
        (made / name).chmod(0o600)
    return made


def test_second_process_hits(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "yet"
    assert run(folder) == MISS
    assert len(entries(folder)) == MODULES
    assert {path.stat().st_mode & 0o777 for path in (folder, folder.parent)} == {0o700}
    assert {file.stat().st_mode & 0o777 for file in entries(folder)} == {0o600}
    before = [file.read_bytes() for file in entries(folder)]
    assert run(folder) == HIT
    assert [file.read_bytes() for file in entries(folder)] == before


def test_one_module_missing_is_a_miss(folder: Path) -> None:
    entries(folder)[0].unlink()
    assert run(folder) == MISS
    assert run(folder) == HIT


def flip(position: int) -> Callable[[bytes], bytes]:
    def damage(content: bytes) -> bytes:
        damaged = bytearray(content)
        damaged[position] ^= 0x10
        return bytes(damaged)

    return damage


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "magic": flip(0),
    "checksum": flip(12),
    "binary size": flip(30),
    "key": flip(50),
    "binary": flip(4096),
    "empty": lambda content: b"",
    "in the header": lambda content: content[:20],
    "half": lambda content: content[: len(content) // 2],
    "one byte less": lambda content: content[:-1],
    "one byte more": lambda content: content + b"\0",
    "foreign": lambda content: b"\x7fELF" + bytes(range(256)) * 40,
    "huge": lambda content: content + bytes(65 << 20),
}


@pytest.mark.quick(cases=lambda damage: damage is DAMAGE["checksum"])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_entry_is_replaced(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    victim = entries(folder)[0]
    victim.write_bytes(damage(victim.read_bytes()))
    found, warnings = run(folder)
    assert found == "cache_miss"
    (warning,) = warnings
    assert victim.name in warning
    assert run(folder) == HIT


def test_folder_in_place_of_an_entry(folder: Path) -> None:
    victim = entries(folder)[0]
    victim.unlink()
    victim.mkdir()
    found, warnings = run(folder)
    assert found == "cache_miss"
    assert len(warnings) == 2  # the entry cannot be read, and cannot be replaced
    assert victim.is_dir()


def link(victim: Path) -> None:
    victim.symlink_to(victim.rename(victim.parents[1] / "elsewhere"))


def pipe(victim: Path) -> None:
    victim.unlink()
    os.mkfifo(victim)


def other(victim: Path) -> None:
    victim.write_bytes(entries(victim.parent)[1].read_bytes())


@pytest.mark.quick(cases=lambda spoil: spoil in (link, other))
@pytest.mark.parametrize("spoil", [link, pipe, other, lambda victim: victim.chmod(0o666)])
def test_what_is_no_entry_is_replaced(folder: Path, spoil: Callable[[Path], None]) -> None:
    """A link, a pipe, the undamaged entry of another module, and a file that others could write to."""
    victim = entries(folder)[0]
    before = victim.read_bytes()
    spoil(victim)
    found, warnings = run(folder)
    assert (found, len(warnings)) == ("cache_miss", 1)
    assert victim.name in warnings[0]
    assert not victim.is_symlink()
    assert victim.stat().st_mode & 0o777 == 0o600
    if spoil is link:
        assert (folder.parent / "elsewhere").read_bytes() == before
    assert run(folder) == HIT


def test_settings_of_the_runtime_have_entries_of_their_own(folder: Path) -> None:
    assert run(folder, CL_CONFIG_ZEMM_TEST="1") == MISS
    assert run(folder, CL_CONFIG_ZEMM_TEST="1") == HIT
    assert run(folder) == HIT
    assert len(entries(folder)) == 2 * MODULES


def test_the_runtime_s_own_settings_are_part_of_the_key(folder: Path, tmp_path: Path) -> None:
    """The runtime in another folder has the same entries, unless its cl.cfg there says something else."""
    runtime = Path(sys.prefix) / "lib"
    if not (runtime / "libintelocl.so").exists():
        pytest.skip("the OpenCL runtime is not in this environment")
    for file in runtime.iterdir():
        if file.name not in ("cl.cfg", "libintelocl.so"):
            (tmp_path / file.name).symlink_to(file)
    chosen = str(tmp_path / "libintelocl.so")
    try:
        os.link(runtime / "libintelocl.so", chosen)
    except OSError:  # another file system
        shutil.copy(runtime / "libintelocl.so", chosen)
    text = (runtime / "cl.cfg").read_text()
    (tmp_path / "cl.cfg").write_text(f"# a comment\n{text}")
    assert run(folder, ZE_CPU_OPENCL_LIBRARY=chosen) == HIT
    (tmp_path / "cl.cfg").write_text(f"{text}\nCL_CONFIG_ZEMM_TEST = 1\n")
    assert run(folder, ZE_CPU_OPENCL_LIBRARY=chosen) == MISS
    assert run(folder, ZE_CPU_OPENCL_LIBRARY=chosen) == HIT
    assert run(folder) == HIT


def test_configuration_in_the_current_directory_is_not_read(folder: Path, tmp_path: Path) -> None:
    """With this target, the runtime would report a CPU of another name, and make other code."""
    (tmp_path / "cl.cfg").write_text("CL_CONFIG_CPU_TARGET_ARCH = corei7\n")
    assert run(folder, cwd=tmp_path) == HIT


def test_rows_do_not_share_entries(folder: Path) -> None:
    assert run(folder, ZEMM_KERNEL="matmul_any_any_any_8x1x16_generic") == MISS
    assert len(entries(folder)) == MODULES + 1  # the kernel that sums src is the same


# ---- folders


@pytest.mark.quick(cases=lambda below_a_file: below_a_file)
@pytest.mark.parametrize("below_a_file", [False, True])
def test_folder_that_cannot_be_made(tmp_path: Path, below_a_file: bool) -> None:
    (tmp_path / "file").write_text("mine")
    folder = tmp_path / "file" / "cache" if below_a_file else tmp_path / "file"
    found, warnings = run(folder)
    assert found == "cache_miss"
    (warning,) = warnings
    assert str(folder) in warning
    assert "ZEMM_CACHE=0" in warning
    assert (tmp_path / "file").read_text() == "mine"


def test_home_in_which_nothing_can_be_made() -> None:
    """The warning names the folder that is at fault. Nobody, not even root, makes folders in /sys."""
    found, warnings = run(HOME="/sys")
    assert found == "cache_miss"
    (warning,) = warnings
    assert "the folder /sys/.cache/zemm cannot be made (/sys/.cache: " in warning
    assert "No such file" not in warning


@pytest.mark.quick(cases=lambda mode: mode == 0o777)
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770])
def test_folder_that_others_can_write(folder: Path, mode: int) -> None:
    folder.chmod(mode)
    before = entries(folder)
    found, warnings = run(folder)
    assert found == "cache_miss"
    (warning,) = warnings
    assert "chmod go-w" in warning
    assert entries(folder) == before


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """Files cannot grow beyond 1000 bytes, as on a full disk."""
    folder = tmp_path / "cache"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        process = start(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    found, warnings = finish(process)
    assert found == "cache_miss"
    (warning,) = warnings
    assert str(folder) in warning
    assert entries(folder) == []


def test_folder_that_is_removed(tmp_path: Path) -> None:
    """While a process runs: it is made again."""
    folder = tmp_path / "cache"
    more = "import shutil; shutil.rmtree(sys.argv[2]); zemm.matmul(a, a.T.copy(), dst_dtype='s32')"
    script = f"import sys; sys.argv += ['24', {str(folder)!r}]\n{SCRIPT}\n{more}"
    output, _ = start(folder, script=script).communicate(timeout=120)
    assert entries(folder), output
    assert ",warn," not in output


@pytest.mark.full
def test_off(folder: Path, tmp_path: Path) -> None:
    assert run(folder, ZEMM_CACHE="0") == MISS
    assert run(tmp_path / "none", ZEMM_CACHE="0") == MISS
    assert not (tmp_path / "none").exists()


# ---- several processes, and size


def test_processes_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    processes = [start(folder) for _ in range(4)]
    assert {finish(process)[0] for process in processes} <= {"cache_miss", "persistent_cache_hit"}
    assert len(entries(folder)) == MODULES
    assert run(folder) == HIT


def test_oldest_entries_leave(folder: Path) -> None:
    old = [folder / f"{i:032x}.zemm" for i in range(8)]
    for i, file in enumerate(old):
        file.write_bytes(bytes(200 << 10))
        os.utime(file, (1000 + i, 1000 + i))
    kept = [folder / "notes.txt", folder / ".new-fresh.zemm123456"]
    for file in kept:
        file.write_bytes(bytes(2 << 20))
    os.utime(kept[0], (1, 1))
    stale = folder / ".new-stale.zemm123456"
    stale.write_bytes(b"")
    os.utime(stale, (1, 1))
    mine = [file for file in folder.iterdir() if file not in (*old, *kept, stale)]
    mine[0].unlink()  # so that one entry is written
    assert run(folder, ZEMM_CACHE_SIZE="1") == MISS
    assert all(file.exists() for file in (*mine, *kept))
    assert not stale.exists()
    left = [file.exists() for file in old]
    assert left == sorted(left)  # the oldest were removed
    assert sum(file.stat().st_size for file in folder.glob("*.zemm")) <= 1 << 20
    assert left[-1]


def test_a_hit_makes_an_entry_young(folder: Path) -> None:
    for file in entries(folder):
        os.utime(file, (1, 1))
    assert run(folder) == HIT
    assert all(file.stat().st_mtime > 1e9 for file in entries(folder))


@pytest.mark.full
def test_size(tmp_path: Path) -> None:
    found, warnings = run(tmp_path / "cache", ZEMM_CACHE_SIZE="many")
    assert found == "cache_miss"
    (warning,) = warnings
    assert '"many"' in warning
    assert len(entries(tmp_path / "cache")) == MODULES
    assert run(tmp_path / "none", ZEMM_CACHE_SIZE="0") == MISS
    assert entries(tmp_path / "none") == []
