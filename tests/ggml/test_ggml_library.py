# SPDX-License-Identifier: Apache-2.0
"""The library of zemm's backend for ggml in the package, without any ggml."""

import re
import sys
from pathlib import Path

import zemm
from support_process import captured
from support_tree import ROOT

BACKEND = Path(zemm.get_lib()) / "ggml" / "libggml-zemm.so"


def read(*command: str | Path) -> str:
    done = captured(command)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_exports_what_ggml_looks_for() -> None:
    lines = read("nm", "-D", "--defined-only", BACKEND).splitlines()
    assert {line.split()[-1] for line in lines} == {"ggml_backend_init", "ggml_zemm_refusal"}


def test_finds_libzemm_beside_its_folder() -> None:
    """It stays in memory when ggml unloads it, and is linked with no ggml."""
    dynamic = read("readelf", "-d", BACKEND)
    assert re.search(r"\(R(UN)?PATH\).*\[\$ORIGIN/\.\.\]", dynamic)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert "libzemm.so.0" in needed
    assert not [name for name in needed if "ggml" in name]
    assert "NODELETE" in dynamic


def test_names_of_functions() -> None:
    """The backend finds functions of ggml at run time: none of their names is a symbol of the linker."""
    symbols = read("nm", "-D", "--undefined-only", BACKEND)
    assert "zemm_matmul_primitive_desc_create" in symbols
    assert "ggml" not in symbols
    listed = re.findall(r"(?m)^FUNCTION\((\w+),", (ROOT / "src" / "ggml" / "functions.def").read_text())
    assert {
        f"ggml_{name}" for name in listed if f"ggml_{name}\0".encode() not in BACKEND.read_bytes()
    } == set()


def test_only_programs_that_ask_load_it() -> None:
    code = "import zemm; zemm.Engine('cpu'); print('libggml' in open('/proc/self/maps').read())"
    assert read(sys.executable, "-c", code) == "False\n"


def test_no_ggml() -> None:
    """A program without ggml gets no backend, and a sentence."""
    code = f"""
import ctypes
init = ctypes.CDLL({str(BACKEND)!r}).ggml_backend_init
init.restype = ctypes.c_void_p
print(init())
"""
    done = captured([sys.executable, "-c", code], timeout=60)
    assert done.stdout == "None\n"
    assert re.fullmatch(
        "zemm: the backend is not used: the ggml that loads it does not export ggml_.*\n", done.stderr
    )
