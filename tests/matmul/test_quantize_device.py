# SPDX-License-Identifier: Apache-2.0
"""Dynamic quantisation on the device, by a reorder and by the primitive dynamic_quantize: scales, zero
points, values and sums equal numpy's bit for bit.
"""

import re
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
import zemm
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support_execute import memory_of
from zemm import ARG, ARG_DST, ARG_FROM, ARG_TO

SOURCES = ("f32", "f16", "bf16")
SCALES, ZERO_POINTS = ARG["ATTR_SCALES"] | ARG_DST, ARG["ATTR_ZERO_POINTS"] | ARG_DST
REDUCTIONS = ARG["ATTR_PRECOMPUTED_REDUCTIONS"] | ARG_DST
Floats = NDArray[np.floating]
OUTPUTS = (ARG_DST, zemm.ARG_DYNAMIC_SCALE, zemm.ARG_DYNAMIC_ZERO_POINT, zemm.ARG_DYNAMIC_REDUCTIONS)


def dynamic(
    engine: zemm.Engine, memories: dict[int, zemm.Memory], **options: zemm.Attr
) -> zemm.DynamicQuantizePrimitiveDesc:
    mds = [memories[arg].md if arg in memories else None for arg in (zemm.ARG_SRC, *OUTPUTS)]
    return zemm.DynamicQuantizePrimitiveDesc(engine, *mds, **options)  # type: ignore[arg-type]


def quantised(engine: zemm.Engine, x: Floats, want: dict[int, np.ndarray], **options: zemm.Attr) -> None:
    """The primitive makes these outputs of x."""
    memories = {arg: memory_of(engine, np.full_like(a, 77)) for arg, a in want.items()}
    memories[zemm.ARG_SRC] = memory_of(engine, x)
    stream = zemm.Stream(engine)
    zemm.Primitive(dynamic(engine, memories, **options)).execute(stream, memories)
    stream.wait()
    for arg, values in want.items():
        np.testing.assert_array_equal(memories[arg].as_numpy(), values)


