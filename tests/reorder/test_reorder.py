# SPDX-License-Identifier: Apache-2.0
"""Reorders compared with numpy: any layout and type to any other, with attributes; packing of
weights; refusals.
"""

from typing import Any

import numpy as np
import pytest
import zemm
from hypothesis import strategies as st
from support_bounds import NAN_AS
from support_layout import PER_BYTE, Buffer, Layout
from support_tiers import random_cases
from zemm import ARG_ATTR_SCALES, ARG_ATTR_ZERO_POINTS, ARG_DST, ARG_FROM, ARG_SRC, ARG_TO

RANGES = {
    "s32": (-(2**31), 2**31 - 1),
    "s8": (-128, 127),
    "u8": (0, 255),
    "s4": (-8, 7),
    "u4": (0, 15),
    "u2": (0, 3),
    "u3": (0, 7),
}
FLOATS = ("f32", "f16", "bf16")
SMALL_FLOATS = ("f8_e5m2", "f8_e4m3", "f4_e2m1", "e8m0")
SCALES = (*FLOATS, "f8_e4m3", "e8m0")
TYPES = (*FLOATS, *SMALL_FLOATS, *RANGES)
MIXED = (*TYPES, "f64", "f64", "f64")
# Digits of the significand, and the exponent of the smallest normal value.
DIGITS = {
    "f64": (53, -1022), "f32": (24, -126), "f16": (11, -14), "bf16": (8, -126), "f8_e5m2": (3, -14),
    "f8_e4m3": (4, -6), "f4_e2m1": (2, 0),
}  # fmt: skip
MOVED = ("f64", "s64")  # types that are only copied, not converted
Array = np.ndarray[Any, Any]


@st.composite
def layouts(
    draw: st.DrawFn, dims: tuple[int, ...], data_type: str, kinds: str = "plain gaps blocked"
) -> Layout:
    """repeated: stride 0 along some dimensions."""
    ndims = len(dims)
    order = draw(st.permutations(range(ndims)))
    letters = [chr(ord("a") + d) for d in order]
    kind = draw(st.sampled_from([*kinds.split(), "blocked"]))
    per_byte = PER_BYTE.get(data_type, 1)
    if kind == "blocked":
        sizes = [n for n in (2, 4, 8, 16) if n % per_byte == 0][: 4 if ndims < 5 else 1]
        count = draw(st.integers(1, 3 if ndims < 5 else 2))
        blocks = [(draw(st.sampled_from(sizes)), draw(st.integers(0, ndims - 1))) for _ in range(count)]
        blocked = {d for _, d in blocks}
        tag = "".join(c.upper() if ord(c) - ord("a") in blocked else c for c in letters)
        tag += "".join(f"{size}{chr(ord('a') + d)}" for size, d in blocks)
        return Layout(dims, data_type, tag)
    strides, span = [0] * ndims, 1
    repeated = draw(st.sets(st.sampled_from(range(ndims)))) if kind == "repeated" and per_byte == 1 else set()
    for d in reversed(order):
        if d in repeated:
            continue
        if span > 1:
            span += -span % per_byte
        strides[d] = span
        span = span * dims[d] + (2 * draw(st.integers(0, 3)) if kind == "gaps" else 0)
    return Layout(dims, data_type, strides=tuple(strides))


@st.composite
def shapes(draw: st.DrawFn, most: int = 4) -> tuple[int, ...]:
    """Up to 12 dimensions. Most tags of more than four are no value of zemm_format_tag_t."""
    ndims = draw(st.sampled_from([1, 2, 3, 4, 4, *range(5, most + 1)]))
    if ndims > 4:
        return tuple(draw(st.sampled_from([1, 1, 2, 2, 3])) for _ in range(ndims))
    return tuple(draw(st.integers(1, (300, 40, 12, 6)[ndims - 1])) for _ in range(ndims))


