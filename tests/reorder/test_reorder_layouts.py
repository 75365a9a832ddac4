# SPDX-License-Identifier: Apache-2.0
"""Layouts that reorders must take beyond those of test_reorder.py: up to 12 dimensions in any order, also
blocked; sources that repeat elements (stride 0); parts of blocked tensors.
"""

import math
from typing import Any

import numpy as np
import pytest
import zemm
from hypothesis import strategies as st
from support_layout import PER_BYTE, Buffer, Layout, pack, unpack
from support_tiers import random_cases
from test_quantize_floats import MODES, attr_of, expected
from test_reorder import converted, layouts, run, shapes, values_of
from zemm import ARG_ATTR_SCALES, ARG_DST, ARG_FROM, ARG_TO

TYPES = ("f32", "bf16", "f8_e4m3", "f4_e2m1", "s32", "s8", "u4", "u2")


def tag_of(data: st.DataObject, ndims: int, blocked: bool) -> str:
    letters = data.draw(st.permutations([chr(ord("a") + d) for d in range(ndims)]))
    if not blocked:
        return "".join(letters)
    inner = data.draw(st.lists(st.sampled_from(letters), min_size=1, max_size=3, unique=True))
    return "".join(c.upper() if c in inner else c for c in letters) + "".join(f"4{c}" for c in inner)


def check_conversion(engine: zemm.Engine, src: Buffer, dst: Buffer, values: np.ndarray[Any, Any]) -> None:
    """A reorder of these values, which src gets first."""
    dst_dt = dst.layout.data_type
    src.put(values)
    exact = values.astype(
        np.int64 if values.dtype.kind in "iu" and dst_dt in ("s32", "s8", "u4", "u2") else np.float32
    )
    want = dst.with_tensor(converted(exact, dst_dt))
    run(engine, src, dst)
    dst.check(want)


@random_cases(quick=5, full=60)
def test_many_dims(engine: zemm.Engine, data: st.DataObject) -> None:
    """Most of these tags are no value of zemm_format_tag_t."""
    ndims = data.draw(st.integers(5, 12))
    dims = [data.draw(st.sampled_from([1, 1, 2, 2, 3])) for _ in range(ndims)]
    src_dt, dst_dt = data.draw(st.sampled_from(TYPES)), data.draw(st.sampled_from(TYPES))
    tags = [tag_of(data, ndims, data.draw(st.booleans())) for _ in range(2)]
    for tag, dt in zip(tags, (src_dt, dst_dt), strict=True):
        if dt in PER_BYTE and tag.islower() and tag.isalpha():  # rows of whole bytes
            last = ord(tag[-1]) - ord("a")
            dims[last] = math.lcm(dims[last], PER_BYTE[dt])
    seed = data.draw(st.integers(0, 2**32))
    src, dst = (
        Buffer(Layout(tuple(dims), dt, tag), engine, seed)
        for dt, tag in zip((src_dt, dst_dt), tags, strict=True)
    )
    check_conversion(engine, src, dst, values_of(tuple(dims), src_dt, seed))


@random_cases(quick=5, full=60)
def test_repeated_elements(engine: zemm.Engine, data: st.DataObject) -> None:
    """src has stride 0 along some dimensions."""
    dims = data.draw(shapes())
    repeated = data.draw(st.lists(st.sampled_from(range(len(dims))), min_size=1, unique=True))
    src_dt = data.draw(st.sampled_from([dt for dt in TYPES if dt not in PER_BYTE]))
    dst_dt = data.draw(st.sampled_from(TYPES))
    stored = tuple(1 if d in repeated else n for d, n in enumerate(dims))
    strides = [0] * len(dims)
    span = 1
    for d in data.draw(st.permutations(range(len(dims)))):
        if d not in repeated:
            strides[d] = span
            span *= dims[d]
    seed = data.draw(st.integers(0, 2**32))
    src = Buffer(Layout(dims, src_dt, strides=tuple(strides)), engine, seed)
    dst = Buffer(data.draw(layouts(dims, dst_dt)), engine, seed + 1)
    values = np.broadcast_to(values_of(stored, src_dt, seed), dims)
    check_conversion(engine, src, dst, values)


