# SPDX-License-Identifier: Apache-2.0
"""A built llama.cpp, whose folder the variable ZEMM_LLAMA_CPP names, and zemm's backend for it.

tests/ggml/fetch.py and build.py make such a folder.
"""

import os
import re
from pathlib import Path

import pytest
import zemm
from support_process import captured

if "ZEMM_LLAMA_CPP" not in os.environ:
    pytest.skip("needs ZEMM_LLAMA_CPP, the folder of a built llama.cpp", allow_module_level=True)
BUILD = Path(os.environ["ZEMM_LLAMA_CPP"]).absolute()
BIN = BUILD / "bin"
BACKEND = Path(zemm.get_lib()) / "ggml" / "libggml-zemm.so"


def source() -> Path:
    """The folder of the sources that were built."""
    found = re.search(r"(?m)^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", (BUILD / "CMakeCache.txt").read_text())
    assert found
    return Path(found[1])


def run(program: str, *arguments: str | Path, zemm: bool = True, timeout: int = 300) -> str:
    """The output and log of one of llama.cpp's programs, with all types of zemm's backend, or without it."""
    env = {name: value for name, value in os.environ.items() if name != "GGML_BACKEND_PATH"}
    if zemm:
        env |= {"GGML_BACKEND_PATH": str(BACKEND), "GGML_ZEMM_ALL_TYPES": "1"}
    done = captured([BIN / program, *arguments], env=env, timeout=timeout)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr
