# SPDX-License-Identifier: Apache-2.0
"""Number formats and layouts: rounding to each data type, packing of 4-bit elements, strides."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from zemm.benchdnn.data.layout import Layout
from zemm.benchdnn.grammar.dtypes import BY_NAME, rounded


@pytest.mark.parametrize(
    ("dt", "value", "expected"),
    [
        ("s8", 127.5, 127), ("s8", -1e9, -128), ("s8", 2.5, 2), ("s8", 3.5, 4), ("u8", -3, 0),
        ("u8", 255.4, 255),
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
    """Every element lies where the blocks say, the padding is zero, and reading returns the
    values.
    """
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
