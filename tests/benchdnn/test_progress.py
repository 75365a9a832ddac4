# SPDX-License-Identifier: Apache-2.0
"""The progress bar appears only for long runs on a terminal."""

import sys

import pytest
from zemm._terminal import building
from zemm.benchdnn.report.progress import Progress


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
