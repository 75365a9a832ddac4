# SPDX-License-Identifier: Apache-2.0
"""How zemm's backend for ggml is loaded, refused, unloaded and inherited by fork()."""

import os
import shutil
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from support_llama_cpp import BACKEND, BIN
from support_process import captured

HERE = Path(__file__).parent
NOT_USED = "zemm: the backend is not used: "


def loaded(backend: Path, **variables: str) -> CompletedProcess[str]:
    """The output of tests/ggml/load.py."""
    command = [sys.executable, HERE / "load.py", BIN, backend]
    done = captured(command, env={**os.environ, **variables}, timeout=120)
    assert done.returncode == 0, done.stderr
    return done


def python(code: str, **variables: str) -> CompletedProcess[str]:
    """Run the code in a process."""
    env = {**os.environ, **variables}
    return captured([sys.executable, "-c", code], env=env, timeout=240)


def test_loads() -> None:
    done = loaded(BACKEND)
    assert done.stdout.split() == ["CPU", "zemm"]
    assert "loaded zemm backend from" in done.stderr


def test_no_opencl_runtime(tmp_path: Path) -> None:
    """ggml multiplies then, at the first product and, without being asked, at all others."""
    code = """
want = product("CPU", in_buffer("CPU", 2, blocks, USAGE_ANY)[1], src, 96)
tensors, w = in_buffer("zemm", 2, blocks, USAGE_WEIGHTS)
print(scheduled(w, src, 96)[0], np.array_equal(scheduled(w, src, 96)[1], want), scheduled(w, src, 96)[0])
"""
    done = python(PRODUCT + code, ZE_CPU_OPENCL_LIBRARY=str(tmp_path / "missing.so"))
    assert done.stdout == "zemm True CPU\n", done.stdout + done.stderr
    (line,) = (
        line for line in done.stderr.splitlines() if "ggml's CPU device multiplies from now on: " in line
    )
    assert "missing.so" in line


def test_no_libzemm(tmp_path: Path) -> None:
    done = loaded(Path(shutil.copy(BACKEND, tmp_path)))
    assert done.stdout.split() == ["CPU"]
    assert "libzemm.so.0: cannot open shared object file" in done.stderr


def of_version(version: str, folder: Path, **variables: str) -> CompletedProcess[str]:
    """Load the backend from a ggml that says so: prints whether it is used."""
    library = folder / "libggml-another.so"
    libraries = [f"-L{BIN}", f"-Wl,-rpath,{BIN}", "-Wl,--no-as-needed", "-lggml", "-lggml-base"]
    source = HERE / "another_version.c"
    options = ["-shared", "-fPIC", f'-DVERSION="{version}"', "-o", library]
    assert captured(["cc", source, *options, *libraries]).returncode == 0
    code = f"""
import ctypes
ggml = ctypes.CDLL({str(library)!r})
ggml.load.restype = ctypes.c_void_p
ggml.ggml_backend_load_all_from_path({bytes(BIN)!r})
print(bool(ggml.load({bytes(BACKEND)!r})))
"""
    done = captured([sys.executable, "-c", code], env={**os.environ, **variables}, timeout=60)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("version", ["0.27.1", "0.25.3", "0.10.0"])
def test_known_version(version: str, tmp_path: Path) -> None:
    done = of_version(version, tmp_path)
    assert done.stdout == "True\n"
    assert NOT_USED not in done.stderr


@pytest.mark.parametrize("version", ["0.9.11", "0.999.0", "1.12.0", "unknown", ""])
def test_unknown_version(version: str, tmp_path: Path) -> None:
    done = of_version(version, tmp_path)
    assert done.stdout == "False\n"
    (line,) = (line for line in done.stderr.splitlines() if line.startswith(NOT_USED))
    assert f"this is ggml {version}:" in line
    assert "GGML_ZEMM_ANY_VERSION=1" in line
    assert of_version(version, tmp_path, GGML_ZEMM_ANY_VERSION="1").stdout == "True\n"
    assert of_version(version, tmp_path, GGML_ZEMM_ANY_VERSION="0").stdout == "False\n"


PRODUCT = """
import os, signal
import numpy as np
from support_ggml import *
from support_gguf import usual_blocks
src = np.random.default_rng(1).standard_normal((128, 512)).astype(np.float32)
blocks = usual_blocks("Q4_0", (96, 512), np.random.default_rng(1))
"""


