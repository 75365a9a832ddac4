# SPDX-License-Identifier: Apache-2.0
"""A matmul that quantises its floating-point src to s8 (Attr.set_src_dyn_quant_params), by the driver's
reference. The case file harness_matmul_quantised_src has more lines.
"""

from typing import Any

import numpy as np
import pytest
import zemm
from support_driver import check, check_row, prepared
from support_execute import dst_of
from support_rows import BY_NAME, CPU_ROWS
from support_tiers import POLICY_ROWS
from zemm import MemoryDesc

SRC, WEIGHTS, DST = zemm.ARG_SRC, zemm.ARG_WEIGHTS, zemm.ARG_DST
SCALES = "--attr-scales=wei:per_tensor:f32:32x1"
U4 = f"{SCALES} --attr-zero-points=wei:per_tensor:u8:32x1"
PLAIN = "--stag=ab --wtag=ab --dtag=ab"


@pytest.mark.quick(cases=lambda wei, src: wei in ("u4", "s8", "u2"))
@pytest.mark.each_value
@pytest.mark.parametrize("src", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("wei", ["u4", "s4", "u8", "s8", "u2"])
def test_types(wei: str, src: str) -> None:
    points = U4 if wei.startswith("u") else SCALES
    check(
        f"--matmul --dt={src}:{wei}:{src} {PLAIN} {points} --attr-src-dyn-quant=32 1x100:100x72 5x100:100x72"
    )


@pytest.mark.quick(cases=lambda m, group: (m, group) == (40, 7))
@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 6, 40])
@pytest.mark.parametrize("group", [1, 7, 32, 48, 128, 2**63 - 1])
def test_rows_and_groups(group: int, m: int) -> None:
    """Groups of src that divide K and those of the weights, or that do not; an odd K."""
    problems = " ".join(f"{m}x{k}:{k}x70" for k in (160, 101, 1))
    for points in ("", U4):
        check(f"--matmul --dt=f32:u4:f32 {PLAIN} --attr-src-dyn-quant={group} {points} {problems}")


@pytest.mark.quick(cases=lambda sizes, tags: (sizes[:2], tags) == ("33", ""))
@pytest.mark.parametrize("tags", [PLAIN, ""])
@pytest.mark.parametrize(
    "sizes", ["1x4304:4304x64", "33x4304:4304x64", "1x2048:2048x2048", "1x11008:11008x256", "2x576:576x1536"]
)
def test_large(sizes: str, tags: str) -> None:
    """Tiles and ranges of K that several threads share; a last group of src that is shorter."""
    check(f"--matmul --dt=bf16:u4:bf16 {tags} --attr-src-dyn-quant=128,32 {U4} {sizes}")


FORMS = {
    "any_tags": f"--stag=any --wtag=any --dtag=any {U4} 4x96:96x72",
    "any_tags_one_row": f"--stag=any --wtag=any --dtag=any {U4} 1x96:96x72",
    "packed": f"--wtag=BA16a64b4a {U4} 1x96:96x72",
    "along_k": f"--wtag=ba {U4} 3x96:96x72",
    "column_major_src": f"--stag=ba {U4} 5x96:96x72",
    "column_of_k": "--stag=ba 5x1:1x72",
    "column_major_dst": f"--dtag=ba {U4} 5x96:96x72",
    "padded": f"--stag=any --dtag=any --strides=99x1::77x1 {U4} 5x96:96x72",
    "padded_row": f"--stag=any --strides=99x1:: {U4} 1x96:96x72",
    "blocked_src": f"--stag=aBc8b {U4} 3x5x100:3x100x72",
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
    "offsets_one_row": f"{SCALES} --attr-offsets=wei:per_tensor:f32:32x1 1x96:96x72",
    "offsets_of_smaller_groups": f"{SCALES} --attr-offsets=wei:per_tensor:f32:16x1 4x96:96x72",
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


@pytest.mark.quick(cases=lambda form: not form.endswith("one_row"))
@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str) -> None:
    tags = "--stag=abx --wtag=abx --dtag=abx"
    check(f"--matmul --dt=f32:u4:f32 {tags} --attr-src-dyn-quant=32 {FORMS[form]}")


@pytest.mark.quick(cases=lambda dst: dst in ("s8", "s32", "f8_e4m3"))
@pytest.mark.parametrize("dst", ["s8", "u8", "s32", "f8_e4m3", "f8_e5m2", "f16"])
def test_scales_of_dst(dst: str) -> None:
    options = f"{PLAIN} --attr-scales=wei:per_oc:f32+dst:common:2 --bia-dt=f32"
    check(f"--matmul --dt=f16:s8:{dst} --attr-src-dyn-quant=64 {options} 1x160:160x72 4x160:160x72")


