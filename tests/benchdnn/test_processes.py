# SPDX-License-Identifier: Apache-2.0
"""`--jobs=N`: the same lines as without it, crashes and interrupts."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import support_driver
from support_driver import Capture
from zemm.benchdnn.cli import main
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.run import processes

# Each process of a run reads this at its start. A case named crash ends it; a case named big takes
# a while; all cases write lines to a log.
CUSTOMIZE = """
import os, signal, time
from zemm.benchdnn.run import runner

original = runner.Runner.run

def log(word, job):
    with open({log!r}, "a") as file:
        file.write(f"{{word}} {{job.case.problem.name}}\\n")

def replacement(self, job):
    log("begin", job)
    if job.case.problem.name == "crash":
        self._announce(job, "run")
        os.kill(os.getpid(), signal.SIGSEGV)
    if job.case.problem.name == "big":
        time.sleep(0.3)
    result = original(self, job)
    log("end", job)
    return result

runner.Runner.run = replacement
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "log"
    (tmp_path / "sitecustomize.py").write_text(CUSTOMIZE.format(log=str(path)))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return path


def output(capsys: Capture, *words: str, code: int = 0) -> list[str]:
    return [
        re.sub(r"\(\d+ ms\)", "(_ ms)", line) for line in support_driver.output(capsys, *words, code=code)
    ]


def test_lines_are_those_of_one_process(capsys: Capture) -> None:
    shapes = [f"{m}x{k}:{k}x8" for m in range(1, 10) for k in (4, 30)]
    arguments = ["-v1", "--matmul", *shapes, "3x4:5x6", "--runtime_dims_masks=1:0", *shapes[:3]]
    expected = output(capsys, *arguments, code=1)
    assert output(capsys, "--jobs=3", *arguments, code=1)[:-1] == expected[:-1]
    assert any("21:SKIPPED" in line for line in expected)


@pytest.mark.usefixtures("default_signals")
def test_a_crash_fails_its_case_only(capsys: Capture, log: Path) -> None:
    names = ["a", "crash", "b", "c", "crash", *"defgh"]
    cases = [f"2x3:3x4_n{name}" for name in names]
    lines = output(capsys, "--jobs=2 --matmul", *cases, code=1)
    states = [line.split(" ")[0] for line in lines if "__REPRO" in line][: len(names)]
    assert states == [f"{i}:{'FAILED' if name == 'crash' else 'PASSED'}" for i, name in enumerate(names)]
    assert lines[1:3] == [
        "1:FAILED (_ ms) __REPRO: --matmul 2x3:3x4_ncrash",
        "# reason: its process ended by SIGSEGV in stage run",
    ]
    counts = "passed:8 skipped:0 mistrusted:0 unimplemented:0 invalid_arguments:0 failed:2 listed:0"
    assert lines[-2] == f"tests:10 {counts}"


def test_a_case_that_needs_the_memory_runs_alone(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, log: Path
) -> None:
    def is_big(case: Case, count: int) -> bool:
        return case.problem.name == "big"

    monkeypatch.setattr(processes, "needs_the_memory", is_big)
    names = ["a", "b", "big", "big", "c", "d", "e", "big", "f"]
    lines = output(capsys, "--jobs=3 --matmul", *(f"2x3:3x4_n{name}" for name in names))
    assert lines[-2].startswith("tests:9 passed:9 ")
    logged = log.read_text().splitlines()
    begins = [i for i, line in enumerate(logged) if line == "begin big"]
    assert len(begins) == 3
    assert all(logged[i + 1] == "end big" for i in begins)
    before = [line.split(" ") for line in logged[: begins[0]]]
    assert sorted(name for word, name in before if word == "end") == ["a", "b"]


@pytest.mark.usefixtures("default_signals")
@pytest.mark.parametrize("knob", ["--jobs=1", "--jobs=2"])
def test_ctrl_c_ends_all_and_prints_the_summary(knob: str, log: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "zemm.benchdnn", knob, "--mode=I", "--repeats-per-prb=50000"]
    command.append(f"--output={tmp_path / 'a.json'}")
    with subprocess.Popen([*command, "--matmul", "2x3:3x4"], stdout=-1, stderr=-1, text=True) as process:
        assert process.stdout
        assert process.stderr
        first = process.stdout.readline()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.send_signal(signal.SIGINT)
        lines = process.stdout.read().splitlines()
        errors = process.stderr.read()
    assert first.startswith("0:INITIALIZED")
    assert process.returncode == 130
    assert len(children) == (2 if knob == "--jobs=2" else 0)
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    counts = re.fullmatch(r"tests:(\d+) passed:(\d+) skipped:0 .* failed:0 listed:0", lines[-2])
    assert counts
    assert 1 <= int(counts[1]) < 50000
    assert counts[1] == counts[2] == str(len(lines) - 1)
    assert errors == f"interrupted: {counts[1]} of 50000 cases have run\n"
    content = json.loads((tmp_path / "a.json").read_text())
    assert content["run"]["interrupted"]
    assert len(content["rows"]) == int(counts[1])


def test_timed_cases_are_refused(capsys: Capture) -> None:
    assert main(["--mode=P", "--jobs=2", "--matmul", "2x3:3x4", "2x3:3x5"]) == 1
    assert capsys.readouterr().err == "err: --jobs: cases that are timed need the machine to themselves\n"
