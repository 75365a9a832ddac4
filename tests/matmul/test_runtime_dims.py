# SPDX-License-Identifier: Apache-2.0
"""Primitives with runtime dimensions and strides: results, values that contradict the descriptor,
and what a primitive keeps of the shapes that it has met.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import zemm
from reference import has_float_zero_points
from support_decisions import choose
from support_kernel_problems import PROBLEMS
from support_problem import PostOp, Problem, Quant, make_data, zero_point
from support_rows import BY_NAME
from support_run import ARGS, Call, check_dst, make_attr, make_call, make_pd
from support_tiers import SMALL_ROWS, facts
from zemm import ARG, RUNTIME_DIM

# What is unknown: M only, as in a model that serves prompts of any length; all dimensions; or all
# dimensions and strides.
UNKNOWN = ("m", "dims", "strides")
# Format any needs known dimensions.
CASES = [(n, u) for n, p in PROBLEMS.items() for u in UNKNOWN if u == "m" or not p.any_tags]
QUICK = {
    "f32", "packed_u4", "packed_batch", "shared_weights", "reductions_src_zp", "weight_only_groups",
    "post_ops", "user_scratchpad", "k_in_ranges", "few_rows_along_k", "f8_mx", "f8_to_e4m3", "f4_k_unit",
    "f4_to_f4",
}  # fmt: skip


def runtime_pd(engine: zemm.Engine, p: Problem, unknown: str) -> zemm.MatmulPrimitiveDesc:
    """The descriptor of the problem with runtime values."""

    def descriptor(name: str) -> zemm.MemoryDesc:
        known, dt = p.dims(name), getattr(p, f"{name}_dt")
        m_axis = p.ndims - 2 if name != "wei" else None
        dims = [RUNTIME_DIM if unknown != "m" or d == m_axis else n for d, n in enumerate(known)]
        if name == "wei" and (p.wei_tag or (p.any_tags and unknown == "m")):
            return zemm.MemoryDesc(dims, dt, p.wei_tag or "any")
        strides = list(p.strides(name))
        if unknown != "m":  # with unknown dims only the stride of the innermost one can be known
            strides = [1 if s == 1 and unknown == "dims" else RUNTIME_DIM for s in strides]
        return zemm.MemoryDesc(dims, dt, strides=strides)

    src, wei, dst = (descriptor(name) for name in ("src", "wei", "dst"))
    bias = None
    if p.bias_dt:
        dims = [u if p.bias_mask >> d & 1 else 1 for d, u in enumerate(dst.dims)]
        bias = zemm.MemoryDesc(dims, p.bias_dt, "abcdefghijkl"[: p.ndims])
    return zemm.MatmulPrimitiveDesc(engine, src, wei, dst, bias, make_attr(p))


def call_of(engine: zemm.Engine, p: Problem) -> Call:
    return make_call(engine, replace(p, scratchpad="library"), make_data(p))


def check(stream: zemm.Stream, primitive: zemm.Primitive, p: Problem, call: Call) -> None:
    primitive.execute(stream, call.args)
    stream.wait()
    check_dst(p, make_data(p), call)


# Each problem with one kind of unknown dimensions, and each fact of the problems with all kinds.
NEEDED = choose(
    {(n, u): frozenset({n} | {(u, fact) for fact in facts(PROBLEMS[n])}) for n, u in CASES}, first=()
)


def is_quick(name: str, unknown: str) -> bool:
    """Each of QUICK with one or the other kind of unknown dimensions, and one problem with all kinds."""
    turn = ("m", "dims")[sorted(QUICK).index(name) % 2] if name in QUICK else ""
    return name == "padded" or unknown == turn


@pytest.mark.quick(cases=is_quick)
@pytest.mark.decided(cases=lambda name, unknown: (name, unknown) in NEEDED)
@pytest.mark.parametrize(("name", "unknown"), CASES)
def test_results(engine: zemm.Engine, stream: zemm.Stream, name: str, unknown: str) -> None:
    """Each problem, and two more numbers of rows with the same primitive."""
    p = PROBLEMS[name]
    pd = runtime_pd(engine, p, unknown)
    primitive = zemm.Primitive(pd)
    fixed_rows = any(op.kind == "binary" and op.mask >> (p.ndims - 2) & 1 for op in p.post_ops)
    fixed_rows |= bool(p.dst_scale and p.dst_scale.groups)  # groups that divide M
    parts = p.src_within or p.src_pad or p.dst_order or p.src_order
    for rows in (0,) if fixed_rows or parts or p.ndims == 12 else (0, 1, 5):
        m = p.src_dims[-2] + rows
        shape = replace(p, src_dims=(*p.src_dims[:-2], m, p.src_dims[-1]))
        call = call_of(engine, shape)
        if p.any_tags:  # the layout that the descriptor with runtime values has chosen
            call.args[ARGS["wei"]] = zemm.reorder(call.args[ARGS["wei"]], pd.query_md("weights_md"))
        if p.ndims == 3 and unknown == "m" and rows:
            continue  # the stride of the batch depends on M, and it is known here
        # The row that runs is that of the shape, or the one that has chosen the layout.
        row = BY_NAME[(pd if p.any_tags else call.pd).impl_info]
        shape = replace(shape, rounds_to_bf16=row.src == "bf16" and has_float_zero_points(p))
        check(stream, primitive, shape, call)


BASE = Problem(
    (5, 64), (64, 18), "s8", "u8", "f32", bias_dt="f32", bias_mask=2, wei_scale=Quant(3, (32, 1)),
    wei_zp=zero_point(3, (32, 1)), reduction_group=32, post_ops=(PostOp("sum", alpha=1.0),),
)  # fmt: skip


def tensor(engine: zemm.Engine, dims: tuple[int, ...], dt: str, tag: str | None = None) -> zemm.Memory:
    return zemm.Memory(zemm.MemoryDesc(dims, dt, tag), engine)


def test_contradictions(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """Memories that do not fit the descriptor, or one another: a sentence, and dst is unchanged."""
    pd = runtime_pd(engine, BASE, "dims")
    primitive = zemm.Primitive(pd)
    other = zemm.Engine("cpu")
    src, wei, dst, bias = ARGS["src"], ARGS["wei"], ARGS["dst"], ARG["BIAS"]
    reductions = src | ARG["ATTR_PRECOMPUTED_REDUCTIONS"]
    for changes, words in [
        ({src: tensor(engine, (6, 64), "s8")}, "M differs.*5x18.*6x64"),
        ({wei: tensor(engine, (64, 20), "u8")}, "N differs.*5x18.*64x20"),
        ({wei: tensor(engine, (32, 18), "u8")}, "K differs.*5x64.*32x18"),
        ({bias: tensor(engine, (1, 17), "f32")}, "bias.*1x17.*5x18"),
        ({bias: tensor(engine, (5, 18), "f32")}, "BIAS has f32 5x18.*does not fit.*1x\\*"),
        ({src: tensor(engine, (5, 64), "s8", "ba")}, "SRC has s8 5x64:ba.*does not fit"),
        ({src: tensor(engine, (1, 5, 64), "s8")}, "SRC has s8 1x5x64:abc.*does not fit"),
        ({src: tensor(engine, (5, 64), "f32")}, "SRC has data type f32.*s8"),
        ({src: tensor(other, (5, 64), "s8")}, "SRC is a memory of another engine"),
        ({src: zemm.Memory.host_scalar(zemm.MemoryDesc.host_scalar("s8"), np.int8(1))}, "SRC"),
        ({reductions: tensor(engine, (5, 1), "s32")}, "REDUCTIONS.*10"),
        ({src: None}, "SRC is missing"),
        ({dst: None}, "DST is missing"),
        ({reductions: None}, "REDUCTIONS.*is missing"),
        (
            {src: tensor(engine, (5, 80), "s8"), wei: tensor(engine, (80, 18), "u8")},
            "SCALES . ARG_WEIGHTS.*3x18",
        ),
    ]:
        call = call_of(engine, BASE)
        args = {**call.args, **changes}
        with pytest.raises((ValueError, NotImplementedError), match=words):
            primitive.execute(stream, args)
        stream.wait()
        assert np.array_equal(call.dst_bytes, call.before), words
    check(stream, primitive, BASE, call_of(engine, BASE))


def test_contradictions_at_creation(engine: zemm.Engine) -> None:
    def md(*dims: int) -> zemm.MemoryDesc:
        return zemm.MemoryDesc(dims, "f32", "abc"[: len(dims)])

    r = RUNTIME_DIM
    for src, wei, dst, words in [
        (md(r, 4), md(4, 6), md(5, 6), "M differs"),
        (md(5, r), md(4, 6), md(5, 6), "K differs"),
        (md(5, 4), md(4, r), md(5, 6), "N differs"),
        (md(r, 3, 3), md(2, 3, 3), md(r, 3, 3), "batch dimension 0"),
        (md(r, 3, 3), md(1, 3, 3), md(r, 3, 3), "batch dimension 0"),
    ]:
        with pytest.raises(ValueError, match=words):
            zemm.MatmulPrimitiveDesc(engine, src, wei, dst)
    with pytest.raises(ValueError, match="bias"):
        zemm.MatmulPrimitiveDesc(engine, md(r, 4), md(4, 6), md(r, 6), md(5, 6))


def test_post_op_of_another_size(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """A binary post-op's source tells the size of dst: others are refused at execution."""
    p = replace(BASE, post_ops=(PostOp("binary", "binary_add", mask=3),))
    primitive = zemm.Primitive(runtime_pd(engine, p, "dims"))
    check(stream, primitive, p, call_of(engine, p))
    other = call_of(engine, replace(p, src_dims=(6, 64)))
    with pytest.raises(ValueError, match=r"post-op 0.*5x18.*6x18"):
        primitive.execute(stream, other.args)


