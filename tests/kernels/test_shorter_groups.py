# SPDX-License-Identifier: Apache-2.0
"""K groups that do not divide K, of which the last one is shorter: every row of kernels.def takes such a
problem if it takes that with whole groups, and the results are those of the whole groups with zeros in src.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import zemm
from reference import has_float_zero_points
from support_decisions import needed
from support_problem import Problem, Quant, make_data, zero_point
from support_rows import BY_NAME, ROWS
from support_run import make_call, make_pd, run
from support_tiers import in_turns

PACKED = "BA16a64b4a"
PLAIN = {"wei_order": "ba"}


def problem(k: int, src_dt: str = "s8", wei_dt: str = "u8", m: int = 37, n: int = 70, **more: Any) -> Problem:
    return Problem((m, k), (k, n), src_dt, wei_dt, **more)


def quantised(group: int, zp: str | None = "u8", scale: str = "f16", wei_group: int = 0) -> dict[str, Any]:
    """Scales of src and of the weights along K, and zero points of the weights."""
    groups = (wei_group or group, 1)
    return {
        "src_scale": Quant(3, (1, group), scale),
        "wei_scale": Quant(3, groups, scale),
        "wei_zp": zero_point(3, groups, zp) if zp else None,
    }


def weight_only(group: int, zp: str | None = "u8", scale: str = "f16") -> dict[str, Any]:
    return quantised(group, zp, scale) | {"src_scale": None, "fpmath": ("strict", True)}


APPLIED = ("bf16", True)
PROBLEMS = {
    "packed": problem(330, wei_tag=PACKED, **quantised(64)),
    "packed_u4": problem(4304, wei_dt="u4", m=26, wei_tag=PACKED, **quantised(128, "u4")),
    "packed_few_rows": problem(400, m=3, wei_tag=PACKED, **quantised(48)),
    "bf16_dst": problem(
        1044, dst_dt="bf16", wei_tag=PACKED, src_scale=Quant(3, (1, 128)), wei_zp=zero_point(2, dt="u8")
    ),
    "plain": problem(300, m=7, n=64, **quantised(128)),
    "plain_along_k": problem(448, wei_dt="s8", m=2, **PLAIN, **quantised(128, None)),
    "plain_along_k_tail": problem(460, m=2, **PLAIN, **quantised(128)),
    "no_quads": problem(87, src_dt="u8", wei_dt="s8", wei_tag=PACKED, **quantised(20, "s8")),
    "odd_groups": problem(50, src_dt="u8", wei_dt="s4", m=5, **quantised(7, "s8")),
    "coprime": problem(100, **quantised(24, wei_group=35)),
    "gcd": problem(200, wei_tag=PACKED, **quantised(32, wei_group=48)),
    "one_group_of_src": problem(200, wei_tag=PACKED, **quantised(256, wei_group=48)),
    "larger_groups": problem(100, wei_tag=PACKED, **quantised(128)),
    "src_zero_points": problem(
        330, "u8", wei_tag=PACKED, src_zp=zero_point(3, (1, 32), "u8"), **quantised(64), reduction_group=32
    ),
    "reductions": problem(330, wei_tag=PACKED, **quantised(128), reduction_group=64),
    "reductions_of_a_group": problem(330, m=130, wei_tag=PACKED, **quantised(64), reduction_group=64),
    "zero_points_only": problem(
        150, "u8", "s8", dst_dt="s32", src_zp=zero_point(3, (1, 32), "u8"),
        wei_zp=zero_point(3, (64, 1), "s8"),
    ),
    "ranges": problem(5000, m=1, n=48, wei_tag=PACKED, **quantised(128)),
    "ranges_of_zero_points": problem(
        5000, "u8", "u8", m=1, n=40, src_zp=zero_point(0), wei_zp=zero_point(3, (96, 1), "u8")
    ),
    "float_zero_points": problem(330, wei_dt="u4", wei_tag=PACKED, **quantised(64, "f16")),
    "cut_float_zero_points": problem(1100, m=4, wei_tag=PACKED, **quantised(512, "f32")),
    "offsets": problem(
        330, wei_dt="u4", wei_tag=PACKED, wei_scale=Quant(3, (32, 1)), wei_offset=Quant(3, (64, 1))
    ),
    "offsets_and_floats": problem(
        210, "f32", "u8", m=3, wei_tag=PACKED, wei_scale=Quant(3, (32, 1)),
        wei_offset=Quant(3, (32, 1)), fpmath=("strict", True)
    ),
    # Rows of src that block loads read.
    "words": problem(336, m=45, n=64, wei_tag=PACKED, **quantised(128)),
    "words_src_zero_points": problem(
        336, "u8", m=45, n=64, wei_tag=PACKED, src_zp=zero_point(3, (1, 64), "u8"), **quantised(128)
    ),
    "words_f16": problem(336, "f16", "u4", m=45, n=64, wei_tag=PACKED, **weight_only(128, "u4")),
    "batch": Problem((3, 9, 100), (3, 100, 40), "s8", "u8", src_scale=Quant(7, (1, 32)),
                     wei_scale=Quant(7, (32, 1)), wei_zp=zero_point(7, (32, 1), "s8")),
    "f32_by_u4": problem(330, "f32", "u4", m=3, wei_tag=PACKED, **weight_only(32, "u4")),
    "f32_by_u8": problem(330, "f32", "u8", m=2, wei_tag=PACKED, **weight_only(128)),
    "f32_by_s8_plain": problem(333, "f32", "s8", m=9, n=64, **weight_only(48, None)),
    "f16_by_u4": problem(330, "f16", "u4", dst_dt="f16", wei_tag=PACKED, **weight_only(64, "u4")),
    "bf16_by_s4": problem(330, "bf16", "s4", wei_tag=PACKED, **weight_only(64, "s8") | {"fpmath": APPLIED}),
    "bf16_by_f8": problem(330, "bf16", "f8_e5m2", wei_tag=PACKED, wei_scale=Quant(3, (64, 1))),
    "f8_by_f8": problem(330, "f8_e4m3", "f8_e4m3", src_scale=Quant(3, (1, 32), "e8m0"),
                        wei_scale=Quant(3, (32, 1), "e8m0")),
    "f4_by_f4": problem(330, "f4_e2m1", "f4_e2m1", src_scale=Quant(3, (1, 16), "f8_e4m3"),
                        wei_scale=Quant(3, (16, 1), "f8_e4m3")),
}  # fmt: skip


def k_groups(p: Problem) -> list[int]:
    found = [p.reduction_group or 1]
    for name, axis in (("src_scale", 1), ("src_zp", 1), ("wei_scale", 0), ("wei_zp", 0), ("wei_offset", 0)):
        quant: Quant | None = getattr(p, name)
        if quant and quant.groups:
            found.append(quant.groups[axis])
    return found


def with_whole_groups(p: Problem) -> Problem:
    """The problem with as many elements of K as whole groups have."""
    unit = math.lcm(*k_groups(p))
    k = -(-p.k // unit) * unit
    return replace(p, src_dims=(*p.src_dims[:-1], k), wei_dims=(*p.wei_dims[:-2], k, p.wei_dims[-1]))


def padded(values: np.ndarray, dims: tuple[int, ...]) -> np.ndarray:
    """Zeros after the values, up to these dims."""
    return np.pad(values, [(0, to - own) for own, to in zip(values.shape, dims, strict=True)])


def reason(engine: zemm.Engine, p: Problem) -> str:
    """Why the device does not take the forced kernel; "" if it does."""
    try:
        make_pd(engine, p)
    except NotImplementedError as error:
        return str(error)
    return ""


# Why a row may take whole groups of a problem, but not K: it reads src by fours, or in blocks.
OF_K = ("that are multiples of 4, here are", "block loads cannot read src", "for a part of a block of K")


def problem_of(row: str, name: str) -> Problem:
    return PROBLEMS[name]


IS_TURN = in_turns(ROWS, PROBLEMS, problem_of)


@pytest.mark.quick(cases=IS_TURN)
@pytest.mark.decided(cases=needed(ROWS, PROBLEMS, problem_of, IS_TURN))
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("row", ROWS)
def test_row(
    engine: zemm.Engine, stream: zemm.Stream, monkeypatch: pytest.MonkeyPatch, row: str, name: str
) -> None:
    monkeypatch.setenv("ZEMM_KERNEL", row)
    p = PROBLEMS[name]
    assert any(p.k % group for group in k_groups(p))
    if why := reason(engine, p):
        own = why.split(f"{row}: ", 1)[1].split(";")[0]
        assert any(words in own for words in OF_K) or reason(engine, with_whole_groups(p)), why
        return
    traits = BY_NAME[row]
    p = replace(p, rounds_to_bf16=traits.src == "bf16" and has_float_zero_points(p))
    if traits.is_xe and p.integer:
        p = replace(p, scaled_at_once=32)
    assert run(engine, stream, p).pd.impl_info == row


SAME_BITS = [name for name, p in PROBLEMS.items() if p.integer and not p.src_zp and p.ndims == 2]


@pytest.mark.parametrize("name", SAME_BITS)
def test_zeros_up_to_whole_groups(
    engine: zemm.Engine, stream: zemm.Stream, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Zeros in src add nothing to any sum, whatever the weights and their parameters are there."""
    p = PROBLEMS[name]
    whole = with_whole_groups(p)
    # A longer K may have other ranges, and other sums of floats.
    monkeypatch.setenv("ZEMM_KERNEL", f"{make_pd(engine, whole).impl_info}:ranges=1")
    data, other = make_data(p), make_data(whole)
    same = dict(data.quants)
    for key in same:  # a group more, where whole groups of several sizes need it
        same[key] = padded(same[key], other.quants[key].shape)
        if key.endswith("scale"):
            same[key][same[key] == 0] = 1
    sums = None if data.reductions is None else padded(data.reductions, other.reductions.shape)
    padding = replace(
        other, src=padded(data.src, whole.src_dims), dst=data.dst, quants=same, reductions=sums,
        wei=np.concatenate([data.wei, other.wei[p.k :]]),
    )  # fmt: skip
    got, want = run(engine, stream, p, data), run(engine, stream, whole, padding)
    assert got.dst.tobytes() == want.dst.tobytes()