def values_of(dims: tuple[int, ...], data_type: str, seed: int) -> Array:
    """Floats with few bits, so that arithmetic is exact and ties are common. Integers cover the
    whole range.
    """
    rng = np.random.default_rng(seed)
    if data_type in RANGES:
        low, high = RANGES[data_type]
        if rng.integers(2):
            low, high = max(low, -300), min(high, 300)
        return rng.integers(low, high, dims, endpoint=True).astype(storage(data_type))
    if data_type == "e8m0":
        return np.exp2(rng.integers(-6, 7, dims)).astype(zemm.numpy_dtype(data_type))
    largest = 48 if data_type == "f4_e2m1" else 1200
    return (rng.integers(-largest, largest, dims) / 8).astype(zemm.numpy_dtype(data_type))


def storage(data_type: str) -> np.dtype[Any]:
    """The numpy type in which elements are kept here: 4-bit elements take a byte."""
    names = {"s4": np.dtype(np.int8), "u4": np.dtype(np.uint8)}
    return names.get(data_type) or zemm.numpy_dtype(data_type)


def rounded(x: Array, data_type: str) -> Array:
    """f64 rounded once, half to even, to a type's digits; the result is still f64."""
    digits, smallest = DIGITS[data_type]
    finite = np.where(np.isfinite(x), x, 0)
    last = np.maximum(np.frexp(finite)[1] - 1, smallest) - (digits - 1)  # exponent of the last digit
    with np.errstate(over="ignore"):
        return np.where(finite == x, np.ldexp(np.rint(np.ldexp(finite, -last)), last), x)


def stored(x: Array, data_type: str) -> Array:
    """f64 as elements of a type. Overflow, NaN and denormals are those of the reorder from f32."""
    if data_type == "f64":
        return x
    if data_type in RANGES:
        low, high = RANGES[data_type]
        return (
            np.rint(np.nan_to_num(x, nan=NAN_AS.get(data_type, 0), posinf=high, neginf=low))
            .clip(low, high)
            .astype(storage(data_type))
        )
    dtype = zemm.numpy_dtype(data_type)
    if data_type == "e8m0":  # the exponent alone, with that of f32's denormals for all that is smaller
        exponents = np.frexp(np.abs(x))[1] - 1
        codes = np.where(x == 0, 0, np.maximum(exponents + 127, 0))
        return np.where(np.isfinite(x) & (np.abs(x) < 2.0**128), codes, 255).astype(np.uint8).view(dtype)
    y = rounded(x, data_type)
    if data_type == "f4_e2m1":
        y = np.where(np.isnan(y), np.copysign(6, y), y.clip(-6, 6))
    if data_type == "bf16":
        y = np.where(np.abs(y) < 2.0**-126, np.copysign(0, y), y)
    with np.errstate(over="ignore", invalid="ignore"):
        return y.astype(dtype)


def converted(x: Array, data_type: str) -> Array:
    """f32, f64 or int64 converted to a type, with a reorder's rounding and saturation."""
    if x.dtype.kind == "f" or data_type not in RANGES:
        y = x.astype(np.float64)
        is_s32_of_f32 = x.dtype == np.float32 and data_type == "s32"
        # 2147483520 is the largest f32 below 2^31.
        return stored(y.clip(None, 2147483520) if is_s32_of_f32 else y, data_type)
    return x.clip(*RANGES[data_type]).astype(storage(data_type))


def run(
    engine: zemm.Engine,
    src: Buffer,
    dst: Buffer,
    attr: zemm.Attr | None = None,
    more: dict[int, zemm.Memory] | None = None,
    implementation: int = 0,
) -> str:
    pd = zemm.ReorderPrimitiveDesc(engine, src.layout.md(), dst.layout.md(), attr)
    for _ in range(implementation):
        assert pd.next_impl()
    stream = zemm.Stream(engine)
    zemm.Primitive(pd).execute(stream, {ARG_FROM: src.memory, ARG_TO: dst.memory, **(more or {})})
    stream.wait()
    return pd.impl_info


