# SPDX-License-Identifier: Apache-2.0
"""Scales and offsets of weights in two levels: integers of short groups, times a float of a longer one."""

import itertools

import ml_dtypes
import numpy as np
import pytest
import zemm
from support_calls import Call, fill, make_pd, result, run
from support_cases import ANY, Problem, shape
from support_rows import BY_NAME
from support_tiers import POLICY_ROWS, SMALL_ROWS, in_turns, takes

WEIGHTS = zemm.ARG_WEIGHTS
SCALES, OFFSETS = zemm.ARG_ATTR_SCALES | WEIGHTS, zemm.ARG_ATTR_OFFSETS | WEIGHTS
SCALE_FACTORS = zemm.ARG_ATTR_SCALE_FACTORS | WEIGHTS
OFFSET_FACTORS = zemm.ARG_ATTR_OFFSET_FACTORS | WEIGHTS


def problem(
    src: str, wei: str, scale: str = "u8", offset: str = "u8", factor: str = "f16", group: int = 32,
    factor_group: int = 128, m: int = 9, n: int = 57, k: int = 512, more: str = "",
) -> Problem:  # fmt: skip
    """offset: its type, or "none". Seven columns of a tile are missing."""
    floats = src not in ("s8", "u8")
    of_src = "" if floats else f"src:3:f32:1x{group}+"
    words = [f"--dt={src}:{wei}:f32 --attr-scales={of_src}wei:3:{scale}:{group}x1"]
    words.append(f"--attr-scale-factors=wei:3:{factor}:{factor_group}x1")
    if offset != "none":
        words.append(f"--attr-offsets=wei:3:{offset}:{group}x1")
        words.append(f"--attr-offset-factors=wei:3:{factor}:{factor_group}x1")
    if floats:
        words.append("--attr-fpmath=strict:true")
    return Problem(f"{' '.join(words)} {shape(m, n, k)} rough").but(more)


OFTEN = [("s8", "u4"), ("u8", "u8"), ("f32", "u4"), ("f16", "s8")]
ALL = [(src, wei) for src in ("s8", "u8", "f32", "f16", "bf16") for wei in ("s8", "u8", "s4", "u4", "u2")]
# Rows for GPUs take minutes for all.
CASES = [(name, *types) for name, row in BY_NAME.items() for types in (OFTEN if row.is_xe else ALL)]
QUICK = [row for row in BY_NAME if row in (POLICY_ROWS & SMALL_ROWS if BY_NAME[row].is_xe else POLICY_ROWS)]
IS_TURN = in_turns(QUICK[::2], OFTEN, lambda row, types: problem(*types, more=ANY))


@pytest.mark.quick(cases=lambda row, src, wei: IS_TURN(row, (src, wei)))
@pytest.mark.parametrize(("row", "src", "wei"), CASES)
def test_rows(row: str, src: str, wei: str) -> None:
    """Every row in the layout of weights that it prefers, by every pair of types that it takes. Some take no
    offsets."""
    both = [problem(src, wei, offset=offset, more=ANY) for offset in ("u8", "none")]
    p = next((p for p in both if takes(row, p)), None)
    if p is None:
        pytest.skip(f"{row}: not on this device")
    run(p)


ROWS, COLUMNS = (1, 2, 4, 5, 33), (64, 57, 145)
# Groups of scales and of factors, and K. The last of either may be shorter, and factors may be for all of K.
GROUPS = (
    (32, 256, 1024), (16, 256, 768), (32, 32, 320), (16, 64, 336), (32, 64, 200), (16, 1024, 1024),
    (64, 256, 640),
)  # fmt: skip
KINDS = list(
    itertools.product(
        ("s8", "u8", "f32", "f16", "bf16"), ("u4", "s8", "u8", "s4"), ("u8", "s8"), ("none", "u8", "s8")
    )
)


