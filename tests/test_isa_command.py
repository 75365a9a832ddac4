# SPDX-License-Identifier: Apache-2.0
"""`python -m zemm.isa` as a command: what it prints and writes, its errors, the Xe rows' figures."""

import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support_isa import NEWER, OLDER
from zemm.isa.pipes import Pipe

STORED = Path(__file__).with_name("isa_figures.json")
# Writes the stored figures anew: when a row is added, or after looking at what got worse and why.
REWRITE = "python -m zemm.isa --device pvc,dg2 --json tests/isa_figures.json"
MODULE = struct.pack("<5I", 0x07230203, 0x00010200, 0, 1, 0)
NO_OCLOC = "there is no ocloc of Debian: apt-get install intel-opencl-icd brings it"


def isa(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "zemm.isa", *map(str, arguments)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def fails(sentence: str, *arguments: str | Path, **variables: str) -> None:
    """Exit code 2 and one line on stderr that has the sentence."""
    done = isa(*arguments, **variables)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("zemm.isa: ")
    assert sentence in line


@pytest.fixture
def spirv(tmp_path: Path) -> Path:
    path = tmp_path / "k.spv"
    path.write_bytes(MODULE)
    return path


def compiler(folder: Path, body: str) -> Path:
    """A stand-in for ocloc that is called COMMAND INPUT.spv DEVICE FOLDER OPTIONS."""
    path = folder / "compiler"
    path.write_text(f"#!/bin/bash\n{body}\n")
    path.chmod(0o755)
    return path


def dumping(folder: Path, *dumps: str) -> Path:
    for number, dump in enumerate(dumps):
        (folder / f"{number}.txt").write_text(dump)
    copies = "\n".join(f'cp "{folder}/{n}.txt" "$3/k_{n}.asm"' for n in range(len(dumps)))
    return compiler(folder, f'echo "$2|$4" >>"{folder}/calls"\n{copies}')


class TestModule:
    def test_table_and_figures(self, tmp_path: Path, spirv: Path) -> None:
        command = dumping(tmp_path, OLDER)
        out = tmp_path / "figures.json"
        done = isa(
            "--spirv", spirv, "--device", "pvc,lnl-m", "--ocloc", command, "--json", out, "--group-k", 128
        )
        assert (done.returncode, done.stderr) == (0, "")
        header, *lines = done.stdout.splitlines()
        assert header.split()[:3] == ["kernel", "problem", "device"]
        assert [line.split()[:2] for line in lines] == [["k", "pvc"], ["k", "lnl-m"]]
        written = json.loads(out.read_text())
        assert written["compiler"] == "compiler"
        pvc, lnl = written["figures"]
        assert (pvc["device"], pvc["spill_bytes"], pvc["grf"], pvc["trips"]) == ("pvc", 0, 256, 2)
        assert pvc["instructions"] == lnl["instructions"]
        assert (pvc["cycles"]["XMX"], lnl["cycles"]["XMX"]) == (64, 128)
        assert (tmp_path / "calls").read_text() == "".join(
            f"{device}|-ze-opt-large-register-file\n" for device in ("pvc", "lnl-m")
        )

    def test_markdown(self, tmp_path: Path, spirv: Path) -> None:
        done = isa("--spirv", spirv, "--device", "bmg", "--ocloc", dumping(tmp_path, OLDER), "--markdown")
        header, rule, line = done.stdout.splitlines()
        assert header.startswith("| kernel | problem | device |")
        assert set(rule) <= set("|-: ")
        assert header.count("|") == rule.count("|") == line.count("|")

    def test_keeps_what_spills_less(self, tmp_path: Path, spirv: Path) -> None:
        """A compiler that tries a second time leaves both dumps."""
        worse = OLDER.replace("//.instCount", "//.spill size 640\n//.instCount")
        for dumps in ((worse, OLDER), (OLDER, worse)):
            out = tmp_path / "figures.json"
            command = dumping(tmp_path, *dumps)
            assert isa("--spirv", spirv, "--ocloc", command, "--device", "pvc", "--json", out).returncode == 0
            assert json.loads(out.read_text())["figures"][0]["spill_bytes"] == 0

    def test_keep(self, tmp_path: Path, spirv: Path) -> None:
        command = dumping(tmp_path, OLDER)
        folder = tmp_path / "kept"
        assert isa("--spirv", spirv, "--ocloc", command, "--device", "pvc", "--keep", folder).returncode == 0
        assert (folder / "k_pvc" / "k_0.asm").read_text() == OLDER
        assert (folder / "k_pvc" / "module.spv").read_bytes() == MODULE

    def test_bad_input(self, tmp_path: Path, spirv: Path) -> None:
        good = dumping(tmp_path, OLDER)
        fails("there is no such file", "--spirv", tmp_path / "nothing.spv")
        fails("'xyz' is not in the model", "--spirv", spirv, "--device", "pvc,xyz", "--ocloc", good)
        text = tmp_path / "text.spv"
        text.write_text("kernel void k() {}   ")
        fails("SPIR-V", "--spirv", text, "--ocloc", good)
        fails("no/folder", "--spirv", spirv, "--ocloc", good, "--device", "pvc", "--json", "no/folder/x.json")
        fails("left no assembly of other", "--spirv", spirv, "--ocloc", good, "--kernel", "other")

    def test_no_compiler(self, tmp_path: Path, spirv: Path) -> None:
        fails("there is no ocloc", "--spirv", spirv, PATH=str(tmp_path))
        fails("'no-such-compiler' is not there", "--spirv", spirv, "--ocloc", "no-such-compiler")
        command = dumping(tmp_path, OLDER)
        command.chmod(0o644)
        fails("may not be executed", "--spirv", spirv, "--ocloc", command)

    @pytest.mark.parametrize(
        ("body", "sentence"),
        [
            ("echo 'error: undefined f' >&2; exit 3", "returned 3"),
            ("echo 'error: undefined f' >&2; exit 3", "error: undefined f"),
            ("exit 0", "left no assembly"),
            ('echo hello >"$3/k.asm"', "no line //.kernel"),
        ],
    )
    def test_failing_compiler(self, body: str, sentence: str, tmp_path: Path, spirv: Path) -> None:
        fails(sentence, "--spirv", spirv, "--ocloc", compiler(tmp_path, body))

    def test_what_the_model_does_not_know(self, tmp_path: Path, spirv: Path) -> None:
        odd = OLDER.replace("mad (16|M0) ", "maddest (16|M0) ", 1)
        fails("'maddest'", "--spirv", spirv, "--ocloc", dumping(tmp_path, odd), "--group-k", 128)
        calls = OLDER.replace(
            "(W)     cmp (16|M0)", "        calla (16|M0) r253.0 r253.0\n(W)     cmp (16|M0)"
        )
        fails("calls 1 functions", "--spirv", spirv, "--ocloc", dumping(tmp_path, calls))
        two = NEWER.replace(".kernel matmul", ".kernel other")
        fails("choose one with --kernel", "--spirv", spirv, "--ocloc", dumping(tmp_path, OLDER, two))


def test_unknown_row() -> None:
    fails("has no row 'matmul_nothing'", "--row", "matmul_nothing", "--ocloc", "true")


# ---- the Xe rows


def key(figures: dict[str, Any]) -> str:
    return f"{figures['kernel']} {figures['problem']} {figures['device']}"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if not shutil.which("ocloc"):
        pytest.skip(NO_OCLOC)
    out = tmp_path_factory.mktemp("isa") / "figures.json"
    done = isa("--device", "pvc,dg2", "--json", out)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(out.read_text())
    return result


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    result: dict[str, Any] = json.loads(STORED.read_text())
    return result


def test_no_spills(written: dict[str, Any]) -> None:
    """No registers in memory, no private memory, whatever the compiler's version."""
    for figures in written["figures"]:
        assert figures["spill_bytes"] == 0, key(figures)
        assert figures["private_bytes"] == 0, key(figures)
        assert figures["spill_messages"] == 0, key(figures)


def test_no_row_got_worse(written: dict[str, Any], stored: dict[str, Any]) -> None:
    """A failure names the row: make it as good as it was, or look why and rewrite the figures (REWRITE)."""
    if written["compiler"] != stored["compiler"]:
        pytest.skip(f"the figures are of {stored['compiler']}, this is {written['compiler']}")
    now = {key(f): f for f in written["figures"]}
    before = {key(f): f for f in stored["figures"]}
    assert set(now) == set(before), f"rows came or went: {REWRITE}"
    worse = []
    for name, figures in now.items():
        old = before[name]
        worse += [
            f"{name}: {figures['instructions'][pipe.value]} {pipe.value} instructions, "
            f"{old['instructions'][pipe.value]} before"
            for pipe in Pipe
            if pipe is not Pipe.SYNC and figures["instructions"][pipe.value] > old["instructions"][pipe.value]
        ]
        worse += [
            f"{name}: {what} {figures[what]}, {old[what]} before"
            for what in ("utilisation", "serial_utilisation")
            if figures[what] < old[what]
        ]
        worse += [
            f"{name}: {what} {figures[what]}, {old[what]} before"
            for what in ("bytes_loaded", "grf")
            if figures[what] > old[what]
        ]
    assert worse == [], REWRITE


def test_skips_say_why(written: dict[str, Any]) -> None:
    assert written["skipped"], "rows for one family only must be skipped on the other"
    for sentence in written["skipped"]:
        assert sentence.startswith("matmul_")
        assert " on dg2: " in sentence or " on pvc: " in sentence
