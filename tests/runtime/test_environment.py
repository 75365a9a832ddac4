# SPDX-License-Identifier: Apache-2.0
"""A variable of the environment with a wrong value is named once, in the log or in the error."""

import os
import re
import subprocess
import sys

import pytest
import zemm
from support_planted import clean_environment
from support_tree import ROOT

NOWHERE = "/proc/nowhere"

# A matmul, whose error it prints.
PROGRAM = """
import numpy as np, zemm
try:
    zemm.matmul(np.ones((4, 8), np.float32), np.ones((8, 4), np.float32))
except zemm.ZemmError as error:
    print(error)
"""

# Wrong values that are warned of (ZEMM_VERBOSE=warn): variable -> value, a part of the warning.
WARNED = {
    "ZEMM_VERBOSE": ("warn,bogus", 'ZEMM_VERBOSE: "bogus" is no word'),
    "ZEMM_VERBOSE_TIMESTAMP": ("yes", 'ZEMM_VERBOSE_TIMESTAMP: "yes" is not 0 or 1'),
    "ZEMM_PRIMITIVE_CACHE_CAPACITY": ("-3", '"-3" is not a number from 0 on'),
    "ZEMM_DEFAULT_FPMATH_MODE": ("f17", '"f17" is not one of strict, bf16, f16, any, tf32'),
    "ZEMM_TUNING": (NOWHERE, f"{NOWHERE} is not used: No such file"),
    "ZEMM_DEVICE_MASK": ("avx512,bogus", '"bogus" is no feature'),
    "ZEMM_CACHE": ("yes", 'ZEMM_CACHE: "yes" is not 0 or 1'),
    "ZEMM_CACHE_DIR": (NOWHERE, f"the folder {NOWHERE} cannot be made"),
    "ZEMM_CACHE_SIZE": ("many", '"many" is not a number of megabytes'),
    "ZE_CPU_AS_GPU": ("yes", 'ZE_CPU_AS_GPU: "yes" is not 0 or 1'),
}
NO_DRIVER = zemm.__file__  # no library at all
# Wrong values with which nothing runs: variable, value, parts of the error.
REFUSED = (
    ("ZEMM_KERNEL", "foo", "no kernel is named foo; near names: matmul_"),
    ("ZEMM_KERNEL", "matmul_any_any_any_64x32x64_generic:rows=x", 'ZEMM_KERNEL, .*"rows=x" is neither rows='),
    ("ZEMM_CPU_DRIVER", NOWHERE, rf"{NOWHERE} \(ZEMM_CPU_DRIVER\) cannot be opened: .* does not exist"),
    ("ZEMM_CPU_DRIVER", NO_DRIVER, r"\(ZEMM_CPU_DRIVER\) cannot be opened: "),
    ("ZE_CPU_OPENCL_LIBRARY", NOWHERE, f"ZE_CPU_OPENCL_LIBRARY names .*{NOWHERE}"),
    ("ZE_CPU_OPENCL_LIBRARY", NO_DRIVER, "ZE_CPU_OPENCL_LIBRARY names .*invalid ELF header"),
)
ELSEWHERE = {
    "ZEMM_NUM_THREADS": "runtime/test_num_threads.py",
    "ZEMM_SPIN_US": "runtime/test_num_threads.py",
    "ZEMM_GGML_LIBRARY": "benchdnn/test_peer_formats.py",
    "ZE_CPU_CACHE_DIR": "dropin/test_foreign_tbb.py",  # the next place is taken
}


def output(**variables: str) -> str:
    env = clean_environment(**variables)
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=300).stdout


def test_each_variable_is_here() -> None:
    page = (ROOT / "docs/environment.md").read_text(encoding="utf-8").split("\n## Variables\n")[1]
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    documented = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert documented == WARNED.keys() | {name for name, *_ in REFUSED} | ELSEWHERE.keys()
    for name, file in ELSEWHERE.items():
        assert name in (ROOT / "tests" / file).read_text(encoding="utf-8")


def test_warnings() -> None:
    said = output(**{name: value for name, (value, _) in WARNED.items()})
    for name, (_, warning) in WARNED.items():
        (line,) = [line for line in said.splitlines() if warning in line]
        assert ",warn," in line
        assert name in line
    assert said.count(",warn,") == len(WARNED)


def test_no_warnings_of_right_values() -> None:
    values = {"ZEMM_VERBOSE": "warn", "ZEMM_VERBOSE_TIMESTAMP": "0", "ZEMM_PRIMITIVE_CACHE_CAPACITY": "0"}
    values |= {"ZEMM_DEFAULT_FPMATH_MODE": "any", "ZEMM_CACHE": "1", "ZEMM_CACHE_SIZE": "4096"}
    values |= {name: value for name, value in os.environ.items() if name == "ZEMM_CACHE_DIR"}
    assert output(**values, ZE_CPU_AS_GPU="0", ZEMM_DEVICE_MASK="amx_int8") == ""


def test_words_of_onednn_are_its_own() -> None:
    """The drop-in reads oneDNN's variable, whose words zemm need not know."""
    assert "bogus" not in output(ONEDNN_VERBOSE="bogus")


@pytest.mark.parametrize(("name", "value", "expected"), REFUSED)
def test_refusals(name: str, value: str, expected: str) -> None:
    said = output(**{name: value})
    assert re.search(expected, said), said
    assert name in said
    assert len(said) < 500
