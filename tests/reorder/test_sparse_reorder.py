# SPDX-License-Identifier: Apache-2.0
"""Reorders between dense tensors, CSR and COO: results, what must be refused, and that nothing is written
then.
"""

from typing import Any

import numpy as np
import pytest
import zemm
from hypothesis import strategies as st
from support_layout import Buffer
from support_sparse import parts_of, sparse_md, sparse_memory
from support_tiers import random_cases
from test_reorder import layouts
from zemm import ARG_ATTR_SCALES, ARG_DST, ARG_FROM, ARG_SRC, ARG_TO

Array = np.ndarray[Any, Any]
KINDS = ("csr", "coo")
VALUES = ("f32", "f16", "bf16", "f64", "f8_e5m2", "f8_e4m3", "s32", "s8", "u8", "s64")


def check_parts(memory: zemm.Memory, want: list[Array]) -> None:
    for index, part in enumerate(want):
        np.testing.assert_array_equal(memory.read(index), part.view(np.uint8).reshape(-1))


def run(engine: zemm.Engine, src: zemm.Memory, dst: zemm.Memory, attr: Any = None, more: Any = None) -> str:
    """The name of the implementation."""
    pd = zemm.ReorderPrimitiveDesc(engine, src.md, dst.md, attr)
    args = {ARG_FROM: src, ARG_TO: dst, **(more or {})}
    if (scratchpad := pd.query_md("scratchpad_md")).ndims:
        args[zemm.ARG_SCRATCHPAD] = zemm.Memory(scratchpad, engine)
    stream = zemm.Stream(engine)
    zemm.Primitive(pd).execute(stream, args)
    stream.wait()
    return pd.impl_info


def matrix_of(rng: np.random.Generator, dims: tuple[int, int], dt: str, density: float) -> Array:
    """Small integers, exact in every type; some rows are empty."""
    low = 0 if dt == "u8" else -7
    values = rng.integers(low, 8, dims) * (rng.random(dims) < density) * (rng.random((dims[0], 1)) < 0.8)
    return values.astype(zemm.numpy_dtype(dt))


dims = st.tuples(st.integers(1, 40), st.integers(1, 40))
densities = st.sampled_from([0.0, 0.1, 0.5, 1.0])
sparse_tensors = st.tuples(dims, st.sampled_from(KINDS), st.sampled_from(["s32", "s64"]))


@random_cases(quick=12, full=60)
def test_dense_to_sparse(engine: zemm.Engine, data: st.DataObject) -> None:
    """From any layout and type: the conversion comes first."""
    shape, kind, indices = data.draw(sparse_tensors)
    dst_dt = data.draw(st.sampled_from(VALUES))
    src_dt = "s64" if dst_dt == "s64" else data.draw(st.sampled_from([v for v in VALUES if v != "s64"]))
    seed = data.draw(st.integers(0, 2**32))
    matrix = matrix_of(np.random.default_rng(seed), shape, "u8", data.draw(densities))
    src = Buffer(data.draw(layouts(shape, src_dt)), engine, seed)
    src.put(matrix.astype(zemm.numpy_dtype(src_dt)))
    want = parts_of(kind, matrix.astype(zemm.numpy_dtype(dst_dt)), indices)
    dst = zemm.Memory(sparse_md(kind, shape, dst_dt, want[0].size, indices), engine)
    assert run(engine, src.memory, dst) == "sparsify"
    check_parts(dst, want)


@random_cases(quick=12, full=60)
def test_sparse_to_dense(engine: zemm.Engine, data: st.DataObject) -> None:
    shape, kind, indices = data.draw(sparse_tensors)
    src_dt = data.draw(st.sampled_from(VALUES))
    dst_dt = "s64" if src_dt == "s64" else data.draw(st.sampled_from([v for v in VALUES if v != "s64"]))
    seed = data.draw(st.integers(0, 2**32))
    matrix = matrix_of(np.random.default_rng(seed), shape, "u8", data.draw(densities))
    parts = parts_of(kind, matrix.astype(zemm.numpy_dtype(src_dt)), indices)
    src = sparse_memory(engine, kind, shape, parts)
    dst = Buffer(data.draw(layouts(shape, dst_dt)), engine, seed)
    want = dst.with_tensor(matrix.astype(zemm.numpy_dtype(dst_dt)))
    assert run(engine, src, dst.memory) == "densify"
    dst.check(want)


@pytest.mark.parametrize("kinds", [("csr", "coo"), ("coo", "csr"), ("csr", "csr"), ("coo", "coo")])
@pytest.mark.parametrize("types", [("s32", "s64"), ("s64", "s32")])
def test_sparse_to_sparse(engine: zemm.Engine, kinds: tuple[str, str], types: tuple[str, str]) -> None:
    matrix = matrix_of(np.random.default_rng(0), (30, 20), "f32", 0.3)
    parts, want = (parts_of(kind, matrix, dt) for kind, dt in zip(kinds, types, strict=True))
    dst = zemm.Memory(sparse_md(kinds[1], (30, 20), "f32", want[0].size, types[1]), engine)
    run(engine, sparse_memory(engine, kinds[0], (30, 20), parts), dst)
    check_parts(dst, want)


