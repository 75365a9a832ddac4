# SPDX-License-Identifier: Apache-2.0
"""zemm-benchdnn from-verbose: logs of zemm and oneDNN become case files."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support_driver import Capture, output
from zemm.benchdnn.cli import main
from zemm.benchdnn.grammar import from_verbose

EXECUTION = "{}_verbose,v1,primitive,exec,cpu,matmul,x,undef,src:{}::blocked:ab::f0 wei:s8::blocked:ab::f0 "
EXECUTION += "dst:f32::blocked:ab::f0,attr-scratchpad:user,,2x3:3x4,0.01"


def case_lines(capsys: Capture, log: Path) -> list[str]:
    assert main(["from-verbose", str(log)]) == 0
    return capsys.readouterr().out.splitlines()


def test_counts_and_order(tmp_path: Path, capsys: Capture) -> None:
    log = tmp_path / "log"
    once, twice = EXECUTION.format("onednn", "f32"), EXECUTION.format("zemm", "s8")
    created = EXECUTION.format("zemm", "u8").replace(",exec,", ",create:cache_miss,")
    unknown = EXECUTION.format("onednn", "f128")
    lines = [
        created,
        once,
        twice,
        "text",
        twice,
        unknown,
        once[:70],
        "zemm_verbose,v1,primitive,exec,cpu,matmul,x",
    ]
    log.write_text("\n".join(lines))
    found = case_lines(capsys, log)
    options = "--reset --stag=ab --wtag=ab --dtag=ab"
    assert found[:5] == [
        "# log: 4 executions of 4 matmuls",
        "# 2 lines are damaged",
        "",
        "# 2 times",
        f"{options} --dt=s8:s8:f32 --attr-scratchpad=user 2x3:3x4",
    ]
    assert found[6:8] == ["# 1 times", f"{options} --dt=f32:s8:f32 --attr-scratchpad=user 2x3:3x4"]
    assert found[10].startswith(f"# {options} --dt=f128")
    assert found[11].startswith("# cannot be run: ")
    assert "f128" in found[11]
    assert found[13].startswith("# created")


def test_a_log_of_the_library_runs_again(tmp_path: Path, capsys: Capture) -> None:
    """The cases of a log are those that were run."""
    arguments = ["--dt=s8:u8:f32", "--attr-scales=src:per_tensor:f32:1x32+wei:per_oc", "--bia-dt=f32"]
    arguments += [
        "--attr-zero-points=wei:common:3",
        "--attr-post-ops=relu+add:f32:2",
        "--attr-reduced-range=src",
        "4x64:64x16",
        "--attr-zero-points=",
        "--attr-offsets=wei:common:2:f32,wei:per_tensor:f16:32x1",
        "5x64:64x16",
        "--dt=f32:u8:f32",
        "--attr-scales=wei:per_oc",
        "--attr-offsets=",
        "--attr-src-dyn-quant=32",
        "6x64:64x16",
    ]
    command = [sys.executable, "-m", "zemm.benchdnn", "--matmul", *arguments]
    environment = os.environ | {"ZEMM_VERBOSE": "profile"}
    log = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=200
    ).stdout
    (tmp_path / "log").write_text(log)
    (tmp_path / "cases").write_text("\n".join(case_lines(capsys, tmp_path / "log")))
    lines = output(capsys, "--matmul", f"--batch={tmp_path}/cases")
    assert lines[-2].startswith("tests:4 passed:4 ")
    assert any("--attr-src-dyn-quant=32 6x64:64x16" in line for line in lines)
    assert lines[1].endswith("4x64:64x16") or lines[0].endswith("4x64:64x16")


@pytest.mark.parametrize(
    ("content", "words"), [(None, "No such file or directory"), ("text", "no matmul (ZEMM_VERBOSE=profile")]
)
def test_logs_without_matmuls(tmp_path: Path, capsys: Capture, content: str | None, words: str) -> None:
    if content:
        (tmp_path / "log").write_text(content)
    assert main(["from-verbose", str(tmp_path / "log")]) == 1
    error = capsys.readouterr().err
    assert error.startswith("err: ")
    assert words in error


LINES = [
    "src:f32::sparse:grouped:0:2:f0 wei:f32::blocked:abc::f0 dst:f32::sparse:grouped:0:2:f0,,,5x32:2x32x16",
    "src:f32::sparse:grouped:1:2:f0 wei:f32::sparse:grouped:0:2:f0 dst:f32::blocked:abc::f0,,,5x32:32x16",
    "src:f32::sparse:csr:f0 wei:f32::blocked:ab::f0 dst:f32::blocked:ab::f0,,,5x32:32x16",
    "src:s8::blocked:ab:40x1:f0 wei:s8::blocked:ab::f0 bia:f32:a:blocked:ab::f0_mask2 "
    "dst:f32::blocked:ab::f0,attr-scales:src:3:f32:1x16+wei:2:f32 attr-post-ops:binary_add:f32:2:ab,,"
    "5x32:32x16",
]


@pytest.mark.parametrize("number", ["0", "300000000", "9" * 30])
@pytest.mark.parametrize("line", LINES)
def test_numbers_out_of_range(tmp_path: Path, line: str, number: str) -> None:
    """Each number of a line in turn: the line becomes a case, or one that cannot be run, or is damaged."""
    log = tmp_path / "log"
    begin = EXECUTION.format("zemm", "s8") + "\nzemm_verbose,v1,primitive,exec,cpu,matmul,x,undef,"
    for match in re.finditer(r"(?<![a-z])\d+", line):
        log.write_text(f"{begin}{line[: match.start()]}{number}{line[match.end() :]},0.01\n")
        lines = from_verbose.case_file(log)
        assert lines[0].startswith("# log: ")
        assert sum(map(len, lines)) < 1000


@pytest.mark.parametrize(
    ("descriptors", "problem", "case"),
    [
        (
            "src:s8::sparse:grouped:0:3:f0 wei:u8::blocked:acb::f0 bia:f32::blocked:ab::f0_mask3 "
            "dst:f16::sparse:grouped:0:3:f0,",
            "16x64:3x64x34",
            "--reset --wtag=acb --bia-dt=f32 --bia_mask=2 --dt=s8:u8:f16 --grouped=0:3:6+5+5",
        ),
        (
            "src:f32::sparse:grouped:1:2:f0 wei:f32::sparse:grouped:0:2:f0 dst:f32:a:blocked:abc::f0,",
            "9x17:17x12",
            "--reset --dtag=any --dt=f32:f32:f32 --grouped=1:2:9+8",
        ),
        (
            "src:f32::sparse:csr:f0 wei:f32:ap:blocked:BA16a64b::f0 dst:f32:a:blocked:ab::f0,",
            "9x16:16x12",
            "--reset --wtag=any --dtag=any --dt=f32:f32:f32 --encoding=csr::",
        ),
        (
            "src:f32::blocked:ab:20x1:f0 wei:f32::sparse:coo:f0 dst:f32::blocked:ba::f0,",
            "9x16:16x12",
            "--reset --dtag=ba --dt=f32:f32:f32 --strides=20x1:: --encoding=:coo:",
        ),
        (
            "src:s8::blocked:ab::f0 wei:u4:a:blocked:BA16a64b4a::f0 bia:f32::blocked:ab::f0_mask2 "
            "dst:f32::blocked:ab:40x1:f0,attr-scratchpad:user "
            "attr-scales:src0:3:f32:1x32+wei:0:f16:host_scalar attr-zero-points:wei:0:s32 "
            "attr-post-ops:eltwise_relu+binary_add:f32:2",
            "5x64:64x32",
            "--reset --stag=ab --wtag=any --bia-dt=f32 --bia_mask=2 --dt=s8:u4:f32 --strides=::40x1 "
            "--attr-scratchpad=user --attr-scales=src:3:f32:1x32+wei:host_scalar:0.5:f16 "
            "--attr-zero-points=wei:common:2:s32 --attr-post-ops=relu+add:f32:2",
        ),
    ],
)
def test_tensors_and_attributes(
    tmp_path: Path, capsys: Capture, descriptors: str, problem: str, case: str
) -> None:
    log = tmp_path / "log"
    log.write_text(f"zemm_verbose,v1,primitive,exec,cpu,matmul,x,undef,{descriptors},,{problem},0.01")
    assert case_lines(capsys, log)[2:] == ["# 1 times", f"{case} {problem}"]