@random_cases(quick=16, full=200)
def test_layouts_and_types(engine: zemm.Engine, data: st.DataObject) -> None:
    dims = data.draw(shapes(12))
    src_dt, dst_dt = (data.draw(st.sampled_from(MIXED)) for _ in range(2))
    seed = data.draw(st.integers(0, 2**32))
    layout = data.draw(layouts(dims, src_dt, "plain gaps blocked repeated"))
    src = Buffer(layout, engine, seed)
    dst = Buffer(data.draw(layouts(dims, dst_dt)), engine, seed + 1)
    values = values_of(dims, src_dt, seed + 2)
    for d, stride in enumerate(layout.strides or ()):
        values = values if stride else np.broadcast_to(values.take([0], d), dims)
    src.put(values)
    is_wide, is_whole = "f64" in (src_dt, dst_dt), src_dt in RANGES and dst_dt in RANGES
    exact = values.astype(np.float64 if is_wide else np.int64 if is_whole else np.float32)
    want = dst.with_tensor(converted(exact, dst_dt))
    assert run(engine, src, dst) != "reorder_f64" or is_wide
    dst.check(want)


@st.composite
def parameters(draw: st.DrawFn, dims: tuple[int, ...], need_mask: bool) -> tuple[int, tuple[int, int] | None]:
    """Random scales or zero points for a mask and groups."""
    ndims = len(dims)
    mask = draw(st.integers(1 if need_mask else 0, 2**ndims - 1))
    if ndims < 2 or mask >> (ndims - 2) != 3 or not draw(st.booleans()):
        return mask, None
    return mask, (draw(st.integers(1, dims[-2] + 1)), draw(st.integers(1, dims[-1] + 1)))


def spread(values: Array, dims: tuple[int, ...], groups: tuple[int, int] | None) -> Array:
    """A parameter's values, repeated to one for each element."""
    if groups:
        values = values.repeat(groups[0], axis=-2)[..., : dims[-2], :].repeat(groups[1], axis=-1)[
            ..., : dims[-1]
        ]
    return np.broadcast_to(values, dims)


@random_cases(quick=5, full=60)
def test_attributes(engine: zemm.Engine, data: st.DataObject) -> None:
    """Powers of two, so that f32 is exact."""
    check_attributes(engine, data, *(data.draw(st.sampled_from(TYPES)) for _ in range(2)))


@random_cases(quick=12, full=90)
def test_attributes_of_f64(engine: zemm.Engine, data: st.DataObject) -> None:
    """Any scales and the sum are applied in f64."""
    check_attributes(engine, data, *data.draw(st.permutations(["f64", data.draw(st.sampled_from(TYPES))])))


