# SPDX-License-Identifier: Apache-2.0
"""Codes of elements, and the bytes in which they lie: element i begins at bit i * bits, the first one in the
lowest bits. Other modules ask this one how elements of fewer than 8 bits share bytes.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zemm._library.lists import TYPES

Bytes = NDArray[np.uint8]


class Span(NamedTuple):
    """The fewest elements that fill whole items of an array, and the number of these items. Elements of fewer
    than 8 bits lie in bytes: 2 elements of u4 fill 1, 8 of u3 fill 3. Other elements are items themselves."""

    elements: int
    items: int


def span_of(data_type: str) -> Span:
    return _span(TYPES[data_type].bits)


def items_of(data_type: str, elements: int) -> int:
    """The items of an array of whole spans of elements."""
    span = span_of(data_type)
    return elements // span.elements * span.items


def elements_of(data_type: str, items: int) -> int:
    """The elements in the items of an array."""
    span = span_of(data_type)
    return items // span.items * span.elements


def _span(bits: int) -> Span:
    common = math.gcd(bits, 8)
    return Span(8 // common, bits // common) if bits < 8 else Span(1, 1)


def join(codes: NDArray[Any], bits: int, axis: int = -1) -> Bytes:
    """The lowest `bits` of codes, which have one in each byte, together along an axis (-1 or -2). Zeros fill
    the last byte."""
    span, data = _span(bits), codes.view(np.uint8)
    if bits == 8:
        return data
    if bits == 4 and axis == -1 and data.shape[-1] % 2 == 0:  # both at once: faster than every other byte
        wide = np.ascontiguousarray(data).view("<u2") & np.uint16(0x0F0F)
        return (wide | wide >> np.uint16(4)).astype(np.uint8)
    count, every = data.shape[axis], _every(axis)
    if missing := -count % span.elements:
        widths = [(0, 0)] * data.ndim
        widths[axis] = (0, missing)
        data = np.pad(data, widths)
    shape = list(data.shape)
    shape[axis] = shape[axis] // span.elements * span.items
    packed = np.empty(shape, np.uint8)
    for i in range(span.elements):
        part = data[every(i, span.elements)] & np.uint8(2**bits - 1)
        byte, shift = divmod(i * bits, 8)
        if shift == 0:
            packed[every(byte, span.items)] = part
        else:
            packed[every(byte, span.items)] |= part << np.uint8(shift)
        if shift + bits > 8:  # it goes on in the next byte
            packed[every(byte + 1, span.items)] = part >> np.uint8(8 - shift)
    return packed[every(0, 1, -(-count * bits // 8))] if missing else packed


def split(packed: NDArray[Any], bits: int) -> Bytes:
    """The codes of bytes [.., n], with one in each byte: [.., n * 8 / bits]."""
    span, data = _span(bits), packed.view(np.uint8)
    if bits == 8:
        return data
    count, every = data.shape[-1] * 8 // bits, _every(-1)
    if missing := -data.shape[-1] % span.items:
        data = np.pad(data, [(0, 0)] * (data.ndim - 1) + [(0, missing)])
    codes = np.empty((*data.shape[:-1], data.shape[-1] // span.items * span.elements), np.uint8)
    for i in range(span.elements):
        byte, shift = divmod(i * bits, 8)
        part = data[every(byte, span.items)] >> np.uint8(shift)
        if shift + bits > 8:
            part |= data[every(byte + 1, span.items)] << np.uint8(8 - shift)
        np.bitwise_and(part, np.uint8(2**bits - 1), out=codes[every(i, span.elements)])
    return codes[..., :count]


def awq_in_order(packed: Bytes) -> Bytes:
    """The bytes of AWQ's words of eight values, with the values of a row in its order. The first half of a
    word has the even columns, the second half the odd ones."""
    halves = packed.reshape(*packed.shape[:-1], -1, 2, 2)
    even, odd = halves[..., 0, :], halves[..., 1, :]
    ordered = np.empty_like(halves)
    np.bitwise_or(even & 15, odd << 4, out=ordered[..., 0])
    np.bitwise_or(even >> 4, odd & 0xF0, out=ordered[..., 1])
    return ordered.reshape(packed.shape)


def numbers_of(codes: Bytes, data_type: str) -> NDArray[Any]:
    """The integers for codes with one in each byte: int8 of a signed type, else uint8."""
    if TYPES[data_type].low >= 0:
        return codes
    sign = 1 << (TYPES[data_type].bits - 1)
    return (codes ^ np.uint8(sign)).view(np.int8) - np.int8(sign)


def _every(axis: int) -> Callable[..., Any]:
    """An index along an axis (-1 or -2): each `step` from the first to the last."""

    def index(first: int, step: int, last: int | None = None) -> tuple[Any, ...]:
        return (..., slice(first, last, step), *[slice(None)] * (-1 - axis))

    return index