@pytest.mark.quick(cases=lambda points, masks: (points, masks) == (U4, "1:0"))
@pytest.mark.parametrize("masks", ["1:0", "3:3"])
@pytest.mark.parametrize("points", ["", U4, "--attr-scales=wei:per_oc:f16"])
def test_runtime_dims(points: str, masks: str) -> None:
    options = f"{PLAIN} --runtime_dims_masks={masks} --attr-src-dyn-quant=32,1000"
    check(f"--matmul --dt=f16:u8:f32 {options} {points} 1x96:96x70 33x32:32x70 1x33:33x6")


@pytest.mark.parametrize("src", ["f32", "f16", "bf16"])
def test_special_values(engine: zemm.Engine, stream: zemm.Stream, src: str) -> None:
    """Groups of zeros and of very small and large values are finite; NaN and infinities give NaN."""
    line = f"--matmul --dt={src}:u4:f32 {PLAIN} --attr-src-dyn-quant=32 {U4} 4x320:320x72"
    pd, tensors = prepared(engine, line)
    x = np.random.default_rng(1).standard_normal((4, 320)).astype(np.float32)
    x[-1, :32], x[-1, 32:64] = 0, -0.0
    x[-1, 64:96], x[-1, 96:128] = np.linspace(-1e-39, 1e-39, 32), np.linspace(-1e-5, 1e-5, 32)
    x[-1, 133] = 60000 if src == "f16" else 1e30
    for value in (0.0, np.nan, np.inf, -np.inf):
        x[-1, 227] = value
        tensors.memories[SRC].write(x.astype(zemm.numpy_dtype(src)))  # type: ignore[arg-type]
        zemm.Primitive(pd).execute(stream, tensors.memories)
        stream.wait()
        got = tensors.memories[DST].as_numpy()
        assert np.isfinite(got[:-1]).all()
        assert np.isfinite(got[-1]).all() == np.isfinite(value)


@pytest.mark.quick(cases=lambda row: row in POLICY_ROWS and BY_NAME[row].src == "int8")
@pytest.mark.parametrize("row", [name for name in CPU_ROWS if BY_NAME[name].src in ("int8", "any")])
def test_row(monkeypatch: pytest.MonkeyPatch, row: str) -> None:
    """A row takes what it takes of an s8 src."""
    line = f"--matmul --dt=f32:u4:f32 --attr-src-dyn-quant=32 {U4} 1x96:96x70 9x96:96x70"
    check_row(monkeypatch, row, line)


@pytest.mark.each_value
@pytest.mark.parametrize("group", [7, 32, 256])
@pytest.mark.parametrize("m", [1, 5])
@pytest.mark.parametrize("src", ["f32", "f16", "bf16"])
def test_same_bits_as_arrays(engine: zemm.Engine, src: Any, m: int, group: int) -> None:
    """The quantisation is that of zemm.quantize_activations(), whatever digits the values have."""
    x = np.random.default_rng(2).standard_normal((m, 512)).astype(zemm.numpy_dtype(src))
    weights = np.random.default_rng(3).integers(-128, 128, (512, 72)).astype(np.int8)
    mds = MemoryDesc(x.shape, src), MemoryDesc(weights.shape, "s8"), MemoryDesc((m, 72), "f32")
    pd = zemm.MatmulPrimitiveDesc(engine, *mds, attr=quantising(group))
    got = dst_of(zemm.Stream(engine), pd, {SRC: x, WEIGHTS: weights})
    made: Any = zemm.quantize_activations(x.astype(np.float32), group)
    want = zemm.matmul(made.values, weights, src_scales=made.scales, src_group=group, engine=engine)
    assert got.tobytes() == want.tobytes()


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
        (F32, MemoryDesc((64, 8), "f32"), (), UNIMPLEMENTED, "for weights of s8 u8 s4 u4 u2 u3, not f32"),
        (F32, MemoryDesc((64, 8), "bf16"), (), UNIMPLEMENTED, "for weights of s8 u8 s4 u4 u2 u3, not bf16"),
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
        (1, 32768, 64, 32, 2),  # a longer row than there is room for
        (2, 576, 192, 32, 2),
    ],
)
def test_launches(engine: zemm.Engine, m: int, k: int, n: int, group: int, launches: int) -> None:
    """A matmul of one row quantises it itself, while that is less work than another launch."""
    if "avx_vnni" not in engine.features:
        pytest.skip("only kernels for VNNI do so")
    names = kernels_of(engine, m, k, n, group)
    assert ("quantize" not in names) == (launches == 1), names
    assert "reduce_src" not in names, "the sums come with the values"


def test_many_tiles_do_not_quantise(engine: zemm.Engine) -> None:
    """Unless the launch is brief, when threads take several of them together."""
    if "avx_vnni" not in engine.features:
        pytest.skip("only kernels for VNNI do so")
    cores = zemm.get_num_threads()
    brief = cores * 2**26  # multiply-adds, at most
    assert "quantize" not in kernels_of(engine, 1, 4096, brief // 4096, 32)
    assert "quantize" in kernels_of(engine, 1, 4096, max(brief // 4096 + 64, 64 * 16 * cores), 32)
