# SPDX-License-Identifier: Apache-2.0
"""`--buffer-prefix`: tensors from files."""

from pathlib import Path

import numpy as np
import pytest
from zemm.benchdnn.cli import main

Capture = pytest.CaptureFixture[str]
PROBLEM = "2x2:2x2"
A, B = np.array([[1, 2], [3, 4]]), np.array([[1, -1], [2, 0]])


def write(folder: Path, arg: int, values: np.ndarray, dtype: type = np.float32) -> None:
    np.ascontiguousarray(values, dtype).tofile(folder / f"tensor.{arg}.bin")


def lines(capsys: Capture, folder: Path, *arguments: str, code: int = 0) -> list[str]:
    assert main([f"--buffer-prefix={folder / 'tensor'}", *arguments]) == code
    return capsys.readouterr().out.splitlines()


def test_src_and_weights(capsys: Capture, tmp_path: Path) -> None:
    write(tmp_path, 1, A)
    write(tmp_path, 33, B.T)
    found = lines(capsys, tmp_path, "-v99", "--matmul", "--wtag=ba", "--bia-dt=f32", "--dtag=ab", PROBLEM)
    prefix = tmp_path / "tensor"
    assert f"[FILL]: src is read from {prefix}.1.bin" in found
    assert f"[FILL]: wei is read from {prefix}.33.bin" in found
    assert f"[FILL]: bias has no file {prefix}.41.bin" in found
    (line,) = (line for line in found if line.startswith("0:PASSED ("))
    assert f"__REPRO: --buffer-prefix={prefix} --matmul " in line


def test_all_kinds_of_inputs(capsys: Capture, tmp_path: Path) -> None:
    """Scales, zero points, post-op tensors and the old dst."""
    write(tmp_path, 1, A, np.int8)
    write(tmp_path, 33, B, np.int8)
    write(tmp_path, 4096 | 33, np.array([0.5, 2]))
    write(tmp_path, 8192 | 33, np.array([1, 2]), np.int32)
    write(tmp_path, 17, np.array([[10, 20], [30, 40]]))
    write(tmp_path, 2 * 32768 | 2, np.array([[1, -1]]))
    options = "--dt=s8:s8:f32 --wtag=ab --attr-scales=wei:per_oc --attr-zero-points=wei:per_oc"
    post_ops = "--attr-post-ops=sum+add:f32:per_oc"
    found = lines(capsys, tmp_path, "-v2", "--matmul", *options.split(), post_ops, PROBLEM)
    assert sum("is read from" in line for line in found) == 6
    assert "0:PASSED" in found[-3]


def test_reductions_of_a_src_from_a_file(capsys: Capture, tmp_path: Path) -> None:
    write(tmp_path, 1, A, np.int8)
    options = "--dt=s8:u8:f32 --attr-zero-points=wei:per_oc:u8"
    reductions = "--attr-precomputed-reductions=src:per_tensor:s32:1x2"
    assert "0:PASSED" in lines(capsys, tmp_path, "--matmul", *options.split(), reductions, PROBLEM)[0]


def test_a_failure_has_a_note(capsys: Capture, tmp_path: Path) -> None:
    """NaN is a wrong result in f32, whatever is expected."""
    write(tmp_path, 1, np.array([[np.nan, 1], [1, 1]]))
    write(tmp_path, 33, B)
    found = lines(capsys, tmp_path, "--matmul", "--wtag=ab", PROBLEM, code=1)
    assert any(line.startswith("0:FAILED (errors:2 total:4)") for line in found)
    assert any(line.startswith("# note: tensors came from the files of --buffer-prefix") for line in found)


def test_a_file_of_another_size_ends_the_run(capsys: Capture, tmp_path: Path) -> None:
    write(tmp_path, 33, np.zeros(5))
    assert main([f"--buffer-prefix={tmp_path / 'tensor'}", "--matmul", "--wtag=ab", PROBLEM, PROBLEM]) == 1
    captured = capsys.readouterr()
    assert captured.err == (
        f"err: --buffer-prefix: {tmp_path / 'tensor'}.33.bin for wei has 20 bytes, the tensor has 16\n"
    )
    assert "PASSED" not in captured.out


def test_a_folder_is_no_file(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "tensor.1.bin").mkdir()
    assert main([f"--buffer-prefix={tmp_path / 'tensor'}", "--matmul", PROBLEM]) == 1
    assert "tensor.1.bin for src cannot be read: " in capsys.readouterr().err


def test_processes_of_jobs_read_the_files(capsys: Capture, tmp_path: Path) -> None:
    write(tmp_path, 33, np.zeros(5))
    prefix = f"--buffer-prefix={tmp_path / 'tensor'}"
    assert main([prefix, "--jobs=2", "--matmul", "--wtag=ab", PROBLEM, PROBLEM]) == 1
    assert "has 20 bytes, the tensor has 16" in capsys.readouterr().err


def test_modes_without_values_read_nothing(capsys: Capture, tmp_path: Path) -> None:
    write(tmp_path, 1, np.zeros(5))
    assert "0:EXECUTED" in lines(capsys, tmp_path, "--mode=R", "--matmul", PROBLEM)[0]
