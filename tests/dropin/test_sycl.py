# SPDX-License-Identifier: Apache-2.0
"""SYCL's runtime (dpctl's) on the CPU device, which has to report that it is a GPU:
ZE_CPU_AS_GPU=1.

Each Level Zero adapter of the runtime is a test. dpctl needs 0.7 GB, so it is no part of '.[test]'.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import zemm
from support_level_zero import compile_opencl, compilers
from support_loader import build_stand_in, system_loader_is_new_enough
from support_process import captured

WORKER = Path(__file__).with_name("sycl_worker.py")
DRIVER = Path(zemm.__file__).parent / "libze_cpu.so"
SOURCE = """
kernel void scale(global const int *a, global int *b, int factor) {
    size_t i = get_global_id(0);
    b[i] = a[i] * factor;
}
kernel void add_one(global int *a) { a[get_global_id(0)] += 1; }
"""
pytestmark = [
    pytest.mark.sycl,
    pytest.mark.skipif(not importlib.util.find_spec("dpctl"), reason="no SYCL runtime: pip install dpctl"),
    pytest.mark.skipif(not compilers(), reason="no clang-N with an llvm-spirv-N"),
]


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sycl") / "kernels.spv"
    path.write_bytes(compile_opencl(SOURCE))
    return path


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    settings = {"ZE_ENABLE_ALT_DRIVERS": str(DRIVER), "ONEAPI_DEVICE_SELECTOR": "level_zero:*"}
    if not system_loader_is_new_enough():
        folder = str(build_stand_in(DRIVER, tmp_path_factory.mktemp("loader")))
        settings["LD_LIBRARY_PATH"] = os.pathsep.join([folder, os.environ.get("LD_LIBRARY_PATH", "")])
    return {**os.environ, **settings}


def run(kernels: Path, environment: dict[str, str], **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(WORKER), str(kernels)]
    return captured(command, env={**environment, **more}, timeout=300)


@pytest.mark.parametrize("adapter", ["0", "1"], ids=["v1", "v2"])
def test_usm_copies_and_kernels(kernels: Path, environment: dict[str, str], adapter: str) -> None:
    result = run(kernels, environment, ZE_CPU_AS_GPU="1", SYCL_UR_USE_LEVEL_ZERO_V2=adapter)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    answer = json.loads(result.stdout)
    assert answer["devices"] == 1
    assert answer["platform"].endswith(" V2") == (adapter == "1"), answer


def test_no_device_without_the_variable(kernels: Path, environment: dict[str, str]) -> None:
    result = run(kernels, environment, ZE_CPU_AS_GPU="0")
    assert result.returncode != 0
    assert "SyclDeviceCreationError" in result.stderr, result.stderr
