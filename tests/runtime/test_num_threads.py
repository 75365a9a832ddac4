# SPDX-License-Identifier: Apache-2.0
"""zemm.set_num_threads() and ZEMM_NUM_THREADS limit the threads that compute, and change no result."""

import os
import sys

import pytest
import zemm
from support_process import captured

# Prints how many threads have computed, of a matmul that has work for many.
PROGRAM = """
import os, sys
import numpy as np, zemm

def times():
    found = {}
    for thread in os.listdir("/proc/self/task"):
        found[thread] = int(open(f"/proc/self/task/{thread}/schedstat").read().split()[0])
    return found

engine = zemm.Engine("cpu")
layer = zemm.Linear.from_float(np.ones((1024, 1024), np.float32), activation="int8", engine=engine)
x = np.random.default_rng(0).standard_normal((512, 1024), np.float32)
expected = layer(x)
for number in map(int, sys.argv[1:]):
    if number >= 0:
        zemm.set_num_threads(number)
    layer(x)
    before = times()
    for _ in range(20):
        assert np.array_equal(layer(x), expected)
    stream = zemm.Stream(layer.engine)
    y = layer(x, stream=stream)
    stream.wait()
    assert np.array_equal(y, expected)
    spent = sorted(after - before.get(thread, 0) for thread, after in times().items())
    busy = sum(one > 0.05 * sum(spent) for one in spent)
    print(zemm.get_num_threads(), busy)
"""
CPUS = len(os.sched_getaffinity(0))


def lines(*numbers: int, **variables: str) -> list[tuple[int, int]]:
    """The limit and the threads that have computed, for each number that is set (-1: none)."""
    command = [sys.executable, "-c", PROGRAM, *map(str, numbers)]
    done = captured(command, env={**os.environ, **variables}, timeout=200)
    assert done.returncode == 0, done.stderr
    return [tuple(map(int, line.split())) for line in done.stdout.splitlines()]  # type: ignore[misc]


def test_limit() -> None:
    found = lines(-1, 1, 2, 0)
    assert [limit for limit, _ in found] == [CPUS, 1, min(2, CPUS), CPUS]
    assert found[1][1] == 1
    assert found[2][1] <= 2


@pytest.mark.quick(cases=lambda text: text in ("1", "two"))
@pytest.mark.parametrize(("text", "limit"), [("1", 1), ("0", CPUS), ("two", CPUS), (str(CPUS + 7), CPUS)])
def test_variable(text: str, limit: int) -> None:
    ((found, busy),) = lines(-1, ZEMM_NUM_THREADS=text)
    assert found == limit
    assert busy <= limit


def test_refusals(engine: zemm.Engine) -> None:
    with pytest.raises(ValueError, match="num_threads is -1"):
        zemm.set_num_threads(-1)
    with pytest.raises(ValueError, match="num_threads is '2', not an integer"):
        zemm.set_num_threads("2")  # type: ignore[arg-type]


@pytest.mark.quick(cases=lambda text: text in ("abc", "1.5", "2"))
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("abc", True),
        ("0", True),
        ("-1", True),
        ("1.5", True),
        (" 2", True),
        ("9" * 30, True),
        ("2", False),
        ("", False),
    ],
)
def test_a_variable_that_limits_nothing_is_a_warning(text: str, says: bool) -> None:
    program = "import zemm; zemm.Engine('cpu'); zemm.Engine('cpu')"
    environment = {**os.environ, "ZEMM_NUM_THREADS": text, "ZEMM_VERBOSE": "warn"}
    done = captured([sys.executable, "-c", program], env=environment, timeout=200)
    said = [line for line in done.stdout.splitlines() if "ZEMM_NUM_THREADS" in line]
    assert len(said) == says
    assert not says or f'"{text}" is not a number from 1 on' in said[0]


@pytest.mark.quick(cases=lambda text: text == "1000")
@pytest.mark.parametrize("text", ["0", "1000", ""])
def test_no_thread_spins_when_there_is_no_work(text: str) -> None:
    program = """
import time
import numpy as np, zemm

layer = zemm.Linear.from_float(np.ones((576, 576), np.float32), bits=4, engine=zemm.Engine("cpu"))
x = np.ones((1, 576), np.float32)
for _ in range(300):
    y = layer(x)
time.sleep(0.005)
before = time.process_time()
time.sleep(0.5)
print(time.process_time() - before)
assert np.array_equal(y, layer(x))
"""
    done = captured([sys.executable, "-c", program], env={**os.environ, "ZEMM_SPIN_US": text}, timeout=200)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.05  # seconds of all threads


@pytest.mark.parametrize(("text", "says"), [("abc", True), ("-1", True), ("1001", True), ("0", False)])
def test_a_wrong_time_to_spin_is_a_warning(text: str, says: bool) -> None:
    program = "import zemm; zemm.Engine('cpu')"
    environment = {**os.environ, "ZEMM_SPIN_US": text, "ZEMM_VERBOSE": "warn"}
    done = captured([sys.executable, "-c", program], env=environment, timeout=200)
    assert (f'ZEMM_SPIN_US: "{text}" is not a number from 0 to 1000' in done.stdout) == says


@pytest.mark.skipif(CPUS == 1, reason="there is one CPU")
def test_limit_of_small_launches() -> None:
    program = PROGRAM.replace("(1024, 1024)", "(576, 1536)").replace("(512, 1024)", "(1, 576)")
    program = program.replace("range(20)", "range(3000)")
    done = captured([sys.executable, "-c", program, "0", "1", "0"], env=dict(os.environ), timeout=200)
    assert done.returncode == 0, done.stderr
    found = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert found[1] == (1, 1)  # with others as many as have a CPU just then