def test_repeated_elements_of_dst(engine: zemm.Engine) -> None:
    with pytest.raises(zemm.UnimplementedError, match="stride 0 along dimension 0 would put 3 elements"):
        zemm.ReorderPrimitiveDesc(
            engine, zemm.MemoryDesc((3, 4), "f32"), zemm.MemoryDesc((3, 4), "f32", strides=(0, 1))
        )


PARENT = (72, 160)
PARTS = [
    ((72, 160), (0, 0)),
    ((16, 64), (16, 32)),
    ((5, 32), (16, 0)),
    ((24, 96), (48, 64)),
    ((8, 128), (64, 32)),
]


@pytest.mark.parametrize("tag", ["AB16b16a", "BA8a32b", "aB32b", "Ab8a"])
@pytest.mark.parametrize(("dims", "offsets"), PARTS)
def test_parts_to_f64_and_back(
    engine: zemm.Engine, tag: str, dims: tuple[int, ...], offsets: tuple[int, ...]
) -> None:
    """A part of a blocked tensor becomes f64, and f64 becomes a part. Everything around it stays."""
    layout = Layout(PARENT, "bf16", tag)
    before = np.random.default_rng(0).integers(-300, 300, layout.padded).astype(zemm.numpy_dtype("bf16"))
    elements = np.zeros(layout.places().max() + 1, before.dtype)
    elements[layout.places()] = before
    whole = zemm.Memory(layout.md(), engine, pack(elements, "bf16"))
    part = zemm.Memory.from_handle(layout.md().submemory(dims, offsets), engine, whole.handle, keep=whole)
    wide = zemm.reorder(part, zemm.MemoryDesc(dims, "f64"))
    box = tuple(slice(o, o + n) for o, n in zip(offsets, dims, strict=True))
    np.testing.assert_array_equal(wide.as_numpy(), before[box].astype(np.float64))
    wide.write(-wide.as_numpy())
    stream = zemm.Stream(engine)
    zemm.Primitive(zemm.ReorderPrimitiveDesc(engine, wide.md, part.md)).execute(
        stream, {ARG_FROM: wide, ARG_TO: part}
    )
    stream.wait()
    inside = tuple(slice(n) for n in PARENT)
    want = before[inside].copy()
    want[box] = -want[box]
    got = whole.read().view(before.dtype)[layout.places()]
    np.testing.assert_array_equal(got[inside].view(np.uint16), want.view(np.uint16))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tag", ["AB16b16a", "BA8a32b", "aB32b", "Ab8a"])
@pytest.mark.parametrize("dst_dt", ["f8_e4m3", "f4_e2m1"])
@pytest.mark.parametrize(("dims", "offsets"), PARTS)
def test_quantised_parts(
    engine: zemm.Engine, dims: tuple[int, ...], offsets: tuple[int, ...], dst_dt: str, tag: str, mode: str
) -> None:
    """Groups of 4-bit elements may share bytes with what is outside of the part."""
    rng = np.random.default_rng(1)
    layout = Layout(PARENT, dst_dt, tag)
    data = rng.integers(1, 256, layout.md().size, np.uint8)
    before = unpack(data.copy(), dst_dt)
    whole = zemm.Memory(layout.md(), engine, data)
    part = zemm.Memory.from_handle(layout.md().submemory(dims, offsets), engine, whole.handle, keep=whole)
    x = rng.standard_normal(dims).astype(np.float32)
    values, scales = expected(x, dst_dt, mode)
    pd = zemm.ReorderPrimitiveDesc(engine, zemm.MemoryDesc(dims, "f32"), part.md, attr_of(2, mode))
    found = zemm.Memory(pd.query_md("exec_arg_md", ARG_ATTR_SCALES | ARG_DST), engine)
    args = {
        ARG_FROM: zemm.Memory(zemm.MemoryDesc(dims, "f32"), engine, x),
        ARG_TO: part,
        ARG_ATTR_SCALES | ARG_DST: found,
    }
    stream = zemm.Stream(engine)
    zemm.Primitive(pd).execute(stream, args)
    stream.wait()
    np.testing.assert_array_equal(found.as_numpy().view(np.uint8), scales.view(np.uint8))
    places = layout.places()
    inside: Any = tuple(slice(n) for n in PARENT)
    want = before[places[inside]]
    want[tuple(slice(o, o + n) for o, n in zip(offsets, dims, strict=True))] = values
    got = unpack(data, dst_dt)[places[inside]]
    np.testing.assert_array_equal(got.view(np.uint8), want.view(np.uint8))
