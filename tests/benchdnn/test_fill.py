# SPDX-License-Identifier: Apache-2.0
"""Filling: generators compared with values of libstdc++, ranges and densities, special elements."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from zemm.benchdnn.data import contents, fill, minstd
from zemm.benchdnn.data.layout import Layout
from zemm.benchdnn.data.ranges import filling
from zemm.benchdnn.data.sparse import places
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import BY_NAME, rounded
from zemm.benchdnn.grammar.expand import expand

SEEDS = np.array([1, 65, 4097, 2147483646, 5000000000])


def case_of(line: str) -> Case:
    return expand(["--matmul", *line.split()])[0][0].case


def test_integers_as_libstdcpp() -> None:
    assert minstd.integers(SEEDS, 1, 10, -4, 4).tolist() == [
        [-4, 1, 4, 4, -3, 0, -1, -2, 2, -4],
        [0, -4, 4, 4, -2, 0, 3, -4, -2, 3],
        [-1, 2, 4, 2, -3, 3, 1, -3, -3, 3],
        [4, -1, -4, -4, 3, 0, 1, 2, -2, 4],
        [2, 1, -1, 3, -3, 3, 4, -2, 1, -1],
    ]


def test_rejected_draws_as_libstdcpp() -> None:
    assert minstd.integers(SEEDS, 1, 6, 0, 1500000000).tolist() == [
        [182605793, 1291394885, 407355682, 1105902160, 854716504, 564586690],
        [1131958374, 188805356, 708315630, 1016680113, 190912915, 705038958],
        [811628861, 341439531, 1375176374, 271785207, 366175844, 848378363],
        [856088760, 232763009, 68814605, 1041581485, 1292767141, 550802815],
        [1260764177, 808563904, 281691226, 540113930, 1388088720, 793381343],
    ]


def test_bernoulli_as_libstdcpp() -> None:
    assert minstd.bernoulli(SEEDS[:2], 10, 20, float(np.float32(0.3))).astype(int).tolist() == [
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0],
        [0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0],
    ]


@pytest.mark.parametrize("density", [0.3, 1.0])
def test_tensor_follows_the_chunks(density: float) -> None:
    """As in benchdnn's loop, only the elements that are kept take a random value, and the first one
    must be positive.
    """
    filled = fill.integers(130, "WEI", (-4, 4), density)
    want = []
    for start in (0, 64, 128):
        seed = np.array([130 + start + 1])
        draws = iter(minstd.integers(seed, 1, 300, -4, 4)[0].tolist())
        choices = iter(minstd.bernoulli(seed, 10, 64, density)[0].tolist())
        for index in range(start, min(start + 64, 130)):
            if index == 0:
                want.append(next(value for value in draws if value > 0))
            else:
                want.append(next(draws) if density == 1 or next(choices) else 0)
    assert filled.tolist() == want


def test_density_and_zero_point() -> None:
    values = fill.integers(64000, "SRC", (1, 4), 0.25, zero_point=3)
    assert set(np.unique(values)) == {0, 4, 5, 6, 7}
    assert np.count_nonzero(values) / values.size == pytest.approx(0.25, abs=0.01)


def test_scales_and_zero_points() -> None:
    assert fill.scales(1, 3.0).tolist() == [3.0]
    assert set(fill.scales(500, 3.0)) == {1 / 16, 1 / 8, 1 / 4}
    exponents = minstd.integers(np.array([500 + 1]), 1, 64, -4, -2)[0]
    assert fill.scales(500, 3.0)[:64].tolist() == np.exp2(exponents).tolist()
    assert fill.zero_points(1, -1, "s8").tolist() == [-1]
    assert set(fill.zero_points(500, 0, "s8")) == {-2, -1, 0, 1, 2}
    assert set(fill.zero_points(500, 0, "u4")) == {0, 1, 2}
    assert fill.zero_points(1, 1.3, "bf16").tolist() == [1.296875]
    assert set(4 * fill.zero_points(500, 0, "f16")) == set(range(-8, 9))


@pytest.mark.parametrize(("dt", "first"), [("u8", 128), ("s32", 256), ("u4", 15), ("s4", -8)])
def test_first_element_of_post_op_tensors(dt: str, first: int) -> None:
    assert fill.post_op(10, -16, 16, dt)[0] == first


def test_post_op_tensors() -> None:
    floats = fill.post_op(300, -16, 16, "f32")
    assert floats[0] % 1 == 0.5
    assert set(floats[1:] % 1) == {0}
    eighths = fill.post_op(300, -16, 16, "f32", 1 / 8)
    assert np.abs(eighths[1:]).max() == 2
    assert fill.post_op(300, -16, 16, "u8").min() == 0


LINES = {
    "--dt=f32 2x10:10x3": ((-64, 64), (-128, 128), 1.0),
    "--dt=f32 2x4096:4096x3": ((-64, 64), (-128, 128), 2**24 / 8192 / 4096),
    "--dt=f32 --attr-fpmath=tf32 2x10:10x3": ((-4, 4), (-2, 2), 1.0),
    "--dt=f16 2x1024:1024x3": ((-4, 4), (-2, 2), 2**11 / 8 / 1024),
    "--dt=bf16 2x64:64x3": ((-4, 4), (-2, 2), 2**8 / 8 / 64),
    "--dt=s8:s8:s32 2x64:64x3": ((-4, 4), (-2, 2), 1.0),
    "--dt=u8:s8:s32 2x64:64x3": ((0, 160), (-4, 4), 1.0),
    "--dt=u8:u8:f16 2x1024:1024x3": ((0, 1), (0, 8), 2**11 / 8 / 1024 * 3),
    "--dt=s8:s8:s8 2x100:100x3": ((-4, 4), (-2, 2), 2**7 / 8 / 100 * 3),
    "--dt=s8:u8:f16 2x4096:4096x3": ((-4, 4), (0, 8), 2**11 / 32 / 4096 * 3),
    "--dt=f32 --attr-acc-mode=f16 2x10:10x3": ((-32, 32), (-64, 64), 2**11 / 2048 / 10),
}


@pytest.mark.parametrize("line", LINES)
def test_ranges_and_density(line: str) -> None:
    chosen = filling(case_of(line))
    src, wei, density = LINES[line]
    assert (chosen.src, chosen.wei) == (src, wei)
    assert math.isclose(chosen.density, density)


def test_long_sums_of_a_quantised_src_have_groups_of_zeros() -> None:
    case = case_of("--dt=f32:u8:f32 --attr-src-dyn-quant=4 2x65536:65536x3")
    chosen = filling(case)
    assert math.isclose(chosen.peaks, 2**24 / (127 * 4 * 8) / 16384)
    values = contents.values(case, args.matrices(case)[0], chosen).reshape(2, -1, 4)
    assert np.count_nonzero(values.any(2)) / values[..., 0].size == pytest.approx(chosen.peaks, abs=0.02)


def test_old_dst_takes_the_type_of_the_sum() -> None:
    chosen = filling(case_of("--dt=s8:s8:u8 --attr-post-ops=relu+sum:1:0:s8 2x10:10x3"))
    assert (chosen.dst, chosen.dst_dt) == ((-4, 4), "s8")


def test_weights_are_drawn_column_by_column() -> None:
    case = case_of("--dt=f32 3x5:5x7")
    wei = next(a for a in args.matrices(case) if a.arg == args.WEI)
    values = contents.values(case, wei, filling(case))
    drawn = fill.integers(35, "WEI", (-128, 128))
    assert values.shape == (5, 7)
    assert values[:, 0].tolist() == drawn[:5].tolist()


def test_common_zero_point_shifts_the_kept_values() -> None:
    case = case_of("--dt=u8:s8:s32 --attr-zero-points=src:common:100 4x8:8x4")
    src = args.matrices(case)[0]
    values = contents.values(case, src, filling(case))
    assert values.min() >= 100
    assert values.max() <= 255


def test_reductions_are_sums_over_groups() -> None:
    case = case_of(
        "--dt=s8:u8:f16 --attr-zero-points=wei:common:1:u8 "
        "--attr-precomputed-reductions=src:per_tensor:s32:1x4 2x8:8x3"
    )
    src = np.arange(16, dtype=np.float32).reshape(2, 8)
    argument = args.quantizations(case)[-1]
    assert contents.values(case, argument, filling(case), src).tolist() == [[6, 22], [38, 54]]


@pytest.mark.parametrize(
    ("size", "stored"),
    [
        # Computed by benchdnn's loops with libstdc++.
        ((5, 7, 9), [[0], [], [0, 4], [1, 3, 6], [1, 2, 5]]),
        ((4, 6, 24), [[0, 1, 2, 3, 4, 5]] * 4),
        ((3, 5, 1), [[0], [], []]),
    ],
)
def test_places_of_sparse_tensors(size: tuple[int, int, int], stored: list[list[int]]) -> None:
    assert [np.flatnonzero(row).tolist() for row in places(*size)] == stored


def test_values_of_sparse_tensors() -> None:
    """benchdnn's values: the integers of a chunk, with the number of stored elements in its seed."""
    drawn = fill.stored(70, "WEI", (-2, 2), "f32")
    assert drawn[64:].tolist() == minstd.integers(np.array([70 + 64 + 1]), 1, 6, -2, 2)[0].tolist()


