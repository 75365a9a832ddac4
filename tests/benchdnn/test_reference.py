# SPDX-License-Identifier: Apache-2.0
"""The reference compared with values computed by hand, and its product with exact integer
arithmetic.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from zemm.benchdnn.data import dynamic, random_bits
from zemm.benchdnn.data.eltwise import ELTWISE, binary, eltwise, prelu
from zemm.benchdnn.data.layout import Layout
from zemm.benchdnn.data.product import common_step, is_exact_in_f32, matmul
from zemm.benchdnn.data.reference import expected, spread
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.attributes import Dropout
from zemm.benchdnn.grammar.dtypes import rounded
from zemm.benchdnn.grammar.expand import expand


def f32(values: object) -> np.ndarray:
    return np.array(values, np.float32)


# A = [[1, 2], [3, 4]], B = [[1, -1], [2, 0]]: A B = [[5, -1], [11, -3]].
A, B = f32([[1, 2], [3, 4]]), f32([[1, -1], [2, 0]])


def run(options: str, more: dict[int, object] | None = None, old: object = 0.0) -> list[list[float]]:
    case = expand(["--matmul", *options.split(), "2x2:2x2"])[0][0].case
    values = {args.SRC: A, args.WEI: B} | {arg: f32(v) for arg, v in (more or {}).items()}
    return expected(case, values, f32(old), Layout((2, 2), (2, 1), case.dt[2], 16)).dst.tolist()


def test_plain() -> None:
    assert run("") == [[5, -1], [11, -3]]


def test_bias() -> None:
    assert run("--bia-dt=f32", {args.BIAS: [[10, 20]]}) == [[15, 19], [21, 17]]


SCALES_SRC, SCALES_WEI, SCALES_DST = (args.SCALES | arg for arg in (args.SRC, args.WEI, args.DST))
ZP_SRC, ZP_WEI, ZP_DST = (args.ZERO_POINTS | arg for arg in (args.SRC, args.WEI, args.DST))
OFFSETS_WEI = args.OFFSETS | args.WEI


def test_scales() -> None:
    assert run("--attr-scales=src:common:0.5", {SCALES_SRC: [[0.5]]}) == [[2.5, -0.5], [5.5, -1.5]]
    assert run("--attr-scales=wei:per_oc", {SCALES_WEI: [[2, 4]]}) == [[10, -4], [22, -12]]
    # The weights have a scale for each row of K: B becomes [[2, -2], [8, 0]].
    assert run("--attr-scales=wei:1", {SCALES_WEI: [[2], [4]]}) == [[18, -2], [38, -6]]
    assert run("--attr-scales=dst:common:2", {SCALES_DST: [[2]]}) == [[2.5, -0.5], [5.5, -1.5]]
    assert run("--attr-scales=dst:per_oc", {SCALES_DST: [[2, 4]]}) == [[2.5, -0.25], [5.5, -0.75]]


def test_zero_points() -> None:
    # A - 1 = [[0, 1], [2, 3]]; times B = [[2, 0], [8, -2]].
    assert run("--dt=s8:s8:f32 --attr-zero-points=src:common:1", {ZP_SRC: [[1]]}) == [[2, 0], [8, -2]]
    # B - [0, -1] = [[1, 0], [2, 1]]; A times that = [[5, 2], [11, 4]].
    assert run("--dt=s8:s8:f32 --attr-zero-points=wei:per_oc", {ZP_WEI: [[0, -1]]}) == [[5, 2], [11, 4]]
    assert run("--dt=s8:s8:s8 --attr-zero-points=dst:common:7", {ZP_DST: [[7]]}) == [[12, 6], [18, 4]]


def test_offsets_are_added_after_the_scale() -> None:
    # B * 2 + [1, 0] = [[3, -2], [5, 0]]; A times that = [[13, -2], [29, -6]].
    options = "--dt=s8:s8:f32 --attr-scales=wei:common:2 --attr-offsets=wei:per_oc"
    assert run(options, {SCALES_WEI: [[2]], OFFSETS_WEI: [[1, 0]]}) == [[13, -2], [29, -6]]


def test_src_is_quantised_in_groups() -> None:
    # A row of [254, 3] has the scale 2 and the integers [127, 2] (1.5 is between 1 and 2); [127, -0.4] the
    # scale 1 and [127, 0]. Times B = [[1, -1], [2, 0]].
    options = "--dt=f32:s8:f32 --attr-src-dyn-quant"
    src: dict[int, object] = {args.SRC: [[254, 3], [127, -0.4]]}
    assert run(f"{options}=2", src) == run(f"{options}=99", src) == [[262, -254], [127, -127]]
    # Each element has a scale of its own, up to the rounding of this.
    assert run(f"{options}=1", {args.SRC: [[254, 127], [0, -127]]}) == [[508, -254], [-254, 0]]
    # 63 integers: [126, 3] has the scale 2.
    assert run(f"{options}=2 --attr-reduced-range=src", {args.SRC: [[126, 3], [0, 0]]}) == [
        [134, -126],
        [0, 0],
    ]


def test_weight_zero_point_comes_off_before_the_scale() -> None:
    # (B - 1) * 2 = [[0, -4], [2, -2]]; A times that = [[4, -8], [8, -20]].
    options = (
        "--dt=f32:s8:f32 --attr-scales=wei:common:2 --attr-zero-points=wei:common:1 --attr-fpmath=strict:true"
    )
    assert run(options, {SCALES_WEI: [[2]], ZP_WEI: [[1]]}) == [[4, -8], [8, -20]]


def test_groups_repeat() -> None:
    assert spread(f32([[1, 2]]), (2, 4)).tolist() == [[1, 1, 2, 2]]
    assert spread(f32([[[1], [2]]]), (3, 4, 5)).shape == (1, 4, 1)


def test_rounding_to_dst() -> None:
    assert run("--dt=s8:s8:u8") == [[5, 0], [11, 0]]
    assert run("--dt=s8:s8:s8 --attr-scales=dst:common:2", {SCALES_DST: [[2]]}) == [[2, 0], [6, -2]]


def test_sum() -> None:
    assert run("--attr-post-ops=sum:2", old=[[1, 1], [2, 2]]) == [[7, 1], [15, 1]]
    assert run("--attr-post-ops=sum:2:1:f32", old=[[1, 1], [2, 2]]) == [[5, -1], [13, -1]]


def test_order_of_the_chain() -> None:
    assert run("--attr-post-ops=sum+relu", old=[[0, -9], [0, 9]]) == [[5, 0], [11, 6]]
    assert run("--attr-post-ops=relu+sum", old=[[0, -9], [0, 9]]) == [[5, -9], [11, 9]]
    assert run("--attr-post-ops=sum+relu+sum:2", old=1.0) == [[8, 2], [14, 2]]


SRC1, COND = args.post_op_arg(0, 2), args.post_op_arg(0, 3)


def test_binary_select_prelu() -> None:
    assert run("--attr-post-ops=add:f32:per_oc", {SRC1: [[1, 2]]}) == [[6, 1], [12, -1]]
    assert run("--attr-post-ops=mul:f32:1", {SRC1: [[2], [3]]}) == [[10, -2], [33, -9]]
    chosen = run("--attr-post-ops=select:f32", {SRC1: [[9]], COND: [[1, 0], [0, 5]]})
    assert chosen == [[5, 9], [9, -3]]
    assert run("--attr-post-ops=prelu:per_oc", {args.post_op_arg(0, 33): [[7, 2]]}) == [[5, -2], [11, -6]]


def test_post_ops_come_after_bias_and_before_the_dst_scale() -> None:
    options = "--bia-dt=f32 --attr-post-ops=relu --attr-scales=dst:common:2"
    assert run(options, {args.BIAS: [[-7, 3]], SCALES_DST: [[2]]}) == [[0, 1], [2, 0]]


E = math.e


def overflowing(f: Callable[..., float], *values: float) -> float:
    try:
        return f(*values)
    except OverflowError:
        return math.inf


def exp(x: float) -> float:
    return overflowing(math.exp, x)


def half_tanh(x: float) -> float:
    """The logistic function."""
    return 0.5 + 0.5 * math.tanh(x / 2)


def log_sum(x: float) -> float:
    """log(1 + e^x)."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def between(low: float, x: float, high: float) -> float:
    return sorted((low, x, high))[1]


