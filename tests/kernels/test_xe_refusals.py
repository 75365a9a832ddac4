# SPDX-License-Identifier: Apache-2.0
"""The problems that the rows for Intel GPUs refuse, each with its reason."""

import pytest
from support_calls import make_pd, run_exact
from support_cases import PACKED_FLOATS, Problem, shape
from support_rows import BY_NAME, LOADS_1D, XE_ROWS
from support_xe import tile_of

INT8_ROWS = [row for row in XE_ROWS if BY_NAME[row].src == "int8"]
HALF_ROWS = [row for row in XE_ROWS if BY_NAME[row].src == "half"]
TF32_ROWS = [row for row in XE_ROWS if BY_NAME[row].src == "tf32"]
FLOAT_ROWS = [row for row in XE_ROWS if BY_NAME[row].src == "float"]
ROUNDING = [row for row in XE_ROWS if row not in FLOAT_ROWS]
# Rows that take only what 2-D block loads can read.
LOADING = [row for row in XE_ROWS if tile_of(row).m > 8 and row not in LOADS_1D]

INT8 = Problem("--dt=s8:u8:s32 9x256:256x64")
F32 = Problem("9x64:64x64")
WIDENED = Problem("--dt=f16:u8:f32 --attr-fpmath=any:true --attr-zero-points=wei:2:u8 9x256:256x64")
HUGE = 2**30 + 32
BF16_ROWS = [row for row in HALF_ROWS if row in LOADS_1D]
STRICT = "the fpmath mode strict does not allow; tf32, bf16, f16 and any do"
BY_8_BITS = "zero points have to be tensors of 8 bits or fewer"
HALF_POINTS = "less their zero points are f16 in it, for which zero points have to be tensors of 8 bits"


def no_multiple(group: int) -> str:
    return f"multiples of 32, the greatest common divisor here is {group}"