def test_offsets_of_weights_count() -> None:
    """Weights of up to 8 and offsets of up to 2 are up to 40 quarters; with scales of 1/16 to 1/4 up to 64
    sixteenths."""
    plain = "--dt=f32:u8:f32"
    assert filling(case_of(f"{plain} 2x65536:65536x3")).density == 1
    offsets = f"{plain} --attr-offsets=wei:per_oc"
    assert math.isclose(filling(case_of(f"{offsets} 2x65536:65536x3")).density, 2**24 / (64 * 40) / 65536 * 3)
    scales = f"{offsets} --attr-scales=wei:per_oc"
    assert math.isclose(filling(case_of(f"{scales} 2x65536:65536x3")).density, 2**24 / 64**2 / 65536 * 3)


@pytest.mark.parametrize(
    ("dt", "value", "expected"),
    [
        ("s8", 127.5, 127), ("s8", -1e9, -128), ("s8", 2.5, 2), ("s8", 3.5, 4), ("u8", -3, 0),
        ("u8", 255.4, 255), ("s8", np.nan, 127), ("u3", np.nan, 7),
        ("s32", 3e9, 2147483520), ("s32", -3e9, -(2**31)), ("s4", 9, 7), ("u4", -1, 0), ("u4", 2.5, 2),
        ("f16", 65520, np.inf), ("f16", 65519, 65504), ("f16", 2049, 2048), ("f16", 2051, 2052),
        ("bf16", 257, 256), ("bf16", 259, 260), ("f8_e5m2", 61440, np.inf), ("f8_e4m3", 464, 448),
        ("f8_e4m3", 465, np.nan), ("f8_e4m3", 2.0**-10, 0), ("f4_e2m1", 100, 6), ("f4_e2m1", 2.5, 2),
        ("f4_e2m1", -0.75, -1), ("e8m0", 5.9, 4), ("e8m0", -0.3, 0.25),
    ],
)  # fmt: skip
def test_rounding(dt: str, value: float, expected: float) -> None:
    got = rounded(np.array([value], np.float32), dt)[0]
    assert got == expected or (np.isnan(got) and np.isnan(expected))


