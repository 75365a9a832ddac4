# SPDX-License-Identifier: Apache-2.0
"""Logical tensors to bytes in memory and back, for plain layouts given by strides in elements.

Two 4-bit elements share a byte: the even physical offset is the low nibble.
"""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from zemm.benchdnn.dtypes import BY_NAME, Codes, Floats, decode, encode

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Layout:
    """Where the elements of a tensor of `dims` lie: `strides` and `offset` in elements, `size` in bytes."""

    dims: tuple[int, ...]
    strides: tuple[int, ...]
    data_type: str
    size: int
    offset: int = 0

    @property
    def _packed(self) -> bool:
        return BY_NAME[self.data_type].bits == 4

    def store(self, values: Floats, raw: Bytes) -> None:
        """Write `values` (f32, of dims) into `raw`, which holds `size` bytes; bytes between strides stay."""
        self._elements(raw, encode(values, self.data_type).reshape(self.dims))

    def load(self, raw: Bytes) -> Floats:
        """The f32 values in `raw`, of dims."""
        if 0 in self.dims:
            return np.zeros(self.dims, np.float32)
        code = BY_NAME[self.data_type].code
        if not self._packed:
            return decode(self._view(raw[: self.size].view(code)), self.data_type)
        codes = self._view(_unpacked(raw[: self.size]))
        if self.data_type == "s4":
            return decode(((codes ^ 8).astype(np.int8) - 8), "s4")
        return decode(codes if self.data_type == "u4" else codes.view(code), self.data_type)

    def _elements(self, raw: Bytes, codes: Codes) -> None:
        if 0 in self.dims:
            return
        if not self._packed:
            self._view(raw[: self.size].view(codes.dtype))[...] = codes
            return
        nibbles = _unpacked(raw[: self.size])
        self._view(nibbles)[...] = codes.view(np.uint8) & 15
        raw[: self.size] = nibbles[0::2] | nibbles[1::2] << 4

    def _view(self, flat: Codes) -> Codes:
        strides = [stride * flat.itemsize for stride in self.strides]
        return as_strided(flat[self.offset :], self.dims, strides)


def _unpacked(raw: Bytes) -> Bytes:
    """One byte per nibble, low nibble first."""
    nibbles = np.empty(2 * raw.size, np.uint8)
    nibbles[0::2] = raw & 15
    nibbles[1::2] = raw >> 4
    return nibbles
