# SPDX-License-Identifier: Apache-2.0
"""Post-ops whose operand is dst: binary_mul_inplace, and other operands that are dst's memory. What shares
memory with dst in another way is refused, and dst stays as it was. problems.txt has such post-ops for all
rows.
"""

from typing import Any

import numpy as np
import pytest
import zemm
from support_calls import Call, run
from support_cases import Problem

SRC, WEIGHTS, BIAS, DST = zemm.ARG_SRC, zemm.ARG_WEIGHTS, zemm.ARG_BIAS, zemm.ARG_DST
SRC_1, SRC_2 = zemm.ARG["SRC_1"], zemm.ARG["SRC_2"]


def test_the_second_run_multiplies_by_the_first_result() -> None:
    call = Call(Problem("--attr-post-ops=mul_inplace:f32 5x1:1x8"))
    x, w, old = (call.values[arg] for arg in (SRC, WEIGHTS, DST))
    for _ in range(2):
        call.execute()
    assert np.array_equal(call.dst, (x @ w) ** 2 * old)


def test_a_part_of_a_larger_tensor(engine: zemm.Engine) -> None:
    """dst is a submemory, and src1 may be spelt as its descriptor."""
    run(Problem("--attr-post-ops=mul_inplace:f32 5x2:2x8 dst_within=12x20@3x7"))
    dst = zemm.MemoryDesc((12, 20), "f32").submemory((5, 8), (3, 7))
    mds = zemm.MemoryDesc((5, 2), "f32"), zemm.MemoryDesc((2, 8), "f32"), dst
    assert zemm.MatmulPrimitiveDesc(engine, *mds, attr=with_post_op("mul_inplace", dst)[0]).impl_info


def refused_descriptor(engine: zemm.Engine, dst: zemm.MemoryDesc, src1: zemm.MemoryDesc) -> str:
    post_ops = zemm.PostOps()
    post_ops.append_binary("mul_inplace", src1)
    attr = zemm.Attr()
    attr.set_post_ops(post_ops)
    src, weights = zemm.MemoryDesc((4, 8), "f16", "ab"), zemm.MemoryDesc((8, 6), "f16", "ab")
    with pytest.raises(zemm.InvalidArgumentsError) as caught:
        zemm.MatmulPrimitiveDesc(engine, src, weights, dst, attr=attr)
    return str(caught.value)


@pytest.mark.parametrize(
    ("dst", "src1", "words"),
    [
        (((4, 6), "f16", "ab"), ((4, 6), "f32", "any"), "must have dst's f16 4x6, not f32 4x6"),
        (((4, 6), "f16", "ab"), ((4, 6), "bf16", "any"), "must have dst's f16 4x6, not bf16 4x6"),
        (((4, 6), "f16", "ab"), ((1, 6), "f16", "any"), "must have dst's f16 4x6, not f16 1x6"),
        (((4, 6), "f16", "ab"), ((4, 6), "f16", "ba"), "or format any"),
        (((4, 6), "f16", "any"), ((4, 6), "f16", "ab"), "src1's format must be any"),
    ],
)
def test_descriptors_that_are_not_dst(engine: zemm.Engine, dst: Any, src1: Any, words: str) -> None:
    assert words in refused_descriptor(engine, zemm.MemoryDesc(*dst), zemm.MemoryDesc(*src1))


