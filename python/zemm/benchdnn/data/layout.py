# SPDX-License-Identifier: Apache-2.0
"""Converts tensors in logical order to bytes in memory and back, for strided and blocked layouts.

Elements of fewer than 8 bits share bytes (zemm/_library/codes.py).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from zemm._library.codes import join, numbers_of, split
from zemm.benchdnn.grammar.dtypes import BY_NAME, Codes, Floats, decode, encode

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Layout:
    """The layout of a tensor of `dims` in a buffer of `size` bytes.

    `strides` (of the outer blocks) and `offset` are in elements. `blocks` are (dimension, size) of
    the inner blocks, the outermost first; they are dense. A dimension with blocks is padded to
    whole blocks with zeros.
    """

    dims: tuple[int, ...]
    strides: tuple[int, ...]
    data_type: str
    size: int
    offset: int = 0
    blocks: tuple[tuple[int, int], ...] = ()

    @property
    def _packed(self) -> bool:
        return BY_NAME[self.data_type].bits < 8

    def store(self, values: Floats, raw: Bytes) -> None:
        """Write values (f32, of shape dims) into the bytes `raw`. Gaps between strides are
        unchanged."""
        self._elements(raw, encode(values, self.data_type).reshape(self.dims))

    def load(self, raw: Bytes) -> Floats:
        """The f32 values in the bytes `raw`, of shape dims."""
        return decode(self.codes(raw), self.data_type)

    def codes(self, raw: Bytes) -> Codes:
        """The codes in the bytes `raw`, of shape dims."""
        dtype = BY_NAME[self.data_type]
        if 0 in self.dims:
            return np.zeros(self.dims, dtype.code)
        if not self._packed:
            return self._logical(raw[: self.size].view(dtype.code))
        codes = self._logical(split(raw[: self.size], dtype.bits))
        return numbers_of(codes, self.data_type) if dtype.integral else codes.view(dtype.code)

    def offsets(self) -> NDArray[np.int64]:
        """The offset in memory of each element, in elements."""
        if 0 in self.dims:
            return np.zeros(self.dims, np.int64)
        return self._logical(np.arange(self.size * 8 // BY_NAME[self.data_type].bits))

    def _elements(self, raw: Bytes, codes: Codes) -> None:
        if 0 in self.dims:
            return
        if not self._packed:
            self._view(raw[: self.size].view(codes.dtype))[...] = self._physical(codes)
            return
        bits = BY_NAME[self.data_type].bits
        parts = split(raw[: self.size], bits)
        self._view(parts)[...] = self._physical(codes.view(np.uint8))
        raw[: self.size] = join(parts, bits)

    def _view(self, flat: Codes) -> Codes:
        """A view of the elements in memory, with the axes: outer dims, then inner blocks."""
        inner = [size for _, size in self.blocks]
        inner_strides = [math.prod(inner[i + 1 :]) for i in range(len(inner))]
        strides = [stride * flat.itemsize for stride in (*self.strides, *inner_strides)]
        # as_strided does not know every type of ml_dtypes.
        numbers = flat[self.offset :].view(f"u{flat.itemsize}")
        return as_strided(numbers, (*self._outer(), *inner), strides).view(flat.dtype)

    def _outer(self) -> list[int]:
        """The number of whole blocks along each dimension."""
        return [-(-dim // self._block_of(axis)) for axis, dim in enumerate(self.dims)]

    def _block_of(self, axis: int) -> int:
        return math.prod(size for d, size in self.blocks if d == axis)

    def _order(self) -> tuple[list[int], list[int]]:
        """The shape of the padded tensor with each dim split into its blocks, and the permutation
        that brings its axes into the order of `_view`."""
        shape: list[int] = []
        outer_axes: list[int] = []
        block_axes: dict[int, int] = {}
        for axis, count in enumerate(self._outer()):
            outer_axes.append(len(shape))
            shape.append(count)
            for i, (d, size) in enumerate(self.blocks):
                if d == axis:
                    block_axes[i] = len(shape)
                    shape.append(size)
        return shape, outer_axes + [block_axes[i] for i in range(len(self.blocks))]

    def _physical(self, codes: Codes) -> Codes:
        """Codes in logical order brought into the order of `_view`, with padding."""
        if not self.blocks:
            return codes
        shape, order = self._order()
        missing = [n * self._block_of(axis) - codes.shape[axis] for axis, n in enumerate(self._outer())]
        return np.pad(codes, [(0, count) for count in missing]).reshape(shape).transpose(order)

    def _logical(self, flat: Codes) -> Codes:
        """The codes in memory brought into logical order, without padding."""
        view = self._view(flat)
        if not self.blocks:
            return view
        padded = [n * self._block_of(axis) for axis, n in enumerate(self._outer())]
        whole = view.transpose(np.argsort(self._order()[1])).reshape(padded)
        return whole[tuple(slice(dim) for dim in self.dims)]


@dataclass(frozen=True)
class SparseLayout:
    """The values of a sparse tensor: those of the elements at `places`, row by row, in `size`
    bytes."""

    places: NDArray[np.bool_]
    data_type: str
    size: int

    def store(self, values: Floats, raw: Bytes) -> None:
        """Write the stored ones of values (f32, of the tensor's shape) into the bytes `raw`."""
        if self.size:
            raw[: self.size] = encode(values[self.places], self.data_type).view(np.uint8)

    def load(self, raw: Bytes) -> Floats:
        """The f32 values in the bytes `raw`, with zeros where nothing is stored."""
        values = np.zeros(self.places.shape, np.float32)
        if self.size:
            values[self.places] = decode(raw[: self.size].view(BY_NAME[self.data_type].code), self.data_type)
        return values


def layout_of(md: Any) -> Layout:
    """The layout of a memory descriptor of the library."""
    return Layout(
        tuple(md.dims), tuple(md.strides), md.data_type, md.size, md.offset0,
        tuple(zip(md.inner_idxs, md.inner_blks, strict=True)),
    )  # fmt: skip
