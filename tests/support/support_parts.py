# SPDX-License-Identifier: Apache-2.0
"""Matmuls whose weights and src are parts of larger tensors. The kernels must not use what
surrounds the parts.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from support_problem import Problem, Quant, zero_point
from support_rows import BY_NAME, LOADS_1D, XE_ROWS
from support_xe import pad_of, tile_of
from zemm._library.lists import TYPES

PACKED, PACKED_FLOATS = "BA16a64b4a", "BA16a64b"


def _problem(src: str, wei: str, dst: str, **settings: object) -> Problem:
    return Problem((1, 1), (1, 1), src, wei, dst, **settings)  # type: ignore[arg-type]


def _widened(src: str, wei: str, **settings: object) -> Problem:
    return _problem(src, wei, "f32", limit=15, fpmath=("any", True), **settings)


INTEGERS = {
    "s8_u8_packed": _problem("s8", "u8", "s32", wei_tag=PACKED, src_zp=zero_point()),
    "u8_s4_packed": _problem("u8", "s4", "s32", wei_tag=PACKED, src_zp=zero_point()),
    "s8_s8_packed": _problem("s8", "s8", "s32", wei_tag=PACKED, wei_zp=zero_point(2)),
    "u8_u8_ab": _problem("u8", "u8", "s32", src_zp=zero_point()),
    "s8_u8_ba": _problem("s8", "u8", "s32", wei_order="ba", src_zp=zero_point()),
    # K is a multiple of 4 in all but the first of these.
    "s8_u8_packed_scaled": _problem(
        "s8", "u8", "f32", limit=3, wei_tag=PACKED, src_scale=Quant(3, (1, 4)), wei_zp=zero_point(2)
    ),
}
FLOATS = {
    "f32_packed": _problem("f32", "f32", "f32", wei_tag=PACKED_FLOATS),
    "f32_f16_packed": _problem("f32", "f16", "f32", wei_tag=PACKED_FLOATS),
    "f32_ba": _problem("f32", "f32", "f32", wei_order="ba"),
    "bf16_u8_packed": _widened("bf16", "u8", wei_tag=PACKED, wei_zp=zero_point(2, (), "u8")),
    "f8_f8_packed": _problem("f8_e4m3", "f8_e5m2", "f32", wei_tag=PACKED),
    "f16_f8_packed": _problem("f16", "f8_e4m3", "f32", wei_tag=PACKED),
    "f4_f8_ba": _problem("f4_e2m1", "f8_e4m3", "f32", wei_order="ba"),
    "f8_f4_packed": _problem("f8_e5m2", "f4_e2m1", "f32", wei_tag=PACKED),
}
HALVES = {
    "f16_packed": _problem("f16", "f16", "f32", wei_tag=PACKED_FLOATS),
    "bf16_ab": _problem("bf16", "bf16", "f32"),
    **{name: FLOATS[name] for name in ("bf16_u8_packed", "f16_f8_packed", "f8_f8_packed", "f8_f4_packed")},
    "f32_packed_as_bf16": replace(FLOATS["f32_packed"], fpmath=("bf16", False)),
    "f32_packed_as_two_bf16": replace(FLOATS["f32_packed"], fpmath=("tf32", False)),
}
TF32 = {
    "f32_packed": replace(FLOATS["f32_packed"], fpmath=("tf32", False)),
    "f32_ba": replace(FLOATS["f32_ba"], fpmath=("tf32", False)),
    "f32_u4_packed": _problem("f32", "u4", "f32", limit=15, wei_tag=PACKED, fpmath=("tf32", True)),
}
# 4-bit weights with groups, in a batch of three of which the part takes one or two matrices.
GROUPS = _problem(
    "s8",
    "u4",
    "f32",
    limit=1,
    wei_tag="aCB16b64c4b",
    wei_scale=Quant(6, (64, 1)),
    wei_zp=zero_point(6, (64, 1), "u8"),
    src_zp=zero_point(),
)


def variants_of(row: str) -> dict[str, Problem]:
    kind = BY_NAME[row].src
    by_kind = {"int8": INTEGERS, "half": HALVES, "tf32": TF32, "float": FLOATS}
    if row not in XE_ROWS:
        return {"int8": INTEGERS, "f16": HALVES}.get(kind, INTEGERS | FLOATS)
    # Block loads in one dimension read weights only if they are packed.
    return {name: base for name, base in by_kind[kind].items() if base.wei_tag or row not in LOADS_1D}


def parts_of(base: Problem, m: int, rest: int) -> Iterator[tuple[str, Problem]]:
    """Parts at the beginning, in the middle, inside a block, and at the end of a larger tensor.

    The larger tensor has 4 blocks and `rest` elements along K, and N = 150.
    """
    unit = 64 if TYPES[base.wei_dt].bits <= 8 else 16
    whole = 4 * unit + rest
    parts = {
        "beginning": ((3 * unit, 150), (0, 0)),
        "middle": ((unit, 150), (unit, 0)),
        "columns": ((2 * unit, 64), (2 * unit, 64)),
        "inside a block": ((5 * unit // 8, 20), (2 * unit, 64)),
        "end": ((unit + rest, 22), (3 * unit, 128)),
        "last block": ((rest, 150), (4 * unit, 0)),
    }
    for name, ((k, n), (k0, n0)) in parts.items():
        yield name, _part(base, m, (k, n), (k0, n0), (whole, 150))


def _part(
    base: Problem, m: int, dims: tuple[int, int], begin: tuple[int, int], whole: tuple[int, int]
) -> Problem:
    """A problem whose weights are a part; dims, begin and whole are those of the weights."""
    return replace(
        base,
        src_dims=(m, dims[0]),
        src_within=((m + 2, whole[0]), (1, begin[0])),
        src_pad=pad_of(whole[0], base.src_dt),
        wei_dims=dims,
        wei_within=(whole, begin),
    )


def long_parts_of(base: Problem) -> Iterator[tuple[str, Problem]]:
    """Parts that are so long along K that K is split."""
    parts = {"middle": ((8192, 17), (640, 64)), "end": ((9004, 22), (3200, 64))}
    for name, (dims, begin) in parts.items():
        yield name, _part(base, 9, dims, begin, (12204, 86))


def matrices_of(base: Problem) -> Iterator[tuple[str, Problem]]:
    for name, (count, first, k0) in {"first": (1, 0, 0), "middle": (1, 1, 64), "last": (2, 1, 128)}.items():
        yield (
            name,
            replace(
                base,
                src_dims=(count, 9, 128),
                wei_dims=(count, 128, 150),
                wei_within=((3, 256, 150), (first, k0, 0)),
            ),
        )


@cache
def problems_of(row: str) -> dict[str, Problem]:
    return dict(_problems_of(row))


def _problems_of(row: str) -> Iterator[tuple[str, Problem]]:
    """The problems of a row.

    K is, and is not, a multiple of the 4 bytes that block loads of src need. Larger tiles for Intel
    GPUs read weights as the smallest tile does, so they get only a few problems.
    """
    tile = tile_of(row)
    is_larger = row in XE_ROWS and tile.m > 8
    for i, (name, base) in enumerate(list(variants_of(row).items())[: 3 if is_larger else None]):
        even, odd = (4, 3) if base.integer else (6, 5)
        for rest in (even,) if i or is_larger else (even, odd):
            for part, problem in parts_of(base, tile.m // 4 + 5, rest):
                yield f"{name}, {part}, K = 4 blocks and {rest}", problem
    first = next(iter(variants_of(row)))
    for part, problem in long_parts_of(variants_of(row)[first]):
        yield f"{first}, long {part}", problem
    plain = replace(variants_of(row)[first], wei_tag=None, wei_order="ba")
    yield "packed first", _part(plain, 250, (128, 70), (64, 8), (260, 100))
    if BY_NAME[row].src == "int8":
        for part, problem in matrices_of(GROUPS):
            yield f"groups, {part}", problem
