# SPDX-License-Identifier: Apache-2.0
"""The forward inner product, which programs of oneDNN use: layouts, attributes, queries, refusals."""

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import zemm
from support_driver import check, prepared
from support_process import captured
from zemm._library import library
from zemm._zemm import ffi, lib
from zemm.primitive import PrimitiveDesc
from zemm.words import ForwardKind

N, OC = 5, 18
BLOCKED_IC, ODD_IC = 64, 6  # a multiple of all blocks of packed weights, and of none
SRC, WEIGHTS, DST, BIAS = zemm.ARG_SRC, zemm.ARG_WEIGHTS, zemm.ARG_DST, zemm.ARG_BIAS
SPATIAL: dict[int, tuple[int, ...]] = {2: (), 3: (3,), 4: (2, 3), 5: (2, 2, 3)}
SIZES = {2: "", 3: "iw3", 4: "ih2iw3", 5: "id2ih2iw3"}
SRC_TAGS = {2: "ab,ba,any", 3: "abc,acb,any,aBc16b", 4: "abcd,acdb,any,aBcd16b,bacd", 5: "abcde,acdeb,any"}
WEIGHTS_TAGS = {
    2: "ab,ba,any,AB16b64a",
    3: "abc,acb,cba,any",
    4: "abcd,acdb,cdba,any,ABcd16b16a",
    5: "abcde,acdeb,any",
}


