# SPDX-License-Identifier: Apache-2.0
"""Equal inputs give equal bits.

They do so in every run, on any stream, beside other threads, from the disk cache, in another
process, and, in deterministic mode, on any number of the device's threads and for any order of a batch or
of groups. Matmuls that are not split along K do that in every mode.
"""

import os
import subprocess
import sys

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
# A matmul in that mode. The batch, and the groups, are multiplied in two orders.
def deterministic(m, k, n, dt="f32", batch=1, grouped=False):
    attr = zemm.Attr()
    attr.set_deterministic(True)
    engine = zemm.Engine("cpu")
    stream = zemm.Stream(engine)
    if dt == "s8":
        attr.set_scales(zemm.ARG_SRC, 7, (1, 128))
    data = np.random.default_rng(k + n)
    a, b = data.standard_normal((batch, m, k)), data.standard_normal((batch, k, n))
    scales = data.uniform(0.001, 0.1, (batch, m, k // 128)).astype(np.float32)
    if dt == "s8":
        a, b = (100 * np.clip(x, -1, 1) for x in (a, b))
    a, b = (x.astype(np.int8 if dt == "s8" else np.float32) for x in (a, b))
    def run(order):
        mds = [zemm.MemoryDesc((batch, m, k), dt), zemm.MemoryDesc((batch, k, n), dt),
               zemm.MemoryDesc((batch, m, n), "f32")]
        if grouped:
            mds[0] = zemm.MemoryDesc.grouped((batch * m, k), dt, 0, batch)
            mds[2] = zemm.MemoryDesc.grouped((batch * m, n), "f32", 0, batch)
        memories = [zemm.Memory(md, engine) for md in mds]
        for memory, values in zip(memories, (a, b)):
            memory.write(np.ascontiguousarray(values[order]).view(np.uint8).reshape(-1), 0)
        if grouped:
            for memory in (memories[0], memories[2]):
                memory.write(m * np.arange(1, batch + 1, dtype=np.int32), 1)
        args = dict(zip((zemm.ARG_SRC, zemm.ARG_WEIGHTS, zemm.ARG_DST), memories))
        if dt == "s8":
            memory = zemm.Memory(zemm.MemoryDesc(scales.shape, "f32"), engine)
            memory.write(np.ascontiguousarray(scales[order]))
            args[zemm.ARG["ATTR_SCALES"] | zemm.ARG_SRC] = memory
        pd = zemm.MatmulPrimitiveDesc(engine, *mds, attr=attr)
        zemm.Primitive(pd).execute(stream, args)
        stream.wait()
        return memories[2].read(0).view(np.float32).reshape(batch, m, n)[np.argsort(order)]
    forward, backward = run(np.arange(batch)), run(np.arange(batch)[::-1])
    assert np.array_equal(forward.view(np.int32), backward.view(np.int32))
    return forward
problems += [
    lambda: deterministic(1, 8192, 128),
    lambda: deterministic(33, 8192, 64),
    lambda: deterministic(5, 8192, 64, batch=3),
    lambda: deterministic(5, 8192, 64, "s8"),
    lambda: deterministic(6, 4096, 64, batch=4, grouped=True),
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


def digests(cores: str = "all_cores", **variables: str) -> list[str]:
    command = [sys.executable, "-c", SCRIPT, cores]
    run = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.split()
    assert len(lines) == 9
    return lines


@pytest.fixture(scope="module")
def first() -> list[str]:
    return digests()


@pytest.mark.full
def test_modules_from_disk(first: list[str]) -> None:
    assert digests() == first


@pytest.mark.full
def test_modules_built_again(first: list[str]) -> None:
    assert digests(ZEMM_CACHE="0") == first


@pytest.mark.full
def test_one_core(first: list[str]) -> None:
    assert digests("one_core") == first
