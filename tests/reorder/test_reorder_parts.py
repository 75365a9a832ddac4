# SPDX-License-Identifier: Apache-2.0
"""Reorders into and out of parts of blocked tensors. Everything around a part keeps its bytes."""

import itertools
from typing import Any

import numpy as np
import pytest
import zemm
from support_layout import Array, Buffer, Layout, pack, unpack
from test_quantize_floats import MODES, attr_of, expected
from test_reorder import converted, values_of
from zemm import ARG_ATTR_SCALES, ARG_DST, ARG_FROM, ARG_TO

Box = tuple[tuple[int, ...], tuple[int, ...]]  # dims, offsets

# Each of these has padding at the end of every blocked dimension.
PARENTS = {
    "BA16a64b": (72, 150),
    "BA16a64b4a": (200, 150),
    "aCB16b64c4b": (3, 100, 70),
    "aCB16b64c": (3, 40, 70),
    "AB16b16a": (40, 50),
    "aBc16b": (3, 40, 6),
    "BAc8a4b2a": (20, 10, 3),
}


def parts_of(layout: Layout) -> list[Box]:
    """Parts at the beginning, in the middle, inside a block and at the end of each dimension."""
    sizes = [1] * len(layout.dims)
    for d, size in layout._blocks():
        sizes[d] *= size
    along = []
    for n, size in zip(layout.dims, sizes, strict=True):
        last, inside = (n - 1) // size * size, max(1, size * 5 // 8)
        parts = {
            (size, 0),
            (inside, 0),
            (inside, size),
            (last, 0),
            (n - size, size),
            (n - last, last),
            (n, 0),
        }
        along.append(sorted((dim, begin) for dim, begin in parts if dim > 0 and begin + dim <= n))
    boxes = list(itertools.product(*along))
    chosen = np.random.default_rng(0).permutation(len(boxes))[:40]
    return [tuple(zip(*boxes[i], strict=True)) for i in chosen]  # type: ignore[misc]


def plain(dims: tuple[int, ...], data_type: str) -> Layout:
    """A row-major layout whose rows begin at whole bytes."""
    strides, step = [1] * len(dims), dims[-1] + dims[-1] % 2
    for d in range(len(dims) - 2, -1, -1):
        strides[d] = step
        step *= dims[d]
    return Layout(dims, data_type, strides=tuple(strides))


def after(layout: Layout, before: Array, box: Box, values: Array) -> Array:
    """The expected tensor. The whole tensor's padding becomes 0 where it follows the part's own
    elements.
    """
    dims, offsets = box
    places, made = layout.places(), before.copy()
    ends = [o + d for d, o in zip(dims, offsets, strict=True)]
    padded = [
        whole if end == n else end for end, n, whole in zip(ends, layout.dims, layout.padded, strict=True)
    ]
    made[places[tuple(slice(o, end) for o, end in zip(offsets, padded, strict=True))]] = 0
    made[places[tuple(slice(o, end) for o, end in zip(offsets, ends, strict=True))]] = values
    return made


def into_part(
    engine: zemm.Engine, layout: Layout, box: Box, src: Buffer, values: Array, implementation: int
) -> str:
    md = layout.md()
    rng = np.random.default_rng(implementation)
    data = rng.integers(1, 256, md.size, np.uint8)
    before = unpack(data.copy(), layout.data_type)
    dst = zemm.Memory(md.submemory(*box), engine, data)  # the parent's buffer is enough for a part
    pd = zemm.ReorderPrimitiveDesc(engine, src.layout.md(), dst.md)
    for _ in range(implementation):
        if not pd.next_impl():
            return ""
    stream = zemm.Stream(engine)
    zemm.Primitive(pd).execute(stream, {ARG_FROM: src.memory, ARG_TO: dst})
    stream.wait()
    want = pack(after(layout, before, box, values), layout.data_type)
    wrong = np.flatnonzero(data != want)
    assert wrong.size == 0, f"{box} by {pd.impl_info}: {wrong.size} bytes, the first at {wrong[0]}"
    return pd.impl_info