def check_attributes(engine: zemm.Engine, data: st.DataObject, src_dt: str, dst_dt: str) -> None:
    dims = data.draw(shapes())
    is_wide = "f64" in (src_dt, dst_dt)
    wide: type[np.floating] = np.float64 if is_wide else np.float32
    seed = data.draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    src = Buffer(data.draw(layouts(dims, src_dt)), engine, seed)
    dst = Buffer(data.draw(layouts(dims, dst_dt)), engine, seed + 1)
    values = values_of(dims, src_dt, seed + 2)
    if src_dt == "s32":
        values = values % 4096  # so that it is exact as f32
    old = values_of(dims, dst_dt, seed + 3)
    if dst_dt == "s32":
        old = old % 4096
    src.put(values)
    dst.put(old)

    attr, more = zemm.Attr(), {}
    found: dict[str, Array] = {}
    for name, arg, dt in (("src", ARG_SRC, src_dt), ("dst", ARG_DST, dst_dt)):
        for what, flag in (("scale", ARG_ATTR_SCALES), ("zp", ARG_ATTR_ZERO_POINTS)):
            is_scale = what == "scale"
            is_left_out = not (is_wide and is_scale) and not data.draw(st.booleans())
            if is_left_out or (not is_scale and dt not in RANGES):
                continue
            mask, groups = data.draw(
                parameters(dims, is_scale and name == "src" and dt in ("s4", "u4", "u2", "u3"))
            )
            if name == "dst" and not is_scale:
                groups = None  # only those of src have groups
            scales = SCALES if mask and not is_wide else FLOATS  # a common scale is never narrow
            kinds = scales if is_scale else ("s32", "s8", "u8") if name == "src" else ("s32",)
            kind = data.draw(st.sampled_from(kinds))
            shape = [n if mask >> d & 1 else 1 for d, n in enumerate(dims)]
            if groups:
                shape[-2:] = [-(-shape[-2] // groups[0]), -(-shape[-1] // groups[1])]
            powers = rng.uniform(0.1, 3, shape) if is_wide else 2.0 ** rng.integers(-2, 3, shape)
            integers = rng.integers(0 if kind == "u8" else -9, 10, shape)
            entry = (powers if is_scale else integers).astype(zemm.numpy_dtype(kind))
            set_ = attr.set_scales if is_scale else attr.set_zero_points
            on_host = mask == 0 and data.draw(st.booleans())
            set_(arg, mask, groups or (), kind, is_on_host=on_host)
            if on_host:
                more[flag | arg] = zemm.Memory.host_scalar(
                    zemm.MemoryDesc.host_scalar(kind), entry.reshape(())
                )
            else:
                memory = zemm.Memory(zemm.MemoryDesc(shape, kind), engine)
                memory.write(entry)
                more[flag | arg] = memory
            found[f"{name}_{what}"] = spread(entry.astype(wide), dims, groups)
    beta = data.draw(st.sampled_from([None, 0.7] if is_wide else [None, 1.0, -0.5, 2.0]))
    if beta is not None:
        ops = zemm.PostOps()
        ops.append_sum(beta)
        attr.set_post_ops(ops)

    none, one = wide(0), wide(1)
    x = values.astype(wide) - found.get("src_zp", none)
    x = x * found.get("src_scale", one)
    if beta is not None:
        x = x + wide(np.float32(beta)) * (old.astype(wide) - found.get("dst_zp", none))
    x = x / found.get("dst_scale", one) + found.get("dst_zp", none)
    want = dst.with_tensor(converted(x, dst_dt))
    run(engine, src, dst, attr, more)
    dst.check(want)


@pytest.mark.parametrize("data_type", MOVED)
def test_other_types_are_moved(engine: zemm.Engine, data_type: str) -> None:
    dims = (5, 18, 7)
    src = Buffer(Layout(dims, data_type, "cab"), engine, 1)
    dst = Buffer(Layout(dims, data_type, "aBc16b"), engine, 2)
    values = src.elements()[src.layout.places()]
    want = dst.with_tensor(values)
    run(engine, src, dst)
    dst.check(want)


@pytest.mark.parametrize("data_type", ["bf16", "f8_e5m2", "f8_e4m3", "f4_e2m1", "e8m0"])
def test_copies_keep_all_bits(engine: zemm.Engine, data_type: str) -> None:
    """NaN payloads and denormals, which arithmetic would change, are kept."""
    count = 2**17 * 8 // zemm._library.lists.TYPES[data_type].bits
    src = Buffer(Layout((count,), data_type, "a"), engine, 1)
    dst = Buffer(Layout((count,), data_type, "a"), engine, 2)
    src.bytes_()[:] = np.arange(2**16, dtype=np.uint16).view(np.uint8)
    run(engine, src, dst)
    np.testing.assert_array_equal(dst.bytes_(), src.bytes_())


EDGES = {
    "f32_to_s8": ([-129, -128.5, -0.5, 0.5, 1.5, 2.5, 126.5, 127.5, 1e9, np.nan], "f32", "s8",
                  [-128, -128, 0, 0, 2, 2, 126, 127, 127, -128]),
    "f32_to_u8": ([-1, 254.5, 256, np.nan], "f32", "u8", [0, 254, 255, 255]),
    "f32_to_u4": ([-3, 0.5, 1.5, 14.5, 15.5, 99, -np.inf, np.inf, np.nan, 1], "f32", "u4",
                  [0, 0, 2, 14, 15, 15, 0, 15, 0, 1]),
    "f32_to_s32": ([-3e9, 2147483647, 16777217, np.nan], "f32", "s32",
                   [-(2**31), 2147483520, 16777216, -(2**31)]),
    "s32_to_s32_of_u8": ([-5, 300, 256], "s32", "u8", [0, 255, 255]),
    "s32_to_f32": ([2**31 - 1, 16777217], "s32", "f32", [2147483648.0, 16777216.0]),
    "f32_to_f8_e5m2": ([1.125, 1.375, 61439, 61440, -1e9], "f32", "f8_e5m2",
                       [1, 1.5, 57344, np.inf, -np.inf]),
    "f32_to_f8_e4m3": ([1.0625, 464, 465, 2**-10], "f32", "f8_e4m3", [1, 448, np.nan, 0]),
    "f32_to_f4": ([0.25, 0.75, 1e9, -np.inf, 2.5, 5], "f32", "f4_e2m1", [0, 1, 6, -6, 2, 4]),
    "s32_to_e8m0": ([1, 3, -4, 2**31 - 1], "s32", "e8m0", [1, 2, 4, 2.0**31]),
    "f32_to_f16": ([65519, 65520, 1e-8, -np.inf], "f32", "f16", [65504, np.inf, 0, -np.inf]),
}  # fmt: skip


@pytest.mark.quick(cases=lambda name: name in ("f32_to_s32", "s32_to_f32", "f32_to_f4", "f32_to_f8_e4m3"))
@pytest.mark.parametrize("name", EDGES)
def test_edges(engine: zemm.Engine, name: str) -> None:
    values, src_dt, dst_dt, want = EDGES[name]
    src = Buffer(Layout((len(values),), src_dt, "a"), engine, 1)
    dst = Buffer(Layout((len(values),), dst_dt, "a"), engine, 2)
    src.put(np.array(values).astype(storage(src_dt)))
    run(engine, src, dst)
    found, expected = dst.elements()[: len(want)], np.array(want).astype(storage(dst_dt))
    np.testing.assert_array_equal(found.view(np.uint8), expected.view(np.uint8))


def test_empty(engine: zemm.Engine) -> None:
    md = zemm.MemoryDesc((0, 4), "f32")
    memory = zemm.Memory(md, engine)
    assert zemm.reorder(memory, zemm.MemoryDesc((0, 4), "s8", "ba")).md.size == 0


def test_one_call(engine: zemm.Engine, stream: zemm.Stream) -> None:
    weights = zemm.Memory(zemm.MemoryDesc((70, 40), "s8"), engine)
    values = np.random.default_rng(0).integers(-128, 128, (70, 40), np.int8)
    weights.write(values)
    packed = zemm.reorder(weights, zemm.MemoryDesc((70, 40), "s8", "BA16a64b4a"), stream=stream)
    back = zemm.reorder(packed, zemm.MemoryDesc((70, 40), "f32"), stream=stream)
    stream.wait()
    np.testing.assert_array_equal(back.as_numpy(), values)
    with pytest.raises(zemm.InvalidArgumentsError, match="another engine"):
        zemm.reorder(weights, weights.md, stream=zemm.Stream(zemm.Engine("cpu")))


def test_odd_nibbles(engine: zemm.Engine) -> None:
    """A part may begin in the middle of a byte."""
    whole = zemm.MemoryDesc((16,), "u4")
    src = zemm.Memory(whole, engine)
    values = np.arange(16, dtype=np.uint8)
    src.write(zemm.pack_int4(values))
    part = zemm.Memory.from_handle(whole.submemory((8,), (3,)), engine, src.handle, keep=src)
    read = zemm.reorder(part, zemm.MemoryDesc((8,), "u8"))
    np.testing.assert_array_equal(read.as_numpy(), values[3:11])
