# SPDX-License-Identifier: Apache-2.0
"""Matmuls whose weights and src are parts of larger tensors (submemory descriptors), on every row. The
kernels must not use what surrounds the parts.
"""

from collections.abc import Iterator
from functools import cache

import pytest
import zemm
from support_calls import make_pd, run
from support_cases import PACKED, PACKED_FLOATS, Problem, shape
from support_decisions import needed
from support_rows import BY_NAME, LOADS_1D, ROWS, XE_ROWS, skip_without_feature
from support_xe import pad_of, tile_of
from zemm._library.lists import TYPES


def _problems(lines: dict[str, str]) -> dict[str, Problem]:
    return {name: Problem("1x1:1x1").but(line) for name, line in lines.items()}


SRC_POINT, COLUMN_POINTS = "--attr-zero-points=src:common:1", "--attr-zero-points=wei:2"
INTEGERS = _problems({
    "s8_u8_packed": f"--dt=s8:u8:s32 {PACKED} {SRC_POINT}",
    "u8_s4_packed": f"--dt=u8:s4:s32 {PACKED} {SRC_POINT}",
    "s8_s8_packed": f"--dt=s8:s8:s32 {PACKED} {COLUMN_POINTS}",
    "u8_u8_ab": f"--dt=u8:u8:s32 {SRC_POINT}",
    "s8_u8_ba": f"--dt=s8:u8:s32 --wtag=ba {SRC_POINT}",
    # K is a multiple of 4 in all but the first of these.
    "s8_u8_packed_scaled": f"--dt=s8:u8:f32 {PACKED} --attr-scales=src:3:f32:1x4 {COLUMN_POINTS} limit=3",
})  # fmt: skip
WIDENED = f"--dt=bf16:u8:f32 {PACKED} --attr-zero-points=wei:2:u8 --attr-fpmath=any:true limit=15"
FLOATS = _problems({
    "f32_packed": PACKED_FLOATS,
    "f32_f16_packed": f"--dt=f32:f16:f32 {PACKED_FLOATS}",
    "f32_ba": "--wtag=ba",
    "bf16_u8_packed": WIDENED,
    "f8_f8_packed": f"--dt=f8_e4m3:f8_e5m2:f32 {PACKED}",
    "f16_f8_packed": f"--dt=f16:f8_e4m3:f32 {PACKED}",
    "f4_f8_ba": "--dt=f4_e2m1:f8_e4m3:f32 --wtag=ba",
    "f8_f4_packed": f"--dt=f8_e5m2:f4_e2m1:f32 {PACKED}",
})  # fmt: skip
HALVES = {
    **_problems({"f16_packed": f"--dt=f16:f16:f32 {PACKED_FLOATS}", "bf16_ab": "--dt=bf16:bf16:f32"}),
    # Larger tiles get the first three, and one of them multiplies no floats by floats.
    **{name: FLOATS[name] for name in ("bf16_u8_packed", "f16_f8_packed", "f8_f8_packed", "f8_f4_packed")},
    **_problems({
        "f32_packed_as_bf16": f"{PACKED_FLOATS} --attr-fpmath=bf16",
        "f32_packed_as_two_bf16": f"{PACKED_FLOATS} --attr-fpmath=tf32",
    }),
}  # fmt: skip
TF32 = _problems({
    "f32_packed": f"{PACKED_FLOATS} --attr-fpmath=tf32",
    "f32_ba": "--wtag=ba --attr-fpmath=tf32",
    "f32_u4_packed": f"--dt=f32:u4:f32 {PACKED} --attr-fpmath=tf32:true limit=15",
})  # fmt: skip
# 4-bit weights with groups, in a batch of three of which the part takes one or two matrices.
GROUPS = Problem(
    "--dt=s8:u4:f32 --wtag=aCB16b64c4b --attr-scales=wei:6:f32:64x1"
    " --attr-zero-points=src:common:1+wei:6:u8:64x1 limit=1"
)


def variants_of(row: str) -> dict[str, Problem]:
    kind = BY_NAME[row].src
    by_kind = {"int8": INTEGERS, "half": HALVES, "tf32": TF32, "float": FLOATS}
    if row not in XE_ROWS:
        return {"int8": INTEGERS, "f16": HALVES}.get(kind, INTEGERS | FLOATS)
    # Block loads in one dimension read weights only if they are packed.
    return {name: base for name, base in by_kind[kind].items() if base.is_packed or row not in LOADS_1D}


