# SPDX-License-Identifier: Apache-2.0
"""Case lines of zemm-benchdnn as tests: the driver builds each case and compares with its reference."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from zlib import crc32

import pytest
import zemm
from support_rows import XE_ROWS
from zemm.benchdnn.cli import main
from zemm.benchdnn.data import build
from zemm.benchdnn.grammar.expand import Job, expand
from zemm.benchdnn.run import verdict
from zemm.benchdnn.run.runner import Runner
from zemm.benchdnn.run.tensors import Tensors

Result = verdict.Result
Capture = pytest.CaptureFixture[str]


def output(capsys: Capture, *words: str, code: int = 0) -> list[str]:
    """The lines that the program prints. words: of its command line, one or several. code: its exit code."""
    assert main([word for several in words for word in several.split()]) == code
    return capsys.readouterr().out.splitlines()


def results(line: str, **options: object) -> list[Result]:
    """What comes of each case of a line. options: other values of the driver's options."""
    runner = Runner(lambda job, stage: None)
    cases = [job.case for job in expand(line.split())[0]]
    assert cases, line
    changed = [replace(case, options=replace(case.options, **options)) for case in cases]  # type: ignore[arg-type]
    return [runner.run(Job(index, case, "")) for index, case in enumerate(changed)]


def check(line: str) -> list[Result]:
    """Each case of a line passes."""
    found = results(line)
    for result in found:
        assert result.state == verdict.PASSED, f"{result.sentence} {result.lines}"
    return found


def refusal(engine: zemm.Engine, line: str) -> str:
    """Why the library does not take a case; "" if it does."""
    ((job,), _) = expand(line.split())
    try:
        build.primitive_desc(zemm, engine, job.case)
    except NotImplementedError as error:
        return str(error)
    return ""


def turns(of: int) -> Callable[[str, str], bool]:
    """Whether it is the turn of a row and a name: one of so many is. On rows for Intel GPUs, whose modules
    take seconds to build here, a third as many are.
    """
    return lambda row, name: crc32(f"{row} {name}".encode()) % (3 * of if row in XE_ROWS else of) == 0


def check_row(monkeypatch: pytest.MonkeyPatch, row: str, line: str) -> None:
    """Each case of a line passes on the row, or the row says why it does not take it."""
    monkeypatch.setenv("ZEMM_KERNEL", row)
    for result in results(line):
        if result.state == verdict.UNIMPLEMENTED:
            why = result.sentence.split(f"{row}: ", 1)[1].split(";")[0]
            assert "ZEMM_KERNEL" not in why
            continue
        assert result.state == verdict.PASSED, f"{result.sentence} {result.lines}"


def prepared(engine: zemm.Engine, line: str, implementation: int = 0) -> tuple[Any, Tensors]:
    """The descriptor of a case line, at an implementation by its number, and filled tensors."""
    ((job,), _) = expand(line.split())
    pd = build.primitive_desc(zemm, engine, job.case)
    for _ in range(implementation):
        pd.next_impl()
    return pd, Tensors(zemm, engine, job.case, pd, verdict.Result())
