# SPDX-License-Identifier: Apache-2.0
"""zemm-doctor: its verdict, its exit code, and its report on a driver that crashes or hangs."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zemm
from support_process import captured
from zemm import doctor
from zemm._doctor import child


@pytest.mark.intel_gpu_driver
def test_good_machine(engine: zemm.Engine) -> None:
    done = subprocess.run([sys.executable, "-m", "zemm"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("Good: ")
    assert "cpu:0" in done.stdout.splitlines()[-1]
    for part in (
        zemm.__version__,
        "libzemm.so",
        "libze_cpu.so",
        "libintelocl.so",
        "SPIR-V modules",
        "  threads ",
        "  cold start ",
        "Kernel cache\n",
    ):
        assert part in done.stdout, done.stdout


def test_refused_amx(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor with AMX whose operating system refuses it gets a sentence."""
    monkeypatch.delenv("ZEMM_DEVICE_MASK", raising=False)
    assert not child.amx_sentence({"avx512f"}, ["avx512"])
    assert not child.amx_sentence({"avx512f", "amx_tile"}, ["avx512", "amx_int8"])
    assert "does not let this process" in child.amx_sentence({"amx_tile"}, ["avx512"])
    monkeypatch.setenv("ZEMM_DEVICE_MASK", "avx512")
    assert "ZEMM_DEVICE_MASK=avx512 may hide it" in child.amx_sentence({"amx_tile"}, [])


def test_wrong_values_are_a_problem(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    right = zemm.matmul

    def wrong(**arguments: Any) -> np.ndarray:
        result = right(**arguments)
        result[2, 3] += 1
        return result

    monkeypatch.setattr(zemm, "matmul", wrong)
    facts = child.check_matmul(engine)
    assert facts["wrong"] == 1
    assert "[2, 3]" in facts["error"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (f"import os; os.kill(os.getpid(), {int(signal.SIGSEGV)})", "SIGSEGV"),
        pytest.param("import time; time.sleep(60)", "no answer within", marks=pytest.mark.full),
        ("raise SystemExit('no such thing')", "no such thing"),
        ("print('[1]')", "unexpected answer"),
        ("print('what')", "exit code 0"),
    ],
)
def test_child_that_ends_badly(monkeypatch: pytest.MonkeyPatch, code: str, words: str) -> None:
    run = subprocess.run

    def instead(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        return run([sys.executable, "-c", code], **options)

    monkeypatch.setattr(subprocess, "run", instead)
    assert words in doctor.run_probe("cpu", timeout=5)["error"]


@pytest.mark.parametrize("working", [[], ["cpu"], ["gpu"]])
def test_exit_code_needs_one_working_device(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], working: list[str]
) -> None:
    gpu = {"kind": "gpu", "name": "A GPU", "driver": 0, "driver_version": 1}

    def probe(what: str, index: int = 0, timeout: float = 0) -> dict[str, Any]:
        if what == "loader":
            return {"path": "/lib/libze_loader.so.1.8.0", "devices": [gpu]}
        return {"wrong": 0, "values": 95} if what in working else {"error": "the process died with SIGSEGV"}

    monkeypatch.setattr(doctor, "run_probe", probe)
    assert doctor.main([]) == (0 if working else 1)
    said = capsys.readouterr().out
    assert "1.8.0" in said
    assert "A GPU" in said
    assert "SIGSEGV" in said


def test_a_cpu_alone_is_no_problem(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loader finds no driver, as on a machine without a GPU. A variable that is wrong is named."""
    monkeypatch.setenv("ZE_ENABLE_ALT_DRIVERS", "/nowhere.so")
    monkeypatch.setenv("ZEMM_PRIMITIVE_CACHE_CAPACITY", "many")
    done = subprocess.run([sys.executable, "-m", "zemm"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    assert "problem" not in done.stdout, done.stdout
    assert 'warning    ZEMM_PRIMITIVE_CACHE_CAPACITY: "many" is not a number' in done.stdout


def test_threads_are_those_of_the_device(engine: zemm.Engine) -> None:
    """Fewer CPUs for the process are fewer threads."""
    one = str(min(os.sched_getaffinity(0)))
    code = "import sys; from zemm import doctor; sys.exit(doctor.main(['--probe', 'cpu', '0']))"
    done = captured(["taskset", "-c", one, sys.executable, "-c", code], timeout=300)
    assert json.loads(done.stdout)["threads"].startswith("1, one for each of the 1 CPUs"), done
    assert child.threads_sentence("device cpu, 999 units, x").startswith("999, as the OpenCL runtime decides")


def test_cold_start_is_measured(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ZEMM_CACHE_DIR", str(tmp_path))
    facts = doctor.run_probe("cold-cpu")
    assert facts["build"] > 0.05  # a kernel that is loaded takes some milliseconds
    assert not list(tmp_path.iterdir())


def cache_report(capsys: pytest.CaptureFixture[str]) -> str:
    doctor.report_cache()
    return capsys.readouterr().out


def test_cache(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    monkeypatch.setenv("ZEMM_CACHE_DIR", str(folder))
    assert "0 kernels, 0.0 MB" in cache_report(capsys)
    for name in ("a.zemm", "b.zemm", ".new-c.zemm1"):
        (folder / name).write_bytes(bytes(2_000_000))
    said = cache_report(capsys)
    assert f"folder     {folder}\n" in said
    assert "2 kernels, 4.0 MB" in said
    assert "problem" not in said
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "this user cannot write to it" in cache_report(capsys)
    folder.chmod(0o777)
    assert "writable by other users" in cache_report(capsys)
    monkeypatch.setenv("ZEMM_CACHE", "0")
    assert "ZEMM_CACHE=0 switches the cache off" in cache_report(capsys)
