# SPDX-License-Identifier: Apache-2.0
"""Offsets of integer weights, which are scale * value + offset: numbers, and what refuses them.
tests/support/problems.txt has problems of every kind for all rows.
"""

import ml_dtypes
import numpy as np
import pytest
import zemm
from support_calls import Call, fill, make_pd, result, run
from support_cases import ANY, Problem, shape
from support_rows import BY_NAME
from support_tiers import POLICY_ROWS, SMALL_ROWS, in_turns, takes

GROUP = 32
RNG = np.random.default_rng(5)
SRC, WEIGHTS, DST = zemm.ARG_SRC, zemm.ARG_WEIGHTS, zemm.ARG_DST
OFFSETS = zemm.ARG_ATTR_OFFSETS | WEIGHTS


def grouped(src: str, wei: str, offset: str, more: str = "") -> Problem:
    """Four groups along K, with scales and offsets. Seven columns of a tile are missing."""
    of_integers = f"--attr-scales=src:3:f16:1x{GROUP}+wei:3:f16:{GROUP}x1"
    of_floats = f"--attr-scales=wei:3:f16:{GROUP}x1 --attr-fpmath=strict:true"
    return Problem(
        f"--dt={src}:{wei}:f32 {of_integers if src in ('s8', 'u8') else of_floats}"
        f" --attr-offsets=wei:3:{offset}:{GROUP}x1"
        f" {shape(9, 57, 4 * GROUP)} rough"
    ).but(more)


OFTEN = [("s8", "u8"), ("u8", "u8"), ("s8", "s8"), ("u8", "s4"), ("s8", "u4"), ("f32", "u8"), ("f16", "s8")]
ALL = [(src, wei) for src in ("s8", "u8", "f32", "f16", "bf16") for wei in ("s8", "u8", "s4", "u4", "u2")]
# Rows for GPUs take minutes for all.
CASES = [(name, *types) for name, row in BY_NAME.items() for types in (OFTEN if row.is_xe else ALL)]


QUICK = [row for row in BY_NAME if row in (POLICY_ROWS & SMALL_ROWS if BY_NAME[row].is_xe else POLICY_ROWS)]
IS_TURN = in_turns(QUICK[::2], OFTEN, lambda row, types: grouped(*types, "f16", ANY))


@pytest.mark.quick(cases=lambda row, src, wei: IS_TURN(row, (src, wei)))
@pytest.mark.parametrize(("row", "src", "wei"), CASES)
def test_rows(row: str, src: str, wei: str) -> None:
    """Every row in the layout of weights that it prefers, by every pair of types that it takes."""
    problem = grouped(src, wei, "f16", ANY)
    if not takes(row, problem):
        pytest.skip(f"{row}: not on this device")
    run(problem)


@pytest.mark.parametrize("src", ["s8", "u8", "f32", "f16", "bf16"])
@pytest.mark.parametrize("wei", ["s8", "u8", "s4", "u4"])
@pytest.mark.parametrize("offset", ["f32", "f16", "bf16"])
def test_some_row_takes_it(src: str, wei: str, offset: str) -> None:
    assert make_pd(grouped(src, wei, offset)).impl_info


@pytest.mark.each_value
@pytest.mark.parametrize("wei", ["u4", "s8"])
@pytest.mark.parametrize("src", ["s8", "f32"])
@pytest.mark.parametrize("rows", [2, 9])
def test_scales_near_0(src: str, wei: str, rows: int) -> None:
    """A group whose weights are all equal has the scale 0: its offset counts all the same. Infinite values of
    src stay infinite, as no offset has the other sign of its weights.
    """
    problem = grouped(src, wei, "f32", ANY).shaped(rows, 57, 4 * GROUP)
    data = fill(problem)
    scales, offsets = data[zemm.ARG_ATTR_SCALES | WEIGHTS], data[OFFSETS]
    scales[0], scales[1], scales[2, ::2] = 0, 2.0**-24, 0
    offsets[:, :5] = 0
    offsets[1] *= 2.0**20
    run(problem, data)
    if src == "f32":
        data[WEIGHTS][3 * GROUP], scales[3], offsets[3] = 1, 1, -0.5
        data[SRC][0, 3 * GROUP] = np.inf
        assert np.isposinf(result(problem, data)[0]).all()


