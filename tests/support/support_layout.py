# SPDX-License-Identifier: Apache-2.0
"""Tensors in any layout as flat buffers, computed from the tag alone. Tests of reorders compare
with them.
"""

import re
from dataclasses import dataclass

import numpy as np
import zemm
from numpy.typing import NDArray

PER_BYTE = {"s4": 2, "u4": 2, "f4_e2m1": 2, "u2": 4}  # elements in a byte
Array = NDArray[np.generic]
GUARD = 64  # bytes before and after a buffer


@dataclass(frozen=True)
class Layout:
    """A tensor's layout: dims, and either a tag ("acb", "BA16a64b4a") or strides."""

    dims: tuple[int, ...]
    data_type: str
    tag: str | None = None
    strides: tuple[int, ...] | None = None

    def md(self) -> zemm.MemoryDesc:
        return zemm.MemoryDesc(self.dims, self.data_type, tag=self.tag, strides=self.strides)

    def _blocks(self) -> list[tuple[int, int]]:
        """The inner blocks as (dimension, size), outermost first."""
        blocks = re.findall(r"(\d+)([a-l])", self.tag or "")
        return [(ord(letter) - ord("a"), int(size)) for size, letter in blocks]

    @property
    def padded(self) -> tuple[int, ...]:
        sizes = [1] * len(self.dims)
        for d, size in self._blocks():
            sizes[d] *= size
        return tuple(-(-n // size) * size for n, size in zip(self.dims, sizes, strict=True))

    def places(self) -> NDArray[np.int64]:
        """The index in the buffer, in elements, of each element of the padded tensor."""
        padded = self.padded
        coordinates = list(np.indices(padded, dtype=np.int64))
        place = np.zeros(padded, np.int64)
        if self.strides is not None:
            for coordinate, stride in zip(coordinates, self.strides, strict=True):
                place += coordinate * stride
            return place
        stride = 1
        sizes = list(padded)
        for d, size in reversed(self._blocks()):
            place += coordinates[d] % size * stride
            coordinates[d] = coordinates[d] // size
            sizes[d] //= size
            stride *= size
        order = re.match(r"[a-lA-L]+", self.tag or "")
        assert order
        for letter in reversed(order[0].lower()):
            d = ord(letter) - ord("a")
            place += coordinates[d] * stride
            stride *= sizes[d]
        return place

    def inside(self) -> tuple[slice, ...]:
        return tuple(slice(n) for n in self.dims)


def unpack(data: NDArray[np.uint8], data_type: str) -> Array:
    """A buffer's bytes as a flat array of elements. A part of a byte becomes a byte."""
    if data_type not in PER_BYTE:
        itemsize = zemm.numpy_dtype(data_type).itemsize
        return data[: data.size // itemsize * itemsize].view(zemm.numpy_dtype(data_type))
    if data_type == "u2":
        return np.stack([data >> 2 * i & 3 for i in range(4)], axis=-1).reshape(-1)
    elements = zemm.unpack_int4(data, 2 * data.size, data_type == "s4").copy()
    return elements.view(zemm.numpy_dtype("f4_e2m1")) if data_type == "f4_e2m1" else elements


def pack(elements: Array, data_type: str) -> NDArray[np.uint8]:
    if data_type in PER_BYTE:
        each = PER_BYTE[data_type]
        bits = 8 // each
        parts = elements.view(np.uint8) & (2**bits - 1)
        return np.bitwise_or.reduce([parts[i::each] << i * bits for i in range(each)])
    return elements.view(np.uint8)


class Buffer:
    """A tensor's memory on the CPU engine, with guard bytes around it that nobody may write."""

    def __init__(self, layout: Layout, engine: zemm.Engine, seed: int) -> None:
        self.layout = layout
        md = layout.md()
        self.size = md.size
        self.data = np.random.default_rng(seed).integers(0, 256, self.size + 2 * GUARD, np.uint8)
        self.guards = self._outside()
        self.memory = zemm.Memory(md, engine, self.data[GUARD : GUARD + self.size])

    def _outside(self) -> bytes:
        return self.data[:GUARD].tobytes() + self.data[GUARD + self.size :].tobytes()

    def bytes_(self) -> NDArray[np.uint8]:
        assert self._outside() == self.guards, "bytes around the tensor were written"
        return self.data[GUARD : GUARD + self.size]

    def elements(self) -> Array:
        return unpack(self.bytes_().copy(), self.layout.data_type)

    def put(self, values: Array) -> None:
        """Write the tensor's elements and leave everything else unchanged."""
        elements = self.elements()
        elements[self.layout.places()[self.layout.inside()]] = values
        self.bytes_()[:] = pack(elements, self.layout.data_type)

    def with_tensor(self, values: Array) -> Array:
        """The expected contents of the buffer when the tensor has these values: padding is 0, gaps
        keep theirs.
        """
        elements = self.elements()
        places = self.layout.places()
        elements[places] = np.zeros((), elements.dtype)
        elements[places[self.layout.inside()]] = values
        return elements

    def check(self, want: Array) -> None:
        """Compare all elements; NaN must be equal bit by bit."""
        have = self.elements()
        bits = np.dtype(f"u{have.dtype.itemsize}")
        with np.errstate(invalid="ignore"):
            wrong = (have != want) & (have.view(bits) != want.view(bits))
        assert not wrong.any(), f"{wrong.sum()} of {wrong.size}: {have[wrong][:5]}, not {want[wrong][:5]}"
