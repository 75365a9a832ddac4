# SPDX-License-Identifier: Apache-2.0
"""`--grouped`: the reference compared with loops, and whole runs on a matmul that is these loops."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import zemm
from zemm.benchdnn.data import contents
from zemm.benchdnn.data.ranges import filling
from zemm.benchdnn.data.reference import expected
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.arguments import Argument
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import rounded
from zemm.benchdnn.grammar.expand import expand
from zemm.benchdnn.run import runner, verdict

ROWS = "--matmul --grouped=0:3:2+0+3 5x4:3x4x6"
ALONG_K = "--matmul --grouped=1:3:2+0+3 4x5:5x6"
MUL = args.post_op_arg(0, 2)


def case_of(line: str) -> Case:
    ((job,), _) = expand(line.split())
    return job.case


def arguments_of(case: Case) -> dict[int, Argument]:
    found = [*args.matrices(case), *args.quantizations(case), *args.post_op_tensors(case), *args.hints(case)]
    return {argument.arg: argument for argument in found}


def drawn(case: Case) -> dict[int, np.ndarray]:
    """The values of all inputs of a case."""
    found = {}
    for arg, argument in arguments_of(case).items():
        if argument.role not in ("dst", "number"):
            found[arg] = contents.values(case, argument, filling(case))
    return found


def at(tensor: np.ndarray, dims: Sequence[int], index: Sequence[int]) -> float:
    """The element of a quantisation tensor for an element of a tensor of `dims`."""
    return float(
        tensor[tuple(i * have // want for i, have, want in zip(index, tensor.shape, dims, strict=True))]
    )


def in_loops(case: Case, values: dict[int, np.ndarray]) -> np.ndarray:
    """dst of a case by its definition, an element after the other."""
    grouped, problem = case.grouped, case.problem
    assert grouped
    dst = np.zeros(case.dst_dims)
    flags = {"scale": args.SCALES, "point": args.ZERO_POINTS}

    def real(arg: int, index: Sequence[int]) -> float:
        tensor = values[arg]
        found = {name: values.get(flag | arg) for name, flag in flags.items()}
        scale, point = (
            at(t, tensor.shape, index) if t is not None else default
            for t, default in zip(found.values(), (1.0, 0.0), strict=True)
        )
        return (float(tensor[tuple(index)]) - point) * scale

    def finished(x: float, row: int, column: int, group: int) -> float:
        if args.BIAS in values:
            x += float(values[args.BIAS][group, column])
        for index in range(len(case.attributes.post_ops)):
            s = values[args.post_op_arg(index, 2)]
            place = group if s.shape == (grouped.count, 1) else min(row, s.shape[0] - 1)
            x *= float(s[place, min(column, s.shape[1] - 1)])
        return x

    for group, (size, end) in enumerate(zip(grouped.sizes, grouped.ends, strict=True)):
        for column in range(problem.n):
            if grouped.dim == 0:
                for row in range(end - size, end):
                    products = (
                        real(args.SRC, (row, k)) * real(args.WEI, (group, k, column))
                        for k in range(problem.k)
                    )
                    dst[row, column] = finished(sum(products), row, column, group)
            else:
                for row in range(problem.m):
                    products = (
                        real(args.SRC, (row, k)) * real(args.WEI, (k, column)) for k in range(end - size, end)
                    )
                    dst[group, row, column] = sum(products)
    return rounded(dst.astype(np.float32), case.dt[2])


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


@pytest.mark.parametrize("line", LINES)
def test_reference(line: str) -> None:
    case = case_of(line)
    values = drawn(case)
    want = in_loops(case, values)
    got = expected(case, values, np.zeros(1, np.float32), (1,)).dst
    assert np.count_nonzero(want) > want.size / 4
    np.testing.assert_allclose(got, want, rtol=1e-5)


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


def test_changed_ends_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = outcome(monkeypatch, ROWS, lambda dst: dst.write(np.zeros(12, np.uint8), 1))
    assert result.state == verdict.FAILED
    assert result.sentence == "buffer 1, which is an input, of the tensor 'dst' (argument 17) was written"


@pytest.mark.parametrize("mode", ["R", "B"])
def test_other_modes(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    result, passed = outcome(monkeypatch, f"--mode={mode} {ROWS}")
    assert result.state == {"R": verdict.EXECUTED, "B": verdict.PASSED}[mode]
    assert passed[args.SRC].read(1).view(np.int32).tolist() == [2, 2, 5]


def test_bytes_of_groups_count_as_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = outcome(monkeypatch, ROWS.replace("--matmul", "--matmul --wtag=abc"))
    ends = 3 * 4
    assert result.bytes_in == 4 * (5 * 4 + 3 * 4 * 6) + ends
    assert result.bytes_out == 4 * 5 * 6 + ends
