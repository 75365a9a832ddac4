# SPDX-License-Identifier: Apache-2.0
"""The handlers of signals belong to the program: an engine does not change them."""

import signal
import subprocess
import sys
from pathlib import Path

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


IGNORED, BLOCKED = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM), (signal.SIGUSR1, signal.SIGINT)
STATE = """
import signal
print([n for n in (1, 2, 10, 13, 15) if signal.getsignal(n) == signal.SIG_IGN], signal.pthread_sigmask(0, []))
"""


def ignore_and_block() -> None:
    """The state that tests inherit from nohup or from a parent that blocks signals."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)


IN_DEFAULT_SIGNALS = f"""
import subprocess, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from support_signals import default_signals

def show():
    subprocess.run([sys.executable, "-c", {STATE!r}], check=True)

show()
with default_signals():
    show()
show()
"""


def test_default_signals_of_a_test_s_processes() -> None:
    """Tests of signals do not depend on what pytest's parent ignores or blocks."""
    done = subprocess.run(
        [sys.executable, "-c", IN_DEFAULT_SIGNALS],
        capture_output=True,
        text=True,
        timeout=100,
        preexec_fn=ignore_and_block,
    )
    first, inside, after = done.stdout.splitlines()
    assert first == after != inside
    # Python itself ignores SIGPIPE, and subprocess gives it back to the child.
    assert inside == "[13] set()"