# oneDNN's definitions, by other identities than the reference uses. They need not hold for NaN.
DEFINITIONS: dict[str, Callable[[float, float, float], float]] = {
    "abs": lambda x, a, b: math.copysign(x, 1),
    "clip": lambda x, a, b: between(a, x, b),
    "clip_v2": lambda x, a, b: between(a, x, b),
    "elu": lambda x, a, b: x if x > 0 else a * (exp(x) - 1),
    "exp": lambda x, a, b: exp(x),
    "gelu_erf": lambda x, a, b: x * math.erfc(-x / math.sqrt(2)) / 2,
    "gelu_tanh": lambda x, a, b: x * half_tanh(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)),
    "hardsigmoid": lambda x, a, b: between(0, a * x + b, 1),
    "hardswish": lambda x, a, b: x * between(0, a * x + b, 1),
    "linear": lambda x, a, b: float(Fraction(a) * Fraction(x) + Fraction(b)),
    "log": lambda x, a, b: math.log2(x) * math.log(2) if x > 0 else math.nan if x < 0 else -math.inf,
    "logistic": lambda x, a, b: half_tanh(x),
    "mish": lambda x, a, b: x * (1 - 2 / (1 + overflowing(math.pow, 1 + exp(x), 2))),
    "pow": lambda x, a, b: a * overflowing(math.pow, x, b),
    "relu": lambda x, a, b: max(x, 0.0) + a * min(x, 0.0),
    "round": lambda x, a, b: float(round(Fraction(x))),
    "soft_relu": lambda x, a, b: log_sum(a * x) / a,
    "sqrt": lambda x, a, b: 2 ** (math.log2(x) / 2) if x > 0 else math.nan if x < 0 else 0.0,
    "square": lambda x, a, b: float(Fraction(x) ** 2),
    "swish": lambda x, a, b: x * half_tanh(a * x),
    "tanh": lambda x, a, b: 1 - 2 / (1 + exp(2 * x)),
}


