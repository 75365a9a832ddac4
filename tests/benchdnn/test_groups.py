# SPDX-License-Identifier: Apache-2.0
"""`--grouped`: grammar, verification, descriptors, buffers and values."""

from typing import Any

import numpy as np
import pytest
import zemm
from zemm._programs.usage import UsageError
from zemm.benchdnn.data import build
from zemm.benchdnn.data.reference import expected
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.arguments import Argument
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.encodings import Groups
from zemm.benchdnn.grammar.expand import expand
from zemm.benchdnn.run import runner, verdict
from zemm.benchdnn.run.buffers import Buffer, buffer_of

ROWS = "--matmul --grouped=0:3:2+0+3 5x4:3x4x6"
ALONG_K = "--matmul --grouped=1:3:2+0+3 4x5:5x6"


def cases(*arguments: str) -> list[Case]:
    return [job.case for job in expand(arguments)[0]]


def case_of(line: str) -> Case:
    (case,) = cases(*line.split())
    return case


def arguments_of(case: Case) -> dict[int, Argument]:
    found = [*args.matrices(case), *args.quantizations(case), *args.post_op_tensors(case), *args.hints(case)]
    return {argument.arg: argument for argument in found}


def balanced(total: int, count: int, seed: int = 0) -> tuple[int, ...]:
    """benchdnn's draw, number by number."""
    state, sizes = (count * total + seed + 1) * 48271 % (2**31 - 1), [0] * count
    for _ in range(total):
        state = state * 48271 % (2**31 - 1)
        sizes[state % count] += 1
    return tuple(sizes)


@pytest.mark.parametrize(
    ("grouped", "total", "sizes"),
    [
        ("4:balanced", 8, (2, 3, 2, 1)),  # as a program with C++'s minstd_rand prints
        ("4:balanced", 8192, balanced(8192, 4)),
        ("3:balanced.7", 4097, balanced(4097, 3, 7)),
        ("2:balanced.2147483629", 9, balanced(9, 2, 2147483629)),
        ("1:balanced", 8, (8,)),
        ("6:hot", 6, (3, 1, 1, 1, 0, 0)),  # as in shapes_grouped
        ("3:hot.80", 17, (13, 2, 2)),
        ("3:hot.100", 5, (5, 0, 0)),
        ("3:hot.1", 5, (0, 3, 2)),
        ("1:hot.10", 5, (5,)),
        ("8:decode", 3, (1, 0, 1, 0, 0, 1, 0, 0)),
        ("3:decode", 3, (1, 1, 1)),
        ("2:decode", 0, (0, 0)),
        ("2:balanced", 0, (0, 0)),
    ],
)
def test_sizes_of_profiles(grouped: str, total: int, sizes: tuple[int, ...]) -> None:
    count = grouped.partition(":")[0]
    for line in (
        f"--grouped=0:{grouped} {total}x4:{count}x4x6",
        f"--grouped=1:{grouped} 2x{total}:{total}x6",
    ):
        found = case_of(f"--matmul {line}")
        assert found.grouped
        assert found.grouped.sizes == sizes
        assert found.grouped.largest == max(sizes)
        assert found.full_repro() == f"--matmul {line}"
    hinted = case_of(f"--matmul --grouped=0:{grouped}:9 {total}x4:{count}x4x6")
    assert hinted.grouped
    assert (hinted.grouped.sizes, hinted.grouped.largest) == (sizes, 9)


def test_a_profile_draws_for_each_problem() -> None:
    found = cases("--matmul", "--grouped=0:2:hot,0:2:balanced,0:2:3+1", "4x2:2x2x3")
    assert [c.grouped.sizes for c in found if c.grouped] == [(2, 2), balanced(4, 2), (3, 1)]
    found = cases("--matmul", "--grouped=0:2:hot.75", "4x2:2x2x3", "8x2:2x2x3")
    assert [c.grouped.sizes for c in found if c.grouped] == [(3, 1), (6, 2)]


def test_the_hint_is_printed_if_it_is_given() -> None:
    assert [str(c.layout) for c in cases("--matmul", "--grouped=0:2:3+4:9,0:2:3+4:0", "7x2:2x2x3")] == [
        "--grouped=0:2:3+4:9",
        "--grouped=0:2:3+4",
    ]


