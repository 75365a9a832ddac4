# SPDX-License-Identifier: Apache-2.0
"""The reference compared with values computed by hand, and its product with exact integer arithmetic."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from zemm.benchdnn.data import dynamic, random_bits
from zemm.benchdnn.data.eltwise import binary, eltwise
from zemm.benchdnn.data.layout import Layout
from zemm.benchdnn.data.product import common_step, is_exact_in_f32, matmul
from zemm.benchdnn.data.reference import expected
from zemm.benchdnn.grammar import arguments as args
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


@pytest.mark.parametrize(
    ("name", "result"),
    [("add", 5), ("sub", 1), ("mul", 6), ("div", 1.5), ("max", 3), ("min", 2), ("ge", 1), ("gt", 1),
     ("le", 0), ("lt", 0), ("eq", 0), ("ne", 1)],
)  # fmt: skip
def test_binary(name: str, result: float) -> None:
    assert binary(name, f32([3]), f32([2])).tolist() == [result]


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


def test_eltwise_of_nan() -> None:
    assert eltwise("clip", f32([np.nan]), -1, 2)[0] == -1
    assert np.isnan(eltwise("relu", f32([np.nan]), 0, 0)[0])
    assert np.isnan(eltwise("log", f32([-1]), 0, 0)[0])