@pytest.mark.parametrize("mode", ["library", "user"])
def test_attributes(engine: zemm.Engine, mode: Any) -> None:
    """Scales apply on the way, and values that become 0 are left out. The caller's scratchpad serves."""
    matrix = matrix_of(np.random.default_rng(1), (12, 9), "f32", 0.6)
    attr = zemm.Attr()
    attr.set_scales(ARG_SRC, 2)
    attr.set_scratchpad_mode(mode)
    factors = np.array([0.01, 1, 2, 0.5, 3, 1, 0.25, 1, 4], np.float32)
    more = {ARG_ATTR_SCALES | ARG_SRC: zemm.Memory(zemm.MemoryDesc((1, 9), "f32"), engine, factors[None])}
    want = parts_of("csr", np.rint(matrix * factors).astype(np.int8))
    src = zemm.Memory(zemm.MemoryDesc(matrix.shape, "f32"), engine, matrix)
    dst = zemm.Memory(sparse_md("csr", matrix.shape, "s8", want[0].size), engine)
    run(engine, src, dst, attr, more)
    check_parts(dst, want)
    back = zemm.Memory(zemm.MemoryDesc(matrix.shape, "f32"), engine)
    attr = zemm.Attr()
    attr.set_scales(ARG_DST, 2)
    attr.set_scratchpad_mode(mode)
    run(engine, dst, back, attr, {ARG_ATTR_SCALES | ARG_DST: more[ARG_ATTR_SCALES | ARG_SRC]})
    np.testing.assert_array_equal(back.as_numpy(), np.rint(matrix * factors) / factors)


@pytest.mark.parametrize("dt", ["f32", "f16", "bf16", "f64", "f8_e5m2", "f8_e4m3"])
def test_zeros(engine: zemm.Engine, dt: str) -> None:
    """-0 is 0; NaN and the smallest denormal are not."""
    dtype = zemm.numpy_dtype(dt)
    codes = np.zeros((2, 3), f"u{dtype.itemsize}")
    codes[0, 1] = 1 << (8 * dtype.itemsize - 1)
    codes[0, 2] = 1
    codes[1, 0] = 2 ** (8 * dtype.itemsize) - 1
    src = zemm.Memory(zemm.MemoryDesc((2, 3), dt), engine)
    src.write(codes.view(dtype))
    dst = zemm.Memory(sparse_md("coo", (2, 3), dt, 2), engine)
    run(engine, src, dst)
    check_parts(dst, [codes[[0, 1], [2, 0]], np.array([0, 1], np.int32), np.array([2, 0], np.int32)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nnz", [0, 4, 6])
def test_wrong_nnz(engine: zemm.Engine, kind: str, nnz: int) -> None:
    """The number of values must be that of dst's descriptor. Else nothing is written."""
    matrix = np.zeros((3, 4), np.float32)
    matrix.flat[[0, 3, 5, 6, 11]] = 1
    src = zemm.Memory(zemm.MemoryDesc((3, 4), "f32"), engine, matrix)
    dst = zemm.Memory(sparse_md(kind, (3, 4), "f32", nnz), engine)
    before = [np.full(dst.md.part_size(i), 7, np.uint8) for i in range(3)]
    for index, part in enumerate(before):
        dst.write(part, index)
    with pytest.raises(
        zemm.InvalidArgumentsError, match=f"nnz {nnz}, but src has 5 elements that are not 0 as f32"
    ):
        run(engine, src, dst)
    check_parts(dst, before)


def test_wide_index_is_not_cut(engine: zemm.Engine) -> None:
    """An index of s64 that would be right as s32."""
    parts = [np.ones(1, np.float32), np.array([1 << 32], np.int64), np.array([0, 1], np.int64)]
    src = sparse_memory(engine, "csr", (1, 4), parts)
    with pytest.raises(zemm.InvalidArgumentsError, match="4294967296 of value 0 is out of range"):
        run(engine, src, zemm.Memory(zemm.MemoryDesc((1, 4), "f32"), engine))


def test_empty(engine: zemm.Engine) -> None:
    src = zemm.Memory(zemm.MemoryDesc((0, 4), "f32"), engine)
    dst = zemm.Memory(sparse_md("csr", (0, 4), "f32", 0), engine)
    run(engine, src, dst)
    run(engine, dst, src)


def test_other_nnz(engine: zemm.Engine) -> None:
    """A memory of another number of values is another descriptor."""
    md = zemm.MemoryDesc((4, 64), "f32")
    primitive = zemm.Primitive(zemm.ReorderPrimitiveDesc(engine, sparse_md("csr", (4, 64), "f32", 5), md))
    args = {
        ARG_FROM: zemm.Memory(sparse_md("csr", (4, 64), "f32", 6), engine),
        ARG_TO: zemm.Memory(md, engine),
    }
    with pytest.raises(zemm.InvalidArgumentsError, match=r"csr, nnz 6, .* made for .*csr, nnz 5"):
        primitive.execute(zemm.Stream(engine), args)
