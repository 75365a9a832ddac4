# SPDX-License-Identifier: Apache-2.0
"""Creation of primitives: in parallel, with filters, with types that an engine lacks."""

import os
import threading
from typing import Any

import pytest
import zemm
from zemm.benchdnn.cli import main
from zemm.benchdnn.data import build
from zemm.benchdnn.run import create

Capture = pytest.CaptureFixture[str]
SMALL = "3x20:20x6"


def lines_of(capsys: Capture, *arguments: str, code: int = 0) -> list[str]:
    assert main(arguments) == code
    return capsys.readouterr().out.splitlines()


def test_modifier_p_creates_together(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many at a time as there are processors; executions and lines keep their order."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2})
    barrier = threading.Barrier(3, timeout=60)
    threads: list[int] = []
    original: Any = create.primitive

    def together(case: Any, engine: Any, result: Any) -> Any:
        threads.append(threading.get_ident())
        barrier.wait()
        return original(case, engine, result)

    monkeypatch.setattr(create, "primitive", together)
    problems = [f"{m}x20:20x6" for m in range(1, 7)]
    lines = lines_of(capsys, "--mode-modifier=P", "-v1", "--matmul", *problems)
    assert [line.split(" ")[0] for line in lines if "__REPRO" in line] == [f"{i}:PASSED" for i in range(6)]
    assert threading.get_ident() not in threads
    # As in benchdnn creations are not announced.
    assert [line for line in lines if line.startswith(("create", "run"))] == [f"run: {p}" for p in problems]


def test_modifier_p_with_cases_that_end_early(capsys: Capture) -> None:
    problems = ["3x4:5x6", SMALL, "--runtime_dims_masks=1:0", SMALL, "--reset", "--impl=no_such", SMALL]
    lines = lines_of(capsys, "--mode-modifier=P", "--summary=no-failures", "--matmul", *problems, code=1)
    states = [line.split(" (")[0] for line in lines if "__REPRO" in line]
    assert states == ["0:INVALID_ARGUMENTS", "1:PASSED", "2:SKIPPED", "3:SKIPPED"]
    assert "tests:4 passed:1 skipped:2 " in lines[-2]


def test_an_engine_that_is_missing_ends_the_run(capsys: Capture) -> None:
    assert main(["--mode-modifier=P", "--engine=cpu:99", "--matmul", SMALL, SMALL]) == 1
    assert capsys.readouterr().err.startswith("err: --engine=cpu:99 cannot be used: ")


def test_filters_say_what_they_skip(capsys: Capture) -> None:
    quiet = lines_of(capsys, "-v1", "--matmul", "--impl=no_such", SMALL)
    assert not any("IMPL_FILTER" in line for line in quiet)
    some = lines_of(capsys, "-v2", "--matmul", "--impl=no_such", SMALL)
    assert [line for line in some if "IMPL_FILTER" in line] == [
        "[IMPL_FILTER] All implementations were skipped!"
    ]
    found = lines_of(capsys, "-v6", "--matmul", "--impl=no_such", SMALL)
    skipped = [line for line in found if line.startswith("[IMPL_FILTER] Implementation skipped: ")]
    assert len(set(skipped)) == len(skipped) > 1


def test_the_later_filter_counts(capsys: Capture) -> None:
    assert "0:PASSED" in lines_of(capsys, "--matmul", "--impl=no_such", "--skip-impl=other", SMALL)[0]
    assert "0:SKIPPED" in lines_of(capsys, "--matmul", "--skip-impl=other", "--impl=no_such", SMALL)[0]


@pytest.mark.parametrize(
    ("options", "lacks", "state"),
    [
        ("--dt=f64", True, "0:SKIPPED (Data type not supported) ("),
        ("--bia-dt=f64", True, "0:SKIPPED (Data type not supported) ("),
        ("--bia-dt=f64", False, "0:UNIMPLEMENTED ("),
        ("--dt=s8:f16:f32", True, "0:UNIMPLEMENTED ("),
    ],
)
def test_types_that_an_engine_lacks(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, options: str, lacks: bool, state: str
) -> None:
    """A case of f64 is skipped if the engine has no f64 at all."""

    def refused(*_: object) -> None:
        raise zemm.UnimplementedError("not here")

    monkeypatch.setattr(build, "primitive_desc", refused)
    if lacks:
        monkeypatch.setattr(zemm, "MatmulPrimitiveDesc", refused)
    code = 0 if "SKIPPED" in state else 1
    lines = lines_of(capsys, "--matmul", *options.split(), SMALL, code=code)
    assert lines[0].startswith(state)
    assert lines[1] == "# reason: not here"


def test_runtime_masks_of_sparse_tensors_are_checked(capsys: Capture) -> None:
    lines = lines_of(capsys, "--matmul", "--encoding=csr::", "--runtime_dims_masks=1:0", SMALL)
    assert lines[0].startswith("0:SKIPPED (Invalid case) (")


def test_errors_of_the_driver_itself_are_failures(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a mistake")

    monkeypatch.setattr(create, "primitive", broken)
    for knobs in ([], ["--mode-modifier=P"]):
        lines = lines_of(capsys, *knobs, "--summary=no-failures", "--matmul", SMALL, SMALL, code=1)
        assert [line.split(" ")[0] for line in lines[::2][:2]] == ["0:FAILED", "1:FAILED"]
        assert lines[1] == "# reason: KeyError: 'a mistake'"
