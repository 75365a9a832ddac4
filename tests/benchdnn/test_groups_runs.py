# SPDX-License-Identifier: Apache-2.0
"""`--grouped`: the reference compared with loops, and whole runs on a matmul that is these loops."""

from typing import Any

import numpy as np
import pytest
import zemm
from zemm.benchdnn.data.reference import expected
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.expand import expand
from zemm.benchdnn.run import runner, verdict

ROWS = "--matmul --grouped=0:3:2+0+3 5x4:3x4x6"
ALONG_K = "--matmul --grouped=1:3:2+0+3 4x5:5x6"
MUL = args.post_op_arg(0, 2)


def case_of(line: str) -> Case:
    ((job,), _) = expand(line.split())
    return job.case


LINES = [
    ROWS,
    ALONG_K,
    "--matmul --grouped=0:1:5 5x4:1x4x6",
    "--matmul --grouped=1:1:5 4x5:5x6",
    "--matmul --grouped=0:6:0+1+2+0+3+0 --bia-dt=f32 6x24:6x24x20",
    "--matmul --grouped=1:6:0+1+2+0+3+0 --dtag=acb 24x6:6x20",
    "--matmul --dt=f16:f16:f32 --grouped=0:3:2+0+3 --wtag=acb --attr-post-ops=mul:f32:0+mul:f16:1 5x4:3x4x6",
    "--matmul --grouped=0:3:2+0+3 --attr-post-ops=mul:f32:3:grouped+mul:bf16:3:ab+mul:f32:2 5x4:3x4x6",
    "--matmul --dt=u8:s8:f32 --grouped=0:3:2+0+3 --attr-scales=src:1+wei:5 --attr-zero-points=wei:5:s8 "
    "5x4:3x4x6",
    "--matmul --dt=s8:u4:bf16 --grouped=0:3:2+0+3 --attr-scales=src:3:f16:1x8+wei:7:f16:16x1 "
    "--attr-zero-points=src:3:s8:1x8+wei:7:u4:16x1 5x32:3x32x6",
    "--matmul --dt=f4_e2m1:f4_e2m1:bf16 --grouped=0:3:2+0+3 --attr-scales=src:3:e8m0:1x16+wei:7:e8m0:16x1 "
    "5x32:3x32x6",
]


def test_an_operand_for_each_group_wins_over_one_for_each_row() -> None:
    """Both have dims [3, 1] here. oneDNN cannot tell them apart, and takes the first."""
    case = case_of("--matmul --grouped=0:3:2+0+1 --attr-post-ops=mul:f32:1 3x1:3x1x1")
    ones = np.ones((3, 1), np.float32)
    values = {args.SRC: ones, args.WEI: ones.reshape(3, 1, 1), MUL: np.array([[2], [3], [5]], np.float32)}
    assert expected(case, values, ones, (1, 1)).dst.tolist() == [[2], [2], [5]]


def outcome(
    monkeypatch: pytest.MonkeyPatch, line: str, damage: Any = None
) -> tuple[verdict.Result, dict[int, zemm.Memory]]:
    """The result of a case, and the memories of its last execution. damage: what happens to dst after it."""
    (job,) = expand(line.split())[0]
    execute, passed = zemm.Primitive.execute, {}

    def executed(self: Any, stream: zemm.Stream, memories: dict[int, zemm.Memory]) -> None:
        execute(self, stream, memories)
        passed.update(memories)
        if damage:
            stream.wait()
            damage(memories[args.DST])

    monkeypatch.setattr(zemm.Primitive, "execute", executed)
    return runner.Runner(lambda job, word: None).run(job), passed


@pytest.mark.parametrize("line", [line for line in LINES if "mul:f32:2" not in line])
def test_whole_runs(monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    """Filling, buffers and comparison of all forms."""
    result, passed = outcome(monkeypatch, line)
    assert (result.state, result.sentence) == (verdict.PASSED, "")
    assert args.HINT_MAX_GROUP_SIZE in passed


def test_a_wrong_element_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def damage(dst: Any) -> None:
        raw = dst.read()
        raw.view(np.float32)[7] += 1
        dst.write(raw)

    result, _ = outcome(monkeypatch, ROWS, damage)
    assert (result.state, result.errors, result.total) == (verdict.FAILED, 1, 30)
    assert result.lines[0].startswith("[7][1:1] exp_f32:")


@pytest.mark.parametrize("mode", ["R", "B"])
def test_other_modes(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    result, passed = outcome(monkeypatch, f"--mode={mode} {ROWS}")
    assert result.state == {"R": verdict.EXECUTED, "B": verdict.PASSED}[mode]
    assert passed[args.SRC].read(1).view(np.int32).tolist() == [2, 2, 5]