def test_queries(engine: zemm.Engine) -> None:
    pd = runtime_pd(engine, replace(BASE, scratchpad="user"), "dims")
    assert pd.query_md("src_md").dims == (RUNTIME_DIM, RUNTIME_DIM)
    assert pd.query_md("weights_md", 1).dims == (1, RUNTIME_DIM)
    # How much scratchpad a shape needs is not known in time, so the library provides it.
    assert pd.query_md("scratchpad_md").ndims == 0
    scales = pd.query_md("exec_arg_md", ARG["ATTR_SCALES"] | ARGS["wei"])
    assert scales.dims == (RUNTIME_DIM, RUNTIME_DIM)
    assert pd.modules()


@pytest.mark.parametrize("unknown", ["m", "nothing"])
def test_next_impl(engine: zemm.Engine, stream: zemm.Stream, unknown: str) -> None:
    """next_impl() leaves implementations out for every shape."""
    pd = runtime_pd(engine, BASE, unknown) if unknown == "m" else make_pd(engine, BASE)
    names = [pd.impl_info]
    while pd.next_impl():
        names.append(pd.impl_info)
        if names[-1] in SMALL_ROWS:  # test_kernels.py has results of each row
            check(stream, zemm.Primitive(pd), BASE, call_of(engine, BASE))
    assert len(set(names)) == len(names) > 1
    assert SMALL_ROWS & set(names[1:])
    assert not pd.next_impl()
    assert pd.impl_info == names[-1]


