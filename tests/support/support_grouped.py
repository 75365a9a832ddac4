# SPDX-License-Identifier: Apache-2.0
"""Grouped matmuls made of ordinary test problems: each group is one, with its own data, and its rows of dst
are compared with its reference.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import reference
import zemm
from support_problem import NUMPY, Data, Problem, Quant, make_data, values
from support_run import ARGS, FLAGS, compare, get, memory, places, put

SRC_1 = zemm.ARG["SRC_1"]
REDUCTIONS = zemm.ARG["ATTR_PRECOMPUTED_REDUCTIONS"]


@dataclass(frozen=True)
class Groups:
    """sizes: rows of each group. matrix: a group of one row; the masks of its weights are those of a
    matrix. src1: how the tensors of binary post-ops are given that have a value for each element of dst:
    dense or grouped. Those with mask 0 have a value for each group.
    """

    sizes: tuple[int, ...]
    matrix: Problem
    wei_tag: str = "abc"
    src1: str = "dense"

    @property
    def rows(self) -> int:
        return sum(self.sizes)

    def problems(self) -> list[Problem]:
        return [
            replace(self.matrix, src_dims=(size, self.matrix.k), seed=self.matrix.seed + 17 * group)
            for group, size in enumerate(self.sizes)
        ]


def grouped_md(dims: tuple[int, int], dt: str, count: int, variable_dim: int = 0) -> zemm.MemoryDesc:
    return zemm.MemoryDesc.grouped(dims, dt, variable_dim, count)


def packed_bytes(values: np.ndarray, dt: str) -> np.ndarray:
    """The values of a dense row-major tensor as the bytes of its buffer."""
    at = np.arange(values.size).reshape(values.shape)
    buffer = np.zeros(max(zemm.MemoryDesc((values.size,), dt).size, 1), np.uint8)
    put(buffer, values, dt, at)
    return buffer


def write_groups(memory: zemm.Memory, values: np.ndarray, dt: str, ends: np.ndarray) -> None:
    """values: in the order of the buffer."""
    memory.write(packed_bytes(values, dt), 0)
    memory.write(ends.astype(np.int32), 1)


def ends_of(sizes: Sequence[int]) -> np.ndarray:
    return np.cumsum(sizes)


def quant_of_weights(quant: Quant) -> Quant:
    """Masks of a matrix, with the bit of the dimension of the groups."""
    return replace(quant, mask=quant.mask << 1 | 1)


def make_attr(g: Groups) -> zemm.Attr:
    p = g.matrix
    attr = zemm.Attr()
    for name in ("src", "wei"):
        scale: Quant | None = getattr(p, f"{name}_scale")
        zp: Quant | None = getattr(p, f"{name}_zp")
        if scale and name == "wei":
            scale = quant_of_weights(scale)
        if zp and name == "wei":
            zp = quant_of_weights(zp)
        if scale:
            attr.set_scales(ARGS[name], scale.mask, scale.groups, scale.dt)
        if zp:
            attr.set_zero_points(ARGS[name], zp.mask, zp.groups, zp.dt)
    if p.wei_offset:
        offset = quant_of_weights(p.wei_offset)
        attr.set_offsets(ARGS["wei"], offset.mask, offset.groups, offset.dt)
    if p.reduction_group:
        attr.set_precomputed_reductions(ARGS["src"], 3, (1, p.reduction_group))
    if p.fpmath:
        attr.set_fpmath_mode(*p.fpmath)
    ops = zemm.PostOps()
    for op in p.post_ops:
        if op.kind == "eltwise":
            ops.append_eltwise(op.alg, op.alpha, op.beta)
            continue
        dims = src1_dims(g, op.mask)
        is_grouped = op.mask == 3 and g.src1 == "grouped"
        md = grouped_md(dims, op.dt, len(g.sizes)) if is_grouped else zemm.MemoryDesc(dims, op.dt)
        ops.append_binary(op.alg, md)
    attr.set_post_ops(ops)
    return attr


def src1_dims(g: Groups, mask: int) -> tuple[int, int]:
    rows = len(g.sizes) if mask == 0 else g.rows
    return (rows, g.matrix.wei_dims[1] if mask & 2 else 1)


def make_pd(engine: zemm.Engine, g: Groups) -> zemm.MatmulPrimitiveDesc:
    p, count = g.matrix, len(g.sizes)
    k, n = p.wei_dims
    src = grouped_md((g.rows, k), p.src_dt, count)
    dst = grouped_md((g.rows, n), p.dst_dt, count)
    wei = zemm.MemoryDesc((count, k, n), p.wei_dt, g.wei_tag)
    bias = zemm.MemoryDesc((count, n), p.bias_dt) if p.bias_dt else None
    return zemm.MatmulPrimitiveDesc(engine, src, wei, dst, bias, make_attr(g))


def make_args(
    engine: zemm.Engine, g: Groups, pd: zemm.MatmulPrimitiveDesc, datas: list[Data]
) -> dict[int, zemm.Memory]:
    p, count, ends = g.matrix, len(g.sizes), ends_of(g.sizes)
    n = p.wei_dims[1]

    def rows(values: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(values)

    args: dict[int, zemm.Memory] = {}
    for name in ("src", "dst"):
        dt = getattr(p, f"{name}_dt")
        args[ARGS[name]] = zemm.Memory(pd.query_md("src_md" if name == "src" else "dst_md"), engine)
        write_groups(args[ARGS[name]], rows([getattr(d, name) for d in datas]), dt, ends)
    plain = zemm.MemoryDesc((count, *p.wei_dims), p.wei_dt)
    buffer = np.zeros(plain.size, np.uint8)
    put(buffer, np.stack([d.wei for d in datas]), p.wei_dt, places(plain))
    args[ARGS["wei"]] = zemm.reorder(zemm.Memory(plain, engine, buffer), pd.query_md("weights_md"))
    if p.bias_dt:
        biases = [d.bias.reshape(n) for d in datas if d.bias is not None]
        args[zemm.ARG["BIAS"]] = memory(engine, np.stack(biases), p.bias_dt)
    for name in datas[0].quants:
        tensor, kind = name.split("_")
        quant: Quant = getattr(p, name)
        values = [d.quants[name] for d in datas]
        every = rows(values) if tensor == "src" else np.stack(values)
        arg = ARGS[tensor] | FLAGS[kind]
        args[arg] = memory(engine, every, quant.dt)
    if p.reduction_group:
        sums = [d.reductions for d in datas if d.reductions is not None]
        args[ARGS["src"] | REDUCTIONS] = memory(engine, rows(sums), "s32")
    for i, op in enumerate(p.post_ops):
        arg = zemm.ARG_ATTR_MULTIPLE_POST_OP(i) | SRC_1
        if op.kind == "eltwise":
            continue
        every = rows([d.post_ops[i][0] for d in datas])  # type: ignore[misc]
        if op.mask == 3 and g.src1 == "grouped":
            args[arg] = zemm.Memory(grouped_md(src1_dims(g, 3), op.dt, count), engine)
            write_groups(args[arg], every, op.dt, ends)
        else:
            args[arg] = memory(engine, every, op.dt)
    return args


def run(engine: zemm.Engine, stream: zemm.Stream, g: Groups) -> zemm.MatmulPrimitiveDesc:
    """Execute the matmul and check dst, group by group. Rows past the last group must keep their values."""
    pd = make_pd(engine, g)
    problems = g.problems()
    datas = [make_data(p) for p in problems]
    args = make_args(engine, g, pd, datas)
    zemm.Primitive(pd).execute(stream, args)
    stream.wait()
    check_dst(g, problems, datas, args)
    return pd


def check_dst(g: Groups, problems: list[Problem], datas: list[Data], args: dict[int, zemm.Memory]) -> None:
    dims = (g.rows, g.matrix.wei_dims[1])
    bytes_ = np.frombuffer(args[ARGS["dst"]].read(0).tobytes(), np.uint8)
    got = get(bytes_, dims, g.matrix.dst_dt, (dims[1], 1))
    assert got.dtype == NUMPY[g.matrix.dst_dt]
    begin = 0
    for problem, data in zip(problems, datas, strict=True):
        end = begin + problem.src_dims[0]
        if end > begin:
            compare(got[begin:end], *reference.matmul(problem, data))
        begin = end


def run_groups_of_k(
    engine: zemm.Engine,
    stream: zemm.Stream,
    types: str,
    sizes: tuple[int, ...],
    m: int,
    n: int,
    data: tuple[np.ndarray, np.ndarray] | None = None,
    behind: int = 0,
    tag: str = "abc",
) -> zemm.MatmulPrimitiveDesc:
    """Multiply groups of K, and check dst.

    types: of src, weights and dst. data: src and weights; random ones without. behind: elements of K behind
    the last group, which belong to none. tag: of dst.
    """
    src_dt, wei_dt, dst_dt = types.split(":")
    total, count = sum(sizes) + behind, len(sizes)
    rng = np.random.default_rng(total + n)
    if data is None:
        data = values(rng, src_dt, (m, total)), values(rng, wei_dt, (total, n))
    src, wei = (x.astype(np.float64) for x in data)
    md = grouped_md((m, total), src_dt, count, 1), grouped_md((total, n), wei_dt, count)
    attr = zemm.Attr()
    attr.set_fpmath_mode("any" if wei_dt in ("u4", "s4") else "strict", True)
    pd = zemm.MatmulPrimitiveDesc(engine, *md, zemm.MemoryDesc((count, m, n), dst_dt, tag), None, attr)
    args = {ARGS["src"]: zemm.Memory(md[0], engine), ARGS["wei"]: zemm.Memory(md[1], engine)}
    write_groups(args[ARGS["src"]], src.T, src_dt, ends_of(sizes))
    write_groups(args[ARGS["wei"]], wei, wei_dt, ends_of(sizes))
    args[ARGS["dst"]] = dst = zemm.Memory(pd.query_md("dst_md"), engine)
    dst.write(np.full(dst.md.size, 0xFF, np.uint8))
    zemm.Primitive(pd).execute(stream, args)
    stream.wait()
    plain_dt, got_dt = ("s32", np.int32) if dst_dt == "s32" else ("f32", np.float32)
    plain = zemm.reorder(dst, zemm.MemoryDesc((count, m, n), plain_dt))
    got = plain.read().view(got_dt).reshape(count, m, n)
    expected = np.stack([src[:, a:b] @ wei[a:b] for a, b in pairwise([0, *ends_of(sizes)])])
    np.testing.assert_array_equal(got, expected.astype(got_dt))
    return pd