ARG = zemm.ARG
SCALES = ARG["ATTR_SCALES"] | ARG["WEIGHTS"]
SUMS = ARG["ATTR_PRECOMPUTED_REDUCTIONS"] | ARG["SRC"]


def test_queries(engine: zemm.Engine) -> None:
    pd = make_pd(engine, PROBLEMS["reductions"])
    assert pd.query_md("exec_arg_md", SCALES).dims == (3, 70)
    assert pd.query_md("exec_arg_md", SUMS).dims == (37, 6)


@pytest.mark.parametrize("arg", [SCALES, ARG["ATTR_SCALES"] | ARG["SRC"], SUMS])
def test_parameters_without_the_last_group(engine: zemm.Engine, stream: zemm.Stream, arg: int) -> None:
    p = PROBLEMS["reductions"]
    call = make_call(engine, p, make_data(p))
    md = call.pd.query_md("exec_arg_md", arg)
    axis = 0 if arg == SCALES else 1
    dims = tuple(n - (d == axis) for d, n in enumerate(md.dims))
    call.args[arg] = zemm.Memory(zemm.MemoryDesc(dims, md.data_type), engine)
    with pytest.raises(zemm.InvalidArgumentsError, match="x".join(map(str, dims))):
        zemm.Primitive(call.pd).execute(stream, call.args)
    stream.wait()
    assert np.array_equal(call.dst_bytes, call.before)


