# SPDX-License-Identifier: Apache-2.0
"""Small matmuls and reorders on Intel's GPU driver in its dry-run (AUB) mode, which needs no GPU.

The driver is the real one: it compiles modules with Intel's compiler, creates kernels and fills
lists. It records the work instead of running it. Nothing is computed and timestamps never come, so
the tests check that every call succeeds. The record would be some hundred MB a run; it goes to
/dev/null.
"""

import ctypes
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
import zemm
from support_cases import PROBLEMS
from support_process import captured
from support_rows import BY_NAME, ROWS
from support_tree import ROOT
from zemm.benchdnn.grammar.case import Case

# The driver's settings: the size of the device, and a device id where it would report 0.
DEVICES = {
    "pvc": {"ProductFamilyOverride": "pvc", "HardwareInfoOverride": "1x8x8"},
    "dg2": {
        "ProductFamilyOverride": "dg2",
        "HardwareInfoOverride": "1x8x16",
        "ForceDeviceId": "0x56a0",
    },
}
# A device without XMX, used only where that makes a difference.
TIGER_LAKE = {
    "ProductFamilyOverride": "tgllp",
    "HardwareInfoOverride": "1x6x16",
    "ForceDeviceId": "0x9a49",
}
UNKNOWN = {"ProductFamilyOverride": "dg2", "HardwareInfoOverride": "1x8x16"}
# Registers that a row may spill: the row for any device with f4 by f4 and with f8, the others with
# K groups of floats that end early.
SPILLED = {
    ROWS[-1]: 12,
    "matmul_float_any_any_16x16x16_xe_fma": 18,
    "matmul_float_any_any_8x16x16_xe_fma": 4,
}
# The packages of the loader and of the driver, by the library that a process opens.
PACKAGES = {"libze_loader.so.1": "libze1", "libze_intel_gpu.so.1": "intel-opencl-icd"}


def missing_packages() -> list[str]:
    missing = []
    for library, package in PACKAGES.items():
        try:
            ctypes.CDLL(library)
        except OSError:
            missing.append(package)
    return missing


MISSING = missing_packages()
pytestmark = [
    pytest.mark.intel_gpu_driver,
    pytest.mark.skipif(
        bool(MISSING),
        reason=f"Intel's GPU driver is not installed: its dry run needs apt-get install {' '.join(MISSING)}",
    ),
]


def dry_run(
    settings: Mapping[str, str], tmp_path: Path, *command: str, timeout: int = 300, most: int = 0
) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("ZE_", "ZEMM_"))}
    env |= {
        "ZEMM_CACHE": "0",  # so that Intel's compiler builds everything
        "NEOReadDebugKeys": "1",
        "SetCommandStreamReceiver": "1",
        "AUBDumpCaptureFileName": "/dev/null",
        # The driver carries out copies by the host. Copies by the GPU are only recorded.
        "ExperimentalCopyThroughLock": "1",
        "ExperimentalH2DCpuCopyThreshold": str(1 << 30),
        "ExperimentalD2HCpuCopyThreshold": str(1 << 30),
        **settings,
    }
    result = captured([sys.executable, *command], env=env, cwd=tmp_path, timeout=timeout)
    assert 0 <= result.returncode <= most, f"exit code {result.returncode}\n{result.stdout}\n{result.stderr}"
    assert not list(tmp_path.glob("*.aub")), "the driver filled the disk with what it records"
    assert "is left out" not in result.stdout, result.stdout  # every row could be built
    return result


def worker(settings: Mapping[str, str], tmp_path: Path, *task: str) -> dict[str, Any]:
    result = dry_run(settings, tmp_path, str(ROOT / "tests" / "xe" / "dry_run_worker.py"), *task)
    answer: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return answer


def kernels_for_gpus() -> list[str]:
    """All rows except those that only a CPU takes."""
    return [name for name, row in BY_NAME.items() if row.is_xe or row.predicate == "on_any"]


