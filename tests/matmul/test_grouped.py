# SPDX-License-Identifier: Apache-2.0
"""Grouped matmuls: groups of rows with weights each (mixtures of experts), and groups of K."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import zemm
from support_decisions import needed
from support_grouped import (
    Groups,
    grouped_md,
    make_args,
    make_pd,
    run,
    run_groups_of_k,
)
from support_problem import PostOp, Problem, Quant, make_data, zero_point
from support_rows import CPU_ROWS, XE_ROWS
from support_run import ARGS

K, N = 128, 70
SIZES = (3, 0, 17, 1, 45, 0)


def matrix(src: str, wei: str, dst: str, k: int = K, n: int = N, **attributes: Any) -> Problem:
    return Problem((1, k), (k, n), src, wei, dst, **attributes)


BIAS = {"bias_dt": "f32", "bias_mask": 2}
MUL = {mask: PostOp("binary", "binary_mul", dt="f32", mask=mask) for mask in (0, 1, 3)}
SWISH = PostOp("eltwise", "eltwise_swish", 1.0)
BY_ROW, BY_COLUMN = Quant(1), Quant(2)

MATRICES: dict[str, Problem] = {
    "f32": matrix("f32", "f32", "f32"),
    "tf32": matrix("f32", "f32", "f32", n=64, fpmath=("tf32", False)),
    "bf16_bias": matrix("bf16", "bf16", "bf16", **BIAS),
    "f16_f32": matrix("f16", "f16", "f32", n=64),
    "s8_u8_zero_points": matrix(
        "s8", "u8", "f32", src_scale=BY_ROW, wei_scale=BY_COLUMN, wei_zp=zero_point(2, dt="u8"), **BIAS
    ),
    "s8_s8_both_zero_points": matrix(
        "s8", "s8", "f32", src_zp=zero_point(1, dt="s32"), wei_zp=zero_point(2, dt="s8"), src_scale=BY_ROW
    ),
    "u8_s4_groups": matrix(
        "u8", "s4", "bf16", src_scale=Quant(3, (1, 32), "f16"), wei_scale=Quant(3, (32, 1), "f16"),
        wei_zp=zero_point(3, (32, 1), "s8"),
    ),
    "reductions": matrix(
        "s8", "u4", "f16", src_scale=Quant(3, (1, 32), "f16"), wei_scale=Quant(3, (64, 1), "f16"),
        wei_zp=zero_point(3, (32, 1), "u4"), reduction_group=32,
    ),
    "offsets": matrix(
        "s8", "u4", "f32", src_scale=Quant(3, (1, 32), "f16"), wei_scale=Quant(3, (32, 1), "f16"),
        wei_offset=Quant(3, (32, 1), "f16"), reduction_group=32, rough=True,
    ),
    "weight_only": matrix(
        "f16", "u4", "f16", wei_scale=Quant(3, (32, 1), "f16"), wei_zp=zero_point(3, (32, 1), "u4"),
        fpmath=("f16", True),
    ),
    "mxfp8": matrix(
        "f8_e4m3", "f8_e4m3", "bf16", src_scale=Quant(3, (1, 32), "e8m0"), wei_scale=Quant(3, (32, 1), "e8m0")
    ),
    "nvfp4": matrix(
        "f4_e2m1", "f4_e2m1", "bf16", src_scale=Quant(3, (1, 16), "f8_e4m3"),
        wei_scale=Quant(3, (16, 1), "f8_e4m3"), post_ops=(MUL[0],),
    ),
    "shorter_groups": matrix(
        "s8", "u8", "f32", k=140, src_scale=Quant(3, (1, 32)), wei_scale=Quant(3, (64, 1), "f16"),
        wei_zp=zero_point(3, (32, 1), "u8"), reduction_group=32,
    ),
    "gate": matrix("f32", "f32", "f32", post_ops=(SWISH, MUL[3], MUL[1])),
}  # fmt: skip


@pytest.mark.quick(cases=lambda name, wei_tag: wei_tag == "any" or name == "u8_s4_groups")
@pytest.mark.parametrize("wei_tag", ["any", "abc", "acb"])
@pytest.mark.parametrize("name", MATRICES)
def test_groups_of_rows(engine: zemm.Engine, stream: zemm.Stream, name: str, wei_tag: str) -> None:
    run(engine, stream, Groups(SIZES, MATRICES[name], wei_tag))


@pytest.mark.parametrize(
    "sizes",
    [(5,), (0, 0, 3), (1,) * 33, (600, 0, 7, 250), (0, 0, 0, 31), (12, 30, 16, 16)],
    ids=lambda sizes: f"{len(sizes)}_groups_of_{max(sizes)}",
)
@pytest.mark.parametrize("name", ["f32", "s8_u8_zero_points", "reductions", "mxfp8"])
def test_sizes(engine: zemm.Engine, stream: zemm.Stream, name: str, sizes: tuple[int, ...]) -> None:
    run(engine, stream, Groups(sizes, MATRICES[name], "any"))


def test_grouped_src1(engine: zemm.Engine, stream: zemm.Stream) -> None:
    run(engine, stream, Groups(SIZES, MATRICES["gate"], src1="grouped"))


def test_as_many_rows_as_groups(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """[G, 1] then is a value for each group, although it has the dims of a value for each row."""
    run(engine, stream, Groups((3, 0, 0), replace(MATRICES["f32"], post_ops=(MUL[0],))))


def test_long_sums(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """K so long that an s32 does not hold a sum: each range of K has its own sums."""
    p = matrix("u8", "u8", "f32", k=70000, n=20, wei_zp=zero_point(2, dt="u8"))
    run(engine, stream, Groups((2, 0, 5), p, "abc"))


def refused(engine: zemm.Engine, g: Groups) -> str:
    """Why the device does not take the forced kernel; "" if it does."""
    try:
        make_pd(engine, g)
    except NotImplementedError as error:
        return str(error)
    return ""


def one_group(row: str, name: str) -> Problem:
    p = MATRICES[name]
    return replace(p, src_dims=(max(SIZES), p.k), any_tags=True)


@pytest.mark.full
@pytest.mark.decided(cases=needed([*CPU_ROWS, *XE_ROWS], MATRICES, one_group))
@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("row", [*CPU_ROWS, *XE_ROWS])
def test_row(
    engine: zemm.Engine, stream: zemm.Stream, monkeypatch: pytest.MonkeyPatch, row: str, name: str
) -> None:
    monkeypatch.setenv("ZEMM_KERNEL", row)
    g = Groups(SIZES, MATRICES[name], "any")
    if reason := refused(engine, g):
        assert f"{row}: " in reason
        assert "ZEMM_KERNEL" not in reason.split(f"{row}: ", 1)[1].split(";")[0]
        return
    assert run(engine, stream, g).impl_info == row


# ---- groups of K


def by_k(
    engine: zemm.Engine, stream: zemm.Stream, sizes: tuple[int, ...], m: int, n: int, dt: str, tag: str
) -> None:
    rng = np.random.default_rng(m + n)
    src, wei = (rng.integers(-1, 2, dims) for dims in ((m, sum(sizes)), (sum(sizes), n)))
    dst_dt = "f32" if dt == "f8_e4m3" else dt  # holds the sums
    run_groups_of_k(engine, stream, f"{dt}:{dt}:{dst_dt}", sizes, m, n, (src, wei), tag=tag)


@pytest.mark.parametrize("tag", ["any", "abc", "acb"])
@pytest.mark.parametrize("dt", ["f32", "f16", "bf16", "f8_e4m3"])
@pytest.mark.parametrize(
    ("sizes", "m", "n"),
    [((10, 20, 30, 40), 64, 32), ((0, 1, 2, 0, 3, 0), 24, 20), ((8,), 16, 12), ((0, 7, 300), 33, 65)],
)
def test_groups_of_k(
    engine: zemm.Engine, stream: zemm.Stream, sizes: tuple[int, ...], m: int, n: int, dt: str, tag: str
) -> None:
    """Values whose sums dst holds: a group without K gives zeros."""
    by_k(engine, stream, sizes, m, n, dt, tag)


@pytest.mark.full
@pytest.mark.parametrize("dt", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("row", CPU_ROWS)
def test_row_of_k(
    engine: zemm.Engine, stream: zemm.Stream, monkeypatch: pytest.MonkeyPatch, row: str, dt: str
) -> None:
    monkeypatch.setenv("ZEMM_KERNEL", row)
    try:
        by_k(engine, stream, (0, 7, 300), 33, 65, dt, "abc")
    except NotImplementedError as error:
        why = str(error).split(f"{row}: ", 1)[1].split(";")[0]
        if "ZEMM_KERNEL" in why:
            raise


# ---- refusals


def by_rows(dims: tuple[int, int], count: int = 2, dt: str = "f32", variable_dim: int = 0) -> zemm.MemoryDesc:
    return grouped_md(dims, dt, count, variable_dim)


def dense(*dims: int, dt: str = "f32", tag: str | None = None) -> zemm.MemoryDesc:
    return zemm.MemoryDesc(dims, dt, tag)


def attr(change: Any) -> zemm.Attr:
    made = zemm.Attr()
    change(made)
    return made


def post_op(append: Any) -> zemm.Attr:
    ops = zemm.PostOps()
    append(ops)
    return attr(lambda a: a.set_post_ops(ops))


def mul_by(md: zemm.MemoryDesc) -> zemm.Attr:
    return post_op(lambda ops: ops.append_binary("binary_mul", md))


SRC, WEI, DST = by_rows((6, 16)), dense(2, 16, 8), by_rows((6, 8))
K_SRC, K_WEI, K_DST = by_rows((6, 16), variable_dim=1), by_rows((16, 8)), dense(2, 6, 8)

REFUSED: dict[str, tuple[Any, ...]] = {
    "weights of two dims": (SRC, dense(16, 8), DST, None, None, "weights: 2 dimensions"),
    "sparse weights": (SRC, zemm.MemoryDesc.csr((16, 8), "f32", 3), DST, None, None, "must be dense"),
    "another number of weights": (SRC, dense(3, 16, 8), DST, None, None, "the number of groups, 2"),
    "runtime dims": (SRC, zemm.MemoryDesc((2, 16, zemm.RUNTIME_DIM), "f32", "abc"), DST, None, None, "known"),
    "groups of dst": (SRC, WEI, by_rows((6, 8), 3), None, None, "dst: 3 groups, src has 2"),
    "dense dst": (SRC, WEI, dense(2, 6, 8), None, None, "dst: must be grouped along dimension 0"),
    "dst along N": (SRC, WEI, by_rows((6, 8), variable_dim=1), None, None, "dst: grouped along dimension 1"),
    "K": (SRC, dense(2, 12, 8), DST, None, None, "K differs"),
    "M": (SRC, WEI, by_rows((5, 8)), None, None, "M differs"),
    "N": (SRC, WEI, by_rows((6, 9)), None, None, "N differs"),
    "bias of one row": (SRC, WEI, DST, dense(1, 8), None, "2x8 .groups x N., not 1x8"),
    "f64": (
        by_rows((6, 16), dt="f64"), dense(2, 16, 8, dt="f64"), by_rows((6, 8), dt="f64"), None, None, "f64",
    ),
    "types": (by_rows((6, 16), dt="s32"), WEI, DST, None, None, "no accumulation type"),
    "only weights": (dense(6, 16), by_rows((16, 8)), dense(6, 8), None, None, "weights: grouped, but src"),
    "sum": (SRC, WEI, DST, None, post_op(lambda ops: ops.append_sum()), "eltwise, binary_mul and"),
    "add": (
        SRC, WEI, DST, None,
        post_op(lambda ops: ops.append_binary("binary_add", dense(6, 1))), "eltwise, binary_mul and",
    ),
    "one factor": (SRC, WEI, DST, None, mul_by(dense(1, 1)), "not dims 1x1"),
    "factors of columns": (SRC, WEI, DST, None, mul_by(dense(1, 8)), "not dims 1x8"),
    "factors of f64": (SRC, WEI, DST, None, mul_by(dense(6, 1, dt="f64")), "src1 .* cannot be f64"),
    "grouped factors": (SRC, WEI, DST, None, mul_by(by_rows((6, 8), 3)), "2 groups along dimension 0"),
    "scales of dst": (SRC, WEI, DST, None, attr(lambda a: a.set_scales(zemm.ARG_DST, 0)), "scales of dst"),
    "zero points of a float src": (
        SRC, dense(2, 16, 8, dt="s8"), DST, None,
        attr(lambda a: a.set_zero_points(zemm.ARG_SRC, 0)), "zero points of a floating-point src",
    ),
    "mask of src": (
        by_rows((6, 16), dt="s8"), dense(2, 16, 8, dt="s8"), DST, None,
        attr(lambda a: a.set_scales(zemm.ARG_SRC, 4)), "bits past the 2 dimensions",
    ),
    "reductions of rows": (
        by_rows((6, 16), dt="s8"), dense(2, 16, 8, dt="u8"), DST, None,
        attr(lambda a: (a.set_zero_points(zemm.ARG_WEIGHTS, 5, (), "u8"),
                        a.set_precomputed_reductions(zemm.ARG_SRC, 1))), "must cover both dimensions",
    ),
    "dropout": (SRC, WEI, DST, None, attr(lambda a: a.set_dropout()), "dropout"),
    "K: bias": (K_SRC, K_WEI, K_DST, dense(2, 8), None, "groups of K has no bias"),
    "K: relu": (
        K_SRC, K_WEI, K_DST, None,
        post_op(lambda ops: ops.append_eltwise("eltwise_relu", 0, 0)), "groups of K",
    ),
    "K: scales": (K_SRC, K_WEI, K_DST, None, attr(lambda a: a.set_scales(zemm.ARG_SRC, 0)), "groups of K"),
    "K: weights along N": (K_SRC, by_rows((16, 8), variable_dim=1), K_DST, None, None, "grouped along"),
    "K: blocked dst": (K_SRC, K_WEI, dense(2, 6, 8, tag="aBc8b"), None, None, "no blocks"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(engine: zemm.Engine, name: str) -> None:
    src, wei, dst, bias, attributes, words = REFUSED[name]
    with pytest.raises(NotImplementedError, match=words):
        zemm.MatmulPrimitiveDesc(engine, src, wei, dst, bias, attributes)


def test_a_factor_of_other_ndims(engine: zemm.Engine) -> None:
    """invalid_arguments, as in oneDNN."""
    with pytest.raises(ValueError, match="3 dimensions"):
        zemm.MatmulPrimitiveDesc(engine, SRC, WEI, DST, attr=mul_by(dense(1, 6, 8)))


def test_tuning(engine: zemm.Engine) -> None:
    with pytest.raises(NotImplementedError, match="cannot be tuned: its kernel depends on the sizes"):
        zemm.MatmulPrimitiveDesc(engine, SRC, WEI, DST).tuning()


# ---- offsets


def execute(engine: zemm.Engine, stream: zemm.Stream, change: Any) -> None:
    """Execute with offsets that change(args) has changed; dst must then keep its values."""
    g = Groups((4, 0, 5), replace(MATRICES["gate"]), src1="grouped")
    pd = make_pd(engine, g)
    args = make_args(engine, g, pd, [make_data(p) for p in g.problems()])
    change(args)
    before = args[ARGS["dst"]].read(0).tobytes()
    try:
        zemm.Primitive(pd).execute(stream, args)
    finally:
        stream.wait()
        assert args[ARGS["dst"]].read(0).tobytes() == before


WRONG = {
    "decreasing": ([5, 4, 9], "group 1 ends at 4, before it begins at 5"),
    "negative": ([-1, 4, 9], "group 0 ends at -1, before it begins at 0"),
    "past the end": ([4, 4, 10], "the last group ends at 10, past the 9 of dimension 0"),
    "far past the end": ([4, 4, 2**31 - 1], "the last group ends at 2147483647"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("tensor", ["src", "dst"])
def test_wrong_offsets(engine: zemm.Engine, stream: zemm.Stream, tensor: str, name: str) -> None:
    ends, words = WRONG[name]

    def change(args: dict[int, zemm.Memory]) -> None:
        args[ARGS[tensor]].write(np.array(ends, np.int32), 1)

    with pytest.raises(ValueError, match=words):
        execute(engine, stream, change)


@pytest.mark.parametrize("arg", [ARGS["dst"], zemm.ARG_ATTR_MULTIPLE_POST_OP(1) | zemm.ARG["SRC_1"]])
def test_different_offsets(engine: zemm.Engine, stream: zemm.Stream, arg: int) -> None:
    def change(args: dict[int, zemm.Memory]) -> None:
        args[arg].write(np.array([4, 5, 9], np.int32), 1)

    with pytest.raises(ValueError, match=r"group 1 ends at 4 in src and at 5 in ARG_.*must be equal"):
        execute(engine, stream, change)


def test_rows_past_the_last_group(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """Groups need not cover the tensor."""
    g = Groups((4, 0, 5), MATRICES["f32"])
    pd = make_pd(engine, g)
    args = make_args(engine, g, pd, [make_data(p) for p in g.problems()])
    for name in ("src", "dst"):
        args[ARGS[name]].write(np.array([2, 2, 3], np.int32), 1)
    before = args[ARGS["dst"]].read(0).view(np.float32).reshape(9, N).copy()
    zemm.Primitive(pd).execute(stream, args)
    stream.wait()
    after = args[ARGS["dst"]].read(0).view(np.float32).reshape(9, N)
    assert (after[:3] != before[:3]).any(axis=1).all()
    np.testing.assert_array_equal(after[3:], before[3:])
