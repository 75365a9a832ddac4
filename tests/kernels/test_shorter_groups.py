# SPDX-License-Identifier: Apache-2.0
"""K groups that do not divide K, of which the last one is shorter: every row of kernels.def takes such a
problem if it takes that with whole groups.
"""

import math
import re
from typing import Any

import numpy as np
import pytest
import zemm
from support_driver import check_row, prepared, refusal, turns
from support_rows import ROWS

PACKED, ALONG_K, BF16 = "--wtag=BA16a64b4a", "--wtag=ba", "--attr-fpmath=bf16:true"


def quantised(group: int, zp: str = "u8", scale: str = "f16", wei: int = 0) -> str:
    """Scales of src and of the weights along K, and zero points of the weights."""
    return f"--attr-scales=src:3:{scale}:1x{group}+wei:3:{scale}:{wei or group}x1" + points(wei or group, zp)


def weight_only(group: int, zp: str = "u8", fpmath: str = "strict") -> str:
    return f"--attr-fpmath={fpmath}:true --attr-scales=wei:3:f16:{group}x1" + points(group, zp)


def points(group: int, zp: str) -> str:
    return f" --attr-zero-points=wei:3:{zp}:{group}x1" if zp else ""


def sums(group: int) -> str:
    return f"--attr-precomputed-reductions=src:3:s32:1x{group}"


LINES = {
    "packed": f"--dt=s8:u8:f32 {PACKED} {quantised(64)} 37x330:330x70",
    "packed_u4": f"--dt=s8:u4:f32 {PACKED} {quantised(128, 'u4')} 26x4304:4304x70",
    "packed_few_rows": f"--dt=s8:u8:f32 {PACKED} {quantised(48)} 3x400:400x70",
    "bf16_dst": f"--dt=s8:u8:bf16 {PACKED} --attr-scales=src:3:f32:1x128 --attr-zero-points=wei:2:u8 "
    "37x1044:1044x70",
    "plain": f"--dt=s8:u8:f32 {quantised(128)} 7x300:300x64",
    "plain_along_k": f"--dt=s8:s8:f32 {ALONG_K} {quantised(128, '')} 2x448:448x70",
    "plain_along_k_tail": f"--dt=s8:u8:f32 {ALONG_K} {quantised(128)} 2x460:460x70",
    "no_quads": f"--dt=u8:s8:f32 {PACKED} {quantised(20, 's8')} 37x87:87x70",
    "odd_groups": f"--dt=u8:s4:f32 {quantised(7, 's8')} 5x50:50x70",
    "coprime": f"--dt=s8:u8:f32 {quantised(24, wei=35)} 37x100:100x70",
    "gcd": f"--dt=s8:u8:f32 {PACKED} {quantised(32, wei=48)} 37x200:200x70",
    "one_group_of_src": f"--dt=s8:u8:f32 {PACKED} {quantised(256, wei=48)} 37x200:200x70",
    "larger_groups": f"--dt=s8:u8:f32 {PACKED} {quantised(128)} 37x100:100x70",
    "src_zero_points": f"--dt=u8:u8:f32 {PACKED} {quantised(64)}+src:3:u8:1x32 {sums(32)} 37x330:330x70",
    "reductions": f"--dt=s8:u8:f32 {PACKED} {quantised(128)} {sums(64)} 37x330:330x70",
    "reductions_of_a_group": f"--dt=s8:u8:f32 {PACKED} {quantised(64)} {sums(64)} 130x330:330x70",
    "zero_points_only": "--dt=u8:s8:s32 --attr-zero-points=src:3:u8:1x32+wei:3:s8:64x1 37x150:150x70",
    "ranges": f"--dt=s8:u8:f32 {PACKED} {quantised(128)} 1x5000:5000x48",
    "ranges_of_zero_points": "--dt=u8:u8:f32 --attr-zero-points=src:common:3+wei:3:u8:96x1 1x5000:5000x40",
    "float_zero_points": f"--dt=s8:u4:f32 {PACKED} {quantised(64, 'f16')} 37x330:330x70",
    "cut_float_zero_points": f"--dt=s8:u8:f32 {PACKED} {quantised(512, 'f32')} 4x1100:1100x70",
    "offsets": f"--dt=s8:u4:f32 {PACKED} --attr-scales=wei:3:f32:32x1 --attr-offsets=wei:3:f32:64x1 "
    "37x330:330x70",
    "offsets_and_floats": f"--dt=f32:u8:f32 {PACKED} --attr-fpmath=strict:true --attr-scales=wei:3:f32:32x1 "
    "--attr-offsets=wei:3:f32:32x1 3x210:210x70",
    # Rows of src that block loads read.
    "words": f"--dt=s8:u8:f32 {PACKED} {quantised(128)} 45x336:336x64",
    "words_src_zero_points": f"--dt=u8:u8:f32 {PACKED} {quantised(128)}+src:3:u8:1x64 45x336:336x64",
    "words_f16": f"--dt=f16:u4:f32 {PACKED} {weight_only(128, 'u4')} 45x336:336x64",
    "batch": "--dt=s8:u8:f32 --attr-scales=src:7:f32:1x32+wei:7:f32:32x1 --attr-zero-points=wei:7:s8:32x1 "
    "3x9x100:3x100x40",
    "f32_by_u4": f"--dt=f32:u4:f32 {PACKED} {weight_only(32, 'u4')} 3x330:330x70",
    "f32_by_u8": f"--dt=f32:u8:f32 {PACKED} {weight_only(128)} 2x330:330x70",
    "f32_by_s8_plain": f"--dt=f32:s8:f32 {weight_only(48, '')} 9x333:333x64",
    "f16_by_u4": f"--dt=f16:u4:f16 {PACKED} {weight_only(64, 'u4')} 37x330:330x70",
    "bf16_by_s4": f"--dt=bf16:s4:f32 {PACKED} {weight_only(64, 's8', 'bf16')} 37x330:330x70",
    "bf16_by_f8": f"--dt=bf16:f8_e5m2:f32 {PACKED} --attr-scales=wei:3:f32:64x1 37x330:330x70",
    "f8_by_f8": "--dt=f8_e4m3:f8_e4m3:f32 --attr-scales=src:3:e8m0:1x32+wei:3:e8m0:32x1 37x330:330x70",
    "f4_by_f4": "--dt=f4_e2m1:f4_e2m1:f32 --attr-scales=src:3:f8_e4m3:1x16+wei:3:f8_e4m3:16x1 37x330:330x70",
}


