# SPDX-License-Identifier: Apache-2.0
"""What descriptors of matmuls, reorders and quantisations refuse: the error, and words of its sentence.
docs/features.md has more, as case lines."""

import re
from typing import Any

import pytest
import zemm
from zemm import ARG_DST, ARG_SRC, ARG_WEIGHTS, RUNTIME_DIM, Attr, MemoryDesc, PostOps

# Calls of the functions below, and a regular expression that the sentence has.
UNIMPLEMENTED = r"""
# ---- groups of rows
matmul(GROUPS, md(16, 8), ROWS) -- weights: 2 dimensions
matmul(GROUPS, csr((16, 8), "f32", 3), ROWS) -- must be dense
matmul(GROUPS, md(3, 16, 8), ROWS) -- the number of groups, 2
matmul(GROUPS, md(2, 16, RUNTIME_DIM), ROWS) -- known
matmul(GROUPS, STACK, rows(6, 8, count=3)) -- dst: 3 groups, src has 2
matmul(GROUPS, STACK, md(2, 6, 8)) -- dst: must be grouped along dimension 0
matmul(GROUPS, STACK, rows(6, 8, axis=1)) -- dst: grouped along dimension 1
matmul(GROUPS, md(2, 12, 8), ROWS) -- K differs
matmul(GROUPS, STACK, rows(5, 8)) -- M differs
matmul(GROUPS, STACK, rows(6, 9)) -- N differs
matmul(GROUPS, STACK, ROWS, md(1, 8)) -- 2x8 .groups x N., not 1x8
matmul(rows(6, 16, dt="f64"), md(2, 16, 8, dt="f64"), rows(6, 8, dt="f64")) -- f64
matmul(rows(6, 16, dt="s32"), STACK, ROWS) -- no accumulation type
matmul(md(6, 16), rows(16, 8), md(6, 8)) -- weights: grouped, but src
matmul(GROUPS, STACK, ROWS, attr=ops("sum")) -- eltwise, binary_mul and
matmul(GROUPS, STACK, ROWS, attr=ops("binary", "binary_add", md(6, 1))) -- eltwise, binary_mul and
matmul(GROUPS, STACK, ROWS, attr=mul_by(md(1, 1))) -- not dims 1x1
matmul(GROUPS, STACK, ROWS, attr=mul_by(md(1, 8))) -- not dims 1x8
matmul(GROUPS, STACK, ROWS, attr=mul_by(md(6, 1, dt="f64"))) -- src1 .* cannot be f64
matmul(GROUPS, STACK, ROWS, attr=mul_by(rows(6, 8, count=3))) -- 2 groups along dimension 0
matmul(GROUPS, STACK, ROWS, attr=attr(("scales", DST, 0))) -- scales of dst
matmul(GROUPS, md(2, 16, 8, dt="s8"), ROWS, attr=attr(("zero_points", SRC, 0))) -- a floating-point src
matmul(S8_GROUPS, md(2, 16, 8, dt="s8"), ROWS, attr=attr(("scales", SRC, 4))) -- bits past the 2 dimensions
matmul(S8_GROUPS, md(2, 16, 8, dt="u8"), ROWS, attr=SUMS_OF_ROWS) -- must cover both dimensions
matmul(GROUPS, STACK, ROWS, attr=attr(("dropout",))) -- dropout
matmul(GROUPS, STACK, ROWS).tuning() -- cannot be tuned: its kernel depends on the sizes
# ---- groups of K
matmul(K_SRC, rows(16, 8), md(2, 6, 8), md(2, 8)) -- groups of K has no bias
matmul(K_SRC, rows(16, 8), md(2, 6, 8), attr=ops("eltwise", "relu")) -- groups of K
matmul(K_SRC, rows(16, 8), md(2, 6, 8), attr=attr(("scales", SRC, 0))) -- groups of K
matmul(K_SRC, rows(16, 8, axis=1), md(2, 6, 8)) -- grouped along
matmul(K_SRC, rows(16, 8), md(2, 6, 8, tag="aBc8b")) -- no blocks
# ---- sparse tensors of a matmul
matmul(csr((5, 12), "f32", 3), csr((12, 7), "f32", 3), md(5, 7)) -- both sparse
matmul(md(5, 12), md(12, 7), csr((5, 7), "f32", 3)) -- dst: the csr encoding
matmul(csr((5, 12), "f32", 3, "s64", "s64"), md(12, 7), md(5, 7)) -- indices of s64
matmul(csr((5, 12), "f32", 3, "s8"), md(12, 7), md(5, 7)) -- indices of s8
matmul(csr((5, 12), "f32", 3, "s32", "f16"), md(12, 7), md(5, 7)) -- indices of f16
matmul(csr((5, 12), "s8", 3), md(12, 7, dt="s8"), md(5, 7)) -- csr encoding needs f32 or f16
matmul(packed((5, 12), "s8", 3), md(12, 7, dt="s8"), md(5, 7)) -- src: the packed
matmul(md(5, 12, dt="s8"), packed((12, 7), "u8", 3), md(5, 7)) -- needs s8, not u8
matmul(md(5, 12), packed((12, 7), "f32", 3), md(5, 7)) -- needs s8, not f32
matmul(md(5, 12), md(12, 7), rows(5, 7)) -- dst: grouped, but src
matmul(csr((5, 12), "f32", RUNTIME_DIM), md(12, 7), md(5, 7)) -- known number of values
# ---- a reduced range
matmul(md(4, 8), md(8, 6), md(4, 6), attr=attr(("reduced_range", SRC))) -- src needs an s8 or u8 src, not f32
reorder(md(), S8, attr(("reduced_range", DST))) -- dst needs an s8 or u8 dst with dynamic_fp scales
reorder(S8, S8, attr(("reduced_range", DST))) -- dst needs an s8 or u8 dst with dynamic_fp scales
# ---- reorders
reorder(S64, md()) -- s64
reorder(S64, S64, attr(("scales", SRC, 0))) -- s64
reorder(md(3, 4), MemoryDesc((3, 4), "f32", strides=(0, 1))) -- stride 0 along dimension 0 would put 3
reorder(md(8, dt="u4"), md(16, dt="u4").submemory((8,), (3,))) -- whole bytes
reorder(md(), S8, attr(("scales", WEIGHTS, 0))) -- 33
reorder(md(), md(), ops("eltwise", "relu")) -- eltwise
reorder(md(), S8, ops("sum", 1.0, 3)) -- zero point 3
reorder(md(), S8, attr(("precomputed_reductions", SRC, 3, (1, 32)))) -- dynamic_fp
reorder(md(), S8, attr(("dropout",))) -- dropout
# ---- reorders with stochastic rounding
reorder(md(), S8, STOCHASTIC) -- stochastic
reorder(md(), md(dt="bf16"), STOCHASTIC) -- stochastic rounding .* not from f32 to bf16
reorder(md(), md(dt="f4_e2m1"), STOCHASTIC) -- stochastic rounding .* not from f32 to f4_e2m1
reorder(S8, F8, STOCHASTIC) -- stochastic rounding .* not from s8 to f8_e4m3
reorder(md(dt="f64"), F8, STOCHASTIC) -- stochastic rounding .* not from f64 to f8_e4m3
reorder(md(dt="f8_e5m2"), F8, STOCHASTIC) -- stochastic rounding .* not from f8_e5m2 to f8_e4m3
reorder(md(), csr((4, 64), "f8_e4m3", 3), STOCHASTIC) -- excludes .* sparse
# ---- reorders with dynamic scales: integers
reorder(md(), S8, dynamic(dt="e8m0")) -- e8m0
reorder(md(), S8, dynamic(arg=SRC)) -- dst
reorder(md(), S8, dynamic("dynamic_mx")) -- dynamic_mx
reorder(md(), md(dt="s4"), dynamic()) -- s4
reorder(md(), F8, dynamic()) -- f8_e4m3
reorder(md(), md(dt="u8"), dynamic()) -- zero points
reorder(md(), S8, dynamic(more=[("zero_points", DST, 3)])) -- symmetric
reorder(md(tag="ba"), S8, dynamic()) -- stride 1
reorder(md(), S8, dynamic(groups=(2, 32))) -- group 2
reorder(md(), S8, dynamic(mask=0, groups=())) -- mask 0
reorder(md(4, 2**25), md(4, 2**25, dt="s8"), LONG_SUMS) -- 16909320 s8.*33554432
reorder(md(4, 96), md(4, 96, dt="s8"), dynamic(more=[("precomputed_reductions", DST, 3, (1, 48))])) -- 48.*32
# ---- reorders with dynamic scales: floats
reorder(md(), F8, dynamic("dynamic_mx", dt="f8_e4m3")) -- type e8m0 and groups of 1x32 or 32x1
reorder(md(), F8, MX16) -- 1x32
reorder(md(64, 64), md(64, 64, dt="f8_e4m3"), dynamic("dynamic_mx", dt="e8m0", groups=(32, 32))) -- 1x32
reorder(md(2, 4, 64), md(2, 4, 64, dt="f8_e4m3"), dynamic("dynamic_mx", dt="e8m0", mask=6)) -- mask 7
reorder(md(), F8, dynamic(dt="f8_e4m3")) -- groups of 1x16
reorder(md(), S8, MX) -- needs a dst of f8_e5m2 f8_e4m3 f4_e2m1
reorder(md(), md(dt="f16"), MX) -- needs a dst of
reorder(md(), md(dt="e8m0"), MX) -- needs a dst of
reorder(md(dt="f64"), F8, MX) -- not f64: reorder src to f32
reorder(S8, F8, MX) -- not s8
reorder(md(), F8, dynamic("dynamic_mx", dt="e8m0", more=[("scales", SRC, 0)])) -- exclude
reorder(md(), F8, MX_AND_SUMS) -- exclude
# ---- reorders of sparse tensors
reorder(md(dt="u4"), csr((4, 64), "u4", 5)) -- dst: values of u4
reorder(coo((4, 64), "e8m0", 5), md(dt="e8m0")) -- src: values of e8m0
reorder(rows(4, 64), md()) -- src: the grouped encoding
reorder(S8, packed((4, 64), "s8", 5)) -- dst: the packed .* no layout
reorder(md(), CSR, ops("sum")) -- sum needs a dense dst
reorder(CSR, S8, dynamic()) -- dense tensors
reorder(csr((4, 64), "f32", RUNTIME_DIM), md()) -- known number of values
reorder(csr((4, 64), "f32", 5, "s8"), md()) -- indices of s8
reorder(CSR, csr((4, 64), "f32", 5, "s32", "f32")) -- indices of f32
reorder(CSR, S64) -- conversion of data type s64
reorder(csr((4, 2**40), "f32", 5), md(4, 2**40)) -- indices of s32 do not reach 1099511627776
# ---- dynamic quantisation
quantise(md(), S8, md(1, 64)) -- a value per row
quantise(md(), S8, md(4, 1, dt="s32")) -- s32
quantise(md(), S8, md(4, 2, tag="ba")) -- dense and row-major
quantise(md(dt="s32"), S8, SCALE) -- s32
quantise(md(tag="ba"), S8, SCALE) -- stride 1
quantise(md(tag="ba"), S8, md(1, 1)) -- dense
quantise(md(RUNTIME_DIM, 64), S8, SCALE) -- runtime
quantise(md(), S8, SCALE, attr=attr(("scales", SRC, 0))) -- scratchpad mode
"""
INVALID = r"""
# ---- a matmul
matmul(md(2, 2), zero(), md(2, 2)) -- weights
matmul(zero(), md(2, 2), md(2, 2)) -- src
matmul(md(2, 2), md(2, 2), zero()) -- dst
matmul(scalar("f32"), md(2, 2), md(2, 2)) -- src
matmul(md(2, 2), scalar("f32"), md(2, 2)) -- weights
matmul(md(2, 2), md(2, 2), scalar("f32")) -- dst
matmul(md(2, 2), md(2, 2), md(2, 2), scalar("f32")) -- bias
matmul(GROUPS, STACK, ROWS, attr=mul_by(md(1, 6, 8))) -- 3 dimensions
matmul(md(2, 5, dt="s8"), packed((5,), "s8", 0), md(2, 5, dt="s32")) -- a matmul takes 2 to 12
attr(("reduced_range", WEIGHTS)) -- only src of a matmul and dst of a reorder have a reduced range
matmul(S8, md(64, 6, dt="s8"), md(4, 6), attr=attr(("reduced_range", DST))) -- a matmul has that of src
reorder(md(), S8, attr(("reduced_range", SRC))) -- reduced range of src: a reorder has that of dst
# ---- runtime dimensions
matmul(md(RUNTIME_DIM, 4), md(4, 6), md(5, 6)) -- M differs
matmul(md(5, RUNTIME_DIM), md(4, 6), md(5, 6)) -- K differs
matmul(md(5, 4), md(4, RUNTIME_DIM), md(5, 6)) -- N differs
matmul(md(RUNTIME_DIM, 3, 3), md(2, 3, 3), md(RUNTIME_DIM, 3, 3)) -- batch dimension 0
matmul(md(RUNTIME_DIM, 3, 3), md(1, 3, 3), md(RUNTIME_DIM, 3, 3)) -- batch dimension 0
matmul(md(RUNTIME_DIM, 4), md(4, 6), md(RUNTIME_DIM, 6), md(5, 6)) -- bias
reorder(md(RUNTIME_DIM, RUNTIME_DIM), md(RUNTIME_DIM, 5)) -- dimensions differ
# ---- reorders
reorder(md(), md(4, 65)) -- 4x64.*4x65
reorder(CSR, md(4, 65)) -- 4x64.*4x65
reorder(md(), md(4, 64, 1)) -- 4x64x1
reorder(md(), md(tag="any")) -- dst.*any
reorder(zero(), md()) -- src
reorder(scalar("f32"), md()) -- src
reorder(md(), S8, attr(("scales", SRC, 4))) -- mask 4
reorder(md(), S8, attr(("scales", SRC, 2, (1, 32)))) -- 1x32
reorder(md(dt="u4"), md(), attr(("scales", SRC, 0))) -- u4.*mask
reorder(md(), S8, attr(("zero_points", SRC, 0))) -- f32
# ---- dynamic quantisation
quantise(md(), md(dt="u8"), SCALE) -- quantises to s8, dst has data type u8
quantise(md(), S8, SCALE, md(4, 1, dt="s32")) -- quantises to u8, dst has data type s8
quantise(md(), md(4, 32, dt="s8"), SCALE) -- dimensions differ
quantise(md(), S8, md(3, 1)) -- scale has dims 3x1 and src 4x64
quantise(md(), S8, md(4, 5)) -- 5 groups
quantise(md(), S8, md(4, 0)) -- 0 groups
quantise(md(), S8, md(4)) -- scale has 1 dimensions, src 2
quantise(md(), md(dt="u8"), SCALE, md(4, 2, dt="s32")) -- zero_point has dims 4x2, scale 4x1
quantise(md(), md(dt="u8"), SCALE, md(4, 1, dt="s8")) -- zero_point has data type s8, not s32
quantise(md(), S8, SCALE, None, md(4, 1)) -- reductions has data type f32
quantise(md(), S8, SCALE, None, md(4, 5, dt="s32")) -- 5 groups
"""
TABLE = {zemm.UnimplementedError: UNIMPLEMENTED, zemm.InvalidArgumentsError: INVALID}
LINES = [
    (error, *line.split(" -- "))
    for error, text in TABLE.items()
    for line in text.splitlines()
    if line and line[0] != "#"
]


