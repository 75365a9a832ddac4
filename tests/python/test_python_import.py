# SPDX-License-Identifier: Apache-2.0
"""`import zemm`, and its errors where the loader and the OpenCL runtime are missing."""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """An environment in which neither the Level Zero loader nor the OpenCL CPU runtime can be
    opened.
    """
    for name in ("libze_loader.so.1", "libintelocl.so"):
        (tmp_path / name).touch()
    folders = [str(tmp_path), os.environ.get("LD_LIBRARY_PATH", "")]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("ZE_", "ZEMM_"))}
    env["LD_LIBRARY_PATH"] = ":".join(filter(None, folders))
    env["ZE_CPU_OPENCL_LIBRARY"] = str(tmp_path / "libintelocl.so")
    return env


def run(code: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)


def test_import_needs_no_loader_and_no_runtime(bare: dict[str, str]) -> None:
    code = "import zemm; print(zemm.__version__, zemm.Engine.count('gpu'), zemm.Engine.count('cpu'))"
    done = run(code, bare)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0.1.0", "0", "0"]


def test_import_opens_neither() -> None:
    done = run("import zemm; print(open('/proc/self/maps').read())", dict(os.environ))
    assert done.returncode == 0, done.stderr
    assert "libzemm.so" in done.stdout
    for name in ("libze_loader", "libze_cpu", "libintelocl", "libOpenCL"):
        assert name not in done.stdout


@pytest.mark.parametrize(
    ("kind", "part", "package"),
    [("gpu", "loader", "libze1"), ("cpu", "OPENCL", "intel-opencl-rt|ZE_CPU_OPENCL")],
)
def test_engine_names_the_missing_part(bare: dict[str, str], kind: str, part: str, package: str) -> None:
    code = f"""
import zemm
try:
    zemm.Engine({kind!r})
except RuntimeError as error:
    print(error)
"""
    done = run(code, bare)
    assert done.returncode == 0, done.stderr
    assert part.lower() in done.stdout.lower()
    assert any(name in done.stdout for name in package.split("|")), done.stdout


@pytest.mark.parametrize(
    ("package", "use"),
    [
        ("gguf", lambda zemm: zemm.gguf.load("model.gguf")),
        ("safetensors", lambda zemm: zemm.save_layers("model.safetensors", {})),
        ("safetensors", lambda zemm: zemm.load_layers("model.safetensors")),
        ("safetensors", lambda zemm: zemm.Linear.load("model.safetensors")),
        ("torch", lambda _: importlib.import_module("zemm.torch")),
        ("torch", lambda _: importlib.import_module("zemm.transformers")),
        ("transformers", lambda _: importlib.import_module("zemm.transformers")),
    ],
)
def test_missing_packages(monkeypatch: pytest.MonkeyPatch, package: str, use: Callable[[Any], Any]) -> None:
    """Each optional package is named by an ImportError with the command that installs it."""
    import zemm

    if package == "transformers":
        pytest.importorskip("torch", reason="zemm.transformers asks for torch first")
    for name in (package, f"{package}.numpy"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("zemm.torch", "zemm.transformers"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    sentence = f"needs the package {package} .*: pip install {package}$"
    with pytest.raises(ImportError, match=sentence) as caught:
        use(zemm)
    assert caught.value.name == package


def test_doctor_fails_and_names_packages(bare: dict[str, str]) -> None:
    command = [sys.executable, "-m", "zemm.doctor"]
    done = subprocess.run(command, env=bare, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr == ""
    assert "libze1" in done.stdout
    assert "Not usable" in done.stdout


def test_names_equal_the_library_s() -> None:
    from zemm._library import library

    functions = {"data_type": "dt2str", "format_kind": "fmt_kind2str", "alg_kind": "alg_kind2str"}
    for enum in (
        "data_type",
        "format_kind",
        "alg_kind",
        "status",
        "engine_kind",
        "fpmath_mode",
        "accumulation_mode",
        "scratchpad_mode",
        "rounding_mode",
        "quantization_mode",
        "sparse_encoding",
    ):
        to_string = getattr(library.lib, f"zemm_{functions.get(enum, enum + '2str')}")
        for name in library.names_of(enum):
            said = library.ffi.string(to_string(library.value_of(enum, name))).decode()
            assert said == name or (said.startswith("unknown") and name in ("max", "f4_e3m0")), (
                enum,
                name,
                said,
            )