@pytest.mark.parametrize("group", [0, -1, -128])
def test_groups_that_are_none(group: int) -> None:
    with pytest.raises(zemm.InvalidArgumentsError, match=f"groups.0.={group} is not positive"):
        zemm.Attr().set_scales(ARG["WEIGHTS"], 3, (group, 1))


def test_groups_along_n_divide_it(engine: zemm.Engine) -> None:
    p = problem(64, n=80, wei_scale=Quant(3, (64, 32)))
    with pytest.raises(zemm.UnimplementedError, match="the group 32 does not divide N = 80"):
        make_pd(engine, p)


def test_reductions_lie_in_groups(engine: zemm.Engine) -> None:
    """Unless there is one group: that of all sums."""
    p = problem(100, wei_zp=zero_point(3, (64, 1), "u8"), reduction_group=48)
    with pytest.raises(zemm.InvalidArgumentsError, match="the group 48 must divide the K group 64"):
        make_pd(engine, p)
    make_pd(engine, replace(p, wei_zp=zero_point(3, (128, 1), "u8")))


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


@pytest.mark.parametrize("dst", ["f8_e4m3", "f4_e2m1"])
@pytest.mark.parametrize(
    ("mode", "group", "scale"), [("dynamic_mx", 32, "e8m0"), ("dynamic_fp", 16, "f8_e4m3")]
)
@pytest.mark.parametrize("tag", ["ab", "ba", "BA16a64b4a"])
def test_quantised_floats(engine: zemm.Engine, dst: str, mode: Any, group: int, scale: Any, tag: str) -> None:
    """The same along K of weights, in any layout: the values of whole groups with zeros at the end."""

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
    all_values, all_scales = quantised(padded(x, (96, 66)))
    assert np.array_equal(scales, all_scales)
    assert np.array_equal(values, all_values[:90])