def compare(
    engine: zemm.Engine, x: Floats, group: int, scale_dtype: str, dtype: str, reduced_range: bool = False
) -> None:
    options = {"dtype": dtype, "reduced_range": reduced_range}
    try:
        want = zemm.quantize_activations(x, group, scale_dtype, **options)
    except zemm.InvalidArgumentsError as error:  # f16 cannot hold a scale
        with pytest.raises(zemm.InvalidArgumentsError, match=re.escape(str(error))):
            zemm.quantize_activations(x, group, scale_dtype, **options, engine=engine)
        return
    have = zemm.quantize_activations(x, group, scale_dtype, **options, engine=engine)
    assert len(want) == len(have) == (4 if dtype == "u8" else 3)
    for a, b in zip(want, have, strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        wrong = a != b
        assert not wrong.any(), f"{wrong.sum()} of {a.size}: {a[wrong][:5]} in numpy, {b[wrong][:5]}"
    attr = zemm.Attr()
    if reduced_range:
        attr.set_reduced_range(ARG_DST)
    outputs = [arg for arg in OUTPUTS if dtype == "u8" or arg != zemm.ARG_DYNAMIC_ZERO_POINT]
    quantised(engine, x, dict(zip(outputs, want, strict=True)), attr=attr)


# Group sizes below 16, multiples of 16, and sizes in between. A vector has 16 elements.
@pytest.mark.quick(cases=lambda src, scale_dtype, dtype: (src, scale_dtype, dtype) == ("f16", "f16", "s8"))
@pytest.mark.parametrize("dtype", ["s8", "u8"])
@pytest.mark.parametrize("scale_dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("src", SOURCES)
def test_groups(engine: zemm.Engine, src: str, scale_dtype: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    for group in (1, 7, 15, 16, 17, 24, 32, 100, 128, 384):
        x = rng.standard_normal((3, 5, 2 * group)) * 2.0 ** rng.integers(-10, 9, (3, 5, 1))
        compare(engine, x.astype(zemm.numpy_dtype(src)), group, scale_dtype, dtype)


@pytest.mark.quick(cases=lambda scale_dtype, dtype: scale_dtype != "bf16" and dtype == "s8")
@pytest.mark.parametrize("dtype", ["s8", "u8"])
@pytest.mark.parametrize("scale_dtype", ["f32", "f16", "bf16"])
def test_any_floats(engine: zemm.Engine, scale_dtype: str, dtype: str) -> None:
    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 2**32), st.sampled_from([16, 20, 48]), st.integers(-126, 90))
    def check(seed: int, group: int, exponent: int) -> None:
        rng = np.random.default_rng(seed)
        bits = rng.integers(0, 2**32, (40, group), np.uint32)
        # Mantissas and signs are random. Exponents are within 2^30 of one another, and some values
        # are denormal.
        low = max(0, exponent + 127 - int(rng.integers(1, 30)))
        exponents = rng.integers(low, exponent + 128, bits.shape).astype(np.uint32)
        x = ((bits & np.uint32(0x807FFFFF)) | exponents << np.uint32(23)).view(np.float32)
        if scale_dtype == "f16":
            x = x.clip(-8e6, 8e6)
        compare(engine, x, group, scale_dtype, dtype)

    check()


@pytest.mark.parametrize("scale_dtype", ["f32", "f16", "bf16"])
def test_ties(engine: zemm.Engine, scale_dtype: str) -> None:
    """Quotients of exactly k + 1/2 and the neighbouring floats, for many scales."""
    rng = np.random.default_rng(1)
    ties = np.arange(-126.5, 127)
    for kind, top in (("s8", 127), ("u8", 255)):
        # The scales have few bits, so that (k + 1/2) * scale is a float.
        steps = (rng.integers(128, 256, (300, 1)) * 2.0 ** rng.integers(-20, 1, (300, 1))).astype(np.float32)
        x = np.empty((300, 3 * 256), np.float32)
        x[:, : 3 * len(ties)] = np.concatenate([ties, ties, ties]) * steps
        x[:, len(ties) : 2 * len(ties)] = np.nextafter(x[:, len(ties) : 2 * len(ties)], np.float32(np.inf))
        x[:, 2 * len(ties) : 3 * len(ties)] = np.nextafter(
            x[:, 2 * len(ties) : 3 * len(ties)], np.float32(-np.inf)
        )
        x[:, 3 * len(ties) :] = 0
        x[:, -1:] = steps * 127
        if top == 255:
            x[:, -2:-1] = -steps * 128
        compare(engine, x, x.shape[1], scale_dtype, kind)
        scales = zemm.quantize_activations(x, x.shape[1], "f32", dtype=kind)[1]
        assert (scales == steps).all(), "the scales are not those that make the ties"


@pytest.mark.parametrize("scale_dtype", ["f16", "bf16"])
def test_scales_between_two_of_their_type(engine: zemm.Engine, scale_dtype: str) -> None:
    """amax / 127 lies halfway between two scales, or just above or below that."""
    dtype = zemm.numpy_dtype(scale_dtype)
    low = np.arange(1.0, 2.0, 1 / 128).astype(dtype).astype(np.float64)
    gap = 2.0 ** (-10 if scale_dtype == "f16" else -7)
    amax = ((low + gap / 2) * 127).astype(np.float32)
    amax = np.concatenate([amax, np.nextafter(amax, np.float32(0)), np.nextafter(amax, np.float32(1000))])
    x = np.zeros((len(amax), 16), np.float32)
    x[:, 3] = amax
    x[:, 4] = -amax / 3
    compare(engine, x, 16, scale_dtype, "s8")


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", ["s8", "u8"])
@pytest.mark.parametrize("scale_dtype", ["f32", "f16", "bf16"])
def test_small_and_zero(engine: zemm.Engine, scale_dtype: str, dtype: str) -> None:
    """Groups of zeros have scale 1, and scales are never 0. f16 refuses some (test_small_scales.py)."""
    rows = [np.zeros(32), np.full(32, -0.0), np.full(32, 5.0), np.full(32, -5.0)]
    rows += [np.linspace(-1, 1, 32) * top for top in (3e-4, 8e-3)]
    small = [np.linspace(-1, 1, 32) * top for top in (1e-45, 3e-44, 1e-40, 1e-38, 2e-36, 1e-7, 6e-5)]
    small += [np.r_[1e-30, np.zeros(31)]]
    for row in small:
        compare(engine, row[None].astype(np.float32), 32, scale_dtype, dtype)
    x = np.array(rows if scale_dtype == "f16" else rows + small, np.float32)
    compare(engine, x, 32, scale_dtype, dtype)
    scales = zemm.quantize_activations(x, 32, scale_dtype, dtype=dtype, engine=engine)[1]
    assert (scales[:2] == 1).all()
    assert (scales > 0).all()


@pytest.mark.quick(cases=lambda src, scale_dtype, dtype: (src, scale_dtype, dtype) == ("f32", "bf16", "s8"))
@pytest.mark.parametrize("dtype", ["s8", "u8"])
@pytest.mark.parametrize("scale_dtype", ["f32", "bf16"])
@pytest.mark.parametrize("src", ["f32", "bf16"])
def test_ranges_beyond_the_largest_float(engine: zemm.Engine, src: str, scale_dtype: str, dtype: str) -> None:
    """The distance between both ends of f32 exceeds f32, but a scale of 1/255 of it does not."""
    kind = zemm.numpy_dtype(src)
    top = float(ml_dtypes.finfo(kind).max)
    near = [float(np.nextafter(kind.type(top), kind.type(0))), top / 2, top / 4 * 3, top / 3]
    pairs = [(-a, b) for a in (top, *near) for b in (top, *near)] + [(-top, -top), (top, top), (-top, 0.0)]
    for group in (16, 24, 200):
        x = np.random.default_rng(0).uniform(-1, 1, (len(pairs), group)) * top
        x[:, 0], x[:, -1] = np.transpose(pairs)
        low, high = x[:, :1], x[:, -1:]
        x = np.clip(x, np.minimum(low, high), np.maximum(low, high)).astype(kind)
        compare(engine, x, group, scale_dtype, dtype)
        values, scales, *others = zemm.quantize_activations(x, group, scale_dtype, dtype=dtype, engine=engine)
        zero_points = others[0] if dtype == "u8" else 0
        back = (values.astype(np.float64) - zero_points) * scales.astype(np.float64)
        step = scales.astype(np.float64)
        # The value and the zero point are each off by up to half a step; a bf16 scale by up to
        # 2^-9.
        assert (np.abs(back - x.astype(np.float64)) <= step * (1.01 + (scale_dtype == "bf16"))).all()


@pytest.mark.parametrize("dtype", ["s8", "u8"])
def test_equal_values(engine: zemm.Engine, dtype: str) -> None:
    """Groups of equal values, of every magnitude, give the value back. Zeros of either sign and
    denormals do, too.
    """
    sizes = [1.0, -1.0, 3e38, -3e38, 1e-30, -1e-30, 2.0**-126, 2.0**-149, -(2.0**-149), 1e-40, 0.0, -0.0]
    x = np.repeat(np.array(sizes, np.float32)[:, None], 40, axis=1)
    compare(engine, x, 40, "f32", dtype)
    values, scales, *others = zemm.quantize_activations(x, 40, dtype=dtype, engine=engine)
    zero_points = others[0] if dtype == "u8" else 0
    back = (values.astype(np.float64) - zero_points) * scales
    np.testing.assert_allclose(back, x, rtol=1e-6, atol=2.0**-126)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["s8", "u8"])
