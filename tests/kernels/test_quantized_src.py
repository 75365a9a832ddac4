# SPDX-License-Identifier: Apache-2.0
"""A matmul that quantises its floating-point src to s8 (Attr.set_src_dyn_quant_params): its result is, bit by
bit, that of a quantisation before it and the matmul of what that has made. The case file
harness_matmul_quantised_src compares it with numpy.
"""

from dataclasses import replace
from math import gcd
from typing import Any, NamedTuple

import numpy as np
import pytest
import zemm
from support_case_lines import problem_of
from support_problem import Data, Problem, Quant, make_data
from support_rows import BY_NAME, CPU_ROWS
from support_run import Call, get, make_attr, make_call, make_pd
from support_tiers import takes
from zemm import MemoryDesc

SRC, WEIGHTS, DST = zemm.ARG_SRC, zemm.ARG_WEIGHTS, zemm.ARG_DST
U4 = "--attr-scales=wei:per_tensor:f32:32x1 --attr-zero-points=wei:per_tensor:u8:32x1"
Array = np.ndarray


class Quantised(NamedTuple):
    """src as s8 [.., K], and the scales and the sums of groups."""

    values: Array
    scales: Array
    sums: Array | None


def quantise(
    engine: zemm.Engine, x: Array, group: int, sums: int | None, reduced_range: bool = False
) -> Quantised:
    """By the primitive dynamic_quantize, or by a reorder where a last group is shorter."""
    k = x.shape[-1]

    def memory(dt: Any, size: int = 1) -> zemm.Memory:
        return zemm.Memory(MemoryDesc((*x.shape[:-1], -(-k // size)), dt), engine)

    if not k:
        none = np.zeros(x.shape)
        return Quantised(none, none, none if sums else None)
    src, values, scales = memory(x.dtype), memory("s8"), memory("f32", group)
    src.write(x)
    of_sums = memory("s32", sums) if sums else None
    attr = zemm.Attr()
    if reduced_range:
        attr.set_reduced_range(DST)
    args = {SRC: src, DST: values}
    if all(k % (size or k) == 0 for size in (group, sums)):
        pd: Any = zemm.DynamicQuantizePrimitiveDesc(
            engine, src.md, values.md, scales.md, None, of_sums.md if of_sums else None, attr=attr
        )
        args[zemm.ARG_DYNAMIC_SCALE] = scales
        if of_sums:
            args[zemm.ARG_DYNAMIC_REDUCTIONS] = of_sums
    else:
        every = 2**x.ndim - 1
        attr.set_scales(DST, every, (1, group), "f32", quantization_mode="dynamic_fp")
        args[zemm.ARG_ATTR_SCALES | DST] = scales
        if of_sums:
            attr.set_precomputed_reductions(DST, every, (1, sums or 1))
            args[zemm.ARG_ATTR_PRECOMPUTED_REDUCTIONS | DST] = of_sums
        pd = zemm.ReorderPrimitiveDesc(engine, src.md, values.md, attr)
    stream = zemm.Stream(engine)
    zemm.Primitive(pd).execute(stream, args)
    stream.wait()
    return Quantised(*(None if m is None else m.as_numpy().copy() for m in (values, scales, of_sums)))  # type: ignore[arg-type]


def sums_group(p: Problem) -> int:
    """How many elements of K share a sum: no scale and no zero point changes among them."""
    shared = 0 if p.src_group >= p.k else p.src_group
    for quant in (p.wei_scale, p.wei_zp or p.wei_offset):
        if quant and quant.mask >> (p.ndims - 2) & 1:
            shared = gcd(shared, quant.groups[0] if quant.groups else 1)
    return shared or p.k


def in_two_steps(engine: zemm.Engine, p: Problem, data: Data) -> tuple[Problem, Data]:
    """The matmul of the quantised src, with what the quantisation gives."""
    group = max(min(p.src_group, p.k), 1)
    sums = sums_group(p) if p.wei_zp or p.wei_offset else None
    x = data.src.astype(np.float32).astype(zemm.numpy_dtype(p.src_dt))
    made = quantise(engine, x, group, sums, p.reduced_range)
    two = replace(
        p, src_dt="s8", src_group=0, src_order=None, src_pad=0, src_within=None, reduction_group=sums,
        src_scale=Quant(2**p.ndims - 1, (1, group)),
    )  # fmt: skip
    quants = data.quants | {"src_scale": made.scales}
    return two, replace(data, src=made.values, quants=quants, reductions=made.sums)


def dst_of(p: Problem, call: Call, primitive: zemm.Primitive, stream: zemm.Stream) -> Array:
    primitive.execute(stream, call.args)
    stream.wait()
    return get(call.dst, p.dst_dims, p.dst_dt, call.dst_strides)


def check(
    engine: zemm.Engine,
    stream: zemm.Stream,
    p: Problem,
    data: Data | None = None,
    primitive: zemm.Primitive | None = None,
) -> Array:
    """dst, which has the bits of the two steps. primitive: that of the problem, else a new one."""
    data = data or make_data(p)
    found = []
    for problem, own in ((p, data), in_two_steps(engine, p, data)):
        call = make_call(engine, problem, own)
        is_one = problem is p and primitive
        found.append(dst_of(p, call, primitive if is_one else zemm.Primitive(call.pd), stream))  # type: ignore[arg-type]
    assert found[0].tobytes() == found[1].tobytes()
    return found[0]


@pytest.mark.quick(cases=lambda wei, src, m: m == 1 and (src == "f32" or wei == "u4"))
@pytest.mark.parametrize("m", [1, 5])
@pytest.mark.parametrize("src", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("wei", ["u4", "s4", "u8", "s8", "u2"])
def test_types(engine: zemm.Engine, stream: zemm.Stream, wei: str, src: str, m: int) -> None:
    points = U4 if wei.startswith("u") else U4.split()[0]
    options = f"--dt={src}:{wei}:{src} {points} --attr-src-dyn-quant=32"
    check(engine, stream, problem_of(f"{options} {m}x100:100x72 rough"))


@pytest.mark.quick(cases=lambda m, group: m in (1, 40) and group in (7, 32))
@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 6, 40])
@pytest.mark.parametrize("group", [1, 7, 32, 48, 128, 2**63 - 1])
@pytest.mark.parametrize("k", [160, 101, 1])
def test_rows_and_groups(engine: zemm.Engine, stream: zemm.Stream, k: int, group: int, m: int) -> None:
    """Groups of src that divide K and those of the weights, or that do not; an odd K."""
    options = f"--dt=f32:u4:f32 --attr-src-dyn-quant={group}"
    check(engine, stream, problem_of(f"{options} {U4} {m}x{k}:{k}x70 rough"))
    check(engine, stream, problem_of(f"{options} {m}x{k}:{k}x70 rough"))


@pytest.mark.parametrize("tags", ["", "--stag=any --wtag=any --dtag=any"])
@pytest.mark.parametrize(
    "sizes", ["1x4304:4304x64", "33x4304:4304x64", "1x2048:2048x2048", "1x11008:11008x256", "2x576:576x1536"]
)
def test_large(engine: zemm.Engine, stream: zemm.Stream, sizes: str, tags: str) -> None:
    """Tiles and ranges of K that several threads share; a last group of src that is shorter."""
    for group in (128, 32):
        line = f"--dt=bf16:u4:bf16 {tags} --attr-src-dyn-quant={group} {U4} {sizes} rough"
        check(engine, stream, problem_of(line))


FORMS = {
    "any_tags": f"--stag=any --wtag=any --dtag=any {U4} 4x96:96x72",
    "any_tags_one_row": f"--stag=any --wtag=any --dtag=any {U4} 1x96:96x72",
    "packed": f"--wtag=BA16a64b4a {U4} 1x96:96x72",
    "along_k": f"--wtag=ba {U4} 3x96:96x72",
    "column_major_src": f"--stag=ba {U4} 5x96:96x72",
    "column_of_k": "--stag=ba 5x1:1x72",
    "column_major_dst": f"--dtag=ba {U4} 5x96:96x72",
    "padded": f"{U4} 5x96:96x72 src_pad=3 dst_pad=5",
    "padded_row": f"{U4} 1x96:96x72 src_pad=3",
    "batch": f"{U4} 3x4x96:3x96x72",
    "batch_of_rows": f"{U4} 3x1x96:3x96x72",
    "shared_src": f"{U4} 1x4x96:3x96x72",
    "shared_weights": f"{U4} 3x4x100:1x100x72",
    "turned_batch": "--stag=acb --attr-scales=wei:per_oc:f16 2x3x96:2x96x72",
    "four_dims": "--attr-scales=wei:per_oc:f16 2x1x3x100:1x2x100x72",
    "no_rows": f"{U4} 0x96:96x72",
    "no_k": "2x0:0x72",
    "scales_of_columns": "--attr-scales=wei:per_oc:f16 --attr-zero-points=wei:per_oc:s8 4x100:100x72",
    "one_zero_point": "--attr-zero-points=wei:common:3:u8 4x100:100x72",
    "other_groups": (
        "--attr-scales=wei:per_tensor:f16:48x1 --attr-zero-points=wei:per_tensor:u4:24x1 4x96:96x72"
    ),
    "offsets": "--attr-scales=wei:per_tensor:f16:32x1 --attr-offsets=wei:per_tensor:f16:32x1 4x100:100x72",
    "offsets_one_row": f"{U4.split()[0]} --attr-offsets=wei:per_tensor:f32:32x1 1x96:96x72",
    "offsets_of_smaller_groups": f"{U4.split()[0]} --attr-offsets=wei:per_tensor:f32:16x1 4x96:96x72",
    "offsets_without_scales": "--attr-offsets=wei:per_tensor:f32:16x1 4x96:96x72",
    "bias": f"{U4} --bia-dt=f32 4x96:96x72",
    "sum": f"{U4} --attr-post-ops=sum:0.5 4x96:96x72",
    "post_ops": f"{U4} --bia-dt=f32 --attr-post-ops=swish:1+mul:f32:per_tensor+add:f32:per_oc 4x96:96x72",
    "post_ops_one_row": f"{U4} --attr-post-ops=swish:1+mul:f32:per_tensor 1x96:96x72",
    "user_scratchpad": f"{U4} --attr-scratchpad=user 4x96:96x72",
    "user_scratchpad_one_row": f"{U4} --attr-scratchpad=user 1x96:96x72",
    "7_bits": f"{U4} --attr-reduced-range=src 4x100:100x72",
    "7_bits_one_row": f"{U4} --attr-reduced-range=src 1x96:96x72",
    "deterministic": f"{U4} --attr-deterministic=true 4x96:96x72",
    "fpmath_is_ignored": f"{U4} --attr-fpmath=any:true 4x96:96x72",
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_forms(engine: zemm.Engine, stream: zemm.Stream, form: str) -> None:
    p = problem_of(f"--dt=f32:u4:f32 --attr-src-dyn-quant=32 {FORMS[form]} rough")
    check(engine, stream, p)


@pytest.mark.parametrize("dst", ["s8", "u8", "s32", "f8_e4m3", "f8_e5m2", "f16"])
@pytest.mark.parametrize("m", [1, 4])
def test_scales_of_dst(engine: zemm.Engine, stream: zemm.Stream, m: int, dst: str) -> None:
    options = "--attr-scales=wei:per_oc:f32+dst:common:2 --bia-dt=f32"
    check(engine, stream, problem_of(f"--dt=f16:s8:{dst} --attr-src-dyn-quant=64 {options} {m}x160:160x72"))


@pytest.mark.parametrize("m", [1, 4])
@pytest.mark.parametrize("src", ["f32", "f16", "bf16"])
def test_special_values(engine: zemm.Engine, stream: zemm.Stream, src: str, m: int) -> None:
    """Groups of zeros, NaN, infinities, and of very small and very large values."""
    p = problem_of(f"--dt={src}:u4:f32 --attr-src-dyn-quant=32 {U4} {m}x320:320x72 rough")
    data = make_data(p)
    dtype = zemm.numpy_dtype(src)
    top = float(np.finfo(np.float16).max) if src == "f16" else 1e30
    groups = data.src.reshape(m, 10, 32)
    groups[-1, 0] = 0
    groups[-1, 1] = -0.0
    groups[-1, 2] = np.linspace(-1e-39, 1e-39, 32)
    groups[-1, 3] = np.linspace(-1e-5, 1e-5, 32)
    groups[-1, 4, 5] = top
    data.src = data.src.astype(dtype).astype(np.float64)
    assert np.isfinite(check(engine, stream, p, data)).all()
    for value in (np.nan, np.inf, -np.inf):
        data.src.reshape(m, 10, 32)[-1, 7, 3] = value
        assert np.isnan(check(engine, stream, p, data)[-1]).any()
        assert np.isfinite(check(engine, stream, p, data)[:-1]).all()


def test_blocked_src(engine: zemm.Engine, stream: zemm.Stream) -> None:
    p = problem_of(f"--dt=f32:u4:f32 --attr-src-dyn-quant=32 {U4} 3x5x100:3x100x72 rough")
    want = check(engine, stream, p)
    call = make_call(engine, p, make_data(p))
    blocked = zemm.reorder(call.args[SRC], MemoryDesc(p.src_dims, "f32", "aBc8b"))
    attr = zemm.Attr()
    attr.set_src_dyn_quant_params(32)
    attr.set_scales(WEIGHTS, 7, (32, 1))
    attr.set_zero_points(WEIGHTS, 7, (32, 1), "u8")
    mds = (blocked.md, call.args[WEIGHTS].md, call.args[DST].md)
    primitive = zemm.Primitive(zemm.MatmulPrimitiveDesc(engine, *mds, attr=attr))
    call.args[SRC] = blocked
    assert dst_of(p, call, primitive, stream).tobytes() == want.tobytes()


@pytest.mark.quick(cases=lambda group: group == 32)
@pytest.mark.parametrize("group", [32, 1000])
@pytest.mark.parametrize("points", ["", U4, "--attr-scales=wei:per_oc:f16"])
def test_runtime_dims(engine: zemm.Engine, stream: zemm.Stream, points: str, group: int) -> None:
    """One primitive for several M, K and N."""
    first, *others = (
        problem_of(f"--dt=f16:u8:f32 --attr-src-dyn-quant={group} {points} {m}x{k}:{k}x{n} rough")
        for m, k, n in ((1, 96, 70), (4, 100, 24), (33, 32, 70), (1, 33, 6))
    )
    r = zemm.RUNTIME_DIM
    mds = [MemoryDesc((r, r), dt, "ab") for dt in ("f16", "u8", "f32")]
    attr = make_attr(first)
    primitive = zemm.Primitive(zemm.MatmulPrimitiveDesc(engine, *mds, attr=attr))
    for p in (first, *others, first):
        check(engine, stream, p, primitive=primitive)


def test_runtime_rows(engine: zemm.Engine, stream: zemm.Stream) -> None:
    problems = [
        problem_of(f"--dt=f32:u4:f32 --attr-src-dyn-quant=32 {U4} {m}x100:100x72 rough") for m in (1, 5)
    ]
    r = zemm.RUNTIME_DIM
    mds = MemoryDesc((r, 100), "f32", "ab"), MemoryDesc((100, 72), "u4"), MemoryDesc((r, 72), "f32", "ab")
    attr = make_attr(problems[0])
    primitive = zemm.Primitive(zemm.MatmulPrimitiveDesc(engine, *mds, attr=attr))
    for p in problems:
        check(engine, stream, p, primitive=primitive)


def int8_rows() -> list[str]:
    return [name for name in CPU_ROWS if BY_NAME[name].src in ("int8", "any")]


@pytest.mark.parametrize("m", [1, 9])
@pytest.mark.parametrize("row", int8_rows())
def test_row(
    engine: zemm.Engine, stream: zemm.Stream, monkeypatch: pytest.MonkeyPatch, row: str, m: int
) -> None:
    """A row takes what it takes of an s8 src."""
    p = problem_of(
        f"--dt=f32:u4:f32 --stag=any --wtag=any --dtag=any --attr-src-dyn-quant=32 {U4} {m}x96:96x70"
    )
    if not takes(row, in_two_steps(engine, p, make_data(p))[0]):
        assert not takes(row, p)
        pytest.skip(f"{row}: not on this device")
    monkeypatch.setenv("ZEMM_KERNEL", row)
    assert make_pd(engine, p).impl_info == row
    check(engine, stream, p)


def test_without_groups_src_is_not_quantised(engine: zemm.Engine, stream: zemm.Stream) -> None:
    p = problem_of(f"--dt=f32:u4:f32 --attr-src-dyn-quant=32 {U4} --attr-fpmath=strict:true 4x96:96x72 rough")
    quantised = check(engine, stream, p)
    plain = replace(p, src_group=0)
    call = make_call(engine, plain, make_data(p))
    exact = dst_of(p, call, zemm.Primitive(call.pd), stream)
    assert not np.array_equal(quantised, exact)
    assert np.abs(quantised - exact).max() < 0.02 * np.abs(exact).max()


F32, U8 = MemoryDesc((4, 64), "f32"), MemoryDesc((64, 8), "u8")
INVALID, UNIMPLEMENTED = zemm.InvalidArgumentsError, zemm.UnimplementedError
TYPES = "a matmul quantises a src of f32 f16 bf16, not"
OF_CALLER = "src is quantised by the matmul: it has no"


@pytest.mark.parametrize(
    ("src", "weights", "setting", "error", "sentence"),
    [
        (F32, U8, ("scales", SRC, 0), INVALID, f"{OF_CALLER} scales of the caller"),
        (F32, U8, ("zero_points", SRC, 0), INVALID, f"{OF_CALLER} zero points of the caller"),
        (F32, U8, ("precomputed_reductions", SRC, 3, (1, 32)), INVALID, f"{OF_CALLER} precomputed"),
        (F32, MemoryDesc((64, 8), "f32"), (), UNIMPLEMENTED, "for weights of s8 u8 s4 u4 u2, not f32"),
        (F32, MemoryDesc((64, 8), "bf16"), (), UNIMPLEMENTED, "for weights of s8 u8 s4 u4 u2, not bf16"),
        (MemoryDesc((4, 64), "s8"), U8, (), UNIMPLEMENTED, f"{TYPES} s8"),
        (MemoryDesc((4, 64), "f8_e4m3"), U8, (), UNIMPLEMENTED, f"{TYPES} f8_e4m3"),
        (MemoryDesc.csr((4, 64), "f32", 9, "s32", "s32"), U8, (), UNIMPLEMENTED, "a dense src, not .* csr"),
        (MemoryDesc.coo((4, 64), "f16", 9, "s32"), U8, (), UNIMPLEMENTED, "a dense src, not .* coo"),
    ],
)  # fmt: skip
def test_refusals(
    engine: zemm.Engine,
    src: MemoryDesc,
    weights: MemoryDesc,
    setting: tuple[Any, ...],
    error: type[zemm.ZemmError],
    sentence: str,
) -> None:
    attr = quantising()
    if setting:
        getattr(attr, f"set_{setting[0]}")(*setting[1:])
    with pytest.raises(error, match=sentence):
        zemm.MatmulPrimitiveDesc(engine, src, weights, MemoryDesc((4, 8), "f32"), attr=attr)


def test_other_primitives_refuse_it(engine: zemm.Engine) -> None:
    grouped = [MemoryDesc.grouped((6, n), "f16", 0, 2, "s32") for n in (64, 8)]
    with pytest.raises(UNIMPLEMENTED, match="a grouped matmul has no quantisation of src: dynamic_quantize"):
        zemm.MatmulPrimitiveDesc(
            engine, grouped[0], MemoryDesc((2, 64, 8), "s8"), grouped[1], attr=quantising()
        )
    dst = MemoryDesc((4, 8), "f32")
    with pytest.raises(UNIMPLEMENTED, match="an inner product has no quantisation of src: a matmul has"):
        zemm.InnerProductPrimitiveDesc(engine, F32, MemoryDesc((8, 64), "s8"), dst, attr=quantising())
    with pytest.raises(UNIMPLEMENTED, match="a reorder has no quantisation of src: a matmul has"):
        zemm.ReorderPrimitiveDesc(engine, F32, MemoryDesc((4, 64), "s8"), quantising())
    with pytest.raises(UNIMPLEMENTED, match="dynamic_quantize takes no attributes but"):
        zemm.DynamicQuantizePrimitiveDesc(
            engine, F32, MemoryDesc((4, 64), "s8"), MemoryDesc((4, 2), "f32"), attr=quantising()
        )


def test_group_sizes() -> None:
    attr = zemm.Attr()
    with pytest.raises(INVALID, match=r"group_size is -1: it must be the number of elements .* or 0"):
        attr.set_src_dyn_quant_params(-1)
    assert attr == zemm.Attr()
    attr.set_src_dyn_quant_params(2**63 - 1)
    assert "src_dyn_quant_params=(9223372036854775807,)" in repr(attr)
    assert attr != quantising()


def quantising(group: int = 32) -> zemm.Attr:
    attr = zemm.Attr()
    attr.set_src_dyn_quant_params(group)
    return attr


def kernels_of(engine: zemm.Engine, m: int, k: int, n: int, group: int) -> list[str]:
    attr = quantising(group)
    attr.set_scales(WEIGHTS, 3, (32, 1))
    attr.set_zero_points(WEIGHTS, 3, (32, 1), "u8")
    tensors = (MemoryDesc((m, k), "f32"), MemoryDesc((k, n), "u4", tag="any"), MemoryDesc((m, n), "f32"))
    return [module.name for module in zemm.MatmulPrimitiveDesc(engine, *tensors, None, attr).modules()]


@pytest.mark.parametrize(
    ("m", "k", "n", "group", "launches"),
    [
        (1, 576, 192, 32, 1),
        (1, 576, 192, 256, 1),  # of no whole vectors, for the registers
        (1, 576, 192, 576, 1),
        (1, 560, 192, 7, 2),  # sums of more groups than there is room for
        (1, 8192, 64, 32, 2),  # a longer row than there is room for
        (2, 576, 192, 32, 2),
    ],
)
def test_launches(engine: zemm.Engine, m: int, k: int, n: int, group: int, launches: int) -> None:
    """The tiles of one row quantise it themselves, while that is less work than another launch."""
    if "avx_vnni" not in engine.features:
        pytest.skip("only kernels for VNNI do so")
    names = kernels_of(engine, m, k, n, group)
    assert ("quantize" not in names) == (launches == 1), names
    assert "reduce_src" not in names, "the sums come with the values"


def test_many_tiles_do_not_quantise(engine: zemm.Engine) -> None:
    cores = zemm.get_num_threads()
    assert "quantize" in kernels_of(engine, 1, 4096, 64 * 16 * cores, 32)