def dims_of(ndims: int, ic: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return (N, ic, *SPATIAL[ndims]), (OC, ic, *SPATIAL[ndims])


def is_quick(ndims: int, types: str, ic: int, mode: str) -> bool:
    turn = ("u8:s8:f32", ODD_IC, "user") if ndims % 2 else ("f32", BLOCKED_IC, "library")
    return (types, ic, mode) == turn


@pytest.mark.parametrize("mode", ["library", "user"])
@pytest.mark.parametrize("ic", [BLOCKED_IC, ODD_IC])
@pytest.mark.parametrize("types", ["f32", "u8:s8:f32"])
@pytest.mark.parametrize("ndims", SIZES)
@pytest.mark.quick(cases=is_quick)
def test_layouts(ndims: int, types: str, ic: int, mode: str) -> None:
    """Each layout of src beside each one of weights. Equal elements of K meet, in whatever order they lie."""
    tags = f"--stag={SRC_TAGS[ndims]} --wtag={WEIGHTS_TAGS[ndims]}"
    check(f"--ip --dt={types} {tags} --attr-scratchpad={mode} mb{N}ic{ic}{SIZES[ndims]}oc{OC}")


PER_CHANNEL = "--attr-scales=src:common:0.5+wei:{0}+dst:common:4 --attr-zero-points=src:common:1+wei:{1}:s8"
LINES = {
    "types": "--dt=f32,u8:s8:f32,s8:s8:s32,bf16:bf16:f32 mb5ic70oc18",
    "attributes": f"--dt=u8:s8:f32 {PER_CHANNEL.format('per_oc', 'per_oc')}+dst:common:3 --attr-post-ops="
    ",linear:2:1+sum:3+add:f32:per_oc+prelu:per_oc+relu:0.25 mb5ic6oc18 mb5ic6ih2iw3oc18",
    "one scale": f"--dt=u8:s8:f32 {PER_CHANNEL.format('common:2', 'common:1')} mb5ic6oc18 mb5ic6ih2iw3oc18",
    "empty batch": "--stag=acdb,any --wtag=abcd,any mb0ic6ih2iw3oc18",
}


@pytest.mark.quick(cases=lambda name: name in ("types", "empty batch"))
@pytest.mark.parametrize("name", LINES)
def test_lines(name: str) -> None:
    check(f"--ip {LINES[name]}")


def matmul_desc(
    engine: zemm.Engine, k: int, weights_tag: str, attr: zemm.Attr | None = None
) -> PrimitiveDesc:
    mds = [zemm.MemoryDesc(dims, "f32", tag) for dims, tag in (((N, k), "ab"), ((k, OC), weights_tag))]
    return zemm.MatmulPrimitiveDesc(engine, *mds, zemm.MemoryDesc((N, OC), "f32"), attr=attr)


def inner_desc(engine: zemm.Engine, ndims: int, ic: int, src_tag: str, weights_tag: str) -> PrimitiveDesc:
    src, weights = dims_of(ndims, ic)
    mds = [zemm.MemoryDesc(src, "f32", src_tag), zemm.MemoryDesc(weights, "f32", weights_tag)]
    return zemm.InnerProductPrimitiveDesc(engine, *mds, zemm.MemoryDesc((N, OC), "f32"))


@pytest.mark.parametrize(("weights_tag", "of_matmul"), [("any", "any"), ("ab", "ba"), ("ba", "ab")])
def test_runs_the_kernels_of_a_matmul(engine: zemm.Engine, weights_tag: str, of_matmul: str) -> None:
    """It runs the matmul's modules with its constants, and nothing else."""
    pd, matmul = inner_desc(engine, 2, 64, "ab", weights_tag), matmul_desc(engine, 64, of_matmul)
    assert pd.impl_info == matmul.impl_info
    assert pd.modules() == matmul.modules()
    assert pd.query_md("weights_md") == matmul.query_md("weights_md").permute_axes((1, 0))
    assert pd.query_s64("memory_consumption_s64") == matmul.query_s64("memory_consumption_s64")


@pytest.mark.parametrize("ndims", [3, 4, 5])
def test_spatial_weights_are_packed(engine: zemm.Engine, ndims: int) -> None:
    """By the channels, if these are a multiple of the matmul's blocks; src of format any is channels-last
    then. Other weights get a plain layout, and nothing is copied at an execution."""
    packed, plain = (inner_desc(engine, ndims, ic, "any", "any") for ic in (BLOCKED_IC, ODD_IC))
    blocks = matmul_desc(engine, BLOCKED_IC, "any").query_md("weights_md").inner_blks
    assert packed.query_md("weights_md").inner_blks == blocks != ()
    assert packed.query_md("src_md").strides[1] == 1
    assert plain.query_md("weights_md").inner_nblks == 0
    k = ODD_IC * int(np.prod(SPATIAL[ndims]))
    assert plain.modules() == matmul_desc(engine, k, "ab").modules()


def test_copies_only_what_lies_in_another_order(engine: zemm.Engine) -> None:
    """A scratchpad of src for a channels-last src beside row-major weights. Weights are copied only where
    they are no matrix in any order."""

    def kernels(src_tag: str, weights_tag: str) -> list[str]:
        return [module.name for module in inner_desc(engine, 4, ODD_IC, src_tag, weights_tag).modules()]

    assert "reorder" not in kernels("acdb", "acdb")
    assert "reorder" not in kernels("abcd", "bcda")
    assert kernels("acdb", "abcd").count("reorder") == 1
    assert kernels("abcd", "ABcd16b16a").count("reorder") == 1


def test_fpmath_mode(engine: zemm.Engine) -> None:
    attr = zemm.Attr()
    attr.set_fpmath_mode("bf16")
    mds = [zemm.MemoryDesc(dims, "f32", "any") for dims in ((N, 64), (OC, 64))]
    pd = zemm.InnerProductPrimitiveDesc(engine, *mds, zemm.MemoryDesc((N, OC), "f32"), attr=attr)
    assert pd.modules() == matmul_desc(engine, 64, "any", attr).modules()
    check("--ip --attr-fpmath=bf16 mb5ic64oc18")


def query(pd: PrimitiveDesc, what: str, ctype: str) -> Any:
    result = ffi.new(f"{ctype} *")
    assert lib.zemm_primitive_desc_query(pd._handle, getattr(lib, f"zemm_query_{what}"), 0, result) == 0
    return result[0]


@pytest.mark.parametrize("prop_kind", ["forward_inference", "forward_training"])
def test_queries(engine: zemm.Engine, prop_kind: ForwardKind) -> None:
    src, weights = dims_of(4, ODD_IC)
    mds = [zemm.MemoryDesc(src, "f32", "acdb"), zemm.MemoryDesc(weights, "f32", "acdb")]
    dst, bias = zemm.MemoryDesc((N, OC), "f32"), zemm.MemoryDesc((OC,), "f32")
    number = getattr(lib, f"zemm_{prop_kind}")
    pd = zemm.InnerProductPrimitiveDesc(engine, *mds, dst, bias, prop_kind=prop_kind)
    for one in (pd, pd.clone()):
        assert query(one, "primitive_kind", "zemm_primitive_kind_t") == lib.zemm_inner_product
        assert query(one, "prop_kind", "zemm_prop_kind_t") == number
        assert query(one, "num_of_inputs_s32", "int") == 3
        assert query(one, "num_of_outputs_s32", "int") == 1
        assert one.query_md("src_md") == one.query_md("exec_arg_md", SRC) == mds[0]
        assert one.query_md("weights_md") == one.query_md("exec_arg_md", WEIGHTS) == mds[1]
        assert one.query_md("weights_md", 1) == one.query_md("exec_arg_md", BIAS) == bias
        assert one.query_md("dst_md") == one.query_md("exec_arg_md", DST) == dst


def test_every_implementation(stream: zemm.Stream) -> None:
    """next_impl() passes over those whose layout weights of format any cannot have."""
    for ic in (BLOCKED_IC, ODD_IC):
        line, names, results = f"--ip mb5ic{ic}ih2iw3oc18", [], []
        check(line)
        for number in range(100):
            pd, tensors = prepared(stream.engine, line, number)
            if pd.impl_info in names:
                break
            names.append(pd.impl_info)
            zemm.Primitive(pd).execute(stream, tensors.memories)
            stream.wait()
            results.append(tensors.memories[DST].as_numpy())
        assert len(names) > 1
        assert all(np.array_equal(result, results[0]) for result in results)


def test_log() -> None:
    """oneDNN's format."""
    line = ["--ip", "--dir=FWD_I", "--wtag=abx", "--dtag=abx", "mb5ic6ih2iw3oc18"]
    environment = os.environ | {"ZEMM_VERBOSE": "1"}
    done = captured([sys.executable, "-m", "zemm.benchdnn", *line], env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    mds = "src:f32:a:blocked:abcd::f0 wei:f32::blocked:abcd::f0 bia:undef::undef::: dst:f32::blocked:ab::f0"
    assert f",forward_inference,{mds},,,mb5ic6ih2iw3oc18," in done.stdout


INVALID, UNIMPLEMENTED = zemm.InvalidArgumentsError, NotImplementedError
# src, weights, dst and bias as dims, data type and tag; the error, and words of its sentence.
WRONG_TENSORS = {
    "batch": ((4, 6), (18, 6), (5, 18), None, INVALID, "dimension 0 of src and dimension 0 of dst differ"),
    "channels": ((5, 6), (18, 7), (5, 18), None, INVALID, "dimension 1 of src and dimension 1 of weights"),
    "spatial": (
        (5, 6, 3),
        (18, 6, 4),
        (5, 18),
        None,
        INVALID,
        "dimension 2 of src and dimension 2 of weights",
    ),
    "outputs": ((5, 6), (17, 6), (5, 18), None, INVALID, "dimension 1 of dst and dimension 0 of weights"),
    "bias": ((5, 6), (18, 6), (5, 18), (17,), INVALID, "dimension 0 of bias and dimension 1 of dst"),
    "bias dims": ((5, 6), (18, 6), (5, 18), (1, 18), INVALID, "bias has 2 dimensions, not 1"),
    "weights dims": ((5, 6, 1), (18, 6), (5, 18), None, INVALID, "weights have 2 dimensions"),
    "dst dims": ((5, 6), (18, 6), (5, 18, 1), None, INVALID, "dst has 3 dimensions, not 2"),
    "one dimension": ((5,), (18,), (5, 18), None, INVALID, "an inner product takes 2 to 5"),
    "six dimensions": ((5, 6, 1, 1, 1, 1), (18, 6, 1, 1, 1, 1), (5, 18), None, INVALID, "takes 2 to 5"),
    "no channels": ((5, 0), (18, 0), (5, 18), None, INVALID, "weights have no elements"),
    "no outputs": ((5, 6), (0, 6), (5, 0), None, INVALID, "weights have no elements"),
    "runtime": ((zemm.RUNTIME_DIM, 6), (18, 6), (zemm.RUNTIME_DIM, 18), None, UNIMPLEMENTED, "no runtime"),
}


@pytest.mark.parametrize("case", WRONG_TENSORS)
def test_wrong_tensors(engine: zemm.Engine, case: str) -> None:
    src, weights, dst, bias, error, words = WRONG_TENSORS[case]
    mds = [None if dims is None else zemm.MemoryDesc(dims, "f32") for dims in (src, weights, dst, bias)]
    with pytest.raises(error, match=words):
        zemm.InnerProductPrimitiveDesc(engine, *mds)  # type: ignore[arg-type]


def set_scales(arg: int, mask: int, *more: Any, **named: Any) -> Callable[[zemm.Attr], None]:
    return lambda attr: attr.set_scales(arg, mask, *more, **named)


WRONG_ATTRIBUTES: dict[str, tuple[Callable[[zemm.Attr], None], str]] = {
    "src mask": (set_scales(SRC, 2), "src scales: mask 2"),
    "weights mask of a matmul": (set_scales(WEIGHTS, 2), "weights scales: mask 2"),
    "weights mask of all": (set_scales(WEIGHTS, 3), "weights scales: mask 3"),
    "dst mask": (set_scales(DST, 2), "dst scales: mask 2"),
    "groups": (set_scales(WEIGHTS, 1, (1, 3)), "no groups"),
    "zero point mask": (lambda attr: attr.set_zero_points(WEIGHTS, 2), "weights zero points: mask 2"),
    "reductions": (lambda attr: attr.set_precomputed_reductions(SRC, 3), "no precomputed reductions"),
    "dropout": (lambda attr: attr.set_dropout(), "no dropout"),
    "rounding": (lambda attr: attr.set_rounding(DST, "stochastic"), "no stochastic rounding"),
}


@pytest.mark.parametrize("case", WRONG_ATTRIBUTES)
def test_wrong_attributes(engine: zemm.Engine, case: str) -> None:
    """As oneDNN refuses them: unimplemented."""
    change, words = WRONG_ATTRIBUTES[case]
    attr = zemm.Attr()
    change(attr)
    mds = [zemm.MemoryDesc(dims, dt) for dims, dt in (((5, 6), "s8"), ((18, 6), "s8"), ((5, 18), "s8"))]
    with pytest.raises(UNIMPLEMENTED, match=words):
        zemm.InnerProductPrimitiveDesc(engine, *mds, attr=attr)


@pytest.mark.parametrize("what", ["scales", "zero points"])
def test_quantisation_of_floats(engine: zemm.Engine, what: str) -> None:
    attr = zemm.Attr()
    (attr.set_scales if what == "scales" else attr.set_zero_points)(WEIGHTS, 0)
    mds = [zemm.MemoryDesc(dims, "f32") for dims in ((5, 6), (18, 6), (5, 18))]
    with pytest.raises(UNIMPLEMENTED, match=f"{what} of an inner product need an s8 or u8 src"):
        zemm.InnerProductPrimitiveDesc(engine, *mds, attr=attr)


def test_a_bias_that_is_not_there(stream: zemm.Stream) -> None:
    """Programs of oneDNN may pass a memory of the zero descriptor that the query gives; no other one."""
    pd, tensors = prepared(stream.engine, "--ip --dir=FWD_D mb5ic6oc18")
    nothing = zemm.Memory(pd.query_md("weights_md", 1), stream.engine)
    zemm.Primitive(pd).execute(stream, {**tensors.memories, BIAS: nothing})
    stream.wait()
    bias = zemm.Memory(zemm.MemoryDesc((OC,), "f32"), stream.engine)
    with pytest.raises(INVALID, match="surplus"):
        zemm.Primitive(pd).execute(stream, {**tensors.memories, BIAS: bias})


def test_wrong_prop_kind(engine: zemm.Engine) -> None:
    """C refuses the kinds that have no word in Python."""
    mds = [zemm.MemoryDesc(dims, "f32") for dims in ((5, 6), (18, 6), (5, 18))]
    with pytest.raises(INVALID, match="prop_kind is 'backward_data', none of: forward_training"):
        zemm.InnerProductPrimitiveDesc(engine, *mds, prop_kind="backward_data")  # type: ignore[arg-type]
    src, weights, dst = (md._handle for md in mds)
    tensors = (src, weights, library.NULL, dst, library.NULL)
    with pytest.raises(INVALID, match="prop_kind is backward_data, it must be"):
        library.create(
            "primitive_desc",
            "inner_product_forward_primitive_desc_create",
            engine._handle,
            library.value_of("prop_kind", "backward_data"),
            *tensors,
        )


def test_wrong_types(engine: zemm.Engine) -> None:
    mds = [zemm.MemoryDesc(dims, dt) for dims, dt in (((5, 6), "s8"), ((18, 6), "f32"), ((5, 18), "f32"))]
    with pytest.raises(INVALID, match="no accumulation type"):
        zemm.InnerProductPrimitiveDesc(engine, *mds)


@pytest.mark.parametrize("short", [SRC, WEIGHTS, BIAS, DST, zemm.ARG["SCRATCHPAD"]])
def test_memory_that_is_too_small(stream: zemm.Stream, short: int) -> None:
    """One element less, or one byte less of the scratchpad, is refused, and dst is unchanged."""
    engine = stream.engine
    attr = zemm.Attr()
    attr.set_scratchpad_mode("user")
    mds = [zemm.MemoryDesc((5, 6, 2), "f32", "acb"), zemm.MemoryDesc((18, 6, 2), "f32", "abc")]
    dst, bias = zemm.MemoryDesc((5, 18), "f32"), zemm.MemoryDesc((18,), "f32")
    pd = zemm.InnerProductPrimitiveDesc(engine, *mds, dst, bias, attr)
    scratchpad = pd.query_md("scratchpad_md")
    assert scratchpad.size >= 5 * 6 * 2 * 4
    all_mds = {SRC: mds[0], WEIGHTS: mds[1], BIAS: bias, DST: dst, zemm.ARG["SCRATCHPAD"]: scratchpad}
    before = np.full(5 * 18 * 4, 77, np.uint8)
    buffer = before.copy()
    memories = {arg: zemm.Memory(md, engine) for arg, md in all_mds.items()}
    memories[DST] = zemm.Memory(dst, engine, buffer)
    dims = all_mds[short].dims
    smaller = zemm.MemoryDesc((*dims[:-1], dims[-1] - 1), all_mds[short].data_type)
    memories[short] = zemm.Memory(smaller, engine, buffer if short == DST else None)
    with pytest.raises(INVALID):
        zemm.Primitive(pd).execute(stream, memories)
    stream.wait()
    assert np.array_equal(buffer, before)