def test_not_finite(engine: zemm.Engine, dtype: str, bad: float) -> None:
    """With memories, the scale shows the value, and the values are 0; other groups are unchanged.
    Arrays are refused.
    """
    x = np.random.default_rng(0).standard_normal((3, 48)).astype(np.float32)
    good = zemm.quantize_activations(x, 24, dtype=dtype)
    for column in (24, 47):  # in a vector, and behind the last whole vector
        y = x.copy()
        y[1, column] = bad
        memory = zemm.Memory(zemm.MemoryDesc(y.shape, "f32"), engine)
        memory.write(y)
        values, scales, *_, sums = (m.as_numpy() for m in zemm.quantize_activations(memory, 24, dtype=dtype))
        assert not np.isfinite(scales[1, 1])
        assert np.isnan(scales[1, 1]) == np.isnan(bad)
        assert (values[1, 24:] == 0).all()
        assert sums[1, 1] == 0
        others = np.ones((3, 2), bool)
        others[1, 1] = False
        assert (scales[others] == good[1][others]).all()
        assert (values.reshape(3, 2, 24)[others] == good[0].reshape(3, 2, 24)[others]).all()
        for on in (None, engine):
            with pytest.raises(ValueError, match=rf"x\[1, {column}\]"):
                zemm.quantize_activations(y, 24, dtype=dtype, engine=on)