def test_runtime_values(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """dst's strides may be open, its dims not: no src1 can have them."""
    rows, columns = 4, 6
    runtime = zemm.RUNTIME_DIM
    with pytest.raises(zemm.InvalidArgumentsError, match=r"must have dst's f32 \*x6, not f32 4x6"):
        make_runtime(engine, zemm.MemoryDesc((runtime, columns), "f32", "ab"), runtime)
    pd = make_runtime(engine, zemm.MemoryDesc((rows, columns), "f32", strides=(runtime, 1)), rows)
    primitive = zemm.Primitive(pd)
    x, w = np.arange(8, dtype=np.float32).reshape(4, 2), np.arange(12, dtype=np.float32).reshape(2, 6)
    for stride in (6, 9):
        whole = np.full((rows, stride), 2, np.float32)
        dst = zemm.Memory(
            zemm.MemoryDesc((rows, columns), "f32", strides=(stride, 1)),
            engine,
            whole.reshape(-1).view(np.uint8),
        )
        memories = {
            SRC: zemm.Memory(zemm.MemoryDesc(x.shape, "f32", "ab"), engine, x),
            WEIGHTS: zemm.Memory(zemm.MemoryDesc(w.shape, "f32", "ab"), engine, w),
            DST: dst,
            zemm.ARG_ATTR_MULTIPLE_POST_OP(0) | SRC_1: dst,
        }
        primitive.execute(stream, memories)
        stream.wait()
        assert np.array_equal(whole[:, :columns], x @ w * 2)
        assert (whole[:, columns:] == 2).all()


def make_runtime(engine: zemm.Engine, dst: zemm.MemoryDesc, rows: int) -> zemm.MatmulPrimitiveDesc:
    post_ops = zemm.PostOps()
    post_ops.append_binary("mul_inplace", zemm.MemoryDesc((4, 6), "f32", "any"))
    attr = zemm.Attr()
    attr.set_post_ops(post_ops)
    src, weights = zemm.MemoryDesc((rows, 2), "f32", "ab"), zemm.MemoryDesc((2, 6), "f32", "ab")
    return zemm.MatmulPrimitiveDesc(engine, src, weights, dst, attr=attr)


class Aliasing:
    """A matmul whose arguments lie in one buffer: dst at some place, another one relative to it."""

    def __init__(self, engine: zemm.Engine, stream: zemm.Stream, dst: zemm.MemoryDesc) -> None:
        self.engine, self.stream, self.dst = engine, stream, dst
        self.buffer = np.arange(4096, dtype=np.float32) % 7 + 1
        self.before = self.buffer.copy()
        self.x = np.arange(8, dtype=np.float32).reshape(4, 2)
        self.w = np.arange(12, dtype=np.float32).reshape(2, 6)

    def at(self, md: zemm.MemoryDesc, offset: int) -> zemm.Memory:
        """The memory that begins at an element of the buffer."""
        return zemm.Memory(md, self.engine, self.buffer[offset:].view(np.uint8))

    def run(self, attr: zemm.Attr, more: dict[int, tuple[zemm.MemoryDesc, int]], at: int) -> None:
        """Multiply, with dst at an element and the others at theirs."""
        mds = {SRC: zemm.MemoryDesc((4, 2), "f32", "ab"), WEIGHTS: zemm.MemoryDesc((2, 6), "f32", "ab")}
        memories = {
            SRC: zemm.Memory(mds[SRC], self.engine, self.x),
            WEIGHTS: zemm.Memory(mds[WEIGHTS], self.engine, self.w),
            DST: self.at(self.dst, at),
        }
        memories |= {arg: self.at(md, offset) for arg, (md, offset) in more.items()}
        bias = more[BIAS][0] if BIAS in more else None
        pd = zemm.MatmulPrimitiveDesc(self.engine, mds[SRC], mds[WEIGHTS], self.dst, bias, attr)
        zemm.Primitive(pd).execute(self.stream, memories)
        self.stream.wait()

    def refuse(
        self, words: str, attr: zemm.Attr, more: dict[int, tuple[zemm.MemoryDesc, int]], at: int
    ) -> None:
        with pytest.raises(zemm.InvalidArgumentsError) as caught:
            self.run(attr, more, at)
        assert words in str(caught.value)
        self.stream.wait()
        assert np.array_equal(self.buffer, self.before)


def with_post_op(kind: str, md: zemm.MemoryDesc) -> tuple[zemm.Attr, int]:
    """Attributes with one post-op, and the argument of its operand."""
    post_ops, base = zemm.PostOps(), zemm.ARG_ATTR_MULTIPLE_POST_OP(0)
    if kind == "prelu":
        post_ops.append_prelu(3)
    elif kind:
        post_ops.append_binary(kind, md)  # type: ignore[arg-type]
    attr = zemm.Attr()
    attr.set_post_ops(post_ops)
    return attr, {"prelu": base | WEIGHTS, "": BIAS}.get(kind, base | SRC_1)


FULL = zemm.MemoryDesc((4, 6), "f32", "ab")
ROW = zemm.MemoryDesc((1, 6), "f32", "ab")
WIDE = zemm.MemoryDesc((4, 6), "f32", strides=(20, 1))


@pytest.mark.parametrize("kind", ["add", "max", "mul_inplace", "prelu", ""])
@pytest.mark.parametrize("md", [FULL, WIDE], ids=["dense", "wide"])
def test_an_operand_that_is_dst(
    engine: zemm.Engine, stream: zemm.Stream, kind: str, md: zemm.MemoryDesc
) -> None:
    """Right numbers. prelu's slopes are dense, dimension 1 innermost."""
    if kind == "prelu" and md is WIDE:
        return
    call = Aliasing(engine, stream, md)
    attr, arg = with_post_op(kind, md)
    call.run(attr, {arg: (md, 100)}, at=100)
    pitch = md.strides[0]
    old = np.lib.stride_tricks.as_strided(call.before[100:], (4, 6), (4 * pitch, 4))
    got = np.lib.stride_tricks.as_strided(call.buffer[100:], (4, 6), (4 * pitch, 4))
    product = call.x @ call.w
    want = {"mul_inplace": product * old, "max": np.maximum(product, old), "prelu": product}
    assert np.array_equal(got, want.get(kind, product + old))


@pytest.mark.parametrize("kind", ["add", "div", "prelu", ""])
@pytest.mark.parametrize("offset", [99, 101, 94, 106, 123, 77])
def test_an_operand_that_begins_elsewhere_in_dst(
    engine: zemm.Engine, stream: zemm.Stream, kind: str, offset: int
) -> None:
    call = Aliasing(engine, stream, FULL)
    attr, arg = with_post_op(kind, FULL)
    call.refuse("share memory: either it has dst's", attr, {arg: (FULL, offset)}, at=100)
    for apart in (76, 124):
        call.run(attr, {arg: (FULL, apart)}, at=100)


@pytest.mark.parametrize("offset", [-5, 0, 3, 6, 23])
def test_a_row_of_dst(engine: zemm.Engine, stream: zemm.Stream, offset: int) -> None:
    call = Aliasing(engine, stream, FULL)
    attr, arg = with_post_op("add", ROW)
    call.refuse("ARG_DST share memory", attr, {arg: (ROW, 100 + offset)}, at=100)


@pytest.mark.parametrize("offset", [6, 13, -6, -40, 60, 66])
def test_columns_beside_those_of_dst(engine: zemm.Engine, stream: zemm.Stream, offset: int) -> None:
    """Columns of one matrix lie between each other, and share nothing."""
    call = Aliasing(engine, stream, WIDE)
    attr, arg = with_post_op("add", WIDE)
    shares = abs(offset) % 20 < 6 or abs(offset) % 20 > 14
    if shares and abs(offset) < 66:
        call.refuse("share memory", attr, {arg: (WIDE, 100 + offset)}, at=100)
        return
    old = call.buffer[100 + offset : 106 + offset].copy()
    call.run(attr, {arg: (WIDE, 100 + offset)}, at=100)
    assert np.array_equal(call.buffer[100:106], call.x[0] @ call.w + old)


def test_another_matrix_than_dst(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """src1 of an operation in place is dst's memory, not one apart."""
    call = Aliasing(engine, stream, FULL)
    attr, arg = with_post_op("mul_inplace", FULL)
    for offset in (101, 99, 2000):
        call.refuse("must be the memory of ARG_DST", attr, {arg: (FULL, offset)}, at=100)


@pytest.mark.parametrize("arg", [SRC, WEIGHTS, zemm.ARG_ATTR_SCALES | WEIGHTS])
def test_what_is_read_while_dst_is_written(engine: zemm.Engine, stream: zemm.Stream, arg: int) -> None:
    call = Aliasing(engine, stream, FULL)
    attr = zemm.Attr()
    md = {SRC: zemm.MemoryDesc((4, 2), "f32", "ab"), WEIGHTS: zemm.MemoryDesc((2, 6), "f32", "ab")}.get(arg)
    if arg & zemm.ARG_ATTR_SCALES:
        attr.set_scales(WEIGHTS, 2)
        md = zemm.MemoryDesc((6,), "f32", "a")
    assert md is not None
    call.refuse("it must lie apart from dst", attr, {arg: (md, 100)}, at=100)
    call.refuse("it must lie apart from dst", attr, {arg: (md, 123)}, at=100)
    call.run(attr, {arg: (md, 124)}, at=100)


def test_grouped(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """The gate of experts: the product of one matmul times that of another, in one buffer."""
    sizes, k, n = (3, 0, 5), 16, 8
    ends, rows = np.cumsum(sizes).astype(np.int32), sum(sizes)
    rng = np.random.default_rng(1)
    x = rng.integers(-4, 5, (rows, k)).astype(np.float32)
    w = rng.integers(-4, 5, (len(sizes), k, n)).astype(np.float32)
    old = rng.integers(-4, 5, (rows, n)).astype(np.float32)
    src_md = zemm.MemoryDesc.grouped((rows, k), "f32", 0, len(sizes), "s32")
    dst_md = zemm.MemoryDesc.grouped((rows, n), "f32", 0, len(sizes), "s32")
    want = (
        np.concatenate([x[e - s : e] @ w[i] for i, (s, e) in enumerate(zip(sizes, ends, strict=True))]) * old
    )

    def memory(md: zemm.MemoryDesc, values: np.ndarray) -> zemm.Memory:
        made = zemm.Memory(md, engine)
        made.write(values.reshape(-1), 0)
        made.write(ends, 1)
        return made

    for src1 in (zemm.MemoryDesc((rows, n), "f32", "any"), dst_md):
        post_ops = zemm.PostOps()
        post_ops.append_binary("mul_inplace", src1)
        attr = zemm.Attr()
        attr.set_post_ops(post_ops)
        wei_md = zemm.MemoryDesc(w.shape, "f32", "abc")
        pd = zemm.MatmulPrimitiveDesc(engine, src_md, wei_md, dst_md, attr=attr)
        dst = memory(dst_md, old)
        memories = {SRC: memory(src_md, x), WEIGHTS: zemm.Memory(wei_md, engine, w), DST: dst}
        arg = zemm.ARG_ATTR_MULTIPLE_POST_OP(0) | SRC_1
        with pytest.raises(zemm.InvalidArgumentsError, match="must be the memory of ARG_DST"):
            zemm.Primitive(pd).execute(stream, memories | {arg: memory(dst_md, old)})
        zemm.Primitive(pd).execute(stream, memories | {arg: dst})
        stream.wait()
        assert np.array_equal(dst.read(0).view(np.float32).reshape(rows, n), want)


def test_a_matmul_of_arrays() -> None:
    x, w = np.arange(8, dtype=np.float32).reshape(4, 2), np.arange(12, dtype=np.float32).reshape(2, 6)
    for out in (
        np.full((4, 6), 3, np.float32),
        np.full((6, 4), 3, np.float32).T,
        np.full((4, 12), 3.0, np.float32)[:, ::2],
    ):
        assert zemm.matmul(x, w, out=out, post_ops=["mul_inplace", "relu", ("mul_inplace",)]) is out
        assert np.array_equal(out, x @ w * 9)
    with pytest.raises(zemm.InvalidArgumentsError, match="mul_inplace multiplies by the old dst, but no out"):
        zemm.matmul(x, w, post_ops=["mul_inplace"])
    with pytest.raises(zemm.InvalidArgumentsError, match="no array, as its operand is the old dst"):
        zemm.matmul(x, w, out=np.zeros((4, 6), np.float32), post_ops=[("mul_inplace", x)])
