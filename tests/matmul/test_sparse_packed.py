# SPDX-License-Identifier: Apache-2.0
"""Packed sparse weights: a matmul gives their layout, a reorder writes them, and the matmul reads them.
Results, the parts of the encoding, and what must be refused.
"""

import itertools
from typing import Any

import numpy as np
import pytest
import zemm
from support_execute import dst_of, memory_of
from zemm import ARG_ATTR_SCALES, ARG_ATTR_ZERO_POINTS, ARG_DST, ARG_FROM, ARG_SRC, ARG_TO, ARG_WEIGHTS

Array = np.ndarray[Any, Any]
Packed = tuple[zemm.MatmulPrimitiveDesc, zemm.Memory]
BLOCK = 64 * 64  # the layout is BA16a64b4a


def md_of(array: Array, dt: str | None = None) -> zemm.MemoryDesc:
    return zemm.MemoryDesc(array.shape, dt or zemm.dtype_name(array.dtype))


def weights_of(rng: np.random.Generator, dims: tuple[int, ...], density: float) -> Array:
    values = rng.integers(-128, 128, dims) * (rng.random(dims) < density)
    return values.astype(np.int8)


def packed_md(weights: Array) -> zemm.MemoryDesc:
    return zemm.MemoryDesc.packed(weights.shape, "s8", np.count_nonzero(weights))


def pack(
    engine: zemm.Engine, src: Array, weights: Array, dst: zemm.MemoryDesc, attr: Any = None, **more: Any
) -> Packed:
    """A matmul's descriptor, and the weights in its layout."""
    pd = zemm.MatmulPrimitiveDesc(engine, md_of(src), packed_md(weights), dst, attr=attr, **more)
    return pd, zemm.reorder(memory_of(engine, weights), pd.query_md("weights_md"))


def multiply(
    engine: zemm.Engine, packed: Packed, src: Array, args: dict[int, zemm.Memory] | None = None
) -> Array:
    pd, weights = packed
    return dst_of(zemm.Stream(engine), pd, {ARG_SRC: src, ARG_WEIGHTS: weights, **(args or {})})


SHAPES = {
    "one block": (5, 64, 64),
    "small": (3, 7, 5),
    "blocks": (33, 130, 200),
    "one column": (4, 100, 1),
    "one row": (1, 300, 130),
    "one element": (1, 1, 1),
}


def check(
    engine: zemm.Engine,
    src_dims: tuple[int, ...],
    dims: tuple[int, ...],
    density: float = 0.3,
    types: tuple[str, str] = ("s8", "s32"),
    attr: Any = None,
) -> str:
    """src of a type by packed weights gives the product, on the row whose name it returns."""
    rng = np.random.default_rng(len(dims))
    weights = weights_of(rng, dims, density)
    low, high = {"s8": (-128, 128), "u8": (0, 256)}.get(types[0], (-4, 5))
    src = rng.integers(low, high, src_dims).astype(zemm.numpy_dtype(types[0]))
    exact = src.astype(np.float64) @ weights.astype(np.float64)
    packed = pack(engine, src, weights, zemm.MemoryDesc(exact.shape, types[1]), attr)
    want = exact.clip(-128, 127) if types[1] == "s8" else exact
    np.testing.assert_array_equal(multiply(engine, packed, src), want.astype(zemm.numpy_dtype(types[1])))
    np.testing.assert_array_equal(zemm.reorder(packed[1], md_of(weights)).as_numpy(), weights)
    return packed[0].impl_info