def primitive(
    engine: zemm.Engine,
    x: zemm.Memory,
    dst: zemm.MemoryDesc,
    group: int | None,
    reduction: int | None,
    stride_of: Callable[[int], int] = int,
) -> dict[int, zemm.Memory]:
    """A reorder, as C sees it. group None: a scale for each row. stride_of: makes the
    strides of the parameters from dense ones."""
    ndims = dst.ndims
    every = 2**ndims - 1
    attr = zemm.Attr()
    mask = every >> 1 if group is None else every
    groups = () if group is None else (1, group)
    attr.set_scales(ARG_DST, mask, groups, "f32", quantization_mode="dynamic_fp")
    if dst.data_type == "u8":
        attr.set_zero_points(ARG_DST, mask)
    if reduction is not None:
        attr.set_precomputed_reductions(ARG_DST, every, (1, reduction))
    pd = zemm.ReorderPrimitiveDesc(engine, x.md, dst, attr)
    assert pd.impl_info == "quantize"
    args = {ARG_FROM: x}
    for arg in (ARG_TO, SCALES, ZERO_POINTS, REDUCTIONS):
        md = pd.query_md("exec_arg_md", arg)
        if md.ndims:
            if arg != ARG_TO:
                md = zemm.MemoryDesc(md.dims, md.data_type, strides=[stride_of(s) for s in md.strides])
            args[arg] = zemm.Memory(md, engine)
            args[arg].write(np.full(md.size, 0x5A, np.uint8))
    stream = zemm.Stream(engine)
    zemm.Primitive(pd).execute(stream, args)
    stream.wait()
    return args


