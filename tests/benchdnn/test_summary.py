# SPDX-License-Identifier: Apache-2.0
"""The blocks at the end of a run, and `--summary`."""

from collections import Counter

import pytest
from zemm.benchdnn.cli import main
from zemm.benchdnn.report import summary

Capture = pytest.CaptureFixture[str]
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
    assert main([f"--summary={value}", "--mode=I", "--matmul", SMALL, "3x4:5x6"]) == 1
    lines = capsys.readouterr().out.splitlines()
    known = (IMPLS, "benchdnn_summary,impl_names,", FAILURES)
    found = [title for line in lines for title in known if line.startswith(title)]
    assert found == titles
    assert lines[-2].startswith(
        "tests:2 passed:1 skipped:0 mistrusted:0 unimplemented:0 invalid_arguments:1 "
    )


def test_timed_runs_have_no_list_of_failures(capsys: Capture) -> None:
    """As in benchdnn; but they count, and the times of the others are summed up."""
    assert main(["--mode=P", "--fix-times-per-prb=1", "--matmul", SMALL, "3x4:5x6"]) == 1
    lines = capsys.readouterr().out.splitlines()
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
