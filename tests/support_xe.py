# SPDX-License-Identifier: Apache-2.0
"""Variants of the rows for Intel GPUs (what is compiled), and shapes around the tiles of each row.

2-D block loads need rows of at least 64 bytes whose length is a multiple of 4 bytes and whose
distance is a multiple of 16 bytes. `Variant.of_shape` pads rows accordingly. Variants with
`loads=False` have tensors that such loads cannot read.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from support_problem import PostOp, Problem, Quant, zero_point
from support_rows import BY_NAME

PACKED, PACKED_FLOATS = "BA16a64b4a", "BA16a64b"
BITS = {
    "f32": 32,
    "f16": 16,
    "bf16": 16,
    "s8": 8,
    "u8": 8,
    "s4": 4,
    "u4": 4,
    "f8_e5m2": 8,
    "f8_e4m3": 8,
    "f4_e2m1": 4,
}


@dataclass(frozen=True)
class Tile:
    m: int
    n: int
    k: int


def tile_of(row: str) -> Tile:
    traits = BY_NAME[row]
    return Tile(traits.tile_m, traits.tile_n, traits.tile_k)


def pad_of(elements: int, dt: str) -> int:
    """Padding after a row, in elements: the distance of rows is a multiple of 16 bytes, and at
    least 64.
    """
    unit = 16 * 8 // BITS[dt]
    return max(-(-elements // unit) * unit, 4 * unit) - elements


@dataclass(frozen=True)
class Variant:
    """A problem whose shape is open. Integers that are scaled have limited values, so that every
    sum is exact in f32. `exact` is False where that is not possible.
    """

    base: Problem
    group: int = 0  # K is a multiple of this; 0: K is free
    src_batch: tuple[int, ...] = ()
    wei_batch: tuple[int, ...] = ()
    loads: bool = True
    exact: bool = True

    def of_shape(self, m: int, n: int, k: int, seed: int) -> Problem:
        p = self.base
        inner = n if p.wei_order is None else k
        return replace(
            p,
            src_dims=(*self.src_batch, m, k),
            wei_dims=(*self.wei_batch, k, n),
            src_pad=pad_of(k, p.src_dt) if self.loads else p.src_pad,
            wei_pad=0 if p.wei_tag else pad_of(inner, p.wei_dt) if self.loads else p.wei_pad,
            seed=seed,
        )


def _int8(src: str, wei: str, dst: str = "s32", **settings: object) -> Problem:
    return Problem((1, 1), (1, 1), src, wei, dst, **settings)  # type: ignore[arg-type]


def _half(src: str, wei: str, dst: str = "f32", **settings: object) -> Problem:
    if src != wei:
        settings = {"fpmath": ("any", True), "limit": 15} | settings
    return Problem((1, 1), (1, 1), src, wei, dst, **settings)  # type: ignore[arg-type]


def _tf32(wei: str, dst: str = "f32", mode: str = "tf32", **settings: object) -> Problem:
    if wei != "f32":
        settings = {"limit": 15} | settings
    fpmath = (mode, wei != "f32")
    return Problem((1, 1), (1, 1), "f32", wei, dst, fpmath=fpmath, **settings)  # type: ignore[arg-type]


def _groups(k: int, dt: str = "f32") -> Quant:
    """Scales with a value for each column and group of k elements along K of the weights."""
    return Quant(3, (k, 1), dt)


EVERY_POST_OP = (
    PostOp("sum", alpha=2.0, zero_point=3),
    PostOp("eltwise", "eltwise_relu", 0.5),
    PostOp("binary", "binary_mul", mask=4, dt="bf16"),
    PostOp("prelu", mask=4),
    PostOp("binary", "binary_add", mask=7, dt="f16"),
    PostOp("binary", "binary_select", mask=2, condition_mask=4),
)

INT8 = {
    # Nothing changes along K.
    "s8_u8_packed_src_zero_points": Variant(_int8("s8", "u8", wei_tag=PACKED, src_zp=zero_point())),
    "u8_s8_ab_zero_points": Variant(_int8("u8", "s8", src_zp=zero_point(), wei_zp=zero_point(2, (), "s8"))),
    "s8_s8_ba_huge_zero_points": Variant(
        _int8("s8", "s8", wei_order="ba", src_zp=zero_point(), wei_zp=zero_point(2), huge_zero_points=True)
    ),
    "u8_s4_packed_host_scalars": Variant(
        _int8(
            "u8",
            "s4",
            "f32",
            limit=7,
            wei_tag=PACKED,
            src_scale=Quant(host=True),
            wei_scale=Quant(host=True, dt="f16"),
            src_zp=zero_point(dt="u8", host=True),
            wei_zp=zero_point(dt="s8", host=True),
        )
    ),
    "s8_s8_own_weights": Variant(
        _int8("s8", "s8", wei_tag="aCB16b64c4b", wei_zp=zero_point(4)), src_batch=(3,), wei_batch=(3,)
    ),
    "u8_u8_shared_src": Variant(
        _int8("u8", "u8", "f32", limit=15, wei_order="acb", wei_scale=Quant(5)),
        src_batch=(1,),
        wei_batch=(2,),
    ),
    "s8_u8_shared_weights_post_ops": Variant(
        _int8(
            "s8",
            "u8",
            "s8",
            limit=3,
            bias_dt="s8",
            bias_mask=4,
            src_scale=Quant(2),
            wei_scale=Quant(4),
            dst_scale=Quant(4),
            dst_zp=zero_point(),
            post_ops=EVERY_POST_OP,
        ),
        src_batch=(2,),
        wei_batch=(1,),
    ),
    # Segments that are not scaled.
    "s8_s4_ba_groups_of_160": Variant(
        _int8("s8", "s4", wei_order="ba", wei_zp=zero_point(3, (160, 1)), huge_zero_points=True), group=160
    ),
    "u8_u8_ba_groups_of_64_and_192": Variant(
        _int8(
            "u8", "u8", wei_order="ba", src_zp=zero_point(3, (1, 64)), wei_zp=zero_point(3, (192, 1), "u8")
        ),
        group=192,
    ),
    "u8_u4_ba": Variant(_int8("u8", "u4", wei_order="ba", wei_zp=zero_point(2, (), "u8"))),
    "s8_u4_shared_weights_src_zero_points": Variant(
        _int8("s8", "u4", wei_tag="aCB16b64c4b", src_zp=zero_point(6, (1, 64))),
        group=64,
        src_batch=(3,),
        wei_batch=(1,),
    ),
    # Scaled segments.
    "s8_u4_packed_groups_of_128": Variant(
        _int8(
            "s8",
            "u4",
            "f32",
            limit=3,
            wei_tag=PACKED,
            src_scale=Quant(3, (1, 128)),
            wei_scale=_groups(128, "f16"),
            wei_zp=zero_point(3, (128, 1), "u4"),
            reduction_group=128,
        ),
        group=128,
    ),
    "u8_u4_ba_groups_of_64_and_96": Variant(
        _int8(
            "u8",
            "u4",
            "f16",
            limit=1,
            wei_order="ba",
            wei_scale=_groups(64),
            wei_zp=zero_point(3, (96, 1), "u8"),
        ),
        group=192,
    ),
    "u8_s8_ab_groups_of_32": Variant(
        _int8("u8", "s8", "f32", limit=3, wei_scale=_groups(32), src_zp=zero_point(3, (1, 32))), group=32
    ),
    "s8_u8_ba_groups_of_256": Variant(
        _int8(
            "s8",
            "u8",
            "f32",
            limit=3,
            wei_order="ba",
            src_scale=Quant(3, (1, 256)),
            src_zp=zero_point(2, (1, 256)),
            wei_zp=zero_point(3, (256, 1)),
            reduction_group=256,
        ),
        group=256,
    ),
    # Small floats as scales, bias, dst and tensors of post-ops.
    "s8_s4_packed_e8m0_groups_of_32": Variant(
        _int8(
            "s8",
            "s4",
            "f32",
            limit=3,
            wei_tag=PACKED,
            src_scale=Quant(3, (1, 32), "e8m0"),
            wei_scale=_groups(32, "e8m0"),
        ),
        group=32,
    ),
    "u8_s8_ab_f8_e4m3_groups_of_64": Variant(
        _int8(
            "u8",
            "s8",
            "f8_e5m2",
            limit=3,
            bias_dt="f8_e4m3",
            bias_mask=2,
            src_scale=Quant(1, dt="e8m0"),
            wei_scale=_groups(64, "f8_e4m3"),
            wei_zp=zero_point(2, (), "s8"),
            dst_scale=Quant(2, dt="f8_e4m3"),
        ),
        group=64,
    ),
    # Tensors that are read element by element.
    "u8_s8_any_strides": Variant(
        _int8("u8", "s8", src_pad=3, wei_pad=5, wei_zp=zero_point(2), src_zp=zero_point()), loads=False
    ),
    "s8_u8_k_outside": Variant(_int8("s8", "u8", src_order="ba", wei_order="ba", wei_pad=3), loads=False),
    "s8_s4_ab_groups_of_96": Variant(
        _int8("s8", "s4", "f32", limit=3, wei_scale=_groups(96), wei_zp=zero_point(3, (96, 1), "s8")),
        group=96,
        loads=False,
    ),
}
HALF = {
    "f16_packed": Variant(_half("f16", "f16", wei_tag=PACKED_FLOATS)),
    "f16_ab_post_ops": Variant(
        _half("f16", "f16", "f16", bias_dt="f16", bias_mask=3, post_ops=(PostOp("eltwise", "eltwise_abs"),))
    ),
    "bf16_ba": Variant(_half("bf16", "bf16", "bf16", wei_order="ba")),
    "bf16_ab_shared_weights": Variant(_half("bf16", "bf16"), src_batch=(3,), wei_batch=(1,)),
    "f16_u8_ab_zero_points": Variant(_half("f16", "u8", limit=255, wei_zp=zero_point(2, (), "u8"))),
    # The same module as blocks_f16_s4 of support_kernel_problems.py, because CPUs compile f16
    # arithmetic slowly.
    "f16_s4_packed_scales": Variant(_half("f16", "s4", wei_tag=PACKED, wei_scale=Quant(2))),
    "bf16_s8_packed_own_weights": Variant(
        _half("bf16", "s8", limit=60, wei_tag="aCB16b64c4b", src_scale=Quant(), wei_scale=Quant(5)),
        src_batch=(2,),
        wei_batch=(2,),
    ),
    "bf16_u8_ab_groups_of_32": Variant(
        _half("bf16", "u8", wei_scale=_groups(32), wei_zp=zero_point(3, (32, 1), "u8")), group=32
    ),
    "f16_u4_packed_groups_of_128": Variant(
        _half(
            "f16", "u4", wei_tag=PACKED, wei_scale=_groups(128, "f16"), wei_zp=zero_point(3, (128, 1), "u4")
        ),
        group=128,
    ),
    "f16_s8_ba_groups_of_64_and_96": Variant(
        _half("f16", "s8", wei_order="ba", wei_scale=_groups(64), wei_zp=zero_point(3, (96, 1), "s8")),
        group=192,
    ),
    "bf16_u4_ba_groups_of_160": Variant(
        _half("bf16", "u4", wei_order="ba", wei_scale=_groups(160), wei_zp=zero_point(2, (), "u8")), group=160
    ),
    "bf16_s4_packed": Variant(_half("bf16", "s4", wei_tag=PACKED, wei_zp=zero_point(0, (), "s8"))),
    # Small floats as scales, bias, dst and tensors of post-ops.
    "bf16_s4_packed_e8m0_groups_of_32": Variant(
        _half("bf16", "s4", wei_tag=PACKED, wei_scale=_groups(32, "e8m0")), group=32
    ),
    "f16_u8_ab_f8_e4m3_groups_of_64": Variant(
        _half(
            "f16",
            "u8",
            "f8_e5m2",
            limit=3,
            wei_scale=_groups(64, "f8_e4m3"),
            dst_scale=Quant(2, dt="e8m0"),
            post_ops=(PostOp("sum", alpha=0.5), PostOp("binary", "binary_add", mask=3, dt="f4_e2m1")),
        ),
        group=64,
    ),
    # Tensors that are read element by element.
    "f16_any_strides": Variant(_half("f16", "f16", src_pad=1, wei_pad=3), loads=False),
    "bf16_u4_k_outside": Variant(
        _half("bf16", "u4", src_order="ba", wei_scale=Quant(2), wei_zp=zero_point(2, (), "u4")), loads=False
    ),
}


def _mx(dt: str = "e8m0", group: int = 32) -> dict[str, Quant]:
    """Scales of src and weights as in MX; with f8_e4m3 and 16 as in NVFP4."""
    return {"src_scale": Quant(3, (1, group), dt), "wei_scale": _groups(group, dt)}


# Small floats, which become f16 or bf16. src is put in the order of the weights first.
SMALL = {
    "f16_f8_e4m3_packed": Variant(_half("f16", "f8_e4m3", wei_tag=PACKED)),
    "f16_f8_e5m2_ab_groups_of_32": Variant(
        _half("f16", "f8_e5m2", "f16", wei_scale=_groups(32, "e8m0"), bias_dt="f16", bias_mask=2), group=32
    ),
    "bf16_f8_e4m3_ba": Variant(_half("bf16", "f8_e4m3", "bf16", wei_order="ba", wei_scale=Quant(2))),
    "bf16_f8_e5m2_packed_shared_weights": Variant(
        _half("bf16", "f8_e5m2", wei_tag="aCB16b64c4b"), src_batch=(3,), wei_batch=(1,)
    ),
    "f16_f4_e2m1_packed_groups_of_128": Variant(
        _half("f16", "f4_e2m1", wei_tag=PACKED, wei_scale=_groups(128, "f16")), group=128
    ),
    "bf16_f4_e2m1_packed_groups_of_32": Variant(
        _half("bf16", "f4_e2m1", "bf16", wei_tag=PACKED, wei_scale=_groups(32, "e8m0")), group=32
    ),
    "f16_f4_e2m1_ba": Variant(_half("f16", "f4_e2m1", wei_order="ba", src_scale=Quant(1, dt="f16"))),
    "f8_e4m3_f8_e4m3_packed_mx": Variant(
        _half("f8_e4m3", "f8_e4m3", wei_tag=PACKED, **_mx()), group=32, exact=False
    ),
    "f8_e5m2_f8_e4m3_ab_groups_of_64": Variant(
        _half("f8_e5m2", "f8_e4m3", "f8_e5m2", wei_scale=_groups(64)), group=64
    ),
    "f8_e4m3_f8_e5m2_own_weights": Variant(
        _half("f8_e4m3", "f8_e5m2", wei_tag="aCB16b64c4b", wei_scale=Quant(5)), src_batch=(3,), wei_batch=(3,)
    ),
    "f4_e2m1_f4_e2m1_packed_mx": Variant(_half("f4_e2m1", "f4_e2m1", wei_tag=PACKED, **_mx()), group=32),
    "f4_e2m1_f4_e2m1_packed_nvfp4": Variant(
        _half("f4_e2m1", "f4_e2m1", "f16", wei_tag=PACKED, **_mx("f8_e4m3", 16)), group=16
    ),
    "f8_e4m3_f8_e5m2_ba_groups_of_16": Variant(
        _half("f8_e4m3", "f8_e5m2", wei_order="ba", wei_scale=_groups(16, "f8_e4m3")), group=16
    ),
    "f8_e4m3_s4_packed": Variant(
        _half("f8_e4m3", "s4", wei_tag=PACKED, wei_scale=_groups(64), wei_zp=zero_point(2, (), "s8")),
        group=64,
    ),
    "f4_e2m1_f16_packed": Variant(_half("f4_e2m1", "f16", wei_tag=PACKED_FLOATS)),
    "f8_e4m3_f4_e2m1_packed": Variant(_half("f8_e4m3", "f4_e2m1", wei_tag=PACKED)),
    # Tensors that block loads cannot read. src is arranged, and weights are packed, first.
    "f8_e4m3_f8_e4m3_any_strides": Variant(
        _half("f8_e4m3", "f8_e4m3", src_order="ba", src_pad=1, wei_pad=3), loads=False
    ),
    "bf16_f4_e2m1_k_outside": Variant(_half("bf16", "f4_e2m1", src_order="ba"), loads=False),
}
TF32 = {
    "f32_packed": Variant(_tf32("f32", wei_tag=PACKED_FLOATS)),
    "f32_ab_post_ops": Variant(
        _tf32("f32", "f16", "any", bias_dt="f32", bias_mask=3, post_ops=(PostOp("eltwise", "eltwise_abs"),))
    ),
    "f32_ba": Variant(_tf32("f32", "bf16", "bf16", wei_order="ba")),
    "f32_ab_shared_weights": Variant(_tf32("f32", mode="f16"), src_batch=(3,), wei_batch=(1,)),
    "u8_ab_zero_points": Variant(_tf32("u8", limit=255, wei_zp=zero_point(2, (), "u8"))),
    "s8_packed_own_weights": Variant(
        _tf32("s8", limit=60, wei_tag="aCB16b64c4b", src_scale=Quant(), wei_scale=Quant(5)),
        src_batch=(2,),
        wei_batch=(2,),
    ),
    "u4_packed_groups_of_128": Variant(
        _tf32("u4", wei_tag=PACKED, wei_scale=_groups(128, "f16"), wei_zp=zero_point(3, (128, 1), "u4")),
        group=128,
    ),
    "s4_ba_groups_of_64_and_96": Variant(
        _tf32("s4", mode="any", wei_order="ba", wei_scale=_groups(64), wei_zp=zero_point(3, (96, 1), "s8")),
        group=192,
    ),
    # Tensors that are read element by element.
    "f32_any_strides": Variant(_tf32("f32", src_pad=1, wei_pad=3), loads=False),
    "u8_k_outside": Variant(_tf32("u8", src_order="ba", wei_order="ba", wei_pad=3), loads=False),
}
# f32 as bf16, or as sums of two bf16: for the rows with 8 lanes.
NARROWED = {
    "f32_packed_as_bf16": Variant(_tf32("f32", mode="bf16", wei_tag=PACKED_FLOATS)),
    "f32_packed_own_weights_as_bf16": Variant(
        _tf32("f32", "f16", "any", wei_tag="aCB16b64c", bias_dt="f32", bias_mask=4, wei_scale=Quant(4)),
        src_batch=(2,),
        wei_batch=(2,),
    ),
    "f32_u4_packed_groups_of_64_as_bf16": Variant(
        _tf32("u4", mode="any", wei_tag=PACKED, wei_scale=_groups(64), wei_zp=zero_point(3, (64, 1), "u4")),
        group=64,
    ),
    "f32_s8_packed_as_bf16": Variant(
        _tf32("s8", mode="bf16", limit=60, wei_tag=PACKED, wei_zp=zero_point(2, (), "s8"))
    ),
    "f32_any_strides_as_bf16": Variant(
        _tf32("f32", mode="any", src_order="ba", src_pad=1, wei_pad=3), loads=False
    ),
    "f32_packed_as_two_bf16": Variant(_tf32("f32", wei_tag=PACKED_FLOATS)),
    "f32_u8_packed_groups_of_64_as_two_bf16": Variant(
        _tf32("u8", wei_tag=PACKED, wei_scale=_groups(64), wei_zp=zero_point(3, (64, 1), "u8")), group=64
    ),
    "f32_s4_packed_as_two_bf16": Variant(_tf32("s4", mode="f16", wei_tag=PACKED)),
    "f32_any_strides_as_two_bf16": Variant(
        _tf32("f32", mode="f16", src_order="ba", src_pad=1, wei_pad=3), loads=False
    ),
}
# For the rows that multiply as f32: of the variants above, some of each kind of type and layout.
FLOAT = {
    name: variants[name]
    for variants, names in (
        (
            HALF,
            ("f16_packed", "bf16_ab_shared_weights", "f16_s4_packed_scales", "bf16_s8_packed_own_weights"),
        ),
        (HALF, ("f16_u4_packed_groups_of_128", "f16_any_strides", "bf16_u4_k_outside")),
        (TF32, ("f32_packed", "f32_ab_post_ops", "u8_ab_zero_points", "s4_ba_groups_of_64_and_96")),
        (SMALL, ("f8_e4m3_f8_e4m3_packed_mx", "f4_e2m1_f4_e2m1_packed_nvfp4", "f8_e4m3_f8_e4m3_any_strides")),
    )
    for name in names
} | {
    "f32_f16_packed_strict": Variant(Problem((1, 1), (1, 1), "f32", "f16", "f32", wei_tag=PACKED_FLOATS)),
    "f8_e5m2_f8_e4m3_packed_zero_points": Variant(
        _half("f8_e5m2", "f8_e4m3", wei_tag=PACKED, wei_zp=zero_point(3, (32, 1), "s8")), group=32
    ),
    "f16_bf16_packed": Variant(Problem((1, 1), (1, 1), "f16", "bf16", "f32", wei_tag=PACKED_FLOATS)),
    "bf16_u8_packed_groups_of_32_huge_zero_points": Variant(
        _half("bf16", "u8", wei_tag=PACKED, wei_scale=_groups(32), wei_zp=zero_point(3, (32, 1))), group=32
    ),
}


def lengths(row: str, variant: Variant) -> list[int]:
    """K around a step of DPAS, one block and two blocks.

    Values of K below 64 bytes are only for variants that are read element by element, as block
    loads need 64 bytes.
    """
    block, group, p = tile_of(row).k, variant.group, variant.base
    if group:
        return [group * count for count in ((2, 3, 5) if group < 160 else (2, 3))]  # one is another variant
    if not BY_NAME[row].has_dots and tile_of(row).m > 8:
        return [16, 32, 48, 80, 128, 144]  # these rows take only whole blocks of K
    around = (1, 5, 31, 32, 33, 64, block - 1, block, block + 1, 2 * block - 3, 2 * block + 17)
    if not variant.loads:
        return [k for k in around if k > 0]
    fours = 8 if p.wei_order and BITS[p.wei_dt] == 4 else 32 // BITS[p.src_dt]
    least = max(64 * 8 // BITS[p.wei_dt] if p.wei_order else 0, 64 * 8 // BITS[p.src_dt])
    if p.wei_order and BITS[p.wei_dt] == 8:
        fours = 4
    near = {(k + fours - 1) // fours * fours for k in (least, 70, *around, 3 * block + 20)}
    return sorted(k for k in near | {block - fours, 2 * block - fours} if k >= least)


def columns(row: str, variant: Variant) -> list[int]:
    tile, p = tile_of(row), variant.base
    if variant.loads and not p.wei_tag and p.wei_order is None:
        unit = 64 * 8 // BITS[p.wei_dt]
        return [unit, unit + unit // 16, 2 * unit, 2 * unit + unit // 16, 100]
    if p.wei_zp and BITS.get(p.wei_zp.dt) == 4:  # a 4-bit parameter row needs an even N
        return [14, 16, 18, tile.n, tile.n + 2, 64, 66, 2 * tile.n + 6]
    return [15, 16, 17, tile.n, tile.n + 1, 64, 65, 2 * tile.n + 3] + ([] if p.wei_order is None else [1])


def shapes(row: str, variants: dict[str, Variant], name: str) -> Iterator[tuple[int, int, int]]:
    """M, N and K of the runs.

    K exceeds a block in all runs or in none, as these are two different modules.
    """
    variant, tile, i = variants[name], tile_of(row), list(variants).index(name)
    ms = (tile.m + 1, 1, 2 * tile.m, 8, tile.m, 7, 2 * tile.m + 9, tile.m - 1)
    ns, ks = columns(row, variant), lengths(row, variant)
    short = [k for k in ks if k <= tile.k]
    long = [k for k in ks if k > tile.k]
    if not variant.group:
        ks = short if short and (i % 3 == 2 or not long) else long
    slow = variant.base.src_dt == "f16" and not variant.base.wei_dt.endswith("16")  # f16 arithmetic
    for j in range(2 if slow else 7):
        yield ms[(i + j) % len(ms)], ns[(2 * i + j) % len(ns)], ks[(i + 3 * j) % len(ks)]
