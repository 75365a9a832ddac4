# SPDX-License-Identifier: Apache-2.0
"""Primitives with runtime dimensions and strides: results, values that contradict the descriptor,
and what a primitive keeps of the shapes that it has met.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import zemm
from support_calls import Call, make_pd
from support_cases import ARGS, Problem
from support_driver import check as check_line
from support_execute import memory_of
from support_tiers import SMALL_ROWS
from zemm import ARG, RUNTIME_DIM


def runtime_pd(engine: zemm.Engine, p: Problem, unknown: str) -> zemm.MatmulPrimitiveDesc:
    """The descriptor of the problem with runtime dimensions: M, or all."""
    masks = "1:0" if unknown == "m" else "3:3"
    return make_pd(p.but(f"--runtime_dims_masks={masks}"), engine)


def check(stream: zemm.Stream, primitive: zemm.Primitive, call: Call) -> None:
    primitive.execute(stream, call.args)
    stream.wait()
    call.check()


LINES = {
    "f32": "65x70:70x33",
    "packed_u4": "--dt=s8:u4:f32 --wtag=BA16a64b4a --attr-zero-points=wei:per_oc:u8 9x70:70x70",
    "packed_batch": "--dt=u8:s8:f32 --wtag=aCB16b64c4b 3x9x70:3x70x70",
    "shared_weights": "3x9x21:1x21x33",
    "reductions": "--dt=s8:u8:f32 --attr-scales=src:3:f16:1x32+wei:3:f16:32x1 "
    "--attr-zero-points=wei:3:u8:32x1 --attr-precomputed-reductions=src:3:s32:1x32 9x128:128x34",
    "weight_only": "--dt=f16:u4:f16 --attr-scales=wei:3:f16:32x1 --attr-zero-points=wei:3:u4:32x1 "
    "--attr-fpmath=f16:true 9x128:128x34",
    "post_ops": "--bia-dt=f32 --attr-post-ops=sum:0.5+relu+add:f32:per_oc+mul:f32:per_tensor 9x70:70x34",
    "ranges": "--dt=s8:u8:f32 --attr-scratchpad=user 3x9000:9000x40",
    "along_k": "--dt=s8:u8:f32 --wtag=ba 2x192:192x70",
    "column_major": "--stag=ba --wtag=ba --dtag=ba 9x70:70x34",
    "f8_mx": "--dt=f8_e4m3:f8_e4m3:f32 --attr-scales=src:3:e8m0:1x32+wei:3:e8m0:32x1 9x96:96x64",
    "f8_dst": "--dt=f8_e4m3 --bia-dt=f8_e4m3 --attr-scales=dst:per_oc:f8_e4m3 9x70:70x36",
    "f4": "--dt=f4_e2m1:f4_e2m1:f16 --wtag=ba 9x70:70x34",
}


@pytest.mark.quick(cases=lambda name: name not in ("reductions", "along_k", "column_major", "f4"))
@pytest.mark.parametrize("name", LINES)
def test_results(name: str) -> None:
    """M alone is unknown, as in a model that serves prompts of any length, or M, N and K are."""
    batch = 2 if "x" in LINES[name].split()[-1].split(":")[0].partition("x")[2] else 1
    for masks in (f"{batch}:0", f"{3 * batch}:{3 * batch}"):
        line = f"--matmul --stag=abx --wtag=abx --dtag=abx --runtime_dims_masks={masks} {LINES[name]}"
        check_line(line)


BASE = Problem(
    "--dt=s8:u8:f32 --bia-dt=f32 --bia_mask=2 --attr-scales=wei:3:f32:32x1 --attr-zero-points=wei:3:s32:32x1"
    " --attr-precomputed-reductions=src:3:s32:1x32 --attr-post-ops=sum:1 5x64:64x18"
)


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
        call = Call(BASE)
        args = {**call.args, **changes}
        with pytest.raises((ValueError, NotImplementedError), match=words):
            primitive.execute(stream, args)
        stream.wait()
        call.assert_untouched()
    check(stream, primitive, Call(BASE))


def test_post_op_of_another_size(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """A binary post-op's source tells the size of dst: others are refused at execution."""
    p = BASE.but("--attr-post-ops=add:f32:3")
    primitive = zemm.Primitive(runtime_pd(engine, p, "dims"))
    check(stream, primitive, Call(p))
    other = Call(p.shaped(6, 18, 64))
    with pytest.raises(ValueError, match=r"post-op 0.*5x18.*6x18"):
        primitive.execute(stream, other.args)