REFUSED = {
    "f32": (ROUNDING, F32, "(src is f32|not f32 by f32|integer weights|mode strict does not allow)"),
    "f32 as bf16": (
        BF16_ROWS, F32,
        "it multiplies f32 as bf16 or sums of two, which the fpmath mode strict does not allow",
    ),
    "f32 by integers as bf16": (BF16_ROWS, F32.but("--dt=f32:u4:f32 --attr-fpmath=strict:true"), STRICT),
    "f32 by integers, strict": (TF32_ROWS, F32.but("--dt=f32:s8:f32 --attr-fpmath=strict:true"), STRICT),
    "f32 by f16": (
        TF32_ROWS, F32.but("--dt=f32:f16:f32 --attr-fpmath=any"),
        "it multiplies f32 by f32 or integers, not f32 by f16",
    ),
    "f32 groups of 16": (
        TF32_ROWS, F32.but("--dt=f32:u8:f32 --attr-fpmath=any:true --attr-scales=wei:3:f32:16x1"),
        no_multiple(16),
    ),
    "f32, s32 zero points": (
        TF32_ROWS, F32.but("--dt=f32:u8:f32 --attr-fpmath=tf32:true --attr-zero-points=wei:2"), BY_8_BITS
    ),
    "bf16 by differences of 9 bits": (
        HALF_ROWS, WIDENED.but("--dt=bf16:u8:f32 --attr-zero-points=wei:2:s8"),
        "u8 weights less s8 zero points reach 383, and bf16 has the integers up to 256 only",
    ),
    "f16, float zero points, strict": (
        HALF_ROWS, WIDENED.but("--attr-fpmath=strict:true --attr-zero-points=wei:2:f16"), HALF_POINTS
    ),
    "f16, float zero points, mode for floats only": (
        HALF_ROWS, WIDENED.but("--attr-fpmath=any --attr-zero-points=wei:2:f16"), HALF_POINTS
    ),
    "f16 by f32": (ROUNDING, F32.but("--dt=f16:f32:f32"), "(src is f16|not f16 by f32|integer weights)"),
    "a dst of f4": (
        [row for row in INT8_ROWS if row in LOADS_1D], INT8.but("--dt=s8:u8:f4_e2m1"),
        "(it does not store f4_e2m1, of which two elements share a byte|its tile is for scales along K)",
    ),
    "f16 in an int8 row": (INT8_ROWS, WIDENED, "it multiplies 8-bit integers, src is f16"),
    "int8 in a half row": (HALF_ROWS, INT8, "(not s8 by u8|integer weights)"),
    "int8 in a float row": (FLOAT_ROWS, INT8, "it multiplies floats, src is s8"),
    "float, K of 72": (
        [row for row in FLOAT_ROWS if tile_of(row).m > 8], F32.but(f"{PACKED_FLOATS} 9x72:72x64"),
        "K is 72, no multiple of 16",
    ),
    "groups of 48": (INT8_ROWS, INT8.but("--attr-zero-points=wei:3:s32:48x1 9x192:192x64"), no_multiple(48)),
    "groups of 64 and 16": (
        INT8_ROWS, INT8.but("--dt=s8:u8:f32 --attr-scales=src:3:f32:1x16+wei:3:f32:64x1"), no_multiple(16)
    ),
    "sums of 8": (
        INT8_ROWS,
        INT8.but("--attr-zero-points=wei:common:1 --attr-precomputed-reductions=src:3:s32:1x8"),
        no_multiple(8),
    ),
    "widened, groups of 16": (HALF_ROWS, WIDENED.but("--attr-scales=wei:3:f32:16x1"), no_multiple(16)),
    "widened, s32 zero points": (HALF_ROWS, WIDENED.but("--attr-zero-points=wei:2"), BY_8_BITS),
    "widened, a host zero point": (
        HALF_ROWS, WIDENED.but("--attr-zero-points=wei:host_scalar:1:u8"), BY_8_BITS
    ),
    "huge K": (INT8_ROWS, INT8.but(shape(1, 64, HUGE)), "up to 2\\^30"),
    "huge M": (INT8_ROWS, INT8.but(shape(HUGE, 64, 256)), "up to 2\\^30"),
    "huge N": (INT8_ROWS, INT8.but(shape(9, HUGE, 256)), "up to 2\\^30"),
    "huge batch of rows": (INT8_ROWS, INT8.but(f"{2**16}x{2**15}x64:1x64x64"), "up to 2\\^30"),
    "huge src": (
        [row for row in INT8_ROWS if row in LOADS_1D], INT8.but(shape(2**24, 64, 256)),
        "(bytes of src and of the weights up to 2\\^32|its tile is for scales along K)",
    ),
    "huge scales": (
        INT8_ROWS, INT8.but(f"--dt=s8:u8:f32 --attr-scales=src:3:f32:1x32 {shape(2**27, 64, 256)}"),
        "bytes of scales, of zero points and of sums of src up to 2\\^31",
    ),
    "huge u2 zero points": (
        INT8_ROWS, INT8.but(f"--dt=s8:u2:s32 --attr-zero-points=wei:3:u2:32x1 {shape(9, 2**30, 256)}"),
        "their elements up to 2\\^32",
    ),
}  # fmt: skip
# src tensors that block loads cannot read. Such weights are packed first (test_xe_pack_first.py).
UNREADABLE = {
    "rows of 60 bytes": INT8.but("9x60:60x64 src_pad=4"),
    "rows of 66 bytes": INT8.but("9x66:66x64 src_pad=14"),
    "rows 72 bytes apart": INT8.but("9x68:68x64 src_pad=4"),
    "one row in each of a batch, 72 bytes apart": INT8.but("3x1x72:1x72x64"),
    "a batch that is a matrix of 2^24 rows": INT8.but(f"{2**20}x16x64:1x64x64"),
    "2^24 rows": INT8.but(shape(2**24, 64, 64)),
    "K outside": INT8.but("--stag=ba 64x64:64x64"),
    "batches 66 bytes apart": INT8.but("--stag=bac 64x2x64:64x64x64 src_pad=2"),
}


@pytest.mark.parametrize(("row", "name"), [(row, name) for name in REFUSED for row in REFUSED[name][0]])
def test_refused(row: str, name: str) -> None:
    _, problem, why = REFUSED[name]
    with pytest.raises(NotImplementedError, match=f"{row}: [^;]*{why}"):
        make_pd(problem)


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize("row", [row for row in LOADING if row in INT8_ROWS])
def test_large_tiles_want_block_loads(row: str, name: str) -> None:
    with pytest.raises(NotImplementedError, match=f"{row}: 2-D block loads cannot read src: they want"):
        make_pd(UNREADABLE[name])


@pytest.mark.parametrize("name", [name for name in UNREADABLE if "2^24" not in name])
def test_the_smallest_tile_gathers(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    smallest = [row for row in INT8_ROWS if row not in LOADING]
    monkeypatch.setenv("ZEMM_KERNEL", smallest[0])
    run_exact(UNREADABLE[name])


def test_another_row_takes_what_these_refuse() -> None:
    for rows, problem, _ in REFUSED.values():
        assert make_pd(problem).impl_info not in rows
