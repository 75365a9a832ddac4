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
