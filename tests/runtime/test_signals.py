# SPDX-License-Identifier: Apache-2.0
"""The handlers of signals belong to the program: an engine does not change them."""

import signal
import subprocess
import sys

import pytest
import zemm

PROGRAM = """
import os, signal, time
import numpy as np
import zemm

engine = zemm.Engine("cpu")
signal.signal(signal.SIGTERM, lambda *_: print("SIGTERM"))
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
except KeyboardInterrupt:
    print("KeyboardInterrupt")
zemm.matmul(np.ones((2, 3), np.float32), np.ones((3, 4), np.float32), engine=engine)
os.kill(os.getpid(), signal.SIGTERM)
print("end", flush=True)
os.kill(os.getpid(), signal.SIGUSR1)
time.sleep(60)
"""


@pytest.mark.usefixtures("default_signals")
def test_signals_after_an_engine_is_made(engine: zemm.Engine) -> None:
    """Ctrl-C raises, a handler set later stays, and a signal without a handler ends the program."""
    if engine.kind != "cpu":
        pytest.skip("the CPU device's runtime installs handlers")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=100)
    assert (done.stdout.split(), done.stderr) == (["KeyboardInterrupt", "SIGTERM", "end"], "")
    assert done.returncode == -signal.SIGUSR1