def test_more_shapes_than_are_kept(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """A primitive keeps 128 shapes. Others are planned again; running work keeps what it needs."""
    primitive = zemm.Primitive(runtime_pd(engine, BASE, "m"))
    calls = [(q, call_of(engine, q)) for m in range(1, 140) for q in [replace(BASE, src_dims=(m, 64))]]
    for _, call in calls:
        primitive.execute(stream, call.args)
    stream.wait()
    for p, call in calls:
        check_dst(p, make_data(p), call)
    for p, call in calls[:3]:
        call.dst_bytes[:] = call.before
        check(stream, primitive, p, call)


def test_threads(engine: zemm.Engine) -> None:
    primitive = zemm.Primitive(runtime_pd(engine, BASE, "dims"))

    def work(thread: int) -> None:
        stream = zemm.Stream(engine)
        for m in range(1, 40):
            p = replace(BASE, src_dims=(1 + (m * (thread + 1)) % 20, 64))
            check(stream, primitive, p, call_of(engine, p))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


def test_empty(engine: zemm.Engine, stream: zemm.Stream) -> None:
    primitive = zemm.Primitive(runtime_pd(engine, BASE, "m"))
    p = replace(BASE, src_dims=(0, 64))
    primitive.execute(stream, call_of(engine, p).args)
    stream.wait()


SHAPES = """
import os, zemm
from zemm import ARG, RUNTIME_DIM
engine = zemm.Engine("cpu")
stream = zemm.Stream(engine)
def md(*dims):
    return zemm.MemoryDesc(dims, "f32", "ab")
pd = zemm.MatmulPrimitiveDesc(engine, md(RUNTIME_DIM, 8), md(8, 16), md(RUNTIME_DIM, 16))
primitive = zemm.Primitive(pd)
zemm.Primitive(pd)
for m in (3, 4, 3, 7):
    tensors = {"SRC": (m, 8), "WEIGHTS": (8, 16), "DST": (m, 16)}
    args = {ARG[name]: zemm.Memory(md(*dims), engine) for name, dims in tensors.items()}
    primitive.execute(stream, args)
    stream.wait()
    print("built", len(os.listdir(os.environ["ZEMM_CACHE_DIR"])))
"""


def test_log_and_builds(tmp_path: Path) -> None:
    """The line of a creation has * for what is unknown, that of an execution has the values. A new
    shape builds nothing."""
    env = {**os.environ, "ZEMM_VERBOSE": "2", "ZEMM_CACHE_DIR": str(tmp_path)}
    out = subprocess.run(
        [sys.executable, "-c", SHAPES], env=env, capture_output=True, text=True, check=True
    ).stdout
    assert [line for line in out.splitlines() if line.startswith("built")] == ["built 1"] * 4
    lines = [line for line in out.splitlines() if ",matmul," in line]
    created, again, *executed = lines
    assert ",runtime_dims_masks:1:0,*x8:8x16," in created
    assert "create:cache_miss" in created
    assert "create:cache_hit" in again
    assert [line.split(",")[-2] for line in executed] == ["3x8:8x16", "4x8:8x16", "3x8:8x16", "7x8:8x16"]


REORDER_DIMS = [(3, 5), (64, 64), (1, 7), (130, 33), (0, 4)]


@pytest.mark.parametrize("unknown", ["rows", "dims"])
def test_reorder(engine: zemm.Engine, stream: zemm.Stream, unknown: str) -> None:
    attr = zemm.Attr()
    attr.set_scales(ARG["DST"], 0, is_on_host=True)
    for columns in {dims[1] for dims in REORDER_DIMS}:
        asked = (RUNTIME_DIM, columns if unknown == "rows" else RUNTIME_DIM)
        to = zemm.MemoryDesc(asked, "s8", strides=(1, RUNTIME_DIM))
        pd = zemm.ReorderPrimitiveDesc(engine, zemm.MemoryDesc(asked, "f32", "ab"), to, attr)
        primitive = zemm.Primitive(pd)
        for dims in REORDER_DIMS:
            if dims[1] != columns:
                continue
            values = np.random.default_rng(1).integers(-9, 9, dims).astype(np.float32)
            src, dst = tensor(engine, dims, "f32"), tensor(engine, dims, "s8", "ba")
            src.write(values)
            half = zemm.Memory.host_scalar(zemm.MemoryDesc.host_scalar("f32"), np.float32(0.5))
            args = {ARG["FROM"]: src, ARG["TO"]: dst, ARG["ATTR_SCALES"] | ARG["DST"]: half}
            primitive.execute(stream, args)
            stream.wait()
            got = dst.read()[: values.size].view(np.int8).reshape(dims[::-1]).T
            assert np.array_equal(got, values * 2)


def test_reorder_that_quantises(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """Dynamic quantisation of any number of rows gives what the static primitive gives."""
    scales = ARG["ATTR_SCALES"] | ARG["DST"]
    attr = zemm.Attr()
    attr.set_scales(ARG["DST"], 3, (1, 32), quantization_mode="dynamic_fp")

    def pd(rows: int) -> zemm.ReorderPrimitiveDesc:
        return zemm.ReorderPrimitiveDesc(
            engine, zemm.MemoryDesc((rows, 64), "f32", "ab"), zemm.MemoryDesc((rows, 64), "s8", "ab"), attr
        )

    primitive = zemm.Primitive(pd(RUNTIME_DIM))
    for rows in (1, 9, 40):
        src = tensor(engine, (rows, 64), "f32")
        src.write(np.random.default_rng(rows).normal(size=(rows, 64)).astype(np.float32))
        results = []
        for p in (primitive, zemm.Primitive(pd(rows))):
            args = {ARG["FROM"]: src, ARG["TO"]: tensor(engine, (rows, 64), "s8"),
                    scales: tensor(engine, (rows, 2), "f32")}  # fmt: skip
            p.execute(stream, args)
            stream.wait()
            results.append((args[ARG["TO"]].read(), args[scales].read()))
        assert all(np.array_equal(*both) for both in zip(*results, strict=True))


def test_reorder_contradictions(engine: zemm.Engine, stream: zemm.Stream) -> None:
    r = RUNTIME_DIM
    md = zemm.MemoryDesc((r, r), "f32", "ab")
    primitive = zemm.Primitive(zemm.ReorderPrimitiveDesc(engine, md, md))
    for dims, words in [((3, 5), "4x5.*3x5"), ((4, 5, 1), "does not fit")]:
        args = {ARG["FROM"]: tensor(engine, (4, 5), "f32"), ARG["TO"]: tensor(engine, dims, "f32")}
        with pytest.raises(ValueError, match=words):
            primitive.execute(stream, args)
    with pytest.raises(ValueError, match="dimensions differ"):
        zemm.ReorderPrimitiveDesc(engine, md, zemm.MemoryDesc((r, 5), "f32", "ab"))