@pytest.mark.quick(cases=lambda name, density: (name, density) == ("blocks", 0.5))
@pytest.mark.parametrize("density", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("name", SHAPES)
def test_results(engine: zemm.Engine, name: str, density: float) -> None:
    """Both types of src, types of dst, and the way back to a dense tensor."""
    m, k, n = SHAPES[name]
    for types in itertools.product(("s8", "u8"), ("s32", "f32", "bf16", "s8")):
        check(engine, (m, k), (k, n), density, types)


@pytest.mark.parametrize("batch", [((3,), (1,)), ((3,), (3,)), ((1,), (2,)), ((2, 3), (2, 1))])
def test_batches(engine: zemm.Engine, batch: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    check(engine, (*batch[0], 9, 70), (*batch[1], 70, 90))


@pytest.mark.parametrize("mode", ["library", "user"])
def test_attributes(engine: zemm.Engine, mode: Any) -> None:
    """Scales and zero points of each column, a post-op, the caller's scratchpad."""
    rng = np.random.default_rng(2)
    weights = weights_of(rng, (96, 80), 0.4)
    src = rng.integers(0, 256, (7, 96)).astype(np.uint8)
    scales = (2.0 ** rng.integers(-4, 3, (1, 80))).astype(np.float32)
    zero_points = rng.integers(-3, 4, (1, 80)).astype(np.int32)
    attr, ops = zemm.Attr(), zemm.PostOps()
    attr.set_scales(ARG_WEIGHTS, 2)
    attr.set_zero_points(ARG_WEIGHTS, 2)
    attr.set_scratchpad_mode(mode)
    ops.append_eltwise("relu")
    attr.set_post_ops(ops)
    args = {
        ARG_ATTR_SCALES | ARG_WEIGHTS: memory_of(engine, scales),
        ARG_ATTR_ZERO_POINTS | ARG_WEIGHTS: memory_of(engine, zero_points),
    }
    packed = pack(engine, src, weights, zemm.MemoryDesc((7, 80), "f32"), attr)
    want = (src.astype(np.int64) @ (weights.astype(np.int64) - zero_points)) * scales
    np.testing.assert_array_equal(multiply(engine, packed, src, args), np.maximum(want, 0).astype(np.float32))


@pytest.mark.quick(cases=lambda src_dt: src_dt in ("f32", "f8_e4m3"))
@pytest.mark.parametrize("src_dt", ["f32", "bf16", "f16", "f8_e4m3"])
def test_weight_only(engine: zemm.Engine, src_dt: Any) -> None:
    """Weights become floats, as dense ones do."""
    attr, modes = zemm.Attr(), {"f8_e4m3": "any", "f32": "strict"}
    attr.set_fpmath_mode(modes.get(src_dt, src_dt), apply_to_int=True)  # type: ignore[arg-type]
    check(engine, (6, 64), (64, 70), types=(src_dt, "f32"), attr=attr)


@pytest.mark.parametrize(
    ("row", "k", "n"),
    [
        # It reads plain weights only, and gets them plain.
        ("matmul_any_any_any_8x1x16_generic", 70, 66),
        ("matmul_int8_any_any_8x16x128_xe_int8", 128, 64),
    ],
)
def test_rows(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch, row: str, k: int, n: int) -> None:
    monkeypatch.setenv("ZEMM_KERNEL", row)
    assert check(engine, (5, k), (k, n)) == row


def test_runtime_rows(engine: zemm.Engine) -> None:
    """M is known at execution only."""
    rng = np.random.default_rng(5)
    weights = weights_of(rng, (70, 66), 0.3)
    mds = (
        zemm.MemoryDesc((zemm.RUNTIME_DIM, 70), "s8"),
        packed_md(weights),
        zemm.MemoryDesc((zemm.RUNTIME_DIM, 66), "s32"),
    )
    pd = zemm.MatmulPrimitiveDesc(engine, *mds)
    packed = zemm.reorder(memory_of(engine, weights), pd.query_md("weights_md"))
    primitive, stream = zemm.Primitive(pd), zemm.Stream(engine)
    for m in (1, 40):
        src = rng.integers(-128, 128, (m, 70)).astype(np.int8)
        dst = zemm.Memory(zemm.MemoryDesc((m, 66), "s32"), engine)
        primitive.execute(stream, {ARG_SRC: memory_of(engine, src), ARG_WEIGHTS: packed, ARG_DST: dst})
        stream.wait()
        np.testing.assert_array_equal(dst.as_numpy(), src.astype(np.int32) @ weights.astype(np.int32))


def test_descriptors(engine: zemm.Engine) -> None:
    """The caller's descriptor has no layout and no sizes. The queried one has them, and is kept by blobs,
    copies and other matmuls."""
    weights = weights_of(np.random.default_rng(6), (100, 130), 0.2)
    src = np.zeros((3, 100), np.int8)
    own = packed_md(weights)
    assert [own.part_size(i) for i in range(3)] == [0, 0, 0]
    with pytest.raises(zemm.InvalidArgumentsError, match="packed encoding without a layout"):
        zemm.Memory(own, engine)
    pd, packed = pack(engine, src, weights, zemm.MemoryDesc((3, 130), "s32"))
    md = pd.query_md("weights_md")
    blocks = 2 * 3
    assert md.num_handles == 3
    assert [md.part_size(i) for i in range(3)] == [np.count_nonzero(weights), 8 * blocks, BLOCK * blocks // 8]
    assert md != own
    assert md == packed.md
    assert zemm.MemoryDesc.from_blob(md.blob) == md
    assert zemm.MemoryDesc.from_blob(own.blob) == own
    assert md.padded_dims == (128, 192)
    again = zemm.MatmulPrimitiveDesc(engine, md_of(src), md, zemm.MemoryDesc((3, 130), "f32"))
    assert again.query_md("weights_md") == md
    other = zemm.MemoryDesc.packed(weights.shape, "s8", 7)
    assert (
        zemm.MatmulPrimitiveDesc(engine, md_of(src), other, zemm.MemoryDesc((3, 130), "s32")).query_md(
            "weights_md"
        )
        != md
    )


def test_damaged_blobs(engine: zemm.Engine) -> None:
    """Layouts have no gaps, and whole words of the bitmask. fuzz.py damages all numbers of blobs."""
    weights = weights_of(np.random.default_rng(6), (100, 130), 0.2)
    pd, _ = pack(engine, np.zeros((3, 100), np.int8), weights, zemm.MemoryDesc((3, 130), "s32"))
    md = pd.query_md("weights_md")
    words = np.frombuffer(md.blob, np.int64)

    def with_words(old: list[int], new: list[int]) -> bytes:
        start = next(i for i in range(words.size) if list(words[i : i + len(old)]) == old)
        changed = words.copy()
        changed[start : start + len(new)] = new
        return changed.tobytes()

    # Of each dimension: its size, padded size, padded offset, stride, and an inner block.
    rows, columns = [100, 128, 0, 4096, 16, 0], [130, 192, 0, 8192, 64, 1]
    for old, new in ((columns, [130, 192, 0, 16384, 64, 1]), (rows, [100, 128, 0, 8192, 16, 0])):
        with pytest.raises(zemm.InvalidArgumentsError, match=r"without gaps|overlap|smaller than"):
            zemm.MemoryDesc.from_blob(with_words(old, new))


def test_parts(engine: zemm.Engine) -> None:
    """Values, a bit for each element, and the first value of each block, of the blocked tensor."""
    weights = weights_of(np.random.default_rng(7), (100, 130), 0.2)
    _, packed = pack(engine, np.zeros((3, 100), np.int8), weights, zemm.MemoryDesc((3, 130), "s32"))
    blocked = (
        zemm.reorder(memory_of(engine, weights), zemm.MemoryDesc(weights.shape, "s8", "BA16a64b4a"))
        .read()
        .view(np.int8)
    )
    np.testing.assert_array_equal(packed.read(0).view(np.int8), blocked[blocked != 0])
    counts = np.count_nonzero(blocked.reshape(-1, BLOCK), axis=1)
    np.testing.assert_array_equal(packed.read(1).view(np.int64), np.cumsum(counts) - counts)
    np.testing.assert_array_equal(np.unpackbits(packed.read(2), bitorder="little"), blocked != 0)


def test_reorder_converts(engine: zemm.Engine) -> None:
    """As in oneDNN's example: f32 weights in any layout become s8. What rounds to 0 is left out, although the
    caller has counted it.
    """
    rng = np.random.default_rng(8)
    weights = (rng.standard_normal((90, 70)) * 2).astype(np.float32)
    integers = np.rint(weights).astype(np.int8)
    src = np.eye(90, dtype=np.uint8)
    pd = zemm.MatmulPrimitiveDesc(engine, md_of(src), packed_md(weights), zemm.MemoryDesc((90, 70), "s8"))
    assert np.count_nonzero(weights) > np.count_nonzero(integers)
    source = zemm.Memory(zemm.MemoryDesc((90, 70), "f32", "ba"), engine)
    source.write(weights)
    packed = zemm.reorder(source, pd.query_md("weights_md"))
    np.testing.assert_array_equal(multiply(engine, (pd, packed), src), integers)


# A part, which of its 64-bit words changes, its value, and words of the sentence.
WRONG: dict[str, tuple[int, int, int, str]] = {
    "first offset": (1, 0, 1, "block 0 begins at value 1, but the blocks before it have 0"),
    "offset": (1, 1, -5, "block 1 begins at value -5"),
    "large offset": (1, 3, 1 << 40, "block 3 begins at value 1099511627776"),
    "more bits": (2, 0, -1, "block 1 begins at value"),
    "last block": (2, -1, -1, "the bitmask has .* values, nnz is only"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("use", ["matmul", "reorder"])
def test_wrong_contents(engine: zemm.Engine, name: str, use: str) -> None:
    """They are refused before anything is written."""
    part, at, value, words = WRONG[name]
    weights = weights_of(np.random.default_rng(9), (128, 128), 0.01)
    src = np.ones((2, 128), np.int8)
    pd, packed = pack(engine, src, weights, zemm.MemoryDesc((2, 128), "s32"))
    changed = packed.read(part).view(np.int64)
    changed[at] = value
    packed.write(changed.view(np.uint8), part)
    stream = zemm.Stream(engine)
    if use == "matmul":
        dst = memory_of(engine, np.full((2, 128), 7, np.int32))
        args = {ARG_SRC: memory_of(engine, src), ARG_WEIGHTS: packed, ARG_DST: dst}
        primitive = zemm.Primitive(pd)
    else:
        dst = memory_of(engine, np.full((128, 128), 7, np.int32))
        args = {ARG_FROM: packed, ARG_TO: dst}
        primitive = zemm.Primitive(zemm.ReorderPrimitiveDesc(engine, packed.md, dst.md))
    with pytest.raises(zemm.InvalidArgumentsError, match=words):
        primitive.execute(stream, args)
    assert (dst.as_numpy() == 7).all()


def test_wrong_nnz(engine: zemm.Engine) -> None:
    weights = weights_of(np.random.default_rng(10), (64, 64), 0.5)
    other = zemm.MemoryDesc.packed(weights.shape, "s8", 10)
    pd = zemm.MatmulPrimitiveDesc(
        engine, zemm.MemoryDesc((2, 64), "s8"), other, zemm.MemoryDesc((2, 64), "s32")
    )
    found = np.count_nonzero(weights)
    with pytest.raises(
        zemm.InvalidArgumentsError, match=f"nnz 10, but src has {found} elements that are not 0 as s8"
    ):
        zemm.reorder(memory_of(engine, weights), pd.query_md("weights_md"))


def test_dense_weights_are_another_descriptor(engine: zemm.Engine) -> None:
    weights = weights_of(np.random.default_rng(11), (64, 64), 0.5)
    src = np.ones((2, 64), np.int8)
    pd, _ = pack(engine, src, weights, zemm.MemoryDesc((2, 64), "s32"))
    with pytest.raises(zemm.InvalidArgumentsError, match="WEIGHTS has s8 64x64:ab"):
        multiply(engine, (pd, memory_of(engine, weights)), src)


def test_empty(engine: zemm.Engine) -> None:
    """No weights need no values."""
    md = zemm.MemoryDesc.packed((0, 4), "s8", 0)
    pd = zemm.MatmulPrimitiveDesc(engine, zemm.MemoryDesc((2, 0), "s8"), md, zemm.MemoryDesc((2, 4), "s32"))
    assert [pd.query_md("weights_md").part_size(i) for i in range(3)] == [0, 0, 0]
