# SPDX-License-Identifier: Apache-2.0
"""Reorders compared with numpy: any layout and type to any other, with attributes; packing of
weights; refusals.
"""

import itertools
from typing import Any

import numpy as np
import pytest
import zemm
from hypothesis import strategies as st
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
MOVED = ("f64", "s64")  # types that are only copied, not converted
Array = np.ndarray[Any, Any]


@st.composite
def layouts(draw: st.DrawFn, dims: tuple[int, ...], data_type: str) -> Layout:
    ndims = len(dims)
    order = draw(st.permutations(range(ndims)))
    letters = [chr(ord("a") + d) for d in order]
    kind = draw(st.sampled_from(["plain", "gaps", "blocked", "blocked"]))
    per_byte = PER_BYTE.get(data_type, 1)
    if kind == "blocked":
        count, sizes = draw(st.integers(1, 3)), [n for n in (2, 4, 8, 16) if n % per_byte == 0]
        blocks = [(draw(st.sampled_from(sizes)), draw(st.integers(0, ndims - 1))) for _ in range(count)]
        blocked = {d for _, d in blocks}
        tag = "".join(c.upper() if ord(c) - ord("a") in blocked else c for c in letters)
        tag += "".join(f"{size}{chr(ord('a') + d)}" for size, d in blocks)
        return Layout(dims, data_type, tag)
    strides, span = [0] * ndims, 1
    for d in reversed(order):
        if span > 1:
            span += -span % per_byte
        strides[d] = span
        span = span * dims[d] + (2 * draw(st.integers(0, 3)) if kind == "gaps" else 0)
    return Layout(dims, data_type, strides=tuple(strides))


@st.composite
def shapes(draw: st.DrawFn) -> tuple[int, ...]:
    ndims = draw(st.integers(1, 4))
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


def converted(x: Array, data_type: str) -> Array:
    """f32 or int64 converted to a type, with a reorder's rounding and saturation."""
    if data_type == "e8m0":  # the exponent alone
        exponents = x.astype(np.float32).view(np.uint32) >> 23 & 255
        return exponents.astype(np.uint8).view(zemm.numpy_dtype("e8m0"))
    if data_type == "f4_e2m1":
        x = x.clip(-6, 6)
    if data_type not in RANGES:
        with np.errstate(over="ignore"):
            return x.astype(np.float32).astype(zemm.numpy_dtype(data_type))
    low, high = RANGES[data_type]
    if x.dtype.kind == "f" and data_type == "s32":
        high = 2147483520  # the largest f32 below 2^31
    return np.rint(x).clip(low, high).astype(storage(data_type))


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