def line_of(name: str) -> str:
    return f"--matmul --stag=abx --wtag=abx --dtag=abx {LINES[name]}"


def with_whole_groups(line: str) -> str:
    """The line with as many elements of K as whole groups have."""
    sizes = [int(size) for pair in re.findall(r":(\d+)x(\d+)[ +]", line) for size in pair]
    unit, k = math.lcm(*sizes), int(re.findall(r"x(\d+):", line)[-1])
    assert any(k % size for size in sizes), line
    whole = -(-k // unit) * unit
    return (
        line.replace(f"x{k}:", f"x{whole}:").replace(f":{k}x", f":{whole}x").replace(f"x{k}x", f"x{whole}x")
    )


# Why a row may take whole groups of a problem, but not K: it reads src by fours, or in blocks.
OF_K = ("that are multiples of 4, here are", "block loads cannot read src", "for a part of a block of K")


@pytest.mark.quick(cases=turns(50))
@pytest.mark.decided(cases=turns(4))
@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("row", ROWS)
def test_row(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch, row: str, name: str) -> None:
    line = line_of(name)
    monkeypatch.setenv("ZEMM_KERNEL", row)
    if why := refusal(engine, line):
        own = why.split(f"{row}: ", 1)[1].split(";")[0]
        assert any(words in own for words in OF_K) or refusal(engine, with_whole_groups(line)), why
    else:
        check_row(monkeypatch, row, line)


ARG = zemm.ARG
SCALES = ARG["ATTR_SCALES"] | ARG["WEIGHTS"]
SUMS = ARG["ATTR_PRECOMPUTED_REDUCTIONS"] | ARG["SRC"]


def test_queries(engine: zemm.Engine) -> None:
    pd, _ = prepared(engine, line_of("reductions"))
    assert pd.query_md("exec_arg_md", SCALES).dims == (3, 70)
    assert pd.query_md("exec_arg_md", SUMS).dims == (37, 6)


@pytest.mark.parametrize("arg", [SCALES, ARG["ATTR_SCALES"] | ARG["SRC"], SUMS])
def test_parameters_without_the_last_group(engine: zemm.Engine, stream: zemm.Stream, arg: int) -> None:
    pd, tensors = prepared(engine, line_of("reductions"))
    md = pd.query_md("exec_arg_md", arg)
    axis = 0 if arg == SCALES else 1
    dims = tuple(n - (d == axis) for d, n in enumerate(md.dims))
    less = zemm.Memory(zemm.MemoryDesc(dims, md.data_type), engine)
    before = tensors.memories[ARG["DST"]].read().tobytes()
    with pytest.raises(zemm.InvalidArgumentsError, match="x".join(map(str, dims))):
        zemm.Primitive(pd).execute(stream, tensors.memories | {arg: less})
    stream.wait()
    assert tensors.memories[ARG["DST"]].read().tobytes() == before


@pytest.mark.parametrize("group", [0, -1, -128])
def test_groups_that_are_none(group: int) -> None:
    with pytest.raises(zemm.InvalidArgumentsError, match=f"groups.0.={group} is not positive"):
        zemm.Attr().set_scales(ARG["WEIGHTS"], 3, (group, 1))


def test_groups_along_n_divide_it(engine: zemm.Engine) -> None:
    said = refusal(engine, "--matmul --dt=s8:u8:f32 --attr-scales=wei:3:f32:64x32 37x64:64x80")
    assert "the group 32 does not divide N = 80" in said


def test_reductions_lie_in_groups(engine: zemm.Engine) -> None:
    """Unless there is one group: that of all sums."""
    line = "--matmul --dt=s8:u8:f32 --attr-zero-points=wei:3:u8:{}x1 " + f"{sums(48)} 37x100:100x70"
    with pytest.raises(zemm.InvalidArgumentsError, match="the group 48 must divide the K group 64"):
        refusal(engine, line.format(64))
    assert not refusal(engine, line.format(128))


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
    all_values, all_scales = quantised(np.pad(x, [(0, 6), (0, 0)]))
    assert np.array_equal(scales, all_scales)
    assert np.array_equal(values, all_values[:90])