def test_groups_and_encodings_are_one_loop() -> None:
    lines = ["--matmul", "--dtag=any,", "--grouped=1:1:7,1:2:3+4", "--bia-dt=undef,f32", "2x7:7x3"]
    found = cases(*lines)
    assert [(c.grouped.count if c.grouped else 0, c.bia_dt) for c in found] == 2 * [
        (1, "undef"), (1, "f32"), (2, "undef"), (2, "f32")
    ]  # fmt: skip
    assert [c.is_dense for c in cases(*lines[:-1], "--encoding=csr::,", "2x7:7x3")][::2] == [False, True] * 2
    assert all(c.is_dense for c in cases(*lines[:-1], "--grouped=", "2x7:7x3"))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("0", "DIM:G:s0"), ("0:2", "DIM:G:s0"), ("0:2:3+4:5:6", "DIM:G:s0"), ("0:2:3+4:", "dangling symbol"),
        ("0:2:3+4+", "dangling symbol"), ("2:2:3+4", "outside of [0, 1]"), ("0:0:", "dangling symbol"),
        ("0:0:3", "outside of [1,"), ("0:3:3+4", "2 sizes for 3 groups"), ("0:2:8+-1", "outside of [0,"),
        ("0:2:3+x", "'x' is not an integer"), ("0:2:3+4:-1", "outside of [0, 2147483647]"),
        ("0:2:3+4:2147483648", "outside of [0, 2147483647]"), ("0:2:3+4,", "DIM:G:s0"), ("M:2:3+4", "'M'"),
        ("0:2:even", "unknown profile 'even'"), ("0:2:hot.0", "outside of [1, 100]"),
        ("0:2:hot.101", "outside of [1, 100]"), ("0:2:hot.", "dangling symbol"),
        ("0:2:balanced.-1", "outside of [0,"), ("0:2:balanced.x", "'x' is not an integer"),
        ("0:2:decode.1", "decode has no parameter"), ("0:2:hot.50.1", "at most 1 are known"),
        ("0:2:balanced:-1", "outside of [0, 2147483647]"), ("0:0:balanced", "outside of [1,"),
    ],
)  # fmt: skip
def test_values_that_cannot_be_read(value: str, words: str) -> None:
    with pytest.raises(UsageError) as error:
        expand(["--matmul", f"--grouped={value}", "7x2:2x2x3"])
    assert error.value.exit_code == 1
    assert "--grouped" in str(error.value)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--grouped=0:2:3+4 8x2:2x2x3", "sum up to 7, dim 0 of src in 8x2:2x2x3 is 8"),
        ("--grouped=1:2:3+4 2x8:8x3", "sum up to 7, dim 1 of src in 2x8:8x3 is 8"),
        ("--grouped=0:1:7,0:2:3+4 7x2:1x2x3", "are 1 matrices for 2 groups"),
        ("--grouped=0:2:3+4 7x2:3x2x3", "weights 3x2x3 in 7x2:3x2x3 are 3 matrices for 2 groups"),
        ("--grouped=0:2:3+4 7x2:2x3", "must be GxKxN, a matrix for each of the 2 groups"),
        ("--grouped=0:2:3+4 7x2:2x1x2x3", "must be GxKxN"),
        ("--grouped=0:2:3+4 1x7x2:2x2x3", "src must be MxK, in 1x7x2:2x2x3 it has 3 dims"),
        ("--grouped=1:2:3+4 2x7:2x7x3", "must be KxN"),
        ("--grouped=1:2:3+4 2x7:8x3", "have K 8, src has 7"),
        ("--grouped=0:2:3+4 --bia-dt=f32 --bia_mask=3 7x2:2x2x3", "--bia_mask=3 must be 2"),
        ("--grouped=0:2:3+4 --stag=ba 7x2:2x2x3", "--stag=ba, but values of src are always in the order ab"),
        ("--grouped=0:2:3+4 --dtag=ba 7x2:2x2x3", "--dtag=ba, but values of dst are always in the order ab"),
        ("--grouped=1:2:3+4 --stag=ab 2x7:7x3", "--stag=ab, but values of src are always in the order ba"),
        ("--grouped=1:2:3+4 --wtag=ba 2x7:7x3", "--wtag=ba, but values of wei are always in the order ab"),
        ("--grouped=0:2:3+4 --strides=2x1:: 7x2:2x2x3", "--strides for src, but its values are always dense"),
        ("--grouped=0:2:3+4 --strides=:9x3: 7x2:2x2x3", "9x3 for wei are 2 numbers, wei of problem"),
        ("--grouped=0:2:decode 3x2:2x2x3", "decode has groups of 1, and dim 0 of src in 3x2:2x2x3 is 3"),
        ("--grouped=1:2:decode 2x3:3x3", "dim 1 of src in 2x3:3x3 is 3: more than the 2 groups"),
        ("--grouped=0:2:balanced 1x7x2:2x2x3", "src must be MxK, in 1x7x2:2x2x3 it has 3 dims"),
        ("--grouped=0:2:hot 7x2:3x2x3", "weights 3x2x3 in 7x2:3x2x3 are 3 matrices for 2 groups"),
        ("--grouped=0:2:hot 2147483648x1:2x1x1", "are more than an s32 holds"),
        ("--grouped=0:2:2147483647+1 2147483648x1:2x1x1", "sum up to 2147483648, more than an s32 holds"),
        ("--attr-post-ops=mul:f32:3:grouped 7x2:2x3", "mul:f32:3:grouped: a grouped tensor needs --grouped"),
    ],
)
def test_cases_that_contradict_themselves(line: str, words: str) -> None:
    with pytest.raises(UsageError) as error:
        expand(["--matmul", *line.split()])
    assert error.value.exit_code == 1
    assert str(error.value).startswith("ERROR: matmul driver: ")
    assert words in str(error.value)