@pytest.mark.parametrize("dtype", ["s8", "u8"])
@pytest.mark.parametrize(
    ("group", "reduction"),
    [(32, None), (32, 32), (32, 96), (96, 32), (96, 16), (24, 192), (None, 32), (None, 192)],
)
def test_reductions(engine: zemm.Engine, group: int | None, reduction: int | None, dtype: str) -> None:
    """Sums over groups that are smaller or larger than those of the scales, or no sums."""
    k = 192
    x = np.random.default_rng(2).standard_normal((7, k)).astype(np.float32)
    memory = zemm.Memory(zemm.MemoryDesc(x.shape, "f32"), engine)
    memory.write(x)
    made = primitive(engine, memory, zemm.MemoryDesc(x.shape, dtype), group, reduction)
    values, scales, *_ = zemm.quantize_activations(x, group or k, dtype=dtype)
    np.testing.assert_array_equal(made[ARG_TO].as_numpy(), values)
    np.testing.assert_array_equal(made[SCALES].as_numpy(), scales)
    assert (REDUCTIONS in made) == (reduction is not None)
    if reduction is not None:
        sums = values.reshape(7, k // reduction, reduction).sum(axis=-1, dtype=np.int32)
        np.testing.assert_array_equal(made[REDUCTIONS].as_numpy(), sums)


def test_rows_with_gaps(engine: zemm.Engine) -> None:
    """Batches in another order, and rows with gaps on both sides. Only the tensor is written."""
    dims = (2, 3, 4, 64)
    src_md = zemm.MemoryDesc(dims, "f32", strides=(1000, 80, 240, 1))
    dst_md = zemm.MemoryDesc(dims, "s8", strides=(70, 1000, 150, 1))
    rng = np.random.default_rng(3)
    flat = rng.standard_normal(src_md.size // 4).astype(np.float32)
    x = np.lib.stride_tricks.as_strided(flat, dims, tuple(4 * s for s in src_md.strides))
    made = primitive(engine, zemm.Memory(src_md, engine, flat.view(np.uint8)), dst_md, 32, 64)
    values, scales, _ = zemm.quantize_activations(x, 32)
    raw = made[ARG_TO].read().view(np.int8)
    want = np.full(dst_md.size, 0x5A, np.int8)
    np.lib.stride_tricks.as_strided(want, dims, dst_md.strides)[...] = values
    np.testing.assert_array_equal(raw, want)
    np.testing.assert_array_equal(made[SCALES].as_numpy(), scales)
    sums = values.sum(axis=-1, dtype=np.int32)[..., None]
    np.testing.assert_array_equal(made[REDUCTIONS].as_numpy(), sums)


def test_many_rows(engine: zemm.Engine) -> None:
    """More than one work-item; the last one has fewer rows."""
    x = np.random.default_rng(4).standard_normal((131, 1280)).astype(np.float32)
    compare(engine, x, 128, "f16", "s8")
    compare(engine, x.astype(ml_dtypes.bfloat16), 64, "f32", "u8")


def test_on_a_stream(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """The values are read by the stream's next work, without a wait in between."""
    x = np.random.default_rng(5).standard_normal((9, 256)).astype(np.float32)
    memory = zemm.Memory(zemm.MemoryDesc(x.shape, "f32"), engine, x)
    values, scales, reductions = zemm.quantize_activations(memory, 128, stream=stream)
    copy = zemm.reorder(values, zemm.MemoryDesc(x.shape, "s32"), stream=stream)
    stream.wait()
    want = zemm.quantize_activations(x, 128)
    for got, expected in zip((copy, scales, reductions), want, strict=True):
        np.testing.assert_array_equal(got.as_numpy(), expected)


def test_empty(engine: zemm.Engine) -> None:
    for on in (None, engine):
        values, scales, sums = zemm.quantize_activations(np.zeros((0, 64), np.float32), 32, engine=on)
        assert (values.shape, scales.shape, sums.shape) == ((0, 64), (0, 2), (0, 2))


def test_parameters_with_gaps(engine: zemm.Engine) -> None:
    """Scales, zero points and sums are results here: they are written where their strides say, and
    nothing else is."""
    x = np.random.default_rng(4).standard_normal((7, 192)).astype(np.float32)
    src, dst = zemm.Memory(zemm.MemoryDesc(x.shape, "f32"), engine, x), zemm.MemoryDesc(x.shape, "u8")
    want = primitive(engine, src, dst, 32, 96)
    have = primitive(engine, src, dst, 32, 96, lambda stride: 3 * stride)
    for arg, memory in want.items():
        if arg in (ARG_FROM, ARG_TO):
            continue
        values = memory.as_numpy().ravel()
        raw = np.full((values.size, 3), 0x5A5A5A5A, np.uint32).view(values.dtype)
        raw[:, 0] = values
        np.testing.assert_array_equal(have[arg].read().view(values.dtype), raw.ravel())


def test_parameters_in_one_place(engine: zemm.Engine) -> None:
    x = np.zeros((7, 192), np.float32)
    src, dst = zemm.Memory(zemm.MemoryDesc(x.shape, "f32"), engine, x), zemm.MemoryDesc(x.shape, "u8")
    with pytest.raises(zemm.InvalidArgumentsError, match="a place each, and stride 0 gives them one"):
        primitive(engine, src, dst, 32, 96, lambda stride: 100 * stride if stride > 1 else 0)


# ---- the primitive alone


@pytest.mark.parametrize("dtype", ["s8", "u8"])
@pytest.mark.parametrize("shape", [(96,), (1, 96), (5, 7), (2, 3, 16)])
def test_a_tensor(engine: zemm.Engine, shape: tuple[int, ...], dtype: str) -> None:
    """One scale for all, with and without sums."""
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    values, *others = zemm.quantize_activations(x.reshape(1, -1), x.size, dtype=dtype)
    outputs = [arg for arg in OUTPUTS if dtype == "u8" or arg != zemm.ARG_DYNAMIC_ZERO_POINT]
    want = dict(
        zip(outputs, (values.reshape(shape), *(o.reshape([1] * x.ndim) for o in others)), strict=True)
    )
    quantised(engine, x, want)
    del want[zemm.ARG_DYNAMIC_REDUCTIONS]
    quantised(engine, x, want)


def test_queries(engine: zemm.Engine) -> None:
    x, dst = zemm.MemoryDesc((4, 96), "f32"), zemm.MemoryDesc((4, 96), "u8")
    scale, parameter = zemm.MemoryDesc((4, 3), "f16"), zemm.MemoryDesc((4, 3), "s32")
    pd = zemm.DynamicQuantizePrimitiveDesc(engine, x, dst, scale, parameter, parameter)
    assert pd.query_md("src_md") == x
    assert [pd.query_md("dst_md", i) for i in range(4)] == [dst, scale, parameter, parameter]
    assert pd.impl_info == "quantize"


@pytest.mark.parametrize("arg", [ARG_DST, zemm.ARG_DYNAMIC_SCALE, zemm.ARG_DYNAMIC_REDUCTIONS])
def test_a_memory_that_is_too_small(engine: zemm.Engine, arg: int) -> None:
    """Or missing: nothing is written."""
    arrays = {ARG_DST: np.full((4, 96), 77, np.int8), zemm.ARG_DYNAMIC_SCALE: np.full((4, 1), 77, np.float32)}
    arrays |= {zemm.ARG_SRC: np.ones((4, 96), np.float32)}
    arrays |= {zemm.ARG_DYNAMIC_REDUCTIONS: np.full((4, 1), 77, np.int32)}
    right = {a: memory_of(engine, array) for a, array in arrays.items()}
    primitive, stream = zemm.Primitive(dynamic(engine, right)), zemm.Stream(engine)
    less = memory_of(engine, arrays[arg][:3])
    needed = "was made for s8 4x96" if arg == ARG_DST else "needs 4 dense elements"
    for args, sentence in (
        (right | {arg: less}, f"ARG_.*the primitive {needed}"),
        ({a: m for a, m in right.items() if a != arg}, "ARG_"),
    ):
        with pytest.raises(zemm.InvalidArgumentsError, match=sentence):
            primitive.execute(stream, args)
    stream.wait()
    assert all((right[a].as_numpy() == 77).all() for a in OUTPUTS if a in right)