def packed_tags(data_type: str) -> tuple[str, str]:
    return ("BA16a64b", "aCB16b64c") if data_type == "f32" else ("BA16a64b4a", "aCB16b64c4b")


TYPES = [("u8", "u8"), ("f32", "f32"), ("f32", "s8"), ("u4", "u4"), ("f64", "bf16")]


@pytest.mark.parametrize(("src_dt", "dst_dt"), TYPES)
@pytest.mark.parametrize("tag", PARENTS)
def test_neighbours_are_not_written(engine: zemm.Engine, tag: str, src_dt: str, dst_dt: str) -> None:
    layout = Layout(PARENTS[tag], dst_dt, tag)
    names = set()
    for seed, box in enumerate(parts_of(layout)):
        src = Buffer(plain(box[0], src_dt), engine, seed)
        values = values_of(box[0], src_dt, seed)
        src.put(values)
        for implementation in (0, 1):
            names.add(into_part(engine, layout, box, src, converted(values, dst_dt), implementation))
    packs = src_dt == dst_dt and tag in packed_tags(dst_dt)
    general = "reorder_f64" if src_dt == "f64" else "reorder"
    assert names - {""} == {general, *(["reorder_pack"] if packs else [])}


@pytest.mark.quick(cases=lambda data_type: data_type in ("u8", "u2"))
@pytest.mark.parametrize("data_type", ["u8", "f16", "u4", "u2"])
def test_packing_in_lanes(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch, data_type: str) -> None:
    """The kernel for GPUs takes parts that consist of whole blocks, and refuses parts that end
    inside a block.
    """
    tag = {"f16": "BA16a64b", "u2": "BA16a16b4a4b"}.get(data_type, "BA16a64b4a")
    layout = Layout(PARENTS["BA16a64b" if data_type == "f16" else "BA16a64b4a"], data_type, tag)
    monkeypatch.setenv("ZEMM_KERNEL", "reorder_pack_lanes")
    taken = refused = 0
    for seed, box in enumerate(parts_of(layout)):
        src = Buffer(Layout(box[0], data_type, "ba"), engine, seed)
        values = values_of(box[0], data_type, seed)
        src.put(values)
        sizes = (16 if data_type == "f16" else 64, 64)  # sizes of a block along K and N
        ends = [o + d for d, o in zip(*box, strict=True)]
        if all(
            d % size == 0 or end == n
            for d, size, end, n in zip(box[0], sizes, ends, layout.dims, strict=True)
        ):
            assert into_part(engine, layout, box, src, values, 0) == "reorder_pack_lanes"
            taken += 1
            continue
        with pytest.raises(NotImplementedError, match="a part that ends inside one"):
            into_part(engine, layout, box, src, values, 0)
        refused += 1
    assert taken
    assert refused


@pytest.mark.parametrize("to", ["f32", "f64"])
@pytest.mark.parametrize("tag", PARENTS)
def test_parts_are_read(engine: zemm.Engine, tag: str, to: str) -> None:
    layout = Layout(PARENTS[tag], "f32", tag)
    whole = Buffer(layout, engine, 1)
    values = values_of(layout.dims, "f32", 2)
    whole.put(values)
    for dims, offsets in parts_of(layout):
        part = zemm.Memory.from_handle(layout.md().submemory(dims, offsets), engine, whole.memory.handle)
        read = zemm.reorder(part, zemm.MemoryDesc(dims, to)).as_numpy()
        box = tuple(slice(o, o + d) for d, o in zip(dims, offsets, strict=True))
        np.testing.assert_array_equal(read, values[box])


PARENT = (72, 160)
PARTS = [
    ((72, 160), (0, 0)),
    ((16, 64), (16, 32)),
    ((5, 32), (16, 0)),
    ((24, 96), (48, 64)),
    ((8, 128), (64, 32)),
]


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