def test_descriptors_of_groups_of_rows() -> None:
    case = case_of(
        "--matmul --grouped=0:3:2+0+3 --wtag=acb --bia-dt=f16 --attr-scales=src:1+wei:7:bf16:2x1 "
        "--attr-post-ops=mul:f32:0+mul:f32:1+mul:bf16:3:grouped+mul:f32:2+mul:f32:3:ab 5x4:3x4x6"
    )
    found = arguments_of(case)
    mds = {arg: build.memory_desc(zemm, argument) for arg, argument in found.items()}
    assert mds[args.SRC] == zemm.MemoryDesc.grouped((5, 4), "f32", 0, 3)
    assert mds[args.WEI] == zemm.MemoryDesc((3, 4, 6), "f32", "acb")
    assert mds[args.DST] == zemm.MemoryDesc.grouped((5, 6), "f32", 0, 3)
    assert mds[args.BIAS] == zemm.MemoryDesc((3, 6), "f16", "ab")
    operands = [mds[args.post_op_arg(index, 2)] for index in (0, 1, 3)]
    assert [md.dims for md in operands] == [(3, 1), (5, 1), (1, 6)]
    assert mds[args.post_op_arg(2, 2)] == zemm.MemoryDesc.grouped((5, 6), "bf16", 0, 3)
    assert mds[args.post_op_arg(4, 2)] == zemm.MemoryDesc((5, 6), "f32", "ab")
    assert found[args.SCALES | args.SRC].dims == (5, 1)
    assert mds[args.SCALES | args.WEI] == zemm.MemoryDesc((3, 2, 6), "bf16")
    assert case.problem.ops == 2 * 5 * 6 * 4


def test_descriptors_of_groups_along_k() -> None:
    case = case_of(ALONG_K.replace("--grouped", "--dtag=acb --grouped"))
    mds = {arg: build.memory_desc(zemm, argument) for arg, argument in arguments_of(case).items()}
    assert mds[args.SRC] == zemm.MemoryDesc.grouped((4, 5), "f32", 1, 3)
    assert mds[args.WEI] == zemm.MemoryDesc.grouped((5, 6), "f32", 0, 3)
    assert mds[args.DST] == zemm.MemoryDesc((3, 4, 6), "f32", "acb")
    assert case.problem.ops == 2 * 4 * 6 * 5


def test_quantisation_of_weights_has_the_bits_of_its_mask() -> None:
    knobs = "--attr-scales=src:3:f16:1x2+wei:5 --attr-zero-points=src:1:u8+wei:7:s8:2x1"
    found = arguments_of(case_of(ROWS.replace("--grouped", f"--dt=u8:s8:f32 {knobs} --grouped")))
    flags = (args.SCALES, args.ZERO_POINTS)
    assert [found[flag | args.SRC].dims for flag in flags] == [(5, 2), (5, 1)]
    assert [found[flag | args.WEI].dims for flag in flags] == [(3, 1, 6), (3, 2, 6)]


