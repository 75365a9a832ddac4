# SPDX-License-Identifier: Apache-2.0
"""K groups that do not divide K, of which the last one is shorter: every row of kernels.def takes such a
problem if it takes that with whole groups.
"""

import math
from typing import Any

import numpy as np
import pytest
import zemm
from support_calls import Call, make_pd, refusal
from support_cases import Problem, problems
from support_rows import ROWS
from zemm import ARG
from zemm.benchdnn.grammar.arguments import KINDS

SRC, WEIGHTS = zemm.ARG_SRC, zemm.ARG_WEIGHTS

SHORTER = problems("shorter groups")
# Why a row may take whole groups of a problem, but not K: it reads src by fours, or in blocks.
OF_K = ("that are multiples of 4, here are", "block loads cannot read src", "for a part of a block of K")


def with_whole_groups(p: Problem) -> Problem:
    """The problem with as many elements of K as whole groups have."""
    axes, unit = {SRC: 1, WEIGHTS: 0}, 1
    for kind in KINDS:
        for entry in getattr(p.case.attributes, kind):
            unit = math.lcm(unit, entry.groups[axes[entry.arg]] if entry.groups else 1)
    assert p.k % unit
    return p.shaped(p.case.problem.m, p.case.problem.n, p.k + -p.k % unit)


@pytest.mark.parametrize("row", ROWS)
def test_rows_that_refuse(row: str) -> None:
    """A row that refuses a shorter group refuses whole groups, too, or has a reason. test_kernels.py has the
    results."""
    for p in SHORTER.values():
        if why := refusal(p):
            own = why.split(f"{row}: ", 1)[1].split(";")[0]
            assert any(words in own for words in OF_K) or refusal(with_whole_groups(p)), why


SCALES = ARG["ATTR_SCALES"] | WEIGHTS
SUMS = ARG["ATTR_PRECOMPUTED_REDUCTIONS"] | SRC


def test_queries() -> None:
    pd = make_pd(SHORTER["shorter_reductions"])
    assert pd.query_md("exec_arg_md", SCALES).dims == (3, 70)
    assert pd.query_md("exec_arg_md", SUMS).dims == (37, 6)


@pytest.mark.parametrize("arg", [SCALES, ARG["ATTR_SCALES"] | SRC, SUMS])
def test_parameters_without_the_last_group(engine: zemm.Engine, stream: zemm.Stream, arg: int) -> None:
    call = Call(SHORTER["shorter_reductions"])
    md = call.pd.query_md("exec_arg_md", arg)
    axis = 0 if arg == SCALES else 1
    dims = tuple(n - (d == axis) for d, n in enumerate(md.dims))
    less = zemm.Memory(zemm.MemoryDesc(dims, md.data_type), engine)
    with pytest.raises(zemm.InvalidArgumentsError, match="x".join(map(str, dims))):
        zemm.Primitive(call.pd).execute(stream, call.args | {arg: less})
    stream.wait()
    call.assert_untouched()


@pytest.mark.parametrize("group", [0, -1, -128])
def test_groups_that_are_none(group: int) -> None:
    with pytest.raises(zemm.InvalidArgumentsError, match=f"groups.0.={group} is not positive"):
        zemm.Attr().set_scales(ARG["WEIGHTS"], 3, (group, 1))


def test_groups_along_n_divide_it() -> None:
    said = refusal(Problem("--dt=s8:u8:f32 --attr-scales=wei:3:f32:64x32 37x64:64x80"))
    assert "the group 32 does not divide N = 80" in said


def test_reductions_lie_in_groups() -> None:
    """Unless there is one group: that of all sums."""
    sums = "--attr-precomputed-reductions=src:3:s32:1x48"
    line = f"--dt=s8:u8:f32 --attr-zero-points=wei:3:u8:{{}}x1 {sums} 37x100:100x70"
    with pytest.raises(zemm.InvalidArgumentsError, match="the group 48 must divide the K group 64"):
        refusal(Problem(line.format(64)))
    assert not refusal(Problem(line.format(128)))


