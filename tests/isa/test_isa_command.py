# SPDX-License-Identifier: Apache-2.0
"""`python -m zemm.isa` as a command: its output, its files, and its errors."""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from support_isa import NEWER, OLDER, elf
from support_process import captured

MODULE = struct.pack("<5I", 0x07230203, 0x00010200, 0, 1, 0)


def isa(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return captured(
        [sys.executable, "-m", "zemm.isa", *map(str, arguments)], env={**os.environ, **variables}, timeout=900
    )


def fails(sentence: str, *arguments: str | Path, **variables: str) -> None:
    """Exit code 2, nothing on stdout, and a line with the sentence on stderr."""
    done = isa(*arguments, **variables)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    assert all(line.startswith("zemm.isa: ") for line in done.stderr.splitlines())
    assert sentence in done.stderr


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
        calls = (tmp_path / "calls").read_text().splitlines()  # compilers of several devices run at a time
        assert sorted(calls) == [f"{device}|-ze-opt-large-register-file" for device in ("lnl-m", "pvc")]

    def test_markdown(self, tmp_path: Path, spirv: Path) -> None:
        done = isa("--spirv", spirv, "--device", "bmg", "--ocloc", dumping(tmp_path, OLDER), "--markdown")
        header, rule, line = done.stdout.splitlines()
        assert header.startswith("| kernel | problem | device |")
        assert set(rule) <= set("|-: ")
        assert header.count("|") == rule.count("|") == line.count("|")

    def test_keeps_what_spills_less(self, tmp_path: Path, spirv: Path) -> None:
        """If a compiler tries a second time, it leaves two dumps. The tool takes the one that
        spills less.
        """
        worse = OLDER.replace("//.instCount", "//.spill size 640\n//.instCount")
        for dumps in ((worse, OLDER), (OLDER, worse)):
            out = tmp_path / "figures.json"
            command = dumping(tmp_path, *dumps)
            assert isa("--spirv", spirv, "--ocloc", command, "--device", "pvc", "--json", out).returncode == 0
            assert json.loads(out.read_text())["figures"][0]["spill_bytes"] == 0

    def test_judges_the_others(self, tmp_path: Path, spirv: Path) -> None:
        """If the compiler fails for a device, the figures of other devices are still printed."""
        dumping(tmp_path, OLDER)
        command = compiler(tmp_path, f'[ "$2" = bmg ] && exit 4; cp "{tmp_path}/0.txt" "$3/k.asm"')
        out = tmp_path / "figures.json"
        done = isa("--spirv", spirv, "--ocloc", command, "--device", "bmg,pvc", "--json", out)
        assert done.returncode == 2
        assert done.stderr.startswith("zemm.isa: k, bmg: the compiler returned 4")
        assert [line.split()[:2] for line in done.stdout.splitlines()[1:]] == [["k", "pvc"]]
        written = json.loads(out.read_text())
        assert [f["device"] for f in written["figures"]] == ["pvc"]
        assert len(written["failures"]) == 1

    def test_tile(self, tmp_path: Path, spirv: Path) -> None:
        command = dumping(tmp_path, OLDER)
        out = tmp_path / "figures.json"
        usual = ("--spirv", spirv, "--ocloc", command, "--device", "pvc", "--json", out)
        assert isa(*usual, "--tile", "8x32").returncode == 0
        assert json.loads(out.read_text())["figures"][0]["k_per_trip"] == 64
        fails("not unrolled over the tile", *usual, "--tile", "48x32")
        fails("not of the form", *usual, "--tile", "8 by 32")

    def test_takes_what_the_binary_has(self, tmp_path: Path, spirv: Path) -> None:
        """Of two dumps the tool takes the one with as many bytes of code as the binary, even if it
        spills.
        """
        longer = OLDER.replace("//.instCount", "//.spill size 640\n//.instCount")
        longer = longer.replace("// B004", 40 * "        nop\n" + "// B004")
        out = tmp_path / "figures.json"
        for size, spill in ((16 * 21 - 8 * 4 + 112, 0), (16 * 61 - 8 * 4 + 112, 640)):
            command = dumping(tmp_path, OLDER, longer)
            (tmp_path / "binary").write_bytes(elf({".text.matmul": bytes(size), ".ze_info": b"kernels:\n"}))
            with command.open("a") as script:
                script.write(f'cp "{tmp_path}/binary" "$3/k.bin"\n')
            assert isa("--spirv", spirv, "--ocloc", command, "--device", "pvc", "--json", out).returncode == 0
            assert json.loads(out.read_text())["figures"][0]["spill_bytes"] == spill

    def test_keep(self, tmp_path: Path, spirv: Path) -> None:
        command = dumping(tmp_path, OLDER)
        folder = tmp_path / "kept"
        assert isa("--spirv", spirv, "--ocloc", command, "--device", "pvc", "--keep", folder).returncode == 0
        assert (folder / "k_pvc" / "k_0.asm").read_text() == OLDER
        assert (folder / "k_pvc" / "module.spv").read_bytes() == MODULE

    def test_bad_input(self, tmp_path: Path, spirv: Path) -> None:
        good = dumping(tmp_path, OLDER)
        nowhere = {"PATH": str(tmp_path)}  # a folder without ocloc
        fails("there is no such file", "--spirv", tmp_path / "nothing.spv", **nowhere)
        fails("not of the form", "--spirv", spirv, "--tile", "8 by 32", **nowhere)
        fails("'xyz' is not in the model", "--spirv", spirv, "--device", "pvc,xyz", "--ocloc", good)
        text = tmp_path / "text.spv"
        text.write_text("kernel void k() {}   ")
        fails("SPIR-V", "--spirv", text, **nowhere)
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
    fails("has no row 'matmul_nothing'", "--row", "matmul_nothing", PATH="")
