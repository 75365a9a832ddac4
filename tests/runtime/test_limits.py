# SPDX-License-Identifier: Apache-2.0
"""The table of docs/reliability.md: the CPU device under each limit of the system, set before the first use
and after it. A program under a limit gets the right result or a sentence. It never crashes or hangs, and it
leaves no files. Once the limit is lifted it works. limits_program.c sets the limits.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support_planted import LIBRARY, clean_environment
from support_tree import ROOT

SECONDS = 300  # a program takes one, or eight if it builds kernels twice

RIGHT = "right"
MEMORY = "MB more of"  # memory or address space, with the ulimit
NO_MEMORY = ("out of host memory", "OUT_OF_HOST_MEMORY")
THREADS = ("can be started", "cannot be opened", RIGHT)  # or this user cannot read the library, or is root
FILES = "Too many open files"
CODE = "may not execute memory that it has written"
PROC = "mount /proc"

# For each limit, where it comes before the first use and where it comes later: its value, and parts of the
# sentence of which one must be there. A limit of memory is added to what the process has; sizes are in kB.
Case = tuple[int, tuple[str, ...]]
WORKS: tuple[Case, Case] = ((0, (RIGHT,)), (0, (RIGHT,)))
TABLE: dict[str, tuple[Case, Case]] = {
    "as": ((50_000, (MEMORY,)), (0, (MEMORY,))),
    "data": ((80_000, (MEMORY,)), (8000, (MEMORY,))),
    "exhausted": ((1024, NO_MEMORY), (4096, NO_MEMORY)),
    "fsize": ((10, (RIGHT,)), (10, (RIGHT,))),
    "stack": ((64, (RIGHT,)), (64, (RIGHT,))),
    "thread": ((32, (RIGHT,)), (32, (RIGHT,))),
    "nofile": ((3, (FILES,)), (3, (RIGHT,))),
    "memlock": WORKS,
    "nproc": ((0, THREADS), (0, (RIGHT,))),
    "/proc": ((0, (PROC,)), (0, (RIGHT,))),
    "/sys": WORKS,
    "/dev": WORKS,
    "/dev/shm": WORKS,
    "/tmp": WORKS,
    "readonly": WORKS,
    "memfd_create": WORKS,
    "mlock": WORKS,
    "sched_setaffinity": WORKS,
    "mdwe": ((0, (CODE,)), (0, (CODE,))),
    "cpu": ((20, (RIGHT,)), (20, (RIGHT,))),
    "memory": ((600_000, (RIGHT,)), (600_000, (RIGHT,))),
}
# Others that a sandbox may have, in the full tier.
MORE = ("sched_getaffinity", "clone3", "prlimit64", "madvise", "membarrier")
# Values around those at which something else fails first.
SWEEPS = {
    "data": [0, 500, *range(1000, 20_000, 3000), *range(30_000, 190_000, 8000)],
    "as": [0, 1000, *range(4000, 20_000, 4000), *range(50_000, 600_000, 50_000)],
    "exhausted": [1 << bits for bits in range(4, 21)],
    "nofile": [0, 1, 2, 3, 4, 5, 6, 8, 12, 20],
    "fsize": [0, 1, 50, 100, 1000],
    "thread": [24, 48, 64, 96, 128, 192, 256, 512, 1024],
}
# Limits under which zemm-doctor runs: values at which Python itself starts.
DOCTOR = {
    "/proc": 0,
    "nofile": 8,
    "data": 100_000,
    "as": 400_000,
    "mdwe": 0,
    "fsize": 100,
    "stack": 256,
    "/dev": 0,
    "/sys": 0,
    "/tmp": 0,
    "sched_getaffinity": 0,
    "clone3": 0,
}
QUICK_DOCTOR = ("/proc", "nofile")


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("limits") / "program"
    source = Path(__file__).with_name("limits_program.c")
    flags = [f"-I{ROOT / 'include'}", str(LIBRARY), f"-Wl,-rpath,{LIBRARY.parent}", "-pthread"]
    subprocess.run(["cc", "-O1", "-Wall", "-Wextra", str(source), "-o", str(output), *flags], check=True)
    return output


@pytest.fixture(scope="session")
def kernels(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the kernels of the program."""
    folder = tmp_path_factory.mktemp("kernels")
    folder.chmod(0o700)
    assert run(program, "none", 0, "first", folder, folder) == [RIGHT]
    return folder