@pytest.mark.parametrize(
    ("dt", "value", "expected"),
    [
        # As f16 these would be the middle of two f8 values.
        ("f8_e5m2", 1.125 + 2.0**-20, 1.25), ("f8_e4m3", 1.1875 - 2.0**-20, 1.125),
        ("f8_e4m3", 464 + 2.0**-14, np.nan), ("f8_e5m2", 61440 - 2.0**-8, 57344),
    ],
)  # fmt: skip
def test_f8_is_rounded_once(dt: str, value: float, expected: float) -> None:
    exact = np.array([value], np.float32)
    assert exact[0] == value
    np.testing.assert_array_equal(rounded(exact, dt), [expected])
    via_f16 = exact.astype(np.float16).astype(np.float32)
    assert not np.array_equal(rounded(via_f16, dt), rounded(exact, dt), equal_nan=True)


def test_nan_of_f4() -> None:
    got = rounded(np.array([np.nan, np.copysign(np.nan, -1)], np.float32), "f4_e2m1")
    assert got.tolist() == [6, -6]


def test_nibbles() -> None:
    layout = Layout((3,), (1,), "s4", 2)
    raw = np.zeros(2, np.uint8)
    layout.store(np.array([1, -1, -8], np.float32), raw)
    assert raw.tolist() == [0xF1, 0x08]
    assert layout.load(raw).tolist() == [1, -1, -8]


