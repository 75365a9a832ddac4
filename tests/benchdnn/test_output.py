# SPDX-License-Identifier: Apache-2.0
"""--output and --plot: what the files contain, when they are written, and what is refused."""

import csv
import dataclasses
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zemm
from support_results import NASTY, contest, run, timed
from test_peers import Fake
from zemm._programs import picture, whole_file
from zemm._programs.usage import UsageError
from zemm.benchdnn.cli import main
from zemm.benchdnn.peers import PeerError
from zemm.benchdnn.report import output, plot
from zemm.benchdnn.run import rivals
from zemm.benchdnn.run.peaks import Peaks

Capture = pytest.CaptureFixture[str]


def test_json_of_checked_cases(tmp_path: Path, engine: zemm.Engine) -> None:
    file = tmp_path / "a.json"
    assert main([f"--output={file}", "--matmul", "2x3:3x4_nfirst", "2x3:5x4"]) == 1
    content = json.loads(file.read_text())
    first, second = content["rows"]
    assert (first["name"], first["status"], first["problem"]) == ("first", "PASSED", "2x3:3x4")
    assert first["kernel"].startswith("matmul_")
    assert first["gops"] is None
    assert second["status"] == "INVALID_ARGUMENTS"
    assert "5" in second["reason"]
    facts = content["run"]
    assert facts["command"] == f"zemm-benchdnn --output={file} --matmul 2x3:3x4_nfirst 2x3:5x4"
    assert facts["zemm"] == zemm.__version__
    emulated = ["dp4a", "xmx", "block_2d", "tf32"]
    own = [name for name in engine.features if name not in emulated]
    assert facts["devices"] == [
        {"engine": "cpu:0", "name": engine.name, "features": own, "in_software": emulated}
    ]
    assert facts["interrupted"] is False
    assert "records" not in facts