@random_cases(quick=5, full=60)
def test_layouts_and_types(engine: zemm.Engine, data: st.DataObject) -> None:
    dims = data.draw(shapes())
    src_dt, dst_dt = data.draw(st.sampled_from(TYPES)), data.draw(st.sampled_from(TYPES))
    seed = data.draw(st.integers(0, 2**32))
    src = Buffer(data.draw(layouts(dims, src_dt)), engine, seed)
    dst = Buffer(data.draw(layouts(dims, dst_dt)), engine, seed + 1)
    values = values_of(dims, src_dt, seed + 2)
    src.put(values)
    exact = values.astype(np.int64 if src_dt in RANGES and dst_dt in RANGES else np.float32)
    want = dst.with_tensor(converted(exact, dst_dt))
    run(engine, src, dst)
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
    dims = data.draw(shapes())
    src_dt, dst_dt = data.draw(st.sampled_from(TYPES)), data.draw(st.sampled_from(TYPES))
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
            if not data.draw(st.booleans()) or (what == "zp" and dt not in RANGES):
                continue
            is_scale = what == "scale"
            mask, groups = data.draw(
                parameters(dims, is_scale and name == "src" and dt in ("s4", "u4", "u2", "u3"))
            )
            if name == "dst" and not is_scale:
                groups = None  # only those of src have groups
            scales = SCALES if mask else FLOATS  # a common scale is never narrow
            kinds = scales if is_scale else ("s32", "s8", "u8") if name == "src" else ("s32",)
            kind = data.draw(st.sampled_from(kinds))
            shape = [n if mask >> d & 1 else 1 for d, n in enumerate(dims)]
            if groups:
                shape[-2:] = [-(-shape[-2] // groups[0]), -(-shape[-1] // groups[1])]
            powers = 2.0 ** rng.integers(-2, 3, shape)
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
            found[f"{name}_{what}"] = spread(entry.astype(np.float32), dims, groups)
    beta = data.draw(st.sampled_from([None, 1.0, -0.5, 2.0]))
    if beta is not None:
        ops = zemm.PostOps()
        ops.append_sum(beta)
        attr.set_post_ops(ops)

    none, one = np.float32(0), np.float32(1)
    x = values.astype(np.float32) - found.get("src_zp", none)
    x = x * found.get("src_scale", one)
    if beta is not None:
        x = x + np.float32(beta) * (old.astype(np.float32) - found.get("dst_zp", none))
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


UNIT = {
    "s8": 4,
    "u8": 4,
    "s4": 4,
    "u4": 4,
    "u2": 4,
    "f32": 1,
    "f16": 1,
    "bf16": 1,
    "f8_e4m3": 4,
    "f4_e2m1": 4,
}


def packed_tag(batch: int, data_type: str, columns: int = 64) -> str:
    k, n = "abcd"[batch], "abcd"[batch + 1]
    unit = f"4{k}" if UNIT[data_type] == 4 else ""
    if data_type == "u2":  # four columns share the bytes of a unit
        columns, unit = columns // 4, f"{unit}4{n}"
    return f"{'abcd'[:batch]}{n}{k}".replace(n, n.upper()).replace(k, k.upper()) + f"16{k}{columns}{n}{unit}"


@pytest.mark.each_value
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)], ids=["2d", "3d", "4d"])
@pytest.mark.parametrize("plain", ["kn", "nk"])
@pytest.mark.parametrize("data_type", UNIT)
def test_packing(engine: zemm.Engine, data_type: str, plain: str, batch: tuple[int, ...]) -> None:
    """The kernel for weights and the general kernel, around the sizes of a block."""
    block = 16 * UNIT[data_type]
    sizes = [1, 2, 4, block - 1, block, block + 1, 3 * block + 4]
    names = []
    for k, n in itertools.product(sizes, [1, 2, 16, 63, 64, 65, 130]):
        dims = (*batch, k, n)
        inner = n if plain == "kn" else k
        pitch = inner + (-inner % 4 if plain == "nk" or data_type in PER_BYTE else 0)
        strides = [0] * len(batch) + ([pitch, 1] if plain == "kn" else [1, pitch])
        span = pitch * (k if plain == "kn" else n)
        for d in reversed(range(len(batch))):
            strides[d] = span
            span *= batch[d]
        src = Buffer(Layout(dims, data_type, strides=tuple(strides)), engine, 1)
        values = src.elements()[src.layout.places()]
        names = []
        for implementation in (0, 1):
            dst = Buffer(Layout(dims, data_type, packed_tag(len(batch), data_type)), engine, 2)
            want = dst.with_tensor(values)
            try:
                names.append(run(engine, src, dst, implementation=implementation))
            except AssertionError:
                assert implementation == 1  # sizes of 1 leave no choice of kernel
                break
            dst.check(want)
    assert names == ["reorder_pack", "reorder"]