@pytest.fixture(scope="session")
def rows_on(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, str] | Exception]:
    """The output of a device about each row, and a line of JSON at the end. One process runs all
    rows of a device.
    """

    @cache
    def printed(device: str) -> dict[str, str] | Exception:
        settings = {**DEVICES, "tgllp": TIGER_LAKE}[device] | {"ZEMM_VERBOSE": "warn"}
        command = (str(ROOT / "tests" / "xe" / "dry_run_worker.py"), "rows", *kernels_for_gpus())
        try:
            result = dry_run(settings, tmp_path_factory.mktemp(device), *command, timeout=1200)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            return error
        rows, lines = {}, ""
        for line in result.stdout.splitlines(keepends=True):
            lines += line
            if line.startswith('{"row": '):
                rows[json.loads(line)["row"]] = lines
                lines = ""
        return rows

    return printed


@pytest.mark.full
@pytest.mark.long
@pytest.mark.parametrize("row", kernels_for_gpus())
@pytest.mark.parametrize(
    "device", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in (*DEVICES, "tgllp")]
)
def test_row(device: str, row: str, rows_on: Callable[[str], dict[str, str] | Exception]) -> None:
    """Every row is built without a warning (such as of spilled registers) and launched."""
    rows = rows_on(device)
    if isinstance(rows, Exception):
        raise rows
    printed = rows[row]
    answer = json.loads(printed.splitlines()[-1])
    if not answer["sample"]:
        # A row may take no problem at all only if the device does not have something that the row
        # needs.
        (reason,) = {reason for reason in answer["reasons"] if "the device" in reason}
        pytest.skip(f"{row} on {device}: {reason}")
    # reorder.cl, which converts weights of other blocked layouts first, is no kernel of the row. One of
    # its registers spills on Xe-HPC with Debian's compiler.
    warnings = [line for line in printed.splitlines() if "warning: " in line]
    spilled = [int(count) for line in warnings for count in re.findall(r"spilled around (\d+);", line)]
    if spilled and max(spilled) <= SPILLED.get(row, 0):
        warnings = [line for line in warnings if "spilled around" not in line]
    assert all("building reorder for" in line for line in warnings), printed


@pytest.mark.full
@pytest.mark.long
@pytest.mark.parametrize("device", [*DEVICES, "tgllp"])
def test_reorders(device: str, tmp_path: Path) -> None:
    settings = {**DEVICES, "tgllp": TIGER_LAKE}[device] | {"ZEMM_VERBOSE": "warn"}
    result = dry_run(settings, tmp_path, str(ROOT / "tests" / "xe" / "dry_run_worker.py"), "reorders")
    assert "building reorder_pack_lanes for" not in result.stdout, (
        result.stdout
    )  # no warning, such as of spilled registers
    kernels = json.loads(result.stdout.splitlines()[-1])["kernels"]
    counts = {name: kernels.count(name) for name in set(kernels)}
    # Nine conversions, ten packings by each of two kernels, quantisations to integers and floats, sparse
    # tensors.
    more = {"quantize": 6, "quantize_floats": 12, "sparsify": 2, "densify": 2}
    if device == "pvc":
        more["reorder_f64"] = 3
    assert counts == {"reorder": 19, "reorder_pack_lanes": 10, **more}


@pytest.mark.parametrize("device", DEVICES)
def test_memory(device: str, tmp_path: Path) -> None:
    answer = worker(DEVICES[device], tmp_path, "memory")
    assert answer["wrong"] == []
    (sentence,) = answer["refused"]
    assert "write()" in sentence


