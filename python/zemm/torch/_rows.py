# SPDX-License-Identifier: Apache-2.0
"""Reads rows of an embedding out of the packed weights of a layer: row n of the embedding is column n of the
weights [K, N], scale * (value - zero point) + offset.

The element (k, n) of a blocked layout lies at the sum of an offset that only k decides and one that only n
decides. So two tables find all elements of a row.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from zemm._arrays.operands import inferred_group
from zemm._library.lists import TYPES
from zemm.dtypes import SUB_BYTE, numpy_dtype
from zemm.memory_desc import MemoryDesc
from zemm.torch._parts import named
from zemm.words import DataType

# In the order in which they change a value.
_PARAMETERS = (("zero_points", np.subtract), ("scales", np.multiply), ("offsets", np.add))
_PIECE = 2**20  # elements that are read at once, for which some 40 bytes each are needed meanwhile
# The values of its 16 codes.
_F4_E2M1 = np.arange(16, dtype=np.uint8).view(numpy_dtype("f4_e2m1")).astype(np.float32)


@dataclass(frozen=True)
class _Layout:
    """data_type: of the values. of_k, of_n: offsets in elements. arrays: type and shape of the
    parameters that there are. group: of elements of K, if the last one is shorter."""

    data_type: DataType
    of_k: NDArray[np.int64]
    of_n: NDArray[np.int64]
    arrays: dict[str, tuple[DataType, list[int]]]
    group: int | None


@lru_cache(maxsize=64)
def _layout(config: bytes) -> _Layout:
    """The rows of a layer, as its description (zemm.torch._parts) has them."""
    about = json.loads(config)
    md = MemoryDesc(about["dims"], about["weights_dtype"], about["tag"])
    of_k, of_n = (_offsets(md, axis) for axis in (0, 1))
    return _Layout(about["weights_dtype"], of_k, of_n, about["arrays"], about.get("group"))


def _offsets(md: MemoryDesc, axis: int) -> NDArray[np.int64]:
    """For each index of an axis, the offset that it decides."""
    rest = np.arange(md.dims[axis])
    offsets = np.zeros_like(rest)
    stride = 1
    for block, own in zip(reversed(md.inner_blks), reversed(md.inner_idxs), strict=True):
        if own == axis:
            offsets += rest % block * stride
            rest //= block
        stride *= block
    return offsets + rest * md.strides[axis]


def read_rows(parts: list[torch.Tensor], ids: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The rows with these indices, [.., K], computed in float32 and rounded to dtype. IndexError: there is
    no such row."""
    found = {name: part.numpy() for name, part in named(parts).items()}
    layout = _layout(found["config"].tobytes())
    rows = ids.reshape(-1).numpy()
    k, count = len(layout.of_k), len(layout.of_n)
    if rows.size:
        low, high = int(rows.min()), int(rows.max())
        if low < 0 or high >= count:
            raise IndexError(
                f"index {low if low < 0 else high} is not in 0..{count - 1}, the embedding's rows"
            )
    step = max(1, _PIECE // k)
    pieces = [
        torch.from_numpy(_read(found, layout, rows[first : first + step])).to(dtype)
        for first in range(0, len(rows) or 1, step)
    ]
    y = pieces[0] if len(pieces) == 1 else torch.cat(pieces)
    return y.reshape(*ids.shape, k)


def _read(found: dict[str, NDArray[Any]], layout: _Layout, rows: NDArray[Any]) -> NDArray[np.float32]:
    """These rows, [rows, K]."""
    k = len(layout.of_k)
    values = _values(found["weights"], layout, layout.of_n[rows][:, None] + layout.of_k)
    for name, apply in _PARAMETERS:
        if name in layout.arrays:
            place = "zero_points" if name == "offsets" else name  # they share a part
            parameter = _parameter(found[place], layout.arrays[name], rows)
            groups = parameter.shape[1]
            if (level := f"{name[:-1]}_factors") in layout.arrays:
                factors = _parameter(found[level], layout.arrays[level], rows)
                parameter = parameter * factors.repeat(groups // factors.shape[1], 1)
            group = inferred_group(k, groups, layout.group) or k
            if groups * group == k:
                grouped = values.reshape(len(rows), groups, group)
                apply(grouped, parameter[..., None], out=grouped)
            else:
                apply(values, parameter.repeat(group, 1)[:, :k], out=values)
    return values


def _values(data: NDArray[Any], layout: _Layout, places: NDArray[np.int64]) -> NDArray[np.float32]:
    """The elements at these places, in elements."""
    if layout.data_type not in SUB_BYTE:
        return data.view(numpy_dtype(layout.data_type))[places].astype(np.float32)
    bits = TYPES[layout.data_type].bits
    first = places * bits
    # Of one byte, or of two.
    two = data[first >> 3] | data[(first + bits - 1) >> 3].astype(np.int32) << 8
    codes = (two >> (first & 7) & (2**bits - 1)).astype(np.uint8)
    if layout.data_type == "s4":
        return ((codes ^ 8).astype(np.int8) - 8).astype(np.float32)
    return _F4_E2M1[codes] if layout.data_type == "f4_e2m1" else codes.astype(np.float32)


def _parameter(
    data: NDArray[Any], about: tuple[DataType, list[int]], rows: NDArray[Any]
) -> NDArray[np.float32]:
    """A parameter of these rows, [rows, groups]."""
    data_type, shape = about
    values = data.view(numpy_dtype(data_type)).reshape(shape if len(shape) == 2 else (1, 1))
    if values.size == 1:
        return np.broadcast_to(values.astype(np.float32), (len(rows), 1))
    return values[:, rows].T.astype(np.float32)