def test_every_formula_has_a_definition() -> None:
    assert set(DEFINITIONS) == set(ELTWISE)


@pytest.mark.parametrize("name", DEFINITIONS)
@given(
    st.one_of(st.floats(-8, 8, width=32), st.floats(-100, 100, width=32)),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.sampled_from([3.0, 4.0]),
)
def test_eltwise_is_its_definition(name: str, x: float, a: float, b: float) -> None:
    want = DEFINITIONS[name](x, a, b)
    for dtype, bound in ((np.float32, 4e-6), (np.float64, 1e-6)):  # constants are f32 in both
        with np.errstate(all="ignore"):
            got = ELTWISE[name](np.array([x], dtype), np.float32(a), np.float32(b))
            expected = float(dtype(want))  # infinity where it exceeds f32
        assert got.dtype == dtype
        assert float(got[0]) == pytest.approx(expected, rel=bound, abs=bound, nan_ok=True)


def test_eltwise_of_nan() -> None:
    assert eltwise("clip", f32([np.nan]), -1, 2)[0] == -1
    assert np.isnan(eltwise("relu", f32([np.nan]), 0, 0)[0])
    assert np.isnan(eltwise("log", f32([-1]), 0, 0)[0])


@pytest.mark.parametrize(
    ("name", "result"),
    [("add", 5), ("sub", 1), ("mul", 6), ("div", 1.5), ("max", 3), ("min", 2), ("ge", 1), ("gt", 1),
     ("le", 0), ("lt", 0), ("eq", 0), ("ne", 1)],
)  # fmt: skip
def test_binary(name: str, result: float) -> None:
    assert binary(name, f32([3]), f32([2])).tolist() == [result]


COMPARED = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<", "eq": "==", "ne": "!="}


@given(st.floats(width=32), st.floats(width=32))
def test_binary_is_its_definition(x: float, y: float) -> None:
    for name, sign in COMPARED.items():
        assert binary(name, f32([x]), f32([y]))[0] == eval(f"x {sign} y", {"x": x, "y": y})
    if not (math.isnan(x) or math.isnan(y)):
        assert binary("max", f32([x]), f32([y]))[0] == max(x, y)
        assert binary("min", f32([x]), f32([y]))[0] == min(x, y)
        assert prelu(f32([x]), f32([0.5]))[0] == np.float32(max(x, 0.0) + 0.5 * min(x, 0.0))
    else:
        for name in ("max", "min"):  # the result is the second operand
            assert np.array_equal(binary(name, f32([x]), f32([y])), f32([y]), equal_nan=True)


@given(st.floats(-70000, 70000, width=32))
def test_conversion_to_integers(x: float) -> None:
    for name, low, high in (("s8", -128, 127), ("u8", 0, 255), ("s4", -8, 7), ("u4", 0, 15)):
        assert rounded(f32([x]), name)[0] == between(low, round(Fraction(x)), high)
    assert rounded(f32([x]), "s32")[0] == round(Fraction(x))