def test_reductions_of_the_caller() -> None:
    """Offsets are multiplied by the sums of src that the caller passes. With the right sums the bits are
    those without them."""
    plain = grouped("s8", "u8", "f16")
    problem = plain.but(f"--attr-precomputed-reductions=src:3:s32:1x{GROUP}")
    data = fill(problem)
    before = result(problem, data)
    np.testing.assert_array_equal(before, result(plain, data))
    data[zemm.ARG_ATTR_PRECOMPUTED_REDUCTIONS | SRC] += 1000
    after = result(problem, data).astype(np.float64)
    moved = 1000 * data[zemm.ARG_ATTR_SCALES | SRC] @ data[OFFSETS]
    np.testing.assert_allclose(after - before, moved, rtol=1e-3, atol=1.0)


def test_to_s32() -> None:
    """An s32 dst without scales is rounded half to even; the sums alone would be integers."""
    problem = Problem("--dt=s8:s8:s32 --attr-offsets=wei:2:f32 1x4:4x3")
    given = {SRC: 1, WEIGHTS: 1, OFFSETS: [[-0.125, -0.625, 0.375]]}
    assert result(problem, given).tolist() == [[4, 2, 6]]  # 3.5, 1.5 and 5.5


def test_refused_by_the_setter() -> None:
    attr = zemm.Attr()
    with pytest.raises(zemm.InvalidArgumentsError, match=r"arg 1 \(src0\): only weights have offsets"):
        attr.set_offsets(SRC, 3, (1, 32), "f16")
    with pytest.raises(zemm.InvalidArgumentsError, match="data_type s8 is not one of f16, bf16, f32"):
        attr.set_offsets(WEIGHTS, 3, (32, 1), "s8")
    with pytest.raises(zemm.InvalidArgumentsError, match="groups with mask 0"):
        attr.set_offsets(WEIGHTS, 0, (32, 1), "f16")


REFUSED = [
    (
        grouped("s8", "u8", "f16", f"--attr-zero-points=wei:3:u8:{GROUP}x1"),
        zemm.InvalidArgumentsError,
        "leave the zero points out and pass offsets less scale",
    ),
    (
        grouped("f16", "f8_e4m3", "f16"),
        zemm.UnimplementedError,
        "weights offsets need weights of a type among s8 u8 s4 u4 u2 u3, not f8_e4m3",
    ),
    (
        grouped("s8", "u8", "f16", "--attr-offsets=wei:7:f16:32x1"),
        zemm.UnimplementedError,
        "weights offsets: mask 7 has bits past the 2 dimensions",
    ),
    (
        grouped("s8", "u8", "f16", "--attr-scales=wei:2 --attr-precomputed-reductions=src:3:s32:1x64"),
        zemm.InvalidArgumentsError,
        "precomputed reductions: the group 64 must divide the K group 32 of the weights offsets",
    ),
]