@pytest.mark.each_value
@pytest.mark.parametrize("plain", ["kn", "nk", "neither"])
@pytest.mark.parametrize("data_type", UNIT)
def test_packing_in_lanes(
    engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch, data_type: str, plain: str
) -> None:
    """The kernel for GPUs: columns with and without whole units, any strides, incomplete blocks."""
    monkeypatch.setenv("ZEMM_KERNEL", "reorder_pack_lanes")
    block = 16 * UNIT[data_type]
    step = PER_BYTE.get(data_type, 1)  # rows and elements begin at whole bytes
    for k, n, gap in itertools.product((2, block, 3 * block + 2), (2, 64, 130), (0, step)):
        along, across = (n, k) if plain == "kn" else (k, n)
        unit = 3 * max(step, 2) if plain == "neither" else 1
        pitch = unit * (along + -along % (4 * step) + gap)
        matrix = (pitch, unit) if plain == "kn" else (unit, pitch)
        strides = (pitch * across + 2 * gap, *matrix)
        src = Buffer(Layout((2, k, n), data_type, strides=strides), engine, 1)
        dst = Buffer(Layout((2, k, n), data_type, packed_tag(1, data_type)), engine, 2)
        want = dst.with_tensor(src.elements()[src.layout.places()])
        assert run(engine, src, dst) == "reorder_pack_lanes"
        dst.check(want)