# The size comes from HardwareInfoOverride. Clocks and caches are 0 in a dry run.
PVC = {
    "family": "xe_hpc",
    "name": "Xe-HPC",
    "ip": "12.60",
    "xe_cores": 8,
    "xves_per_core": 8,
    "sub_group": 16,
    "xmx_int8_ops": 1024,
    "xmx_f16_ops": 512,
    "grf_bytes": 64,
    "threads_128": 8,
    "threads_256": 4,
    "slm_per_core": 128 << 10,
    "slm_per_group": 128 << 10,
    "l1_per_core": 512 << 10,
}
DG2 = PVC | {
    "family": "xe_hpg",
    "name": "Xe-HPG",
    "ip": "12.55",
    "xves_per_core": 16,
    "sub_group": 8,
    "xmx_int8_ops": 256,
    "xmx_f16_ops": 128,
    "grf_bytes": 32,
    "slm_per_group": 64 << 10,
    "l1_per_core": 192 << 10,
}
TGLLP = {
    "family": "xe_lp",
    "name": "Xe-LP",
    "ip": "12.0",
    "xe_cores": 6,
    "xves_per_core": 16,
    "sub_group": 8,
    "grf_bytes": 32,
    "threads_128": 7,
    "slm_per_core": 128 << 10,
    "slm_per_group": 64 << 10,
    "l2_bytes": 1 << 20,
}


@pytest.mark.parametrize(
    ("settings", "model", "features", "sentence"),
    [
        (DEVICES["pvc"], PVC, ["dp4a", "xmx", "block_2d", "tf32"], "8 Xe cores of 8 XVEs"),
        (DEVICES["dg2"], DG2, ["dp4a", "xmx"], "XMX of 256 int8 operations"),
        (TIGER_LAKE, TGLLP, ["dp4a"], "7 threads of 128"),
        (DEVICES["pvc"] | {"ZEMM_DEVICE_MASK": "xmx"}, PVC, ["dp4a", "block_2d"], "Xe-HPC (IP 12.60)"),
        (DEVICES["pvc"] | {"ZEMM_DEVICE_MASK": "block_2d,dp4a"}, PVC, ["xmx", "tf32"], "128 KB SLM"),
        (
            UNKNOWN,
            {
                "family": "unknown",
                "name": "unknown",
                "xe_cores": 8,
                "xves_per_core": 16,
                "sub_group": 8,
                "slm_per_group": 64 << 10,
            },
            [],
            "unknown, 8 Xe cores of 16 XVEs, sub-groups of 8",
        ),
    ],
    ids=["pvc", "dg2", "tgllp", "pvc without xmx", "pvc without block_2d", "a GPU that is not in the table"],
)
def test_model(
    tmp_path: Path, settings: dict[str, str], model: dict[str, str | int], features: list[str], sentence: str
) -> None:
    answer = worker(settings, tmp_path, "model")
    memory = [answer["model"].pop(name) for name in ("memory_bytes", "max_alloc_bytes")]
    assert min(memory) > 1 << 30
    assert answer["model"] == model
    assert answer["features"] == features
    assert sentence in answer["doctor"]["model"]
    assert answer["kernel"] in kernels_for_gpus()
    assert BY_NAME[answer["kernel"]].is_dp4a == (features == ["dp4a"])


# Kinds of cases that the worker does not have, run with zemm-benchdnn: batches, transposed layouts,
# reductions, empty tensors, steps, groups.
DRIVER_CASES = """
--dt=f32 --wtag=ba 17x33:33x29
--reset --stag=acb --wtag=abc 2x7x9:2x9x5
--reset --dt=s8:u8:f16 --wtag=ba --attr-scales=src:per_tensor:f16:1x32+wei:per_oc:f16 \
--attr-zero-points=wei:per_oc:u8 --attr-precomputed-reductions=src:per_tensor:s32:1x32 7x64:64x48
--reset --attr-scratchpad=user --dt=s8:u8:f32 --attr-zero-points=wei:common:3 7x64:64x48
--reset 0x16:16x8
--reset --attr-dropout=0.5:1:any:7:true --attr-post-ops=sum+relu 17x33:33x29
--reset --dt=f32:f32:f8_e4m3 --attr-scales=dst:mx:e8m0:1x32 7x64:64x64
--reset --stag=AB16b16a --dtag=AB16b16a 33x47:47x19
--reset --dt=bf16 --attr-rounding-mode=dst:stochastic 7x64:64x64
--reset --dt=f16 --wtag=any,abc --grouped=0:3:5+0+12 17x64:3x64x48
--reset --dt=s8:u8:f16 --wtag=acb --attr-scales=src:3:f16:1x32+wei:7:f16:32x1 --attr-zero-points=wei:5:u8 \
--grouped=0:2:40+60 100x64:2x64x48
--reset --dt=f32 --grouped=1:3:20+0+12 7x32:32x48
"""


