# SPDX-License-Identifier: Apache-2.0
"""Allocations of libggml-zemm.so that fail end no process; later products are right."""

import os
import re
import sys
from pathlib import Path

import pytest
import support_llama_cpp  # noqa: F401 (skips without llama.cpp)
from support_process import captured

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("failing") / "libfailing_new.so"
    command = [
        "c++",
        "-std=c++20",
        "-O1",
        "-shared",
        "-fPIC",
        HERE / "failing_new.cpp",
        "-o",
        library,
    ]
    done = captured(command, timeout=240)
    assert done.returncode == 0, done.stderr
    return library


@pytest.mark.parametrize("type_name", ["Q4_0", "Q8_0"])  # repacked, and not
def test_each_allocation(preloaded: Path, type_name: str) -> None:
    variables = {"LD_PRELOAD": str(preloaded), "GGML_NO_BACKTRACE": "1"}
    env = {**os.environ, **variables, "OMP_WAIT_POLICY": "passive"}  # ggml's threads need not spin
    program = HERE / "failing_allocations.py"
    done = captured([sys.executable, program, type_name], env=env, timeout=570)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    failed = [int(count) for count in re.findall(r"'multiply': (\d+)", done.stdout)]
    assert len(failed) == 2
    assert max(failed) > 5, done.stdout
