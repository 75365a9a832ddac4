# SPDX-License-Identifier: Apache-2.0
"""Equal inputs give equal bits.

They do so in every run, on any stream, beside other threads, from the disk cache, in another
process, and on any number of the device's threads.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("same_bits")  # so that the first results are computed only once

# Prints a digest for each problem. The problems sum floats, where another order of addition gives
# another result. Each problem runs often, and on streams of several threads at once. All results
# must be the same.
SCRIPT = """
import hashlib, os, sys, threading
if sys.argv[1] == "one_core":  # the device then has one thread
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy as np
import zemm

rng = np.random.default_rng(7)
rows, k, n = 37, 1024, 130
src = rng.standard_normal((rows, k)).astype(np.float32)
int8 = rng.integers(-128, 128, (rows, k), dtype=np.int8)
wei = rng.standard_normal((k, n)).astype(np.float32)
codes = rng.integers(0, 256, (k, n), dtype=np.uint8)
scales = rng.uniform(0.001, 0.1, (k // 128, n)).astype(np.float32)
zero_points = rng.integers(0, 256, (k // 128, n), dtype=np.uint8)
src_scales = rng.uniform(0.001, 0.1, (rows, k // 128)).astype(np.float32)
problems = [
    lambda: zemm.matmul(src, wei, post_ops=["gelu_erf"]),
    lambda: zemm.matmul(src[:1], wei),
    lambda: zemm.matmul(src, codes, weights_scales=scales, weights_zero_points=zero_points),
    lambda: zemm.matmul(int8, codes, src_scales=src_scales, weights_scales=scales,
                        weights_zero_points=zero_points, dst_dtype="f16"),
]
for problem in problems:
    results = [problem().tobytes() for _ in range(3)]
    threads = [threading.Thread(target=lambda: results.append(problem().tobytes())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 7 and len(set(results)) == 1, len(set(results))
    print(hashlib.sha256(results[0]).hexdigest())
"""


def digests(folder: Path, cores: str = "all_cores", **variables: str) -> list[str]:
    command = [sys.executable, "-c", SCRIPT, cores]
    env = os.environ | {"ZEMM_CACHE_DIR": str(folder)} | variables
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.split()
    assert len(lines) == 4
    return lines


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("same_bits") / "cache"


@pytest.fixture(scope="module")
def first(folder: Path) -> list[str]:
    return digests(folder)


def test_modules_from_disk(folder: Path, first: list[str]) -> None:
    assert digests(folder) == first


def test_modules_built_again(folder: Path, first: list[str]) -> None:
    assert digests(folder, ZEMM_CACHE="0") == first


def test_one_core(folder: Path, first: list[str]) -> None:
    assert digests(folder, "one_core") == first