def md(*dims: int, dt: Any = "f32", tag: str | None = None) -> MemoryDesc:
    return MemoryDesc(dims or (4, 64), dt, tag or "abc"[: len(dims or (4, 64))])


def rows(*dims: int, count: int = 2, dt: Any = "f32", axis: int = 0) -> MemoryDesc:
    return MemoryDesc.grouped(dims, dt, axis, count)


def attr(*calls: tuple[Any, ...]) -> Attr:
    made = Attr()
    for what, *args in calls:
        getattr(made, f"set_{what}")(*args)
    return made


def ops(kind: str, *args: Any) -> Attr:
    made = PostOps()
    getattr(made, f"append_{kind}")(*args)
    return attr(("post_ops", made))


def mul_by(factors: MemoryDesc) -> Attr:
    return ops("binary", "binary_mul", factors)


def dynamic(
    mode: str = "dynamic_fp",
    arg: int = ARG_DST,
    mask: int = 3,
    groups: tuple[int, ...] = (1, 32),
    dt: str = "f32",
    more: Any = (),
) -> Attr:
    return attr(("scales", arg, mask, groups, dt, False, mode), *more)


NAMES = {
    **globals(),
    **{
        "zero": MemoryDesc.zero,
        "scalar": MemoryDesc.host_scalar,
        "csr": MemoryDesc.csr,
        "coo": MemoryDesc.coo,
    },
    **{"packed": MemoryDesc.packed, "SRC": ARG_SRC, "WEIGHTS": ARG_WEIGHTS, "DST": ARG_DST},
    **{f"{dt.upper()[:3].rstrip('_')}": md(dt=dt) for dt in ("s8", "s64", "f8_e4m3")},
    "RUNTIME_DIM": RUNTIME_DIM,
    "GROUPS": rows(6, 16),
    "S8_GROUPS": rows(6, 16, dt="s8"),
    "STACK": md(2, 16, 8),
    "ROWS": rows(6, 8),
    "K_SRC": rows(6, 16, axis=1),
    "CSR": MemoryDesc.csr((4, 64), "f32", 5),
    "SCALE": md(4, 1),
    "STOCHASTIC": attr(("rounding", ARG_DST, "stochastic")),
    "MX": dynamic("dynamic_mx", dt="e8m0"),
    "MX_AND_SUMS": dynamic("dynamic_mx", dt="e8m0", more=[("precomputed_reductions", ARG_DST, 3, (1, 32))]),
    "MX16": dynamic("dynamic_mx", dt="e8m0", groups=(1, 16)),
    "SUMS_OF_ROWS": attr(("zero_points", ARG_WEIGHTS, 5, (), "u8"), ("precomputed_reductions", ARG_SRC, 1)),
    "LONG_SUMS": dynamic(mask=1, groups=(), more=[("precomputed_reductions", ARG_DST, 3, (1, 2**25))]),
}


@pytest.mark.parametrize(("error", "call", "words"), LINES, ids=[call for _, call, _ in LINES])
def test_refused(engine: zemm.Engine, error: type[Exception], call: str, words: str) -> None:
    makers = {
        "matmul": lambda *mds, **more: zemm.MatmulPrimitiveDesc(engine, *mds, **more),
        "reorder": lambda *mds: zemm.ReorderPrimitiveDesc(engine, *mds),
        "quantise": lambda *mds, **more: zemm.DynamicQuantizePrimitiveDesc(engine, *mds, **more),
    }
    with pytest.raises(error) as caught:
        eval(call, NAMES | makers)
    assert re.search(words, str(caught.value)), str(caught.value)
