# SPDX-License-Identifier: Apache-2.0
"""Memories that have the primitive's elements at the same places under another shape, as oneDNN takes
them, and memories that differ, which are refused.
"""

from collections.abc import Callable

import numpy as np
import pytest
import zemm
from support_calls import Call
from support_cases import Problem

Md = zemm.MemoryDesc
SRC, WEIGHTS, DST, BIAS = zemm.ARG_SRC, zemm.ARG_WEIGHTS, zemm.ARG_DST, zemm.ARG_BIAS
BINARY = zemm.ARG_ATTR_MULTIPLE_POST_OP(0) | zemm.ARG["SRC_1"]
PRELU = zemm.ARG_ATTR_MULTIPLE_POST_OP(1) | WEIGHTS


def with_one(md: Md) -> Md:
    return md.reshape((1, *md.dims))


def with_ones(md: Md) -> Md:
    return md.reshape((*md.dims, 1, 1))


def flat(md: Md) -> Md:
    return md.reshape((int(np.prod(md.dims)),))


def split(md: Md) -> Md:
    """The last dimension in two."""
    return md.reshape((*md.dims[:-1], 2, md.dims[-1] // 2))


def reversed_axes(md: Md) -> Md:
    return md.permute_axes(tuple(reversed(range(md.ndims))))


def rotated(md: Md) -> Md:
    return with_one(md).permute_axes((2, 0, 1))


VIEWS: list[Callable[[Md], Md]] = [with_one, with_ones, flat, split, reversed_axes, rotated]
EVERYTHING = Problem(
    "--dt=s8:u8:f32 --bia-dt=f32 --bia_mask=2 --attr-scales=src:3:f32:1x32+wei:3:f16:32x1"
    " --attr-zero-points=wei:3:u8:32x1 --attr-precomputed-reductions=src:3:s32:1x32"
    " --attr-post-ops=add:f32:3+prelu:2 6x64:64x18"
)
FOUR_BIT = Problem("--dt=s8:u4:f32 --attr-scales=wei:2 6x64:64x18")
STRIDED = Problem("6x64:64x18 src_pad=4 wei_pad=6 dst_pad=2")


def execute(stream: zemm.Stream, problem: Problem, arg: int, view: Callable[[Md], Md]) -> None:
    """Execute with the argument's memory under another descriptor, and check dst."""
    call = Call(problem)
    was = call.args[arg]
    call.args[arg] = zemm.Memory.from_handle(view(was.md), stream.engine, was.handle)
    call.execute()
    call.check()


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("arg", [SRC, WEIGHTS, DST, BIAS, BINARY, PRELU])
def test_tensors(stream: zemm.Stream, arg: int, view: Callable[[Md], Md]) -> None:
    execute(stream, EVERYTHING, arg, view)


@pytest.mark.parametrize("arg", [SRC, WEIGHTS, DST])
def test_tensors_with_gaps(stream: zemm.Stream, arg: int) -> None:
    for view in (with_one, with_ones, split, reversed_axes, rotated):
        execute(stream, STRIDED, arg, view)


@pytest.mark.parametrize("view", [view for view in VIEWS if view != split])  # 9 elements are no whole bytes
def test_weights_of_4_bits(stream: zemm.Stream, view: Callable[[Md], Md]) -> None:
    execute(stream, FOUR_BIT, WEIGHTS, view)


PARAMETERS = {
    "src_scales": (zemm.ARG_ATTR_SCALES | SRC),
    "weights_scales": (zemm.ARG_ATTR_SCALES | WEIGHTS),
    "weights_zero_points": (zemm.ARG_ATTR_ZERO_POINTS | WEIGHTS),
    "reductions": (zemm.ARG_ATTR_PRECOMPUTED_REDUCTIONS | SRC),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("arg", PARAMETERS.values(), ids=PARAMETERS)
def test_parameters(stream: zemm.Stream, arg: int, view: Callable[[Md], Md]) -> None:
    execute(stream, EVERYTHING, arg, view)


def run(pd: zemm.MatmulPrimitiveDesc, stream: zemm.Stream, src: zemm.Memory) -> np.ndarray:
    """dst, with weights that are the numbers from 0 on."""
    sizes = (pd.query_md("weights_md").size // 4, pd.query_md("dst_md").size // 4)
    weights, out = (np.arange(size, dtype=np.float32) for size in sizes)
    memories = (zemm.Memory(Md((a.size,), "f32"), stream.engine, a) for a in (weights, out))
    zemm.Primitive(pd).execute(stream, dict(zip((SRC, WEIGHTS, DST), (src, *memories), strict=True)))
    stream.wait()
    return out


@pytest.mark.parametrize("tag", ["ab", "ba"])
def test_a_reshaped_part(engine: zemm.Engine, stream: zemm.Stream, tag: str) -> None:
    """A primitive for {1, 2, 16} takes a memory for the part {2, 16} of a larger tensor."""
    part = Md((4, 24), "f32", tag).submemory((2, 16), (1, 5))
    three = part.reshape((1, 2, 16))
    values = np.arange(96, dtype=np.float32)
    whole = values.reshape((4, 24) if tag == "ab" else (24, 4))
    expected = (whole if tag == "ab" else whole.T)[1:3, 5:21] @ np.arange(48, dtype=np.float32).reshape(16, 3)
    for made_for, passed in ((three, part), (part, three)):
        shape = (1,) * (made_for.ndims - 2)
        mds = made_for, Md((*shape, 16, 3), "f32"), Md((*shape, 2, 3), "f32")
        src = zemm.Memory(passed, engine, values.view(np.uint8))
        got = run(zemm.MatmulPrimitiveDesc(engine, *mds), stream, src)
        assert np.array_equal(got.reshape(2, 3), expected)


def test_a_blocked_layout(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """Blocks stay blocks: dimensions of 1 and another order of the axes do not matter."""
    rng = np.random.default_rng(1)
    dense = zemm.Memory(Md((32, 48), "f32"), engine, rng.standard_normal((32, 48), np.float32))
    blocked = zemm.reorder(dense, Md((32, 48), "f32", "AB16b16a"))
    pd = zemm.MatmulPrimitiveDesc(engine, blocked.md, Md((48, 3), "f32"), Md((32, 3), "f32"))
    expected = run(pd, stream, blocked)
    for view in (with_one, with_ones, reversed_axes, rotated):
        src = zemm.Memory.from_handle(view(blocked.md), engine, blocked.handle)
        assert np.array_equal(run(pd, stream, src), expected)
    for other in (Md((48, 32), "f32", "AB16b16a"), Md((1, 32, 48), "f32"), Md((32, 48), "f32", "AB8b8a")):
        refuse(pd, stream, zemm.Memory(other, engine))


def test_fixed_weights_beside_rows_that_are_open(engine: zemm.Engine, stream: zemm.Stream) -> None:
    m = zemm.RUNTIME_DIM
    pd = zemm.MatmulPrimitiveDesc(
        engine,
        Md((m, 16), "f32", strides=(16, 1)),
        Md((16, 3), "f32"),
        Md((m, 3), "f32", strides=(3, 1)),
    )
    src, out = np.ones((2, 16), np.float32), np.zeros((2, 3), np.float32)
    values = np.arange(48, dtype=np.float32)
    weights = zemm.Memory(Md((3, 16), "f32", "ba"), engine, values.view(np.uint8))
    args = {SRC: zemm.Memory(Md((2, 16), "f32"), engine, src), WEIGHTS: weights}
    zemm.Primitive(pd).execute(stream, args | {DST: zemm.Memory(Md((2, 3), "f32"), engine, out)})
    stream.wait()
    assert np.array_equal(out, src @ values.reshape(16, 3))


def refuse(pd: zemm.MatmulPrimitiveDesc, stream: zemm.Stream, src: zemm.Memory) -> None:
    args = {WEIGHTS: zemm.Memory(pd.query_md("weights_md"), stream.engine)}
    args[DST] = zemm.Memory(pd.query_md("dst_md"), stream.engine)
    with pytest.raises(zemm.InvalidArgumentsError, match=r"ARG_SRC has .*, the primitive was made for "):
        zemm.Primitive(pd).execute(stream, args | {SRC: src})


DENSE, SQUARE = Md((4, 16), "f32"), Md((16, 16), "f32")
PART = Md((8, 24), "f32").submemory((4, 16), (1, 5))
REFUSED = {
    "fewer_elements": (DENSE, Md((63,), "f32")),
    "more_elements": (DENSE, Md((65,), "f32")),
    "another_type": (DENSE, Md((64,), "s32", strides=(2,))),
    "gaps": (DENSE, Md((4, 1, 16), "f32", strides=(20, 20, 1))),
    "an_offset": (DENSE, Md((5, 16), "f32").submemory((4, 16), (1, 0)).reshape((64,))),
    "another_offset": (PART, Md((8, 24), "f32").submemory((4, 16), (1, 4)).reshape((1, 4, 16))),
    "a_part_that_is_dense": (PART, Md((64,), "f32")),
    "transposed": (SQUARE, Md((16, 16), "f32", "ba")),
    "transposed_with_one": (SQUARE, Md((1, 16, 16), "f32", "acb")),
    "another_order": (DENSE, Md((4, 16), "f32", "ba")),
    "repeated": (Md((4, 16), "f32", strides=(0, 1)), Md((16,), "f32")),
}


@pytest.mark.parametrize(("made_for", "passed"), REFUSED.values(), ids=REFUSED)
def test_refused(engine: zemm.Engine, stream: zemm.Stream, made_for: Md, passed: Md) -> None:
    m, k = made_for.dims
    pd = zemm.MatmulPrimitiveDesc(engine, made_for, Md((k, 3), "f32"), Md((m, 3), "f32"))
    refuse(pd, stream, zemm.Memory(passed, engine))
