# SPDX-License-Identifier: Apache-2.0
"""Matrices in CSR and COO: descriptors, buffers and memories."""

from typing import Any

import numpy as np
import zemm


def parts_of(kind: str, matrix: np.ndarray, indices: str = "s32") -> list[np.ndarray]:
    """The values and the indices of the elements that are not 0."""
    dtype = zemm.numpy_dtype(indices)
    rows, columns = (index.astype(dtype) for index in np.nonzero(matrix))
    if kind == "coo":
        return [matrix[rows, columns], rows, columns]
    ends = np.cumsum(np.bincount(rows, minlength=matrix.shape[0]))
    return [matrix[rows, columns], columns, np.concatenate([[0], ends]).astype(dtype)]


def sparse_md(kind: str, dims: tuple[int, ...], dt: Any, nnz: int, indices: Any = "s32") -> zemm.MemoryDesc:
    if kind == "csr":
        return zemm.MemoryDesc.csr(dims, dt, nnz, indices, indices)
    return zemm.MemoryDesc.coo(dims, dt, nnz, indices)


def sparse_memory(
    engine: zemm.Engine, kind: str, dims: tuple[int, ...], parts: list[np.ndarray]
) -> zemm.Memory:
    types = [zemm.dtype_name(part.dtype) for part in parts]
    memory = zemm.Memory(sparse_md(kind, dims, types[0], len(parts[0]), types[1]), engine)
    for index, part in enumerate(parts):
        if part.size:
            memory.write(np.ascontiguousarray(part).view(np.uint8), index)
    return memory