@pytest.mark.parametrize("columns", [16, 32, 48])
def test_packing_narrow_blocks(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    src = Buffer(Layout((200, 77), "s8", "ba"), engine, 1)
    dst = Buffer(Layout((200, 77), "s8", packed_tag(0, "s8", columns)), engine, 2)
    want = dst.with_tensor(src.elements()[src.layout.places()])
    for name in ("reorder_pack", "reorder_pack_lanes"):
        monkeypatch.setenv("ZEMM_KERNEL", name)
        assert run(engine, src, dst) == name
        dst.check(want)


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


def md(dims: tuple[int, ...] = (4, 64), data_type: str = "f32", tag: str | None = None) -> zemm.MemoryDesc:
    return zemm.MemoryDesc(dims, data_type, tag)


def sum_of(*values: Any) -> zemm.PostOps:
    ops = zemm.PostOps()
    ops.append_sum(*values)
    return ops


def relu() -> zemm.PostOps:
    ops = zemm.PostOps()
    ops.append_eltwise("eltwise_relu")
    return ops


S8 = md(data_type="s8")
S64 = md(data_type="s64")
UNIMPLEMENTED = NotImplementedError
BY_GROUP = ("scales", ARG_DST, 3, (1, 32), "f32", False, "dynamic_fp")
# name: (src, dst, attribute calls, error, words of the sentence).
REFUSALS: dict[str, tuple[Any, Any, list[tuple[Any, ...]], type[Exception], str]] = {
    "dims": (md(), md((4, 65)), [], ValueError, "4x64.*4x65"),
    "ndims": (md(), md((4, 64, 1)), [], ValueError, "4x64x1"),
    "any": (md(), md(tag="any"), [], ValueError, "dst.*any"),
    "zero": (zemm.MemoryDesc.zero(), md(), [], ValueError, "src"),
    "host": (zemm.MemoryDesc.host_scalar("f32"), md(), [], ValueError, "src"),
    "type": (S64, md(), [], UNIMPLEMENTED, "s64"),
    "scaled_type": (S64, S64, [("scales", ARG_SRC, 0)], UNIMPLEMENTED, "s64"),
    "scales_of_weights": (md(), S8, [("scales", zemm.ARG_WEIGHTS, 0)], UNIMPLEMENTED, "33"),
    "dynamic_scale_type": (md(), S8, [("scales", ARG_DST, 3, (1, 32), "e8m0", False, "dynamic_fp")],
                           UNIMPLEMENTED, "e8m0"),
    "mask": (md(), S8, [("scales", ARG_SRC, 4)], ValueError, "mask 4"),
    "group_mask": (md(), S8, [("scales", ARG_SRC, 2, (1, 32))], ValueError, "1x32"),
    "int4_scale": (md(data_type="u4"), md(), [("scales", ARG_SRC, 0)], ValueError, "u4.*mask"),
    "zero_point": (md(), S8, [("zero_points", ARG_SRC, 0)], ValueError, "f32"),
    "post_op": (md(), md(), [("post_ops", relu())], UNIMPLEMENTED, "eltwise"),
    "sum_zero_point": (md(), S8, [("post_ops", sum_of(1.0, 3))], UNIMPLEMENTED, "zero point 3"),
    "reductions": (md(), S8, [("precomputed_reductions", ARG_SRC, 3, (1, 32))], UNIMPLEMENTED, "dynamic_fp"),
    "dropout": (md(), S8, [("dropout",)], UNIMPLEMENTED, "dropout"),
    "rounding": (md(), S8, [("rounding", ARG_DST, "stochastic")], UNIMPLEMENTED, "stochastic"),
    "dynamic_src": (md(), S8, [("scales", ARG_SRC, 3, (1, 32), "f32", False, "dynamic_fp")],
                    UNIMPLEMENTED, "dst"),
    "dynamic_mx": (md(), S8, [("scales", ARG_DST, 3, (1, 32), "f32", False, "dynamic_mx")],
                   UNIMPLEMENTED, "dynamic_mx"),
    "dynamic_type": (md(), md(data_type="s4"), [BY_GROUP],
                     UNIMPLEMENTED, "s4"),
    "dynamic_f8": (md(), md(data_type="f8_e4m3"), [BY_GROUP], UNIMPLEMENTED, "f8_e4m3"),
    "dynamic_u8": (md(), md(data_type="u8"), [BY_GROUP],
                   UNIMPLEMENTED, "zero points"),
    "dynamic_s8": (md(), S8, [BY_GROUP,
                              ("zero_points", ARG_DST, 3)], UNIMPLEMENTED, "symmetric"),
    "dynamic_layout": (md(tag="ba"), S8, [BY_GROUP],
                       UNIMPLEMENTED, "stride 1"),
    "dynamic_rows": (md(), S8, [("scales", ARG_DST, 3, (2, 32), "f32", False, "dynamic_fp")],
                     UNIMPLEMENTED, "group 2"),
    "dynamic_common": (md(), S8, [("scales", ARG_DST, 0, (), "f32", False, "dynamic_fp")],
                       UNIMPLEMENTED, "mask 0"),
    "dynamic_sums": (md((4, 2**25)), md((4, 2**25), "s8"),
                     [("scales", ARG_DST, 1, (), "f32", False, "dynamic_fp"),
                      ("precomputed_reductions", ARG_DST, 3, (1, 2**25))],
                     UNIMPLEMENTED, "16909320 s8.*33554432"),
    "dynamic_reductions": (md((4, 96)), md((4, 96), "s8"),
                           [BY_GROUP,
                            ("precomputed_reductions", ARG_DST, 3, (1, 48))], UNIMPLEMENTED, "48.*32"),
}  # fmt: skip


def check_refusal(
    engine: zemm.Engine,
    src: zemm.MemoryDesc,
    dst: zemm.MemoryDesc,
    calls: list[Any],
    error: type[Exception],
    words: str,
) -> None:
    """calls: of the attribute, each a name without set_ and the arguments."""
    attr = zemm.Attr()
    for what, *args in calls:
        getattr(attr, f"set_{what}")(*args)
    with pytest.raises(error, match=words):
        zemm.ReorderPrimitiveDesc(engine, src, dst, attr)


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(engine: zemm.Engine, name: str) -> None:
    check_refusal(engine, *REFUSALS[name])


def test_odd_nibbles(engine: zemm.Engine) -> None:
    """A 4-bit dst that begins in the middle of a byte shares this byte with elements
    outside of it.
    """
    whole = zemm.MemoryDesc((16,), "u4")
    with pytest.raises(NotImplementedError, match="whole bytes"):
        zemm.ReorderPrimitiveDesc(engine, zemm.MemoryDesc((8,), "u4"), whole.submemory((8,), (3,)))
    src = zemm.Memory(whole, engine)
    values = np.arange(16, dtype=np.uint8)
    src.write(zemm.pack_int4(values))
    part = zemm.Memory.from_handle(whole.submemory((8,), (3,)), engine, src.handle, keep=src)
    read = zemm.reorder(part, zemm.MemoryDesc((8,), "u8"))
    np.testing.assert_array_equal(read.as_numpy(), values[3:11])