def parts_of(base: Problem, m: int, rest: int) -> Iterator[tuple[str, Problem]]:
    """Parts at the beginning, in the middle, inside a block, and at the end of a larger tensor.

    The larger tensor has 4 blocks and `rest` elements along K, and N = 150.
    """
    unit = 64 if TYPES[base.dt[1]].bits <= 8 else 16
    whole = 4 * unit + rest
    parts = {
        "beginning": ((3 * unit, 150), (0, 0)),
        "middle": ((unit, 150), (unit, 0)),
        "columns": ((2 * unit, 64), (2 * unit, 64)),
        "inside a block": ((5 * unit // 8, 20), (2 * unit, 64)),
        "end": ((unit + rest, 22), (3 * unit, 128)),
        "last block": ((rest, 150), (4 * unit, 0)),
    }
    for name, (dims, begin) in parts.items():
        yield name, _part(base, m, dims, begin, (whole, 150))


def _part(
    base: Problem, m: int, dims: tuple[int, int], begin: tuple[int, int], whole: tuple[int, int]
) -> Problem:
    """A problem whose weights are a part; dims, begin and whole are those of the weights."""
    problem = base.but(shape(m, dims[1], dims[0]))
    return problem.but(
        f"src_within={m + 2}x{whole[0]}@1x{begin[0]} src_pad={pad_of(whole[0], problem.dt[0])}"
        f" wei_within={whole[0]}x{whole[1]}@{begin[0]}x{begin[1]}"
    )


def long_parts_of(base: Problem) -> Iterator[tuple[str, Problem]]:
    """Parts that are so long along K that K is split."""
    parts = {"middle": ((8192, 17), (640, 64)), "end": ((9004, 22), (3200, 64))}
    for name, (dims, begin) in parts.items():
        yield name, _part(base, 9, dims, begin, (12204, 86))


def matrices_of(base: Problem) -> Iterator[tuple[str, Problem]]:
    for name, (count, first, k0) in {"first": (1, 0, 0), "middle": (1, 1, 64), "last": (2, 1, 128)}.items():
        yield name, base.but(f"{count}x9x128:{count}x128x150 wei_within=3x256x150@{first}x{k0}x0")


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
        even, odd = (4, 3) if base.is_integer else (6, 5)
        for rest in (even,) if i or is_larger else (even, odd):
            for part, problem in parts_of(base, tile.m // 4 + 5, rest):
                yield f"{name}, {part}, K = 4 blocks and {rest}", problem
    first = next(iter(variants_of(row)))
    for part, problem in long_parts_of(variants_of(row)[first]):
        yield f"{first}, long {part}", problem
    plain = variants_of(row)[first].but("--wtag=ba")
    yield "packed first", _part(plain, 250, (128, 70), (64, 8), (260, 100))
    if BY_NAME[row].src == "int8":
        for part, problem in matrices_of(GROUPS):
            yield f"groups, {part}", problem


def of_first_variant(row: str, name: str) -> bool:
    return name.split(",")[0] == next(iter(problems_of(row))).split(",")[0]


# Each kind of part on each row, and each variant on a row of each policy.
IS_NEEDED = needed(
    ROWS,
    {name: None for row in ROWS for name in problems_of(row)},
    lambda row, name: problems_of(row).get(name),
    first=of_first_variant,
    covers=lambda name: set(name.split(", ")),
)


@pytest.mark.full
@pytest.mark.parametrize("row", ROWS)
def test_neighbours_are_not_read(engine: zemm.Engine, row: str) -> None:
    """Around a part, integers are random and floats are NaN. The result is right only if the kernel
    uses the part alone.
    """
    skip_without_feature(engine, row)
    taken = set()
    for name, problem in problems_of(row).items():
        if not IS_NEEDED(row, name):
            continue
        try:
            make_pd(problem)
        except NotImplementedError:
            continue  # test_kernels.py and test_xe_rows.py check the reasons
        run(problem)
        taken.add(name.split(",")[0])
    assert taken