@pytest.mark.parametrize(("problem", "error", "sentence"), REFUSED)
def test_refused(problem: Problem, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        make_pd(problem)


def test_reorders_refuse(engine: zemm.Engine) -> None:
    attr, md = zemm.Attr(), zemm.MemoryDesc((4, 8), "f32")
    attr.set_offsets(WEIGHTS, 0)
    with pytest.raises(zemm.InvalidArgumentsError, match="a reorder has no offsets: a matmul has"):
        zemm.ReorderPrimitiveDesc(engine, md, zemm.MemoryDesc((4, 8), "s8"), attr)


def test_arguments_of_an_execution(stream: zemm.Stream) -> None:
    """Offsets are passed where they were declared, and nowhere else."""
    problem = grouped("s8", "u8", "f16")
    call = Call(problem)
    offsets = call.args.pop(OFFSETS)
    with pytest.raises(zemm.InvalidArgumentsError, match=r"ARG_ATTR_OFFSETS \| ARG_WEIGHTS is missing"):
        zemm.Primitive(call.pd).execute(stream, call.args)
    call = Call(problem.but("--attr-offsets="))
    call.args[OFFSETS] = offsets
    with pytest.raises(zemm.InvalidArgumentsError, match=r"ARG_ATTR_OFFSETS \| ARG_WEIGHTS is surplus"):
        zemm.Primitive(call.pd).execute(stream, call.args)


def test_never_confused() -> None:
    """Primitives that differ in their offsets only: each has its own numbers and kernel."""
    points = grouped("s8", "u8", "f16", f"--attr-offsets= --attr-zero-points=wei:3:f16:{GROUP}x1")
    variants = [
        points,
        grouped("s8", "u8", "f16"),
        grouped("s8", "u8", "f32"),
        grouped("s8", "u8", "f16", "--attr-offsets=wei:2:f16"),
        points.but("--attr-zero-points="),
    ]
    for _ in range(2):  # the second time decisions and primitives are known
        for problem in variants:
            run(problem)
    kernels = {tuple(sorted(make_pd(p).modules()[0].constants.items())) for p in variants}
    assert len(kernels) == len(variants) - 1  # groups of offsets are data


MINIMUMS = RNG.standard_normal((4, 48)).astype(np.float16)


@pytest.mark.parametrize("transposed", [False, True])
def test_packed(engine: zemm.Engine, transposed: bool) -> None:
    """zemm.pack(offsets=) keeps them, and so do its parts; zemm.matmul() gives the bits of plain weights."""
    values = RNG.integers(0, 16, (2, 128, 48)).astype(np.uint8)
    scales = RNG.uniform(0.5, 1, (2, 4, 48)).astype(np.float16)
    offsets = np.stack([MINIMUMS, -MINIMUMS])
    x = RNG.integers(-128, 128, (5, 128)).astype(np.int8)
    src_scales = RNG.uniform(0.5, 1, (5, 4)).astype(np.float32)
    stored, s, o = (a.swapaxes(-1, -2) if transposed else a for a in (values, scales, offsets))
    packed = zemm.pack(
        zemm.pack_int4(np.ascontiguousarray(stored)),
        s,
        offsets=o,
        weights_dtype="u4",
        src_dtype="s8",
        transposed=transposed,
        engine=engine,
    )
    assert "with scales and offsets, group 32" in repr(packed)
    real = values * np.repeat(scales.astype(float), 32, 1) + np.repeat(offsets.astype(float), 32, 1)
    sums = x.reshape(5, 4, 32).sum(axis=-1, dtype=np.int32)
    for expert in range(2):
        got = zemm.matmul(x, packed[expert], src_scales=src_scales, reductions=sums)
        expected = x * np.repeat(src_scales.astype(float), 32, 1) @ real[expert]
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=0.1)
        plain = zemm.matmul(
            x,
            zemm.pack_int4(values[expert]),
            weights_dtype="u4",
            src_scales=src_scales,
            weights_scales=scales[expert],
            weights_offsets=offsets[expert],
            engine=engine,
        )
        np.testing.assert_allclose(got, plain, rtol=1e-5, atol=0.05)
    with pytest.raises(zemm.InvalidArgumentsError, match="weights_offsets is given, but packed weights have"):
        zemm.matmul(x, packed[0], src_scales=src_scales, weights_offsets=0.5)


@pytest.mark.parametrize("offset", [0.5, np.float64(0.5), 1, np.full(48, 0.5, ml_dtypes.bfloat16)])
def test_one_for_many(engine: zemm.Engine, offset: object) -> None:
    x, w = np.ones((2, 8), np.float32), np.ones((8, 48), np.uint8)
    got = zemm.matmul(x, w, weights_scales=2.0, weights_offsets=offset, engine=engine)  # type: ignore[arg-type]
    assert (got == 8 * (2 + np.asarray(offset, np.float32))).all()


def test_wrong_offsets(engine: zemm.Engine) -> None:
    x, w = np.ones((2, 8), np.float32), np.ones((8, 48), np.uint8)
    with pytest.raises(zemm.InvalidArgumentsError, match=r"weights_offsets of shape \(3, 48\) does not fit"):
        zemm.matmul(x, w, weights_offsets=np.ones((3, 48)), engine=engine)
    with pytest.raises(zemm.InvalidArgumentsError, match="weights_offsets has type f8_e4m3, not"):
        zemm.matmul(x, w, weights_offsets=np.ones(48, ml_dtypes.float8_e4m3fn), engine=engine)
