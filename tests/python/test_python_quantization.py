# SPDX-License-Identifier: Apache-2.0
"""Quantisation and 4-bit packing against their formulas, element by element."""

import math

import ml_dtypes
import numpy as np
import pytest
import zemm
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from zemm._library.codes import join, split

FLOATS = st.floats(-1e6, 1e6, width=32)


@st.composite
def grouped(draw: st.DrawFn, min_dims: int, max_dims: int, axis: int) -> tuple[np.ndarray, int]:
    """An f32 array, and a group size that divides its dimension `axis`."""
    group, groups = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    shape = [draw(st.integers(1, 4)) for _ in range(draw(st.integers(min_dims, max_dims)))]
    shape[axis] = group * groups
    return draw(hnp.arrays(np.float32, tuple(shape), elements=FLOATS)), group


@settings(deadline=None)
@given(grouped(1, 3, -1))
def test_activations(case: tuple[np.ndarray, int]) -> None:
    x, group = case
    values, scales, reductions = zemm.quantize_activations(x, group)
    assert (values.dtype, scales.dtype, reductions.dtype) == (np.int8, np.float32, np.int32)
    assert values.shape == x.shape
    assert scales.shape == reductions.shape == (*x.shape[:-1], x.shape[-1] // group)
    for at in np.ndindex(scales.shape):
        row = slice(at[-1] * group, (at[-1] + 1) * group)
        part, codes = x[(*at[:-1], row)].astype(np.float64), values[(*at[:-1], row)].astype(np.int64)
        amax = np.abs(part).max()
        scale = float(scales[at])
        assert scale > 0
        if amax == 0:
            assert (codes == 0).all()
        elif amax / 127 > 2.0**-126:
            assert scale == np.float32(amax / 127)
            assert np.abs(codes).max() == 127
        assert np.abs(codes * scale - part).max() <= scale * 0.5000001 + amax * 2.0**-22
        assert reductions[at] == codes.sum()


@pytest.mark.parametrize("scale_dtype", ["f16", "bf16"])
def test_narrow_scales_are_the_ones_used(scale_dtype: str) -> None:
    x = np.random.default_rng(1).normal(size=(3, 64)).astype(np.float32)
    values, scales, _ = zemm.quantize_activations(x, 32, scale_dtype)
    assert zemm.dtype_name(scales.dtype) == scale_dtype
    wide = np.repeat(scales.astype(np.float64), 32, axis=1)
    clipped = np.abs(values) == 127
    assert np.abs(values * wide - x)[~clipped].max() <= wide.max() / 2


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_activations_of_other_types(dtype: type) -> None:
    x = np.array([[1.0, -2.0, 0.5, 4.0]]).astype(dtype)
    values, scales, reductions = zemm.quantize_activations(x, 2)
    assert values.tolist() == [[64, -127, 16, 127]]
    assert scales.tolist() == [[np.float32(2 / 127), np.float32(4 / 127)]]
    assert reductions.tolist() == [[-63, 143]]


@settings(deadline=None)
@given(grouped(2, 2, 0), st.sampled_from([2, 3, 4, 8]))
def test_weights(case: tuple[np.ndarray, int], bits: int) -> None:
    w, group = case
    w = np.concatenate([w] * (8 // math.gcd(bits, 8)), axis=1)  # rows must end with a byte
    k, n = w.shape
    values, scales, zero_points = zemm.quantize_weights(w, bits, group)
    assert scales.shape == zero_points.shape == (k // group, n)
    assert (scales.dtype, zero_points.dtype, values.dtype) == (np.float32, np.uint8, np.uint8)
    assert zero_points.max() < 2**bits
    codes = values
    if bits != 8:
        codes = split(np.asarray(values), bits).reshape(k, n)
    assert codes.shape == w.shape
    for g, column in np.ndindex(scales.shape):
        part = w[g * group : (g + 1) * group, column].astype(np.float64)
        low, high = min(part.min(), 0), max(part.max(), 0)
        scale = float(scales[g, column])
        real = (
            codes[g * group : (g + 1) * group, column].astype(np.float64) - zero_points[g, column]
        ) * scale
        assert scale > 0
        if high - low > 2.0**-100:
            assert scale == pytest.approx((high - low) / (2**bits - 1), rel=1e-6)
        # Half a step for the value and half a step for the zero point's own rounding.
        assert np.abs(real - part).max() <= scale * 1.001


def test_weights_without_groups() -> None:
    w = np.array([[0.0, -1.0], [2.55, 1.55]], np.float32)
    values, scales, zero_points = zemm.quantize_weights(w, 8)
    assert scales.shape == zero_points.shape == (2,)
    assert np.allclose(scales, 0.01)
    assert zero_points.tolist() == [0, 100]
    assert values.tolist() == [[0, 0], [255, 255]]


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("group", [None, 4, 16])
def test_symmetric_weights(bits: int, group: int | None) -> None:
    w = np.random.default_rng(bits).normal(size=(16, 6)).astype(np.float32)
    values, scales, zero_points = made = zemm.quantize_weights(w, bits, group, symmetric=True)
    assert made.zero_points is zero_points is None
    top = 2 ** (bits - 1) - 1
    codes = values if bits == 8 else zemm.unpack_int4(values, w.size, signed=True).reshape(w.shape)
    assert codes.dtype == np.int8
    assert abs(codes).max() == top
    assert scales.shape == ((6,) if group is None else (16 // group, 6))
    steps = np.repeat(np.atleast_2d(scales), group or 16, axis=0)
    largest = np.abs(w).reshape(-1, group or 16, 6).max(axis=1)
    assert np.allclose(np.atleast_2d(scales), largest / top, rtol=1e-6)
    assert (np.abs(codes * steps - w) <= steps / 2 * 1.00001).all()


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("group", [None, 4])
def test_experts_are_quantised_one_by_one(bits: int, group: int | None, symmetric: bool) -> None:
    w = np.random.default_rng(7).normal(size=(3, 8, 4)) * [[[1]], [[10]], [[100]]]
    made = zemm.quantize_weights(w, bits, group, "f16", symmetric=symmetric)
    rows = 1 if group is None else 8 // group
    assert made.scales.shape == (3, rows, 4)
    for expert, matrix in enumerate(w):
        single = zemm.quantize_weights(matrix, bits, group, "f16", symmetric=symmetric)
        for whole, part in zip(made, single, strict=True):
            if part is None:
                assert whole is None
            else:
                assert np.array_equal(whole[expert].reshape(part.shape), part)
                assert whole.dtype == part.dtype


def test_fields_have_names(engine: zemm.Engine) -> None:
    x = np.arange(16, dtype=np.float32).reshape(2, 8)
    for where in (None, engine):
        s8 = zemm.quantize_activations(x, 4, engine=where)
        assert s8._fields == ("values", "scales", "reductions")
        assert (s8.values is s8[0], s8.scales is s8[1], s8.reductions is s8[2]) == (True,) * 3
        u8 = zemm.quantize_activations(x, 4, dtype="u8", engine=where)
        assert u8._fields == ("values", "scales", "zero_points", "reductions")
        assert (u8.values.dtype, u8.zero_points.dtype) == (np.uint8, np.int32)
    memory = zemm.Memory(zemm.MemoryDesc(x.shape, "f32"), engine, x)
    on_device = zemm.quantize_activations(memory, 4, dtype="u8")
    assert isinstance(on_device, zemm.QuantizedActivationsU8)
    assert np.array_equal(on_device.zero_points.as_numpy(), u8.zero_points)
    assert isinstance(zemm.quantize_activations(memory, 4), zemm.QuantizedActivations)
    assert zemm.quantize_weights(x.T, 8)._fields == ("values", "scales", "zero_points")


def test_zeros_need_no_division() -> None:
    with np.errstate(all="raise"):
        values, scales, reductions = zemm.quantize_activations(np.zeros((2, 256), np.float32))
        codes, steps, zero_points = zemm.quantize_weights(np.zeros((4, 2), np.float32), 8)
    assert not values.any()
    assert (scales == 1).all()
    assert not reductions.any()
    assert ((codes - zero_points) * steps == 0).all()


def test_low_nibble_first() -> None:
    assert zemm.pack_int4([1, 2, 3]).tolist() == [0x21, 0x03]
    assert zemm.unpack_int4(bytes([0x21, 0xF3]), 4, signed=False).tolist() == [1, 2, 3, 15]
    assert zemm.unpack_int4(bytes([0x21, 0xF8]), 4, signed=True).tolist() == [1, 2, -8, -1]


def test_packed_is_row_major() -> None:
    packed = zemm.pack_int4(np.arange(8).reshape(4, 2).T)
    assert packed.flags.c_contiguous
    assert packed.tolist() == [[0x20, 0x64], [0x31, 0x75]]


@given(st.integers(1, 8), st.integers(0, 5), st.integers(0, 19), st.sampled_from([-1, -2]), st.data())
def test_codes_are_a_stream_of_bits(bits: int, rows: int, n: int, axis: int, data: st.DataObject) -> None:
    codes = data.draw(hnp.arrays(np.uint8, (rows, n), elements=st.integers(0, 2**bits - 1)))
    packed = join(codes if axis == -1 else codes.T, bits, axis)
    packed = packed if axis == -1 else packed.T
    stream = np.unpackbits(codes[..., None], axis=-1, bitorder="little")[..., :bits].reshape(rows, n * bits)
    assert np.array_equal(packed, np.packbits(stream, axis=-1, bitorder="little"))
    assert np.array_equal(split(packed, bits)[:, :n], codes)


@pytest.mark.parametrize("signed", [False, True])
def test_packing_round_trip(signed: bool) -> None:
    values = np.arange(16).reshape(2, 8) - 8 * signed
    assert np.array_equal(zemm.unpack_int4(zemm.pack_int4(values), 16, signed).reshape(2, 8), values)
