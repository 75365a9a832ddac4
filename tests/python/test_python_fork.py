# SPDX-License-Identifier: Apache-2.0
"""fork() in Python while another thread holds a lock of the package."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import zemm

# The other thread stands still inside of what it computes under the lock.
HELD = """
import os, signal, threading
import numpy as np
import zemm
{setup}
inside, never = threading.Event(), threading.Event()
def block(*args, **kwargs):
    inside.set()
    never.wait()
{owner}, right = block, {owner}
threading.Thread(target=lambda: {call}, daemon=True).start()
inside.wait()
child = os.fork()
if not child:
    signal.alarm(60)
    {owner} = right
    {call}
    os._exit(0)
status = os.waitpid(child, 0)[1]
os._exit(status != 0)
"""
FIRST_ENGINE = {
    "setup": "import zemm",
    "owner": "zemm.engine.Engine.count",
    "call": "zemm.matmul(np.ones((2, 4), np.float32), np.ones((4, 3), np.float32))",
}
LAYER = {
    "setup": "import zemm._layers.primitives\nlayer = zemm.Linear.from_float(np.ones((32, 4)), group=None)",
    "owner": "zemm._layers.primitives.matmul_desc",
    "call": "layer(np.ones((2, 32), np.float32))",
}


@pytest.mark.parametrize("held", [FIRST_ENGINE, LAYER], ids=["default_engine", "layer"])
def test_child_takes_a_lock_that_a_thread_of_its_parent_held(held: dict[str, str]) -> None:
    done = subprocess.run([sys.executable, "-c", HELD.format(**held)], timeout=240)
    assert done.returncode == 0


def test_all_locks_are_of_this_kind() -> None:
    package = Path(zemm.__file__).parent
    other = re.compile(r"\b(Lock|RLock|Condition|Semaphore|BoundedSemaphore|Barrier)\(")
    own = re.compile(r"(?<!\.)\bLock\(")  # zemm._library.locks.Lock
    found = [
        f"{path.relative_to(package)}: {line.strip()}"
        for path in package.rglob("*.py")
        if path.name != "locks.py"
        for line in path.read_text().splitlines()
        if other.search(own.sub("", line))
    ]
    assert not found
