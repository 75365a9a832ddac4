# SPDX-License-Identifier: Apache-2.0
"""Reorders that quantise to f8 and f4 in groups and write the scales: OCP MX and NVFP4. They are compared
with ml_dtypes, and with a matmul that does the same.
"""

from typing import Any

import numpy as np
import pytest
import zemm
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support_layout import Buffer, Layout, unpack
from test_reorder import layouts, run
from zemm import ARG_ATTR_SCALES, ARG_DST, ARG_SRC, ARG_WEIGHTS

Array = np.ndarray[Any, Any]
MODES = {"dynamic_mx": ("e8m0", 32), "dynamic_fp": ("f8_e4m3", 16)}
MOST = {"f8_e4m3": 448.0, "f8_e5m2": 57344.0, "f4_e2m1": 6.0}
SOURCES = ("f32", "f16", "bf16", "f8_e5m2", "f8_e4m3", "f4_e2m1")


def attr_of(ndims: int, mode: str, axis: int = -1) -> zemm.Attr:
    scale_dt, group = MODES[mode]
    attr = zemm.Attr()
    groups = (1, group) if axis == -1 else (group, 1)
    attr.set_scales(ARG_DST, 2**ndims - 1, groups, scale_dt, quantization_mode=mode)
    return attr


def expected(x: Array, dtype: str, mode: str, axis: int = -1) -> tuple[Array, Array]:
    """Values and scales of x, an f32 array, as the standards define them."""
    scale_dt, group = MODES[mode]
    most = np.float32(MOST[dtype])
    moved = np.moveaxis(x, axis, -1)
    grouped = moved.reshape(*moved.shape[:-1], moved.shape[-1] // group, group)
    largest = np.abs(grouped).max(axis=-1)  # NaN if there is one
    with np.errstate(all="ignore"):
        if mode == "dynamic_mx":
            exponents = np.frexp(largest)[1] - np.frexp(most)[1]
            codes = np.where(largest == 0, 0, np.maximum(exponents + 127, 0))
            scales = (
                np.where(np.isfinite(largest), codes, 255).astype(np.uint8).view(zemm.numpy_dtype("e8m0"))
            )
            scaled = (grouped / scales.astype(np.float64)[..., None]).astype(np.float32)
        else:
            scales = (largest / most).clip(0.125, 448).astype(zemm.numpy_dtype("f8_e4m3"))
            scaled = grouped * (np.float32(1) / scales.astype(np.float32))[..., None]
        # f4 has no NaN.
        nothing = most if dtype == "f4_e2m1" else np.float32(np.nan)
        scaled = np.where(np.isnan(scales.astype(np.float32))[..., None], nothing, scaled.clip(-most, most))
        values = scaled.astype(zemm.numpy_dtype(dtype)).reshape(moved.shape)
    return np.moveaxis(values, -1, axis), np.ascontiguousarray(np.moveaxis(scales, -1, axis))


def quantised(engine: zemm.Engine, src: Buffer, dst: Buffer, mode: str, axis: int = -1) -> Array:
    """Run the reorder. Returns the scales."""
    attr = attr_of(len(src.layout.dims), mode, axis)
    pd = zemm.ReorderPrimitiveDesc(engine, src.layout.md(), dst.layout.md(), attr)
    scales = zemm.Memory(pd.query_md("exec_arg_md", ARG_ATTR_SCALES | ARG_DST), engine)
    assert run(engine, src, dst, attr, {ARG_ATTR_SCALES | ARG_DST: scales}) == "quantize_floats"
    return scales.as_numpy()


def check(engine: zemm.Engine, src: Buffer, dst: Buffer, x: Array, mode: str, axis: int = -1) -> None:
    src.put(x)
    with np.errstate(invalid="ignore"):
        values, scales = expected(x.astype(np.float32), dst.layout.data_type, mode, axis)
    want = dst.with_tensor(values)
    got = quantised(engine, src, dst, mode, axis)
    np.testing.assert_array_equal(got.view(np.uint8), scales.view(np.uint8))
    dst.check(want)


FEW = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.full
@FEW
@given(st.data())
def test_layouts(engine: zemm.Engine, data: st.DataObject) -> None:
    """Any layouts of src and dst, batches, groups along rows and columns."""
    mode = data.draw(st.sampled_from(list(MODES)))
    axis = data.draw(st.sampled_from([-1, -2]))
    batch = data.draw(st.lists(st.integers(1, 3), max_size=2))
    matrix = [data.draw(st.integers(1, 40)), MODES[mode][1] * data.draw(st.integers(1, 5))]
    dims = (*batch, *(matrix if axis == -1 else reversed(matrix)))
    src_dt, dst_dt = data.draw(st.sampled_from(SOURCES)), data.draw(st.sampled_from(list(MOST)))
    seed = data.draw(st.integers(0, 2**32))
    src = Buffer(data.draw(layouts(dims, src_dt)), engine, seed)
    dst = Buffer(data.draw(layouts(dims, dst_dt)), engine, seed + 1)
    rng = np.random.default_rng(seed)
    spread = 2.0 ** rng.integers(-8, 9, [n if i == axis % len(dims) else 1 for i, n in enumerate(dims)])
    x = (rng.standard_normal(dims) * spread).astype(np.float32)
    with np.errstate(over="ignore"):
        x = x.clip(-6, 6) if src_dt == "f4_e2m1" else x.clip(-400, 400)
        check(engine, src, dst, x.astype(zemm.numpy_dtype(src_dt)), mode, axis)


@pytest.mark.each_value
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", MOST)
def test_any_f32(engine: zemm.Engine, dtype: str, mode: str) -> None:
    """Groups of all magnitudes, also denormal ones; groups of zeros; NaN and infinities."""
    rng = np.random.default_rng(1)
    group = MODES[mode][1]
    rows, columns = 600, 4 * group
    bits = rng.integers(0, 2**32, (rows, columns), np.uint32)
    top = rng.integers(0, 255, (rows, 4)).repeat(group, axis=1)
    exponents = (top - rng.integers(0, 12, bits.shape)).clip(0, 254).astype(np.uint32)
    x = ((bits & np.uint32(0x807FFFFF)) | exponents << np.uint32(23)).view(np.float32)
    x[:3] = 0
    x[1] = -0.0
    x[3] = 2.0**-149
    x[4:10, ::group] = np.array([np.nan, np.inf, -np.inf, -np.nan, np.finfo(np.float32).max, -3e38])[:, None]
    src, dst = (Buffer(Layout((rows, columns), dt, "ab"), engine, 1) for dt in ("f32", dtype))
    check(engine, src, dst, x, mode)
    scales = quantised(engine, src, dst, mode)
    assert (scales[:3].view(np.uint8) == (0 if mode == "dynamic_mx" else 0x20)).all()  # 2^-127; 0.125
    assert np.isnan(scales[[4, 7]].astype(np.float32)).all()


@pytest.mark.each_value
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", MOST)
def test_ties(engine: zemm.Engine, dtype: str, mode: str) -> None:
    """Values in the middle between two of dst, and next to it, in groups of scale 1."""
    codes = np.arange(8 if dtype == "f4_e2m1" else 127, dtype=np.uint8).view(zemm.numpy_dtype(dtype))
    steps = codes.astype(np.float32)
    steps = steps[np.isfinite(steps)]
    middles = (steps[1:] + steps[:-1]) / 2
    exact = np.concatenate([steps, middles, np.nextafter(middles, np.float32(0)), np.nextafter(middles, 1e9)])
    exact = np.concatenate([exact, -exact]).astype(np.float32)
    group = MODES[mode][1]
    x = np.full((-(-exact.size // (group - 1)), group), steps[-1], np.float32)
    padded = np.resize(exact, (x.shape[0], group - 1))
    x[:, 1:] = padded
    src, dst = (Buffer(Layout(x.shape, dt, "ab"), engine, 1) for dt in ("f32", dtype))
    check(engine, src, dst, x, mode)
    assert (quantised(engine, src, dst, mode).astype(np.float32) == 1).all()


@pytest.mark.each_value
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", MOST)
def test_as_a_matmul(engine: zemm.Engine, dtype: str, mode: str) -> None:
    """A matmul with the identity writes the same bytes and scales."""
    scale_dt, group = MODES[mode]
    m, n = 7, 4 * group
    x = (np.random.default_rng(2).standard_normal((m, n)) * 2.0 ** np.arange(-3, 4)[:, None]).astype(
        np.float32
    )
    mds = [zemm.MemoryDesc(dims, "f32") for dims in ((m, n), (n, n))]
    attr = attr_of(2, mode)
    dst_md = zemm.MemoryDesc((m, n), dtype)
    args = {
        ARG_SRC: zemm.Memory(mds[0], engine, x),
        ARG_WEIGHTS: zemm.Memory(mds[1], engine, np.eye(n, dtype=np.float32)),
    }
    args[ARG_DST] = zemm.Memory(dst_md, engine)
    scales = args[ARG_ATTR_SCALES | ARG_DST] = zemm.Memory(zemm.MemoryDesc((m, n // group), scale_dt), engine)
    stream = zemm.Stream(engine)
    zemm.Primitive(zemm.MatmulPrimitiveDesc(engine, *mds, dst_md, attr=attr)).execute(stream, args)
    stream.wait()
    src, dst = (Buffer(Layout((m, n), dt, "ab"), engine, 1) for dt in ("f32", dtype))
    src.put(x)
    got = quantised(engine, src, dst, mode)
    np.testing.assert_array_equal(got.view(np.uint8), scales.as_numpy().view(np.uint8))
    np.testing.assert_array_equal(dst.bytes_(), args[ARG_DST].read().view(np.uint8).reshape(-1))


@pytest.mark.each_value
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", MOST)
@pytest.mark.parametrize("to", ["f32", "f16", "f64"])
def test_back(engine: zemm.Engine, dtype: str, mode: str, to: str) -> None:
    """A reorder with the scales, as those of src, gives x back but for its rounding."""
    scale_dt, group = MODES[mode]
    x = np.random.default_rng(3).standard_normal((5, 4 * group)).astype(np.float32)
    src, dst, back = (Buffer(Layout(x.shape, dt, "ab"), engine, 1) for dt in ("f32", dtype, to))
    src.put(x)
    scales = quantised(engine, src, dst, mode)
    memory = zemm.Memory(zemm.MemoryDesc(scales.shape, scale_dt), engine, scales)
    attr = zemm.Attr()
    attr.set_scales(ARG_SRC, 3, (1, group), scale_dt)
    run(engine, dst, back, attr, {ARG_ATTR_SCALES | ARG_SRC: memory})
    values = dst.elements()[dst.layout.places()].astype(np.float64)
    want = values * scales.astype(np.float64).repeat(group, axis=1)
    np.testing.assert_array_equal(back.elements().reshape(x.shape), want.astype(zemm.numpy_dtype(to)))
    digits = {"f8_e4m3": 4, "f8_e5m2": 3, "f4_e2m1": 2}[dtype]
    largest = np.abs(x).reshape(5, 4, group).max(axis=2).repeat(group, axis=1)
    assert (np.abs(want - x) <= largest * 2.0 ** (1 - digits)).all()


@pytest.mark.quick(cases=lambda dtype, scaling: (dtype, scaling) == ("f4_e2m1", "nvfp4"))
@pytest.mark.parametrize("scaling", ["mx", "nvfp4"])
@pytest.mark.parametrize("dtype", MOST)
def test_quantize_floats(engine: zemm.Engine, dtype: Any, scaling: Any) -> None:
    """Arrays of any shape and memories. The docstring's matmul is that of the values times the scales."""
    mode = "dynamic_mx" if scaling == "mx" else "dynamic_fp"
    group = MODES[mode][1]
    rng = np.random.default_rng(4)
    for shape in ((64,), (3, 64), (2, 3, 64), (0, 64)):
        x = rng.standard_normal(shape).astype(np.float32)
        for got, want in zip(
            zemm.quantize_floats(x, dtype, scaling, engine=engine), expected(x, dtype, mode), strict=True
        ):
            assert got.shape == want.shape
            np.testing.assert_array_equal(got.view(np.uint8), want.view(np.uint8))
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((4, 64), (64, 6)))
    b = zemm.quantize_floats(w.T, dtype, scaling, engine=engine)
    # An array of f4 is for weights only.
    a = zemm.quantize_floats(x, "f8_e4m3" if dtype == "f4_e2m1" else dtype, scaling, engine=engine)
    parameters = {"src_scales": a.scales, "weights_scales": b.scales.T}
    y = zemm.matmul(a.values, b.values.T, **parameters, dst_dtype="f32", engine=engine)
    back = [q.values.astype(np.float32) * q.scales.astype(np.float32).repeat(group, axis=-1) for q in (a, b)]
    np.testing.assert_allclose(y, back[0] @ back[1].T, rtol=1e-5, atol=1e-5)
    memory = zemm.Memory(zemm.MemoryDesc((2, 32), "f4_e2m1"), engine)
    memory.write(rng.integers(0, 256, 32, np.uint8))
    again = zemm.quantize_floats(memory, dtype, scaling)
    codes = unpack(memory.read(), "f4_e2m1").reshape(2, 32)
    for got in (again, zemm.quantize_floats(codes, dtype, scaling, engine=engine)):
        for one, want in zip(got, expected(codes.astype(np.float32), dtype, mode), strict=True):
            array = unpack(one.read(), one.md.data_type) if isinstance(one, zemm.Memory) else one
            np.testing.assert_array_equal(array.view(np.uint8).reshape(-1), want.view(np.uint8).reshape(-1))
