# SPDX-License-Identifier: Apache-2.0
"""torch's threads beside zemm's: how many there are, in processes of their own."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="needs the package torch")

PROGRAM = """
import os, torch, zemm.torch
from zemm.torch._threads import gnu_openmp

def count():
    return len(os.listdir("/proc/self/task"))

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 64))
expected = model(torch.ones(3, 64))
before, by_gnu = count(), gnu_openmp() is not None
first = zemm.torch.share_cores()
made = count() - before
zemm.torch.quantize_(model, group=32)
y = model(torch.ones(3, 64))
assert (y - expected).abs().max() < 0.1
pid = os.fork()
if not pid:
    os._exit(0 if zemm.torch.share_cores() == first else 1)
assert os.waitpid(pid, 0)[1] == 0
print(by_gnu, first, made, zemm.torch.share_cores())
"""


@pytest.mark.parametrize("setting", [None, "OMP_WAIT_POLICY=ACTIVE", "GOMP_SPINCOUNT=1000"])
def test_share_cores(setting: str | None) -> None:
    """It makes as many threads as libgomp needs to see more of them than cores, once in a process, and a
    child of fork() makes its own. What the user has set decides."""
    env = {k: v for k, v in os.environ.items() if k not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    env |= dict([setting.split("=")]) if setting else {}
    out = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=False
    )
    assert not out.returncode, out.stderr
    by_gnu, first, made, again = out.stdout.split()
    assert by_gnu == "True", "torch's build for CPUs has another OpenMP: is share_cores() needed with it?"
    if setting:
        assert (first, made, again) == ("False", "0", "False")
    else:
        assert (first, again) == ("True", "True")
        assert int(made) >= 2