def member(number: int) -> Problem:
    """Number chooses what pairs of types leave open, in turns of different lengths."""
    src, wei, scale, offset = KINDS[number % len(KINDS)]
    group, factor_group, k = GROUPS[number % len(GROUPS)]
    factor = ("f16", "f32", "bf16")[number // 2 % 3]
    m, n = ROWS[(number + number // 5) % len(ROWS)], COLUMNS[number // 3 % len(COLUMNS)]
    return problem(src, wei, scale, offset, factor, group, factor_group, m, n, k, ANY)


@pytest.mark.quick(cases=lambda number: number % 9 == 0)
@pytest.mark.parametrize("number", range(2 * len(KINDS)))
def test_family(number: int) -> None:
    run(member(number))


@pytest.mark.each_value
@pytest.mark.parametrize("m", [1, 4, 33])
@pytest.mark.parametrize(
    ("src", "wei"), [("s8", "u4"), ("f32", "u4"), ("s8", "s8"), ("f16", "u8"), ("f32", "s8")]
)
@pytest.mark.parametrize("offset", ["none", "u8"])
def test_bits_of_one_level(src: str, wei: str, m: int, offset: str) -> None:
    """f32 holds an integer of 8 bits times an f16: the result has the bits of f32 scales and offsets."""
    p = problem(src, wei, offset=offset, factor_group=256, m=m, more=ANY)
    data = fill(p)
    plain = p.but("--attr-scale-factors= --attr-offset-factors=")
    plain = Problem(plain.line.replace("wei:3:u8:", "wei:3:f32:"))
    given = {arg: values for arg, values in data.items() if arg not in (SCALE_FACTORS, OFFSET_FACTORS)}
    given[SCALES] = data[SCALES] * np.repeat(data[SCALE_FACTORS], 8, 0)
    if offset != "none":
        given[OFFSETS] = data[OFFSETS] * np.repeat(data[OFFSET_FACTORS], 8, 0)
    np.testing.assert_array_equal(result(p, data), result(plain, given))


def test_factors_of_0() -> None:
    """Scales of 0: offsets count all the same."""
    p = problem("f32", "u8", m=2, more=ANY)
    data = fill(p)
    data[SCALE_FACTORS][1] = data[SCALE_FACTORS][2, ::2] = data[SCALES][1] = 0
    run(p, data)


def test_refused_by_the_setters() -> None:
    attr = zemm.Attr()
    with pytest.raises(zemm.InvalidArgumentsError, match="data_type u8 is not one of f32, bf16, f16, e8m0"):
        attr.set_scales(WEIGHTS, 3, (32, 1), "u8")
    attr.set_scale_factors(WEIGHTS, 3, (64, 1), "f16")
    attr.set_scales(WEIGHTS, 3, (32, 1), "u8")
    with pytest.raises(
        zemm.InvalidArgumentsError, match="f16 is not one of s8, u8, as factors are set for it"
    ):
        attr.set_scales(WEIGHTS, 3, (32, 1), "f16")
    with pytest.raises(
        zemm.InvalidArgumentsError, match=r"arg 1 \(src0\): only offsets of weights have factors"
    ):
        attr.set_offset_factors(zemm.ARG_SRC, 3, (1, 32), "f16")


REFUSED = [
    (
        "--attr-scales=",
        zemm.InvalidArgumentsError,
        "weights scale factors: there are no scales of the weights",
    ),
    ("--attr-offsets=", zemm.InvalidArgumentsError, "weights offset factors: there are no offsets of the"),
    (
        "--attr-scale-factors=wei:3:f16:48x1",
        zemm.UnimplementedError,
        "weights scale factors: the K group 48 is not a multiple of the group 32 of the scales",
    ),
    (
        "--attr-offset-factors=wei:3:f16:16x1",
        zemm.UnimplementedError,
        "weights offset factors: the K group 16 is not a multiple of the group 32 of the offsets",
    ),
    (
        "--attr-scale-factors=wei:7:f16:64x1",
        zemm.UnimplementedError,
        "weights scale factors: mask 7 has bits that the mask 3 of the scales has not",
    ),
    (
        "--attr-scales=src:3:f32:1x32+wei:2:u8 --attr-scale-factors=wei:2:f16",
        zemm.UnimplementedError,
        "the scales need several groups along K, not one of all 512 elements",
    ),
    (
        "--attr-scale-factors=wei:3:f16:64x19",
        zemm.UnimplementedError,
        "weights scale factors: the group 19 along N is not a multiple of 16",
    ),
]


@pytest.mark.parametrize(("more", "error", "sentence"), REFUSED)
def test_refused(more: str, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        make_pd(problem("s8", "u4", more=more))


def test_factors_after_scales() -> None:
    """The setters allow what the matmul's descriptor refuses."""
    attr = zemm.Attr()
    attr.set_scales(WEIGHTS, 3, (32, 1), "f16")
    attr.set_scale_factors(WEIGHTS, 3, (64, 1), "f16")
    mds = [zemm.MemoryDesc(dims, dt) for dims, dt in (((2, 64), "s8"), ((64, 8), "u8"), ((2, 8), "f32"))]
    with pytest.raises(zemm.UnimplementedError, match="scales are f16, with factors they must be s8 or u8"):
        zemm.MatmulPrimitiveDesc(zemm.Engine("cpu"), *mds, None, attr)


def test_other_primitives_refuse(engine: zemm.Engine) -> None:
    attr, md = zemm.Attr(), zemm.MemoryDesc((4, 8), "f32")
    attr.set_scale_factors(WEIGHTS, 0)
    with pytest.raises(zemm.InvalidArgumentsError, match="a reorder has no scale factors: a matmul has"):
        zemm.ReorderPrimitiveDesc(engine, md, zemm.MemoryDesc((4, 8), "s8"), attr)
    with pytest.raises(zemm.UnimplementedError, match="an inner product has no scale factors: a matmul has"):
        zemm.InnerProductPrimitiveDesc(
            engine, md, zemm.MemoryDesc((3, 8), "f32"), zemm.MemoryDesc((4, 3), "f32"), None, attr
        )


@pytest.mark.parametrize("arg", [SCALE_FACTORS, OFFSET_FACTORS])
def test_arguments_of_an_execution(stream: zemm.Stream, arg: int) -> None:
    """Factors are passed where they were declared, and nowhere else."""
    name = {SCALE_FACTORS: "SCALE_FACTORS", OFFSET_FACTORS: "OFFSET_FACTORS"}[arg]
    call = Call(problem("s8", "u8"))
    factors = call.args.pop(arg)
    with pytest.raises(zemm.InvalidArgumentsError, match=rf"ARG_ATTR_{name} \| ARG_WEIGHTS is missing"):
        zemm.Primitive(call.pd).execute(stream, call.args)
    call = Call(
        Problem(
            problem("s8", "u8")
            .but("--attr-scale-factors= --attr-offset-factors=")
            .line.replace("wei:3:u8", "wei:3:f16")
        )
    )
    call.args[arg] = factors
    with pytest.raises(zemm.InvalidArgumentsError, match=rf"ARG_ATTR_{name} \| ARG_WEIGHTS is surplus"):
        zemm.Primitive(call.pd).execute(stream, call.args)


def test_never_confused() -> None:
    """Primitives that differ in their factors only: each has its own numbers."""
    variants = [
        problem("s8", "u8"),
        problem("s8", "u8", factor="f32"),
        problem("s8", "u8", factor_group=64),
        problem("s8", "u8", more="--attr-offset-factors=wei:3:f32:128x1"),
        problem("s8", "u8", more="--attr-scale-factors=wei:2:f16"),
        problem("s8", "u8", offset="none"),
    ]
    for _ in range(2):  # the second time decisions and primitives are known
        for p in variants:
            run(p)
    kernels = {tuple(sorted(make_pd(p).modules()[0].constants.items())) for p in variants}
    assert len(kernels) == len(variants) - 2  # groups of factors are data


RNG = np.random.default_rng(5)
E, K, N, GROUP, FACTOR_GROUP = 2, 256, 48, 32, 128


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, ml_dtypes.bfloat16])
def test_packed(engine: zemm.Engine, transposed: bool, dtype: type) -> None:
    """zemm.pack() keeps factors, and so do its parts; zemm.matmul() gives the same with plain weights."""
    values = RNG.integers(0, 16, (E, K, N)).astype(np.uint8)
    scales = RNG.integers(0, 64, (E, K // GROUP, N)).astype(np.uint8)
    offsets = RNG.integers(-32, 32, (E, K // GROUP, N)).astype(np.int8)
    factors = RNG.uniform(-0.1, 0.1, (2, E, K // FACTOR_GROUP, N)).astype(dtype)
    x = RNG.integers(-128, 128, (5, K)).astype(np.int8)
    src_scales = RNG.uniform(0.5, 1, (5, K // GROUP)).astype(np.float32)
    stored, s, o, *f = (a.swapaxes(-1, -2) if transposed else a for a in (values, scales, offsets, *factors))
    packed = zemm.pack(
        zemm.pack_int4(np.ascontiguousarray(stored)), s, offsets=o, scale_factors=f[0], offset_factors=f[1],
        weights_dtype="u4", src_dtype="s8", transposed=transposed, engine=engine,
    )  # fmt: skip
    assert packed.nbytes == E * 64 * K // 2 + scales.nbytes + offsets.nbytes + factors.nbytes
    wide = [np.repeat(a.astype(float), K // a.shape[1], 1) for a in (scales, factors[0], offsets, factors[1])]
    real = values * wide[0] * wide[1] + wide[2] * wide[3]
    sums = x.reshape(5, -1, GROUP).sum(axis=-1, dtype=np.int32)
    for expert in range(E):
        got = zemm.matmul(x, packed[expert], src_scales=src_scales, reductions=sums)
        expected = x * np.repeat(src_scales.astype(float), GROUP, 1) @ real[expert]
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=np.abs(expected).max() * 1e-5)
        plain = zemm.matmul(
            x, zemm.pack_int4(values[expert]), weights_dtype="u4", src_scales=src_scales,
            weights_scales=scales[expert], weights_offsets=offsets[expert],
            weights_scale_factors=factors[0, expert], weights_offset_factors=factors[1, expert],
            engine=engine,
        )  # fmt: skip
        np.testing.assert_allclose(got, plain, rtol=1e-5, atol=np.abs(expected).max() * 1e-5)
    with pytest.raises(
        zemm.InvalidArgumentsError, match="weights_scale_factors is given, but packed weights"
    ):
        zemm.matmul(x, packed[0], src_scales=src_scales, weights_scale_factors=0.5)


def test_wrong_arguments(engine: zemm.Engine) -> None:
    x, w = np.ones((2, 64), np.float32), np.ones((64, 48), np.uint8)
    scales, factors = np.ones((4, 48), np.uint8), np.ones((2, 48), np.float16)

    def multiply(**given: object) -> None:
        zemm.matmul(x, w, engine=engine, **given)  # type: ignore[arg-type]

    with pytest.raises(
        zemm.InvalidArgumentsError, match="weights_scales has type f32, weights_scale_factors multiply"
    ):
        multiply(weights_scales=scales.astype(np.float32), weights_scale_factors=factors)
    with pytest.raises(
        zemm.InvalidArgumentsError, match="weights_offsets has type s32, weights_offset_factors multiply"
    ):
        multiply(weights_offsets=np.ones((4, 48), np.int32), weights_offset_factors=factors)
    with pytest.raises(
        zemm.InvalidArgumentsError, match=r"weights_scale_factors of shape \(3, 48\) does not"
    ):
        multiply(weights_scales=scales, weights_scale_factors=np.ones((3, 48)))
    with pytest.raises(zemm.InvalidArgumentsError, match="there are no scales of the weights to multiply"):
        multiply(weights_scale_factors=factors)
    with pytest.raises(zemm.InvalidArgumentsError, match="quantised weights have their own"):
        zemm.matmul(x, zemm.quantize_weights(x.T, bits=8), weights_offset_factors=factors, engine=engine)