def test_unload_and_load_again() -> None:
    code = """
want = None
for _ in range(3):
    registry = load_zemm()
    assert registry
    made = api().backend_dev_init(api().backend_dev_by_name(b"zemm"), None)
    tensors, w = in_buffer("zemm", 2, blocks, USAGE_WEIGHTS)
    got = product("zemm", w, src, 96, made)
    want = got if want is None else want
    assert np.array_equal(got, want)
    tensors.free()
    api().backend_free(made)
    api().backend_unload(registry)
    assert not api().backend_dev_by_name(b"zemm")
"""
    done = python(PRODUCT + code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("usage", ["USAGE_ANY", "USAGE_WEIGHTS"])
def test_tensors_outlive_the_registry(usage: str) -> None:
    """A program may unload the backend before it frees its model."""
    code = f"""
registry = load_zemm()
made = api().backend_dev_init(api().backend_dev_by_name(b"zemm"), None)
tensors, w = in_buffer("zemm", 2, blocks, {usage})
want = product("zemm", w, src, 96, made)
api().backend_unload(registry)
assert np.array_equal(product("zemm", w, src, 96, made), want)
assert np.array_equal(get_bytes(w), blocks.reshape(-1))
api().backend_free(made)
tensors.free()
"""
    done = python(PRODUCT + code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("usage", ["USAGE_ANY", "USAGE_WEIGHTS"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_fork(when: str, usage: str) -> None:
    """A child that multiplies by its parent's weights gets their product or an error, in time.

    The parent has a team of OpenMP's threads, which the child lacks. It multiplied before, or did not.
    """
    code = f"""
tensors, w = in_buffer("zemm", 2, blocks, {usage})
assert scheduled(w, src[:2], 96)[0] == "CPU"
want = product("zemm", w, src, 96) if "{when}" == "after" else None
child = os.fork()
if not child:
    signal.alarm(60)
    p = Product(w, src)
    status = p.status(shared_backend("zemm"))
    if status == SUCCESS and want is not None:
        assert np.array_equal(p.result(96, (128,)), want)
    os._exit(0 if status in (SUCCESS, FAILED) else 1)
status = os.waitpid(child, 0)[1]
again = product("zemm", w, src, 96)
assert want is None or np.array_equal(again, want)
print(os.waitstatus_to_exitcode(status))
"""
    done = python(PRODUCT + code)
    assert done.stdout == "0\n", done.stdout + done.stderr


WHO = """
import numpy as np
from support_ggml import USAGE_WEIGHTS, in_buffer, scheduled
from support_gguf import usual_blocks
from zemm.gguf.formats import FORMATS
src = np.ones((128, 512), np.float32)
for name, rows in (("Q4_0", 96), ("Q4_0", 95), ("Q4_0", 2), ("Q6_K", 128)):
    blocks = usual_blocks(name, (96, 512), np.random.default_rng(1))
    _, w = in_buffer("zemm", FORMATS[name].number, blocks, USAGE_WEIGHTS)
    print(scheduled(w, src[:rows], 96)[0])
"""


@pytest.mark.parametrize(
    ("variables", "who"),
    [
        ({}, "zemm CPU CPU CPU"),
        ({"GGML_ZEMM_LEAST_ROWS": "2"}, "zemm zemm zemm CPU"),
        ({"GGML_ZEMM_LEAST_ROWS": "97"}, "CPU CPU CPU CPU"),
        ({"GGML_ZEMM_WEIGHTS": "once"}, "zemm CPU CPU CPU"),
        ({"GGML_ZEMM_WEIGHTS": "twice"}, "zemm zemm CPU CPU"),
        ({"GGML_ZEMM_ALL_TYPES": "1"}, "zemm CPU CPU zemm"),
    ],
)
def test_who_multiplies(variables: dict[str, str], who: str) -> None:
    done = python(WHO, **{"GGML_ZEMM_ALL_TYPES": "0", **variables})
    assert done.stdout.split() == who.split(), done.stderr


@pytest.mark.parametrize("text", ["0", "-1", "many", "3x"])
def test_number_of_rows_that_is_none(text: str) -> None:
    done = loaded(BACKEND, GGML_ZEMM_LEAST_ROWS=text)
    assert done.stdout.split() == ["CPU"]
    assert f"{NOT_USED}GGML_ZEMM_LEAST_ROWS is '{text}', not a positive number\n" in done.stderr


def test_weights_that_are_neither_once_nor_twice() -> None:
    done = loaded(BACKEND, GGML_ZEMM_WEIGHTS="thrice")
    assert done.stdout.split() == ["CPU"]
    assert f"{NOT_USED}GGML_ZEMM_WEIGHTS is 'thrice', not once or twice\n" in done.stderr


@pytest.mark.parametrize("weights", ["once", "twice"])
@pytest.mark.parametrize("place", ["CPU", "CPU_REPACK"])
def test_weights_that_change(place: str, weights: str) -> None:
    """A copy is made again when any byte has changed, or another tensor lies at its place."""
    code = f"""
import ctypes
tensors, w = in_buffer("{place}", 2, blocks, USAGE_WEIGHTS)
other = usual_blocks("Q4_0", (96, 512), np.random.default_rng(2))
flat = blocks.copy()
flat.reshape(-1)[-1] ^= 0x11
for now in (blocks, other, other, flat, blocks):
    set_bytes(w, now)
    if "{place}" == "CPU":
        now = now.copy()
        now[5, 3] ^= 0x22
        ctypes.memmove(api().get_data(w) + now[:5].nbytes + 3, now[5, 3:].ctypes.data, 1)
    plain, same = in_buffer("CPU", 2, now, USAGE_ANY)
    want = product("CPU", same, src, 96)
    assert error(product("zemm", w, src, 96), want) < TOLERANCE
    assert np.array_equal(product("zemm", w, src, 96), product("zemm", w, src, 96))
    assert np.array_equal(product("zemm", same, src, 96), product("zemm", w, src, 96))
    plain.free()
"""
    done = python(PRODUCT + code, GGML_ZEMM_WEIGHTS=weights)
    assert done.returncode == 0, done.stderr