def test_timed_cases_in_all_kinds_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str) -> Fake:
        if name == "torch":
            raise PeerError("peer torch left out: gone")
        return Fake()

    monkeypatch.setattr(
        rivals.Rivals.__init__,
        "__defaults__",
        (load, lambda *_: Peaks({"f32": 2e9, "read": 3e9}), lambda *_: None),
    )
    files = [tmp_path / f"a.{kind}" for kind in ("json", "csv", "html")]
    options = ["--mode=P", "--peak", "--peer=onednn,torch", "--fix-times-per-prb=3"]
    assert (
        main([*options, *(f"--output={file}" for file in files), "--matmul", "--wtag=ab", "8x64:64x16"]) == 0
    )
    content = json.loads(files[0].read_text())
    own, peer = content["rows"]
    operations, size = 2 * 8 * 64 * 16, 4 * (8 * 64 + 64 * 16 + 8 * 16)
    assert (own["operations"], own["bytes"]) == (operations, size)
    assert own["gops"] == pytest.approx(operations / own["host_ms_best"] / 1e6)
    assert own["gb_per_s"] == pytest.approx(size / own["host_ms_best"] / 1e6)
    assert own["device_ms_best"] < own["host_ms_best"] <= own["host_ms_median"]
    assert peer["device_ms_best"] is peer["device_ms_median"] is None
    assert own["bound"] == "f32"
    assert own["percent_of_peak"] == pytest.approx(100 * own["gops"] / 2)
    assert (own["who"], peer["who"], peer["version"]) == ("zemm", "onednn", "1.2")
    assert peer["ratio_best"] == pytest.approx(peer["host_ms_best"] / own["host_ms_best"])
    assert content["run"]["peaks"] == {"f32": 2.0, "read": 3.0}
    assert content["run"]["left_out"] == ["peer torch left out: gone"]
    with files[1].open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["who"] for line in lines] == ["zemm", "onednn"]
    assert float(lines[0]["gops"]) == own["gops"]
    assert (lines[1]["peers"], lines[1]["left_out"]) == ("onednn 1.2", "peer torch left out: gone")
    assert ("<svg" in files[2].read_text()) == picture.is_installed()
    assert "peer torch left out: gone" in files[2].read_text()


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--output=a.txt", "must end with .json or .csv or .html"),
        ("--output=nowhere/a.json", "No such file or directory"),
        ("--output=folder.json", "this is a folder"),
        ("--output=", "must end with"),
        ("--plot=a.pdf", "must end with .png"),
        ("--plot=a.png", "give --mode=P"),
    ],
)
def test_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, option: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder.json").mkdir()
    assert main([option, "--matmul", "2x3:3x4"]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith(f"err: {option}")
    assert words in captured.err
    assert captured.out == ""
    assert os.listdir() == ["folder.json"]


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures of the pictures that are made."""
    figure = pytest.importorskip("matplotlib.figure")
    drawn: list[Any] = []

    class Figure(figure.Figure):  # type: ignore[misc, name-defined]
        def savefig(self, *to: Any, **how: Any) -> None:
            drawn.append(self)
            super().savefig(*to, **how)

    monkeypatch.setattr(figure, "Figure", Figure)
    return drawn


def test_plot(tmp_path: Path, pictures: list[Any]) -> None:
    output.write(contest(), [], [str(tmp_path / "a.png")])
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    (figure,) = pictures
    assert f"zemm-benchdnn --output={NASTY}.html" in figure.get_suptitle()
    texts = [text.get_text() for text in figure.axes[1].texts]
    assert texts == [
        "2 ms", "10 ms · 5.00× →", f"torch: refused: cannot do {NASTY}",
        "openvino: 900 ms · reference, not comparable", "0.5 ms",
    ]  # fmt: skip


def test_labels_do_not_overlap(pictures: list[Any]) -> None:
    """Names of cases in one place, of any length and with signs of mathematics, and their marks."""
    times = (2.0, 2.01, 2.02, 2.5, 3.0, 40.0)
    names = [f"a_long_$name$_{place}" + 200 * "g" * (place == 5) for place in range(6)]
    cases = [timed(i, name, milliseconds=ms) for i, (name, ms) in enumerate(zip(names, times, strict=True))]
    plot.png(run(*cases))
    (figure,) = pictures
    above = figure.axes[0]
    boxes = [text.get_window_extent() for text in above.texts]
    marks = [
        above.transData.transform(line.get_xydata()[0])
        for line in above.lines
        if (line.get_gid() or "").startswith("point")
    ]
    assert 2 <= len(boxes) < len(marks) == 6
    for place, box in enumerate(boxes):
        assert not box.count_overlaps(boxes[place + 1 :])
        assert not any(box.contains(*mark) for mark in marks)
        assert above.bbox.containsx(box.x0)
        assert above.bbox.containsx(box.x1)


def test_a_file_is_replaced_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.json"
    file.write_text("old")

    def fail(self: Path, target: Any) -> None:
        assert json.loads(self.read_text())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(UsageError, match=r"--output=.*a.json: No space left on device"):
        output.write(contest(), [str(file)], [])
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.json"]


def test_links_of_others_are_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Someone who may write to the folder lays a link where the temporary file would be made."""
    (tmp_path / "mine").write_text("mine")
    (folder := tmp_path / "shared").mkdir()
    (folder / f".a.json.{os.getpid()}").symlink_to(tmp_path / "mine")
    output.check([str(folder / "a.json")], [], is_timed=False)
    output.write(contest(), [str(folder / "a.json")], [])
    assert json.loads((folder / "a.json").read_text())["rows"]
    assert (tmp_path / "mine").read_text() == "mine"
    # A name that was guessed all the same is an error.
    monkeypatch.setattr(whole_file.secrets, "token_hex", lambda size: "0" * size)
    (folder / f".zemm-{whole_file.secrets.token_hex(12)}").symlink_to(tmp_path / "mine")
    with pytest.raises(UsageError, match=r"--output=.*a.json: File exists"):
        output.write(contest(), [str(folder / "a.json")], [])
    assert (tmp_path / "mine").read_text() == "mine"


def test_one_file_that_fails_is_not_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [str(tmp_path / "nowhere" / "a.json"), str(tmp_path / "a.json")]
    with pytest.raises(UsageError, match="No such file or directory"):
        output.write(contest(), files, [])
    assert json.loads((tmp_path / "a.json").read_text())


def test_a_name_that_is_no_utf_8(tmp_path: Path) -> None:
    """It is printed and written with escapes, and no file of a run that has finished is lost."""
    files = [tmp_path / f"a.{kind}" for kind in ("json", "csv", "html")]
    command = [sys.executable, "-m", "zemm.benchdnn", *(f"--output={file}" for file in files)]
    command += ["--mode=I", "--matmul", b"2x3:3x4_n\xff\xe9"]
    environment = os.environ | {"PYTHONIOENCODING": "utf-8", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2x3:3x4_n\\udcff\\udce9" in done.stdout
    for file in files:
        assert "\\udcff" in file.read_text(encoding="utf-8")


def test_cells_that_are_no_formulas(tmp_path: Path) -> None:
    """Spreadsheets would compute a text that begins with one of these. Numbers stay numbers."""
    for name in ("=1+2", "+1", "-1", "@SUM(1)", "\t=1"):
        record = dataclasses.replace(contest().records[0], name=name, gops=-1.5)
        results = dataclasses.replace(contest(), records=[record])
        (line,) = csv.DictReader(io.StringIO(output.as_csv(results), newline=""))
        assert line["name"] == f"'{name}"
        assert line["gops"] == "-1.5"
        assert line["problem"] == record.problem
        assert line["line"] == record.line
        assert record.line.startswith("--matmul ")
    returns = dataclasses.replace(contest(), records=[dataclasses.replace(record, name="a\r=1")])
    (line,) = csv.DictReader(io.StringIO(output.as_csv(returns), newline=""))
    assert line["name"] == "a\\r=1"
