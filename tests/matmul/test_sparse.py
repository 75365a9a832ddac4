# SPDX-License-Identifier: Apache-2.0
"""src or weights in CSR or COO: results, indices that must be refused, and what a matmul does not take.
docs/features.md has case lines of all forms.
"""

from typing import Any

import numpy as np
import pytest
import zemm
from support_execute import dst_of, memory_of
from support_sparse import parts_of, sparse_memory
from zemm import ARG_FROM, ARG_TO
from zemm.primitive import PrimitiveDesc

SRC, WEIGHTS, DST = zemm.ARG_SRC, zemm.ARG_WEIGHTS, zemm.ARG_DST
M, K, N = 5, 12, 7
RNG = np.random.default_rng(3)


def dense(*dims: int, dt: Any = "f32") -> zemm.MemoryDesc:
    return zemm.MemoryDesc(dims, dt, tag="ab")


@pytest.mark.parametrize("kind", ["csr", "coo"])
@pytest.mark.parametrize("stored", [0, 1, 9, M * K])
def test_results(engine: zemm.Engine, stream: zemm.Stream, kind: str, stored: int) -> None:
    """Whole rows may be empty, and a tensor may store nothing or everything."""
    matrix = np.zeros((M, K), np.float32)
    matrix.reshape(-1)[RNG.permutation(M * K)[:stored]] = RNG.integers(1, 9, stored)
    other = RNG.integers(-4, 5, (K, N)).astype(np.float32)
    left = np.ascontiguousarray(other.T)
    src = sparse_memory(engine, kind, (M, K), parts_of(kind, matrix))
    pd = zemm.MatmulPrimitiveDesc(engine, src.md, dense(K, N), dense(M, N))
    np.testing.assert_array_equal(dst_of(stream, pd, {SRC: src, WEIGHTS: other}), matrix @ other)
    weights = sparse_memory(engine, kind, (K, M), parts_of(kind, matrix.T))
    pd = zemm.MatmulPrimitiveDesc(engine, dense(N, K), weights.md, dense(N, M))
    np.testing.assert_array_equal(dst_of(stream, pd, {SRC: left, WEIGHTS: weights}), left @ matrix.T)


@pytest.mark.parametrize("kind", ["csr", "coo"])
def test_zero_points_of_src(engine: zemm.Engine, stream: zemm.Stream, kind: str) -> None:
    """They are subtracted from zeros that are not stored, too: weights are integers that become floats."""
    matrix: np.ndarray = np.where(RNG.random((M, K)) < 0.4, RNG.integers(1, 9, (M, K)), 0).astype(np.float32)
    other = RNG.integers(-4, 5, (K, N)).astype(np.int8)
    src = sparse_memory(engine, kind, (M, K), parts_of(kind, matrix))
    attr = zemm.Attr()
    attr.set_fpmath_mode("strict", apply_to_int=True)
    attr.set_zero_points(SRC, 0)
    pd = zemm.MatmulPrimitiveDesc(engine, src.md, dense(K, N, dt="s8"), dense(M, N), attr=attr)
    three = np.array([3], np.int32)
    args = {SRC: src, WEIGHTS: other, zemm.ARG_ATTR_ZERO_POINTS | SRC: three}
    np.testing.assert_array_equal(dst_of(stream, pd, args), (matrix - 3) @ other)


# A part, and what changes in it; words of the sentence. The matrix has three values in each row, in the
# columns 2, 5 and 9.
WRONG: dict[str, tuple[str, int, dict[int, int], str]] = {
    "first pointer": ("csr", 2, {0: 1}, "pointers go from 1 to 15"),
    "last pointer": ("csr", 2, {M: 14}, "pointers go from 0 to 14, they must go from 0 to nnz = 15"),
    "pointers decrease": ("csr", 2, {2: 2}, "pointer 2 is 2, smaller than 3"),
    "pointer is large": ("csr", 2, {2: 1 << 30}, "smaller than 1073741824"),
    "pointer is negative": ("csr", 2, {1: -3}, "pointer 1 is -3"),
    "column is large": ("csr", 1, {5: K}, "column index 12 of value 5 is out of range"),
    "column is negative": ("csr", 1, {3: -1}, "column index -1 of value 3 is out of range"),
    "columns decrease": ("csr", 1, {4: 1}, "column index 1 of value 4 is not above"),
    "a column twice": ("csr", 1, {4: 2}, "column index 2 of value 4 is not above"),
    "COO column": ("coo", 2, {5: K}, "column index 12 of value 5 is out of range"),
    "COO columns decrease": ("coo", 2, {4: 1}, "column index 1 of value 4 is not above"),
    "COO row is large": ("coo", 1, {14: M}, "row index 5 of value 14 is out of range"),
    "COO row is negative": ("coo", 1, {0: -1}, "row index -1 of value 0 is out of range"),
    "COO rows decrease": ("coo", 1, {7: 0}, "row index 0 of value 7 is below"),
}


@pytest.mark.parametrize("use", ["src", "weights", "reorder of s32", "reorder of s64"])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_indices(engine: zemm.Engine, name: str, use: str) -> None:
    """They are refused before anything is written."""
    kind, part, changes, sentence = WRONG[name]
    matrix = np.zeros((M, K), np.float32)
    matrix[:, [2, 5, 9]] = 1
    parts = parts_of(kind, matrix, use[-3:] if "reorder" in use else "s32")
    for at, index in changes.items():
        parts[part][at] = index
    sparse = sparse_memory(engine, kind, (M, K), parts)
    if "reorder" in use:
        dst = memory_of(engine, np.full((M, K), 5, np.float32))
        pd: PrimitiveDesc = zemm.ReorderPrimitiveDesc(engine, sparse.md, dst.md)
        args = {ARG_FROM: sparse, ARG_TO: dst}
    else:
        is_src = use == "src"
        dst = memory_of(engine, np.full((M, N) if is_src else (N, K), 5, np.float32))
        other = memory_of(engine, np.ones((K, N) if is_src else (N, M), np.float32))
        args = {SRC: sparse, WEIGHTS: other} if is_src else {SRC: other, WEIGHTS: sparse}
        pd = zemm.MatmulPrimitiveDesc(engine, args[SRC].md, args[WEIGHTS].md, dst.md)
        args[DST] = dst
    with pytest.raises(
        zemm.InvalidArgumentsError, match=f"{'weights' if use == 'weights' else 'src'}: .*{sentence}"
    ):
        zemm.Primitive(pd).execute(zemm.Stream(engine), args)
    assert (dst.as_numpy() == 5).all()


def test_coo_parts(engine: zemm.Engine) -> None:
    """Row and column indices of COO have one type."""
    md = zemm.MemoryDesc.coo((M, K), "f16", 3)
    assert [md.part_data_type(part) for part in range(3)] == ["f16", "s32", "s32"]
