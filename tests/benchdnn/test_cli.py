# SPDX-License-Identifier: Apache-2.0
"""The command as a user sees it: sentences and exit codes for any input, the list of cases, the help."""

import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from support_driver import Capture, output
from zemm._terminal import building
from zemm.benchdnn.cli import main
from zemm.benchdnn.report import summary
from zemm.benchdnn.report.progress import Progress


def test_list_mode(capsys: pytest.CaptureFixture[str]) -> None:
    lines = output(capsys, "--mode=L --matmul --dt=f32,f16 2x3:3x4")
    for number, (line, dt) in enumerate(zip(lines, ["", "--dt=f16 "], strict=False)):
        assert re.fullmatch(rf"{number}:LISTED \(\d+ ms\) __REPRO: --mode=L --matmul {dt}2x3:3x4", line)
    counts = "passed:0 skipped:0 mistrusted:0 unimplemented:0 invalid_arguments:0 failed:0 listed:2"
    assert lines[2] == f"tests:2 {counts}"
    assert lines[3].startswith("total: ")


def test_canonical_repro_shows_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    """As in benchdnn not those of encodings and attributes."""
    main(["--mode=L", "--canonical=true", "--matmul", "2x3:3x4"])
    (line, *_) = capsys.readouterr().out.splitlines()
    assert line.partition("__REPRO: ")[2] == (
        "--mode=L --mode-modifier= --max-ms-per-prb=3000 --fix-times-per-prb=0 --execution-mode=direct "
        "--canonical=true --engine=cpu --fast-ref=true --mem-check=true --allow-enum-tags-only=true "
        "--cpu-isa-hints=none --attr-same-pd-check=false --check-ref-impl=false --memory-kind=usm "
        "--stream-kind=def --cold-cache=none --buffer-prefix= --matmul --dt=f32 --stag=any --wtag=any "
        "--dtag=any --strides=:: --runtime_dims_masks=0:0 --bia-dt=undef --bia_mask=2 "
        "--ctx-init=auto:auto:auto --ctx-exe=auto:auto:auto 2x3:3x4"
    )


def test_verbose_lines(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "cases"
    path.write_text("2x3:3x4")
    main(["--mode=L", "-v50", "--matmul", f"--batch={path}"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"batch file: {path}"
    assert lines[1] == "[SERVICE] src:2x3 wei:3x4 dst:2x4"


SMALL = "3x20:20x6"
FAILURES = "= Failed cases summary (--summary=no-failures to disable) ="
IMPLS = "= Implementation statistics (--summary=no-impl to disable) ="


def test_failures() -> None:
    lines = [f"{i}:FAILED" for i in range(12)]
    bar = "=" * len(FAILURES)
    block = [bar, FAILURES, bar, *lines[:10], "(... 2 more cases ...)", "=" * 28]
    assert summary.failures(lines).splitlines() == block
    assert summary.failures(lines[:10]).splitlines() == [*block[:13], "=" * 28]
    stages = " create_pd: 1.00s (50%); create_prim: 0.00s (0%);"
    for mode, text in (("L", ""), ("I", stages), ("R", f"{stages} fill: 0.00s (0%); execute: 0.50s (25%);")):
        assert summary.times(mode, {"create_pd": 1.0, "execute": 0.5}, 2.0, 3) == f"total: 2.00s;{text}"


def test_table_of_implementations() -> None:
    table = summary.implementations(Counter({"b:any": 2, "a:any": 2, "longer:any": 12}))
    bar = "=" * len(IMPLS)
    assert table.splitlines() == [
        bar,
        IMPLS,
        bar,
        "| longer:any : 12 (75%)                                    |",
        "|      a:any : 2 (13%)                                     |",
        "|      b:any : 2 (13%)                                     |",
        bar,
    ]
    counts = Counter({"b": 2, "a": 2, "c": 12})
    assert summary.implementations_csv(counts) == "benchdnn_summary,impl_names,c:12,a:2,b:2"


@pytest.mark.parametrize(
    ("value", "titles"),
    [
        ("", [FAILURES]),
        ("failures", [FAILURES]),
        ("no-failures", []),
        ("impl", [IMPLS, FAILURES]),
        ("no-failures+impl", [IMPLS]),
        ("impl,no-impl,no-failures", []),
        ("impl-csv", ["benchdnn_summary,impl_names,", FAILURES]),
        ("impl-csv+impl", [IMPLS, "benchdnn_summary,impl_names,", FAILURES]),
    ],
)
def test_forms(capsys: Capture, value: str, titles: list[str]) -> None:
    lines = output(capsys, f"--summary={value}", "--mode=I --matmul", SMALL, "3x4:5x6", code=1)
    known = (IMPLS, "benchdnn_summary,impl_names,", FAILURES)
    found = [title for line in lines for title in known if line.startswith(title)]
    assert found == titles
    assert lines[-2].startswith(
        "tests:2 passed:1 skipped:0 mistrusted:0 unimplemented:0 invalid_arguments:1 "
    )


def test_timed_runs_have_no_list_of_failures(capsys: Capture) -> None:
    """As in benchdnn; but they count, and the times of the others are summed up."""
    lines = output(capsys, "--mode=P --fix-times-per-prb=1 --matmul", SMALL, "3x4:5x6", code=1)
    assert FAILURES not in lines
    assert lines[-3].startswith("tests:2 passed:1 ")
    assert lines[-2].startswith("total perf: min(ms):")


def test_lines_name_the_implementation(capsys: Capture) -> None:
    """A repro line asks for the implementation that ran; its case is read again with it."""
    main(["-v5", "--matmul", "--skip-impl=no_such", SMALL])
    lines = capsys.readouterr().out.splitlines()
    impl = next(line for line in lines if "implementation: " in line).split(": ")[1]
    repro = next(line for line in lines if "__REPRO" in line).partition("__REPRO: ")[2]
    assert repro == f"--matmul --impl={impl} --skip-impl=no_such {SMALL}"
    assert main(repro.split()) == 0
    main(["--mode=L", "--matmul", SMALL])
    assert "--impl" not in capsys.readouterr().out.splitlines()[-3]


@pytest.mark.parametrize(
    ("total", "terminal", "shown"), [(100, True, True), (100, False, False), (3, True, False)]
)
def test_bar(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    total: int,
    terminal: bool,
    shown: bool,
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with Progress(total) as progress:
        assert building.is_quiet == shown
        progress.emit("0:PASSED")
        progress.advance("passed:1")
    assert not building.is_quiet
    captured = capsys.readouterr()
    assert "0:PASSED" in captured.out
    assert (f"/{total}" in captured.err) == shown
