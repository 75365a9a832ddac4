# SPDX-License-Identifier: Apache-2.0
"""Small matmuls and reorders against Intel's GPU driver in its dry-run (AUB) mode, which needs no GPU.

The driver is the real one: modules are compiled by Intel's compiler, kernels are created, lists are filled.
It records the work instead of running it, so nothing is computed and timestamps never come: what is checked
is that every call succeeds. What it records would be some hundred MB a run; it goes to /dev/null.
"""

import ctypes
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from dry_run_worker import cases

ROOT = Path(__file__).resolve().parents[1]
DEVICES = {"pvc": "1x8x8", "dg2": "1x8x16"}
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
pytestmark = pytest.mark.skipif(
    bool(MISSING),
    reason=f"Intel's GPU driver is not installed: its dry run needs apt-get install {' '.join(MISSING)}",
)


def dry_run(device: str, tmp_path: Path, *command: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("ZE_", "ZEMM_"))}
    env |= {
        "ZEMM_CACHE": "0",  # Intel's compiler is to build everything
        "NEOReadDebugKeys": "1",
        "SetCommandStreamReceiver": "1",
        "ProductFamilyOverride": device,
        "HardwareInfoOverride": DEVICES[device],
        "AUBDumpCaptureFileName": "/dev/null",
        # Copies by the host are done; those by the GPU are recorded only.
        "ExperimentalCopyThroughLock": "1",
        "ExperimentalH2DCpuCopyThreshold": str(1 << 30),
        "ExperimentalD2HCpuCopyThreshold": str(1 << 30),
    }
    result = subprocess.run(
        [sys.executable, *command],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, f"exit code {result.returncode}\n{result.stdout}\n{result.stderr}"
    assert not list(tmp_path.glob("*.aub")), "the driver filled the disk with what it records"
    return result


def worker(device: str, tmp_path: Path, task: str) -> dict[str, Any]:
    result = dry_run(device, tmp_path, str(ROOT / "tests" / "dry_run_worker.py"), task)
    answer: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return answer


def kernels_for_gpus() -> set[str]:
    """Names of the rows of kernels.def but for those that only a CPU takes."""
    text = (ROOT / "src" / "kernels" / "kernels.def").read_text()
    rows = re.findall(r"^ZEMM_MATMUL\((.*)\)", text, re.M)
    assert rows
    names = set()
    for row in rows:
        src, wei, dst, m, n, k, policy, *_, predicate = [cell.strip() for cell in row.split(",")]
        if "cpu" not in predicate:
            names.add(f"matmul_{src}_{wei}_{dst}_{m}x{n}x{k}_{policy}")
    return names


@pytest.mark.parametrize("device", DEVICES)
def test_matmuls(device: str, tmp_path: Path) -> None:
    answer = worker(device, tmp_path, "cases")
    assert answer["cases"] == [case.name for case in cases()]
    assert answer["executions"] >= 2 * len(answer["cases"])
    # Rows that need an instruction set which neither device has are not created there.
    assert set(answer["kernels"]) <= kernels_for_gpus()
    assert last_kernel() in answer["kernels"]
    (sentence,) = answer["sentences"]
    assert "timestamps" in sentence, sentence
    assert answer["device"] in sentence
    assert answer["times_after_reset"] == []


def last_kernel() -> str:
    """The row that takes everything."""
    text = (ROOT / "src" / "kernels" / "kernels.def").read_text()
    row = re.findall(r"^ZEMM_MATMUL\((.*)\)", text, re.M)[-1]
    src, wei, dst, m, n, k, policy, *_ = [cell.strip() for cell in row.split(",")]
    return f"matmul_{src}_{wei}_{dst}_{m}x{n}x{k}_{policy}"


@pytest.mark.parametrize("device", DEVICES)
def test_reorders(device: str, tmp_path: Path) -> None:
    kernels = worker(device, tmp_path, "reorders")["kernels"]
    counts = {name: kernels.count(name) for name in set(kernels)}
    # Eight conversions, eight times packing by two kernels, six quantisations.
    assert counts == {"reorder": 16, "reorder_pack": 8, "quantize": 6}


@pytest.mark.parametrize("device", DEVICES)
def test_memory(device: str, tmp_path: Path) -> None:
    answer = worker(device, tmp_path, "memory")
    assert answer["wrong"] == []
    (sentence,) = answer["refused"]
    assert "write()" in sentence


# Kinds of cases that the worker does not have, by the driver: batches, transposed layouts, reductions, empty.
DRIVER_CASES = """
--dt=f32 --wtag=ba 17x33:33x29
--reset --stag=acb --wtag=abc 2x7x9:2x9x5
--reset --dt=s8:u8:f16 --wtag=ba --attr-scales=src:per_tensor:f16:1x32+wei:per_oc:f16 \
--attr-zero-points=wei:per_oc:u8 --attr-precomputed-reductions=src:per_tensor:s32:1x32 7x64:64x48
--reset --attr-scratchpad=user --dt=s8:u8:f32 --attr-zero-points=wei:common:3 7x64:64x48
--reset 0x16:16x8
"""


@pytest.mark.parametrize("device", DEVICES)
def test_driver(device: str, tmp_path: Path) -> None:
    batch = tmp_path / "dry_run_cases"
    batch.write_text(DRIVER_CASES)
    for mode in "IR":
        result = dry_run(
            device,
            tmp_path,
            "-m",
            "zemm.benchdnn",
            "--engine=gpu",
            f"--mode={mode}",
            "--matmul",
            f"--batch={batch}",
        )
        summary = re.search(r"tests:(\d+) .*unimplemented:(\d+) .*failed:(\d+)", result.stdout)
        assert summary, result.stdout
        assert summary.groups() == ("5", "0", "0"), result.stdout