def driver(device: str, mode: str, lines: str, tmp_path: Path) -> tuple[int, ...]:
    """How many case lines the driver has run, how many of them the library refused, and how many failed."""
    batch = tmp_path / "dry_run_cases"
    batch.write_text(lines)
    command = ("-m", "zemm.benchdnn", "--engine=gpu", f"--mode={mode}", "--matmul", f"--batch={batch}")
    result = dry_run(DEVICES[device], tmp_path, *command, timeout=1200, most=1)
    summary = r"tests:(\d+) .*unimplemented:(\d+) invalid_arguments:(\d+) failed:(\d+)"
    (counts,) = re.findall(summary, result.stdout)
    count, unimplemented, invalid, failed = map(int, counts)
    return count, unimplemented + invalid, failed


@pytest.mark.parametrize("device", DEVICES)
def test_driver(device: str, tmp_path: Path) -> None:
    for mode in "IR":
        assert driver(device, mode, DRIVER_CASES, tmp_path) == (13, 0, 0)


def with_strides(case: Case) -> Case:
    """The case as a line says it: a tensor has strides or a tag."""
    src, wei, dst = ("any" if strides else tag for tag, strides in zip(case.tags, case.strides, strict=True))
    return replace(case, tags=(src, wei, dst))


@pytest.mark.full
@pytest.mark.long
@pytest.mark.parametrize("device", DEVICES)
def test_problems(device: str, tmp_path: Path) -> None:
    """Of the kernels' tests: of all types, by the kernel that the library chooses."""
    lines = [f"--reset {with_strides(problem.case).full_repro()}" for problem in list(PROBLEMS.values())[::4]]
    count, refused, failed = driver(device, "R", "\n".join(lines), tmp_path)
    assert count == len(lines)
    assert failed == refused < count / 8


def test_f64(tmp_path: Path) -> None:
    """It runs where the device has it. Where it has not, the library refuses it, and the driver skips it."""
    command: tuple[str, ...] = (
        "-m",
        "zemm.benchdnn",
        "--engine=gpu",
        "--mode=R",
        "--matmul",
        "--dt=f64",
        "--bia-dt=f64",
    )
    command += ("--attr-post-ops=relu", "33x47:47x19")
    assert "0:EXECUTED" in dry_run(DEVICES["pvc"], tmp_path, *command).stdout
    settings = DEVICES["dg2"]
    output = dry_run(settings, tmp_path, *command).stdout
    assert "0:SKIPPED (Data type not supported)" in output
    assert "has no arithmetic in f64" in output


LIMITS = """
import json, zemm
from typing import get_args
engine, found = zemm.Engine("gpu"), {}
for what in get_args(zemm.words.Peak):
    try:
        engine.measure_peak(what)
    except (NotImplementedError, RuntimeError) as error:
        found[what] = str(error)
print(json.dumps(found))
"""


@pytest.mark.quick(cases=lambda device: device == "pvc")
@pytest.mark.parametrize("device", DEVICES)
def test_limits(device: str, tmp_path: Path) -> None:
    """Loops of DPAS are built and launched; times never come. All others are for CPUs."""
    done = dry_run(DEVICES[device], tmp_path, "-c", LIMITS)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.keys() == set(get_args(zemm.words.Peak))
    for name, sentence in found.items():
        if device == "dg2" and name == "xmx_tf32":
            assert "does not report tf32" in sentence
        else:
            assert ("timestamps" if name.startswith("xmx") else "on CPU devices only") in sentence, name