def test_bytes_between_strides_stay() -> None:
    layout = Layout((2, 2), (3, 1), "u8", 5)
    raw = np.full(5, 77, np.uint8)
    layout.store(np.array([[1, 2], [3, 4]], np.float32), raw)
    assert raw.tolist() == [1, 2, 77, 3, 4]


@given(
    st.sampled_from(["f32", "f16", "bf16", "s32", "s8", "u8", "s4", "u4", "f64", "f8_e4m3", "f4_e2m1"]),
    st.permutations(range(3)),
    st.tuples(*[st.integers(0, 5)] * 3),
)
def test_store_and_load(dt: str, order: list[int], dims: tuple[int, int, int]) -> None:
    count = int(np.prod(dims))
    bits = BY_NAME[dt].bits
    strides = [0, 0, 0]
    for place, axis in enumerate(order):
        strides[axis] = int(np.prod([max(dims[other], 1) for other in order[place + 1 :]]))
    layout = Layout(dims, tuple(strides), dt, -(-count * bits // 8))
    values = rounded(np.arange(count, dtype=np.float32).reshape(dims) % 4, dt)
    raw = np.zeros(layout.size, np.uint8)
    layout.store(values, raw)
    assert np.array_equal(layout.load(raw), values)


@pytest.mark.parametrize("dt", ["s8", "u4", "s4", "bf16", "f32"])
@pytest.mark.parametrize(
    ("dims", "blocks", "strides", "count"),
    [
        ((70, 130), ((0, 16), (1, 64), (0, 4)), (4096, 2 * 4096), 2 * 3 * 4096),
        ((3, 17, 65), ((1, 16), (2, 64)), (2 * 2 * 1024, 1024, 2 * 1024), 3 * 2 * 2 * 1024),
    ],
)
def test_blocked_layouts(
    dt: str, dims: tuple[int, ...], blocks: tuple[tuple[int, int], ...], strides: tuple[int, ...], count: int
) -> None:
    """Every element lies where the blocks say, the padding is zero, and reading returns the values."""
    bits = BY_NAME[dt].bits
    layout = Layout(dims, strides, dt, count * bits // 8, blocks=blocks)
    values = (np.arange(np.prod(dims)) % 7).astype(np.float32).reshape(dims)
    raw = np.full(layout.size, 0xA5, np.uint8)
    layout.store(values, raw)
    np.testing.assert_array_equal(layout.load(raw), values)
    flat = Layout((count,), (1,), dt, layout.size).load(raw)
    seen = np.zeros(count, bool)
    for index in np.ndindex(*dims):
        rest, offset, inner = list(index), 0, 1
        for axis, size in reversed(blocks):
            offset += rest[axis] % size * inner
            rest[axis] //= size
            inner *= size
        offset += sum(i * stride for i, stride in zip(rest, strides, strict=True))
        assert flat[offset] == values[index]
        seen[offset] = True
    assert not flat[~seen].any()


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        (Layout((2, 2), (3, 1), "u8", 5), [[0, 1], [3, 4]]),
        (Layout((2,), (1,), "f32", 16, offset=2), [2, 3]),
        (Layout((3, 2), (4, 2), "bf16", 16, blocks=((0, 2),)), [[0, 2], [1, 3], [4, 6]]),
        (Layout((0, 2), (2, 1), "u8", 0), []),
    ],
)
def test_offsets(layout: Layout, expected: list[object]) -> None:
    assert layout.offsets().tolist() == expected