@pytest.mark.each_value
@pytest.mark.parametrize("dst", ["s8", "u8"])
@pytest.mark.parametrize(
    ("k", "group", "sums"),
    [
        (330, 64, 64),
        (330, 64, 32),
        (330, 48, 96),
        (90, 128, 16),
        (4304, 128, 128),
        (70, 70, 32),
        (130, 20, 60),
        (35, 5, 200),
    ],
)
def test_quantised(engine: zemm.Engine, k: int, group: int, sums: int, dst: str) -> None:
    """A reorder that quantises: each group and each sum as of a row that ends with it."""
    x = np.random.default_rng(k).standard_normal((5, k)).astype(np.float32)

    def quantised(rows: np.ndarray, scale: int, of_sums: int) -> list[np.ndarray]:
        src, attr = zemm.MemoryDesc(rows.shape, "f32"), zemm.Attr()
        attr.set_scales(ARG["DST"], 3, (1, scale), "f32", quantization_mode="dynamic_fp")
        if dst == "u8":
            attr.set_zero_points(ARG["DST"], 3)
        attr.set_precomputed_reductions(ARG["DST"], 3, (1, of_sums))
        pd = zemm.ReorderPrimitiveDesc(engine, src, zemm.MemoryDesc(rows.shape, dst), attr)
        flags = ["ATTR_SCALES", "ATTR_ZERO_POINTS", "ATTR_PRECOMPUTED_REDUCTIONS"]
        made = {ARG[flag] | ARG["DST"]: pd.query_md("exec_arg_md", ARG[flag] | ARG["DST"]) for flag in flags}
        args = {arg: zemm.Memory(md, engine) for arg, md in made.items() if md.ndims}
        args[ARG["TO"]] = zemm.Memory(zemm.MemoryDesc(rows.shape, dst), engine)
        memory = zemm.Memory(src, engine)
        memory.write(rows)
        stream = zemm.Stream(engine)
        zemm.Primitive(pd).execute(stream, {ARG["FROM"]: memory, **args})
        stream.wait()
        return [args[arg].as_numpy() for arg in (ARG["TO"], *made) if arg in args]

    values, scales, *points, got = quantised(x, group, sums)
    for number, begin in enumerate(range(0, k, group)):
        part = np.ascontiguousarray(x[:, begin : begin + group])
        own = quantised(part, part.shape[1], part.shape[1])
        assert np.array_equal(values[:, begin : begin + group], own[0])
        assert np.array_equal(scales[:, number], own[1][:, 0])
        if points:
            assert np.array_equal(points[0][:, number], own[2][:, 0])
    assert np.array_equal(got, np.add.reduceat(values.astype(np.int32), range(0, k, sums), axis=1))


@pytest.mark.each_value
@pytest.mark.parametrize("dst", ["f8_e4m3", "f4_e2m1"])
@pytest.mark.parametrize(
    ("mode", "group", "scale"), [("dynamic_mx", 32, "e8m0"), ("dynamic_fp", 16, "f8_e4m3")]
)
@pytest.mark.parametrize("tag", ["ab", "ba", "BA16a64b4a"])
def test_quantised_floats(engine: zemm.Engine, dst: str, mode: Any, group: int, scale: Any, tag: str) -> None:
    """Weights quantised along K, in any layout, have the values of whole groups with zeros at the end."""

    def quantised(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        attr, md = zemm.Attr(), zemm.MemoryDesc(rows.shape, "f32")
        attr.set_scales(ARG["DST"], 3, (group, 1), scale, quantization_mode=mode)
        pd = zemm.ReorderPrimitiveDesc(engine, md, zemm.MemoryDesc(rows.shape, dst, tag), attr)
        made = zemm.Memory(zemm.MemoryDesc(rows.shape, dst, tag), engine)
        scales = zemm.Memory(pd.query_md("exec_arg_md", ARG["ATTR_SCALES"] | ARG["DST"]), engine)
        memory, stream = zemm.Memory(md, engine), zemm.Stream(engine)
        memory.write(rows)
        args = {ARG["FROM"]: memory, ARG["TO"]: made, ARG["ATTR_SCALES"] | ARG["DST"]: scales}
        zemm.Primitive(pd).execute(stream, args)
        stream.wait()
        plain = zemm.reorder(made, zemm.MemoryDesc(rows.shape, "f32"))
        return plain.as_numpy(), scales.as_numpy().view(np.uint8)

    x = np.random.default_rng(3).standard_normal((90, 66)).astype(np.float32)
    values, scales = quantised(x)
    all_values, all_scales = quantised(np.pad(x, [(0, 6), (0, 0)]))
    assert np.array_equal(scales, all_scales)
    assert np.array_equal(values, all_values[:90])
