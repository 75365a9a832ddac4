# SPDX-License-Identifier: Apache-2.0
"""The GPU side of the package without a GPU.

Intel's driver compiles and copies in its AUB mode, but computes nothing. The tests check that
arrays arrive as their descriptors say, and they check errors.
"""

import ctypes
import os
import sys
from pathlib import Path

import pytest
from support_process import captured

AUB = {
    "NEOReadDebugKeys": "1",
    "SetCommandStreamReceiver": "1",
    "ProductFamilyOverride": "pvc",
    "HardwareInfoOverride": "1x8x8",
}

SCRIPT = """
import numpy as np
from numpy.lib.stride_tricks import as_strided
import zemm
from zemm._arrays.operands import tensor

assert zemm.Engine.count("gpu") == 1
engine = zemm.Engine("gpu")
assert engine.name

values = np.arange(12, dtype=np.float32).reshape(3, 4)
try:
    zemm.Memory(zemm.MemoryDesc((3, 4), "f32"), engine, values)
except ValueError as error:
    assert "write()" in str(error), error
else:
    raise AssertionError("a GPU engine took host memory")

broadcast = np.broadcast_to(values[0], (3, 4))
for array in (values, values.T, values[:, ::2], values[::-1], broadcast, values[:, :3].T):
    t = tensor(array, "f32", 2, engine)
    got = t.memory(engine).read().view(np.float32)
    assert t.dims == array.shape
    assert np.array_equal(as_strided(got, t.dims, [4 * s for s in t.strides]), array), (array, got)

packed = zemm.pack_int4(np.arange(32).reshape(4, 8) % 16)
t = tensor(packed.T, "u4", 2, engine, -2)
assert (t.dims, t.strides) == ((8, 4), (1, 8))
assert t.memory(engine).read().tobytes() == packed.tobytes()

out = np.full((3, 3), 7, np.float32)
assert zemm.matmul(values, values.T, out=out, engine=engine) is out

# A kernel finds the values that it adds to, and out gets those after it, which here are equal.
sevens = np.full((3, 6), 7, np.float16)
for old in (sevens[:, :3].astype(">f4"), sevens[:, :3].astype(np.float32).T, sevens[:, ::2]):
    zemm.matmul(values, values.T, post_ops=["sum"], out=old, engine=engine)
    assert (old == 7).all(), old

memory = zemm.Memory(zemm.MemoryDesc((3, 4), "f32", strides=(1, 5)), engine)
memory.write(values)
assert np.array_equal(as_strided(memory.read().view(np.float32), (3, 4), (4, 20)), values)
"""


def has_driver() -> bool:
    try:
        ctypes.CDLL("libze_intel_gpu.so.1")
        ctypes.CDLL("libze_loader.so.1")
    except OSError:
        return False
    return True


@pytest.mark.intel_gpu_driver
@pytest.mark.skipif(not has_driver(), reason="needs the packages libze1 and intel-opencl-icd")
def test_arrays_reach_a_gpu(tmp_path: Path) -> None:
    done = captured([sys.executable, "-c", SCRIPT], env={**os.environ, **AUB}, cwd=tmp_path, timeout=600)
    for recording in tmp_path.glob("*.aub"):
        recording.unlink()
    assert done.returncode == 0, done.stdout + done.stderr