@pytest.mark.parametrize(("value", "hint"), [("0:3:2+0+3", 0), ("0:3:2+0+3:3", 3)])
def test_the_hint_is_a_number_on_the_host(value: str, hint: int) -> None:
    (found,) = args.hints(case_of(f"--matmul --grouped={value} 5x4:3x4x6"))
    assert (found.arg, found.on_host, found.data_type, found.value) == (384, True, "s32", hint)
    assert zemm.ARG["HINT_MAX_GROUP_SIZE"] == args.HINT_MAX_GROUP_SIZE
    assert args.hints(case_of("--matmul 5x4:4x6")) == []


def buffer(engine: zemm.Engine, argument: Argument) -> Buffer:
    return buffer_of(zemm, engine, build.memory_desc(zemm, argument), argument)


@pytest.mark.parametrize(("variable_dim", "stored"), [(0, [0, 1, 2, 3, 4, 5]), (1, [0, 3, 1, 4, 2, 5])])
def test_buffers_hold_values_and_ends(engine: zemm.Engine, variable_dim: int, stored: list[int]) -> None:
    argument = Argument(args.SRC, "src", (2, 3), "f32", encoding=Groups(variable_dim, (1, 1, 4)))
    made = buffer(engine, argument)
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    made.store(values)
    assert made.memory.read(0).view(np.float32).tolist() == stored
    assert made.memory.read(1).view(np.int32).tolist() == [1, 1, 4]
    np.testing.assert_array_equal(made.load(), values)
    assert made.size == 6 * 4 + 3 * 4
    twin = made.twin(zemm, engine)
    assert twin.memory.handle != made.memory.handle
    np.testing.assert_array_equal(twin.load(), values)
    assert twin.memory.read(1).view(np.int32).tolist() == [1, 1, 4]


def test_writes_beside_values_or_to_the_ends_are_noticed(engine: zemm.Engine) -> None:
    argument = Argument(args.DST, "dst", (2, 3), "f32", encoding=Groups(0, (1, 2)))
    made = buffer(engine, argument)
    assert made.damage() == ""
    made.memory.write(np.array([1, 1], np.int32).view(np.uint8), 1)
    assert made.damage() == "buffer 1, which is an input,"
    for part in range(2):
        other = buffer(engine, argument)
        size = other.memory.md.part_size(part)
        guarded = other._guarded[part]._all
        guarded[-(4096 + size) + size] += 1
        assert other.damage() == "memory before or behind a buffer"


def test_an_operand_for_each_group_wins_over_one_for_each_row() -> None:
    """Both have dims [3, 1] here. oneDNN cannot tell them apart, and takes the first."""
    case = case_of("--matmul --grouped=0:3:2+0+1 --attr-post-ops=mul:f32:1 3x1:3x1x1")
    ones = np.ones((3, 1), np.float32)
    values = {
        args.SRC: ones,
        args.WEI: ones.reshape(3, 1, 1),
        args.post_op_arg(0, 2): np.array([[2], [3], [5]], np.float32),
    }
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


def test_a_wrong_element_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def damage(dst: Any) -> None:
        raw = dst.read()
        raw.view(np.float32)[7] += 1
        dst.write(raw)

    result, _ = outcome(monkeypatch, ROWS, damage)
    assert (result.state, result.errors, result.total) == (verdict.FAILED, 1, 30)
    assert result.lines[0].startswith("[7][1:1] exp_f32:")


@pytest.mark.parametrize("mode", ["C", "R", "B"])
def test_modes(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    result, passed = outcome(monkeypatch, f"--mode={mode} {ROWS}")
    assert (result.state, result.sentence) == (verdict.EXECUTED if mode == "R" else verdict.PASSED, "")
    assert args.HINT_MAX_GROUP_SIZE in passed
    assert passed[args.SRC].read(1).view(np.int32).tolist() == [2, 2, 5]


def test_bytes_of_weights_without_rows_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    scales = "--dt=s8:s8:f32 --attr-scales=wei:7:f32:2x1"
    some, all_of_them = (
        outcome(monkeypatch, f"--matmul --grouped=0:3:{sizes} {scales} 5x4:3x4x6")[0].bytes_in
        for sizes in ("2+0+3", "2+1+2")
    )
    assert all_of_them - some == 4 * 6 + 2 * 6 * 4  # a matrix, and its scales
