# SPDX-License-Identifier: Apache-2.0
"""The command as a user sees it: sentences and exit codes for any input, the list of cases, the
help.
"""

from pathlib import Path

import pytest
from zemm.benchdnn.cli import main


def test_list_mode(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--mode=L", "--matmul", "--dt=f32,f16", "2x3:3x4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "0:LISTED (0 ms) __REPRO: --mode=L --matmul 2x3:3x4"
    assert lines[1] == "1:LISTED (0 ms) __REPRO: --mode=L --matmul --dt=f16 2x3:3x4"
    counts = "passed:0 skipped:0 mistrusted:0 unimplemented:0 invalid_arguments:0 failed:0 listed:2"
    assert lines[2] == f"tests:2 {counts}"
    assert lines[3].startswith("total: 0.0")


def test_start_skips(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--mode=L", "--start=1", "--matmul", "2x3:3x4", "4x3:3x4"]) == 0
    assert "0:SKIPPED (Skip-start option hit)" in capsys.readouterr().out


def test_skipped_cases_need_no_engine(capsys: pytest.CaptureFixture[str]) -> None:
    bad_runtime = ["--runtime_dims_masks=2:0", "--stag=ab", "--wtag=ab", "--dtag=ab", "2x3:3x4"]
    assert (
        main(
            [
                "--matmul",
                "--runtime_dims_masks=1:0",
                "2x3:3x4",
                *bad_runtime,
                "--reset",
                "900000x900000:900000x9",
            ]
        )
        == 0
    )
    out = capsys.readouterr().out
    assert "0:SKIPPED (Invalid case)" in out
    assert "1:SKIPPED (Invalid case)" in out
    assert "2:SKIPPED (Not enough RAM)" in out


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
