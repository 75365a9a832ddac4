# SPDX-License-Identifier: Apache-2.0
"""Descriptors at the limits: open layouts, parameter memories, scratchpads, empty tensors."""

import numpy as np
import pytest
import zemm
from support_driver import check
from support_execute import dst_of

SRC, WEIGHTS, ZERO_POINTS = zemm.ARG_SRC, zemm.ARG_WEIGHTS, zemm.ARG_ATTR_ZERO_POINTS


def test_odd_row_of_4_bit_zero_points(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """Parameters are dense, so a row of three 4-bit elements ends in the middle of a byte."""
    rng = np.random.default_rng(1)
    src, weights = (rng.integers(-8, 8, shape).astype(np.int8) for shape in ((4, 64), (64, 48)))
    zero_points = rng.integers(-8, 8, (64, 3)).astype(np.int8)
    attr = zemm.Attr()
    attr.set_fpmath_mode("strict", apply_to_int=True)
    attr.set_zero_points(WEIGHTS, 3, (1, 16), "s4")
    mds = [zemm.MemoryDesc((4, 64), "s8"), zemm.MemoryDesc((64, 48), "s8"), zemm.MemoryDesc((4, 48), "s32")]
    pd = zemm.MatmulPrimitiveDesc(engine, *mds, attr=attr)
    packed = zemm.Memory(pd.query_md("exec_arg_md", ZERO_POINTS | WEIGHTS), engine)
    packed.write(zemm.pack_int4(zero_points.reshape(-1)))
    got = dst_of(stream, pd, {SRC: src, WEIGHTS: weights, ZERO_POINTS | WEIGHTS: packed})
    expected = src.astype(np.int32) @ (weights.astype(np.int32) - np.repeat(zero_points, 16, axis=1))
    assert np.array_equal(got, expected)


def test_bf16_has_no_denormals(engine: zemm.Engine) -> None:
    small = np.float32(1e-39)  # a denormal of bf16, which has the same exponents as f32
    one = np.ones((1, 1), np.float32)
    for sign in (1, -1):
        result = zemm.matmul(one, np.full((1, 1), sign * small), dst_dtype="bf16", engine=engine)
        assert result.view(np.uint16)[0, 0] == (0x8000 if sign < 0 else 0)


@pytest.mark.parametrize("tag", ["ab", "ba"])
def test_open_operand_follows_dst(engine: zemm.Engine, tag: str) -> None:
    post_ops = zemm.PostOps()
    post_ops.append_binary("binary_add", zemm.MemoryDesc((4, 6), "f32", tag="any"))
    attr = zemm.Attr()
    attr.set_post_ops(post_ops)
    dst = zemm.MemoryDesc((4, 6), "f32", tag=tag)
    src, weights = (zemm.MemoryDesc(dims, "f32") for dims in ((4, 2), (2, 6)))
    pd = zemm.MatmulPrimitiveDesc(engine, src, weights, dst, attr=attr)
    arg = zemm.ARG_ATTR_MULTIPLE_POST_OP(0) | zemm.ARG["SRC_1"]
    assert pd.query_md("exec_arg_md", arg).strides == dst.strides


def test_empty_batches_with_parameters() -> None:
    check("--matmul --dt=s8:s8:f32 --attr-scales=src:7:f32:1x32 2x0x32:2x32x5")
