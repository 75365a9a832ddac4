# SPDX-License-Identifier: Apache-2.0
"""zemm-doctor, which is also `python -m zemm`: reports what zemm found on this machine, what is
missing and which package contains it.

The exit code is 0 only if at least one device just computed a small matmul correctly. Each driver
is tried in a child process, so that a crash or hang is reported and does not end zemm-doctor.
"""

import argparse
import importlib.metadata
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zemm._terminal.console import program

Facts = dict[str, Any]

TIMEOUT = 120  # seconds for one device, whose first launch compiles kernels
SPIRV_MAGIC = b"\x03\x02\x23\x07"
LOADER_HINT = (
    "install the Level Zero loader: apt-get install libze1 (Debian, Ubuntu), level-zero (Fedora, Arch)"
)
GPU_HINT = (
    "install Intel's GPU driver: apt-get install intel-opencl-icd (Debian) or libze-intel-gpu1 (Ubuntu)"
)
CPU_HINT = "pip install 'zemm[cpu]' (that is intel-opencl-rt and intel-cmplr-lib-rt)"
CPU_PACKAGES = ("intel-opencl-rt", "intel-cmplr-lib-rt")


def run_probe(what: str, index: int = 0, timeout: float = TIMEOUT) -> Facts:
    """Run one probe in a child process and return its facts. "error" says how the child failed."""
    command = [sys.executable, "-m", "zemm.doctor", "--probe", what, str(index)]
    env = dict(os.environ)
    env["ZEMM_VERBOSE"] = "warn,dispatch" if "ZEMM_TUNING" in env else "warn"
    if what.startswith("cold"):
        env["ZEMM_CACHE"] = "0"
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=timeout, env=env
        )
    except subprocess.TimeoutExpired:
        return {"error": f"no answer within {timeout:g} s"}
    except (OSError, MemoryError) as error:  # too few processes, files or memory
        return {"error": f"no process can be started for it ({str(error) or 'out of memory'})"}
    if done.returncode < 0:
        return {
            "error": f"the process died with {signal.Signals(-done.returncode).name}{_last_line(done.stderr)}"
        }
    try:
        facts = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        return {"error": f"the process ended with exit code {done.returncode}{_last_line(done.stderr)}"}
    if not isinstance(facts, dict):
        return {"error": f"unexpected answer {facts!r}"}
    if said := re.search(r",ZEMM_TUNING: (.*)", done.stdout):
        facts["tuning"] = said[1]
    facts["warnings"] = re.findall(r",common,warn,(ZE(?:MM)?_(?!TUNING)\w+: .*)", done.stdout)
    return facts


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return f": {lines[-1]}" if lines else ""


def line(name: str, text: object) -> None:
    print(f"  {name:<10} {text}")


def report_library(verbose: bool) -> bool:
    """Report the package, libzemm.so and its kernels, if verbose with their names. False if the
    package cannot be imported."""
    print("zemm")
    try:
        import zemm
        from zemm._doctor.child import loaded_library
    except ImportError as error:
        line("missing", f"the package does not load ({error}); reinstall it: pip install zemm")
        return False
    line("version", zemm.__version__)
    path = loaded_library("libzemm.so")
    line("library", path or "libzemm.so not found among the loaded libraries")
    if path:
        count, names = spirv_kernels(Path(path))
        line("kernels", f"{count} SPIR-V modules embedded, {len(names)} matmul kernels (-v names them)")
        for name in names if verbose else []:
            line("", name)
    return True


def spirv_kernels(library: Path) -> tuple[int, list[str]]:
    """The number of SPIR-V modules in a library and the names of its matmul kernels, found in the
    file's bytes."""
    data = library.read_bytes()
    modules = re.findall(re.escape(SPIRV_MAGIC) + rb"\x00[\x00-\x09]\x01\x00", data)
    names = set(re.findall(rb"\x00(matmul_\w+_\d+x\d+x\d+_\w+)\x00", data.replace(b"\x00", b"\x00\x00")))
    return len(modules), sorted(name.decode() for name in names)


def report_loader() -> list[str]:
    """Report loader, drivers and devices. Returns the names of the GPUs."""
    print("Level Zero loader")
    facts = run_probe("loader")
    devices = facts.get("devices", [])
    if facts.get("path"):
        line("library", facts["path"])
        if version := re.search(r"\.so\.(\d+\.\d+\.\d+)$", facts["path"]):
            line("version", version[1])
    for device in devices:
        version_text = f"driver {device['driver']}, version 0x{device['driver_version']:x}"
        line(device["kind"], f"{device['name']} ({version_text})")
    gpus = [device["name"] for device in devices if device["kind"] == "gpu"]
    if "error" in facts:
        line("problem", facts["error"])
    if not facts.get("path"):
        line("missing", f"for GPUs {LOADER_HINT}")
    elif not gpus:
        found = facts.get("absent", "none is visible")
        line("no GPU", f"{found}. If there is a GPU, {GPU_HINT}, and see that /dev/dri/renderD* is readable")
    return gpus