def test_queries(engine: zemm.Engine) -> None:
    pd = runtime_pd(engine, BASE.but("--attr-scratchpad=user"), "dims")
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
    pd = runtime_pd(engine, BASE, unknown) if unknown == "m" else make_pd(BASE)
    names = [pd.impl_info]
    while pd.next_impl():
        names.append(pd.impl_info)
        if names[-1] in SMALL_ROWS:  # test_kernels.py has results of each row
            check(stream, zemm.Primitive(pd), Call(BASE))
    assert len(set(names)) == len(names) > 1
    assert SMALL_ROWS & set(names[1:])
    assert not pd.next_impl()
    assert pd.impl_info == names[-1]


def test_more_shapes_than_are_kept(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """A primitive keeps 128 shapes. Others are planned again; running work keeps what it needs."""
    primitive = zemm.Primitive(runtime_pd(engine, BASE, "m"))
    calls = [Call(BASE.shaped(m, 18, 64)) for m in range(1, 140)]
    for call in calls:
        primitive.execute(stream, call.args)
    stream.wait()
    for call in calls:
        call.check()
    for call in calls[:3]:
        call.raw[:] = call.before
        check(stream, primitive, call)


def test_threads(engine: zemm.Engine) -> None:
    primitive = zemm.Primitive(runtime_pd(engine, BASE, "dims"))

    def work(thread: int) -> None:
        stream = zemm.Stream(engine)
        for m in range(1, 40):
            check(stream, primitive, Call(BASE.shaped(1 + (m * (thread + 1)) % 20, 18, 64)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


def test_empty(engine: zemm.Engine, stream: zemm.Stream) -> None:
    primitive = zemm.Primitive(runtime_pd(engine, BASE, "m"))
    primitive.execute(stream, Call(BASE.shaped(0, 18, 64)).args)
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


SCALES = ARG["ATTR_SCALES"] | ARG["DST"]
# The type of dst, and the arguments of its scales: a host scalar, or dynamic ones.
REORDERS = {
    "scaled": ("s8", (0, (), "f32", True)),
    "s8 by groups": ("s8", (3, (1, 32), "f32", False, "dynamic_fp")),
    "f8 by groups": ("f8_e4m3", (3, (1, 32), "e8m0", False, "dynamic_mx")),
}


@pytest.mark.parametrize("columns", [64, 7])
@pytest.mark.parametrize("name", REORDERS)
def test_reorder(engine: zemm.Engine, stream: zemm.Stream, name: str, columns: int) -> None:
    """A primitive of any number of rows, and one of any dimensions, give what the static primitives give."""
    dst_dt, scales = REORDERS[name]
    if is_scaled := name == "scaled":
        given = {SCALES: zemm.Memory.host_scalar(zemm.MemoryDesc.host_scalar("f32"), 0.5)}
    elif columns % 32:
        return

    def pd(rows: int, columns: int) -> zemm.ReorderPrimitiveDesc:
        attr, strides = zemm.Attr(), (1, max(rows, 1) if rows != RUNTIME_DIM else rows)
        attr.set_scales(ARG["DST"], *scales)
        dst = zemm.MemoryDesc(
            (rows, columns), dst_dt, None if is_scaled else "ab", strides if is_scaled else None
        )
        return zemm.ReorderPrimitiveDesc(engine, zemm.MemoryDesc((rows, columns), "f32", "ab"), dst, attr)

    open_ones = [zemm.Primitive(pd(RUNTIME_DIM, n)) for n in (columns, RUNTIME_DIM)[: 1 + is_scaled]]
    for rows in (1, 9, 0, 40):
        values = np.random.default_rng(rows).normal(size=(rows, columns)).astype(np.float32) * 9
        own, results = pd(rows, columns), set()
        for primitive in (zemm.Primitive(own), *open_ones):
            made = {ARG["TO"]: zemm.Memory(own.query_md("dst_md"), engine)}
            made |= given if is_scaled else {SCALES: zemm.Memory(own.query_md("exec_arg_md", SCALES), engine)}
            primitive.execute(stream, {ARG["FROM"]: memory_of(engine, values), **made})
            stream.wait()
            results.add(b"".join(memory.read().tobytes() for memory in made.values()))
        assert len(results) == 1


def test_reorder_contradictions(engine: zemm.Engine, stream: zemm.Stream) -> None:
    r = RUNTIME_DIM
    md = zemm.MemoryDesc((r, r), "f32", "ab")
    primitive = zemm.Primitive(zemm.ReorderPrimitiveDesc(engine, md, md))
    for dims, words in [((3, 5), "4x5.*3x5"), ((4, 5, 1), "does not fit")]:
        args = {ARG["FROM"]: tensor(engine, (4, 5), "f32"), ARG["TO"]: tensor(engine, dims, "f32")}
        with pytest.raises(ValueError, match=words):
            primitive.execute(stream, args)