@given(st.floats(-(2.0**99), 2.0**99, width=32))
def test_conversion_to_bf16(x: float) -> None:
    """The nearest bf16 value, ties to even. A result that would be a denormal is 0."""
    unit = Fraction(2) ** (math.frexp(x)[1] - 8)
    nearest = float(round(Fraction(x) / unit) * unit)
    assert rounded(f32([x]), "bf16")[0] == (nearest if abs(nearest) >= 2.0**-126 else 0)


def test_common_step() -> None:
    assert common_step(f32([0.75, 3, 0])) == 0.25
    assert common_step(f32([-6, 4])) == 2
    assert common_step(f32([0])) == 1
    assert common_step(f32([np.inf])) == 0


@settings(deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 40), st.integers(1, 5), st.integers(1, 30)
)
def test_product_is_the_rounded_exact_sum(seed: int, m: int, k: int, n: int, bits: int) -> None:
    random = np.random.default_rng(seed)
    src = random.integers(-(2 ** (bits // 2)), 2 ** (bits // 2) + 1, (m, k))
    wei = random.integers(-(2 ** (bits // 2)), 2 ** (bits // 2) + 1, (k, n))
    got = matmul((src / 16).astype(np.float32), (wei / 4).astype(np.float32))
    assert np.array_equal(got, ((src @ wei) / 64).astype(np.float32))


def test_exactness_is_decided_on_the_data() -> None:
    row = np.full((1, 4096), 1024, np.float32)
    assert is_exact_in_f32(row, row.T)
    row[0, 0] = 1
    assert not is_exact_in_f32(row, row.T)
    row[0, 1:] = 64
    assert is_exact_in_f32(row, row.T)


def test_batches_broadcast() -> None:
    src = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    assert np.array_equal(matmul(src, B[None]), src @ B)
    assert matmul(src[:1], np.stack([B, B])).shape == (2, 2, 2)


def test_philox_known_answers() -> None:
    zero = [np.zeros(1, np.uint32)] * 4
    assert [hex(w[0]) for w in random_bits.philox(zero, (0, 0))] == [
        "0x6627e8d5",
        "0xe169c58d",
        "0xbc57ac4c",
        "0x9b00dbd8",
    ]
    digits = [np.array([w], np.uint32) for w in (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)]
    answer = random_bits.philox(digits, (0xA4093822, 0x299F31D0))
    assert [hex(w[0]) for w in answer] == ["0xd16cfe09", "0x94fdcceb", "0x5001e420", "0x24126ea1"]


def test_dropout_keeps_its_share() -> None:
    for offset in (0, 7):
        keep = random_bits.dropout_mask(Dropout(0.25, 3, "any", offset), np.arange(10000))
        assert keep.mean() == pytest.approx(0.75, abs=0.03)
    assert not random_bits.dropout_mask(Dropout(1.0), np.arange(16)).any()
    narrow = random_bits.narrow_form(np.arange(8), 5)
    assert len(set(narrow.tolist())) == 2


def test_stochastic_rounding_gives_a_neighbour() -> None:
    # The random bias has 8 bits, but 16 bits are dropped, so a value just below the upper neighbour may
    # round up or down.
    x = np.full((1, 64), 1 + 2.0**-7 - 2.0**-16, np.float32)
    got = random_bits.stochastic_rounding(x, "bf16", 1, np.arange(64)[None])
    assert set(got[0]) == {1.0, 1 + 2.0**-7}


def test_stochastic_rounding_of_small_values() -> None:
    index = np.arange(3)
    x = f32([0.75, -(2.0**-127), 2.0**-126])
    assert random_bits.stochastic_rounding(x, "f4_e2m1", 1, index).tolist() == [0, 0, 0]
    assert random_bits.stochastic_rounding(x, "f32", 1, index).tolist() == [0.75, 0, 2.0**-126]


def test_dynamic_scales() -> None:
    x = np.zeros((1, 64), np.float32)
    x[0, 0] = 896
    out, scales = dynamic.quantized(x, (1, 2), "dynamic_mx", "f8_e4m3")
    # The largest values, 896 and 448, truncate to 512 and 256, so the scale is 2. A group of zeros
    # has the smallest scale.
    assert scales.tolist() == [[2, 2.0**-127]]
    assert out[0, 0] == 448
    assert out[0, 32:].tolist() == [0] * 32
    out, scales = dynamic.quantized(x[:, :16], (1, 1), "dynamic_fp", "f4_e2m1")
    assert scales.tolist() == [[144]]
    assert out[0, 0] == 6