def report_device(kind: str, index: int) -> bool:
    """Report one device. Returns whether it computed a small matmul correctly."""
    print(f"Device {kind}:{index}")
    facts = run_probe(kind, index)
    for name in (
        "name",
        "model",
        "features",
        "amx",
        "software",
        "threads",
        "driver",
        "runtime",
        "kernel",
        "tuning",
    ):
        if facts.get(name):
            line(name, facts[name])
        if name == "features" and (mask := os.environ.get("ZEMM_DEVICE_MASK")):
            line("mask", f"ZEMM_DEVICE_MASK={mask} hides what it names")
    for warning in facts.get("warnings", []):
        line("warning", warning)
    right = "error" not in facts and facts.get("wrong") == 0
    if right:
        line(
            "matmul", f"s8:u8 with zero points and precomputed reductions: all {facts['values']} values right"
        )
        report_cold_start(kind, index)
    else:
        line("problem", facts.get("error", "the matmul did not run"))
        if kind == "cpu" and not facts.get("runtime"):
            report_packages()
    return right


def report_cold_start(kind: str, index: int) -> None:
    """Report what a program waits for that finds no kernels on disk, as measured now."""
    facts = run_probe(f"cold-{kind}", index)
    if "build" in facts:
        text = f"{facts['open']:.1f} s to open the device, {facts['build']:.1f} s to build a kernel (measured"
        line("cold start", f"{text} now, without the cache); a model has several: zemm-doctor --warm")


def report_cache() -> None:
    """Report where built kernels are kept, how many there are, or why none are."""
    from zemm._library import library
    from zemm.errors import InvalidArgumentsError

    print("Kernel cache")
    try:
        folder = Path(library.cache_folder())
    except InvalidArgumentsError as error:
        line("problem", f"{error}. Each process builds its kernels")
        return
    line("folder", folder)
    sizes = [path.stat().st_size for path in folder.glob("*.zemm")]
    line("holds", f"{len(sizes)} kernels, {sum(sizes) / 1e6:.1f} MB (ZEMM_CACHE_SIZE limits it)")
    if not os.access(folder, os.W_OK):
        line("problem", "this user cannot write to it: each process builds the kernels that are missing")


def report_packages() -> None:
    """Report which packages of the OpenCL CPU runtime are installed."""
    for package in CPU_PACKAGES:
        try:
            line("package", f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            line("missing", f"{package}: {CPU_HINT}")


def examine(verbose: bool) -> bool:
    if not report_library(verbose):
        return False
    report_cache()
    gpus = report_loader()
    working = [f"gpu:{index}" for index in range(len(gpus)) if report_device("gpu", index)]
    if report_device("cpu", 0):
        working.append("cpu:0")
    if working:
        print(f"Good: {', '.join(working)} just ran a matmul right.")
    else:
        print("Not usable: no device ran a matmul right. What is missing is named above.")
    return bool(working)


def warm(file: str) -> int:
    """Build the kernels of a case file or log into the cache on disk. Returns the exit code."""
    import zemm

    try:
        done = zemm.warm(file, echo=print)
    except zemm.ZemmError as error:
        print(f"zemm-doctor: {error}", file=sys.stderr)
        return 1
    print(f"{done.built} kernels built for {done.cases} cases in {done.seconds:.1f} s")
    return 1 if done.refused else 0


@program
def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        "zemm-doctor", description="What zemm found, what is missing, which package has it."
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="name all kernels")
    parser.add_argument(
        "--warm",
        metavar="CASEFILE",
        help="build the kernels of these cases (a file for zemm-benchdnn, or a log of ZEMM_VERBOSE=profile) "
        "into the cache on disk, and nothing else",
    )
    parser.add_argument("--probe", nargs=2, metavar=("WHAT", "INDEX"), help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.probe:
        from zemm._doctor import child

        return child.main(arguments.probe[0], int(arguments.probe[1]))
    if arguments.warm:
        return warm(arguments.warm)
    try:
        return 0 if examine(arguments.verbose) else 1
    except BrokenPipeError:
        raise
    except (OSError, MemoryError) as error:  # a limit of the system
        print(f"zemm-doctor: cannot go on: {str(error) or 'out of memory'}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