@pytest.fixture(autouse=True)
def groups() -> Iterator[None]:
    """Removes the control groups that a program has made."""
    yield
    for controller in ("cpu", "memory"):
        for above in ("", controller):
            with suppress(OSError):
                (Path("/sys/fs/cgroup") / above / f"zemm_limits_{controller}").rmdir()


def run(program: Path, limit: str, value: int, when: str, cache: Path, folder: Path) -> list[str]:
    """Run the program in a folder. Returns what it printed, line by line."""
    command = [str(program), limit, str(value), when]
    if when == "exec":
        command += [str(program), "none", "0", "first"]
    variables = {"ZEMM_CACHE": "1", "ZEMM_CACHE_DIR": str(cache), "ZEMM_VERBOSE": "none"}
    env = clean_environment(**variables, VIRTUAL_ENV=sys.prefix)  # which has the OpenCL runtime
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode == 77:
        pytest.skip(done.stdout)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return [line for line in done.stdout.splitlines() if line.startswith((RIGHT, "refused: "))]


def check(lines: list[str], when: str, allowed: tuple[str, ...], cache: Path, folder: Path) -> None:
    if when in ("opened", "later"):
        assert lines.pop(0) == RIGHT
    (outcome,) = lines
    assert any(part in outcome for part in allowed), outcome
    assert not list(folder.iterdir())
    assert not [file for file in cache.iterdir() if file.suffix != ".zemm"]


@pytest.mark.quick(cases=lambda limit: TABLE[limit] is not WORKS)
@pytest.mark.each_value
@pytest.mark.parametrize("when", ["first", "later"])
@pytest.mark.parametrize("limit", TABLE)
def test_each(program: Path, kernels: Path, tmp_path: Path, limit: str, when: str) -> None:
    value, allowed = TABLE[limit][when == "later"]
    cache, folder = kernels, tmp_path / "folder"
    folder.mkdir()
    if limit == "fsize":
        cache = tmp_path / "cache"
        cache.mkdir(0o700)
    lines = run(program, limit, value, when, cache, folder)
    check(lines, when, allowed, cache, folder)


def test_program_with_a_small_stack(program: Path, kernels: Path, tmp_path: Path) -> None:
    """All of its threads, as after `ulimit -s`."""
    lines = run(program, "stack", 96, "exec", kernels, tmp_path)
    check(lines, "first", (RIGHT,), kernels, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("when", ["first", "later"])
@pytest.mark.parametrize("limit", MORE)
def test_more(program: Path, kernels: Path, tmp_path: Path, limit: str, when: str) -> None:
    check(run(program, limit, 0, when, kernels, tmp_path), when, (RIGHT,), kernels, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("when", ["first", "opened", "later"])
@pytest.mark.parametrize(("limit", "value"), [(limit, v) for limit, all in SWEEPS.items() for v in all])
def test_sweep(program: Path, kernels: Path, tmp_path: Path, limit: str, value: int, when: str) -> None:
    """Half of the cases build kernels. "opened": the device is open, but has built none."""
    builds = SWEEPS[limit].index(value) % 2 == (when == "later")
    cache, folder = tmp_path / "cache" if builds else kernels, tmp_path / "folder"
    cache.mkdir(0o700, exist_ok=True)
    folder.mkdir()
    lines = run(program, limit, value, when, cache, folder)
    check(lines, when, (RIGHT, "refused: "), cache, folder)


@pytest.mark.parametrize(
    "limit",
    [limit if limit in QUICK_DOCTOR else pytest.param(limit, marks=pytest.mark.full) for limit in DOCTOR],
)
def test_doctor(program: Path, tmp_path: Path, limit: str) -> None:
    """It ends with its verdict and never with a traceback."""
    command = [str(program), limit, str(DOCTOR[limit]), "exec", sys.executable, "-m", "zemm"]
    env = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode == 77:
        pytest.skip(done.stdout)
    said = done.stdout + done.stderr
    if "editable" in said:
        pytest.skip("the import first looks whether an editable package is up to date, which fails here")
    assert done.returncode in (0, 1), said
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith(("Good: ", "Not usable: ", "zemm-doctor: "))
