# SPDX-License-Identifier: Apache-2.0
"""Quantises weights slice by slice: numpy's temporaries stay in the CPU's caches, and their sum is small
however large the weights are.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zemm._arrays.scales import check_group, check_scales, scale_type_of, scales_of
from zemm._library import check
from zemm._library.lists import TYPES
from zemm.errors import InvalidArgumentsError
from zemm.words import DataType, ScaleDType, ScaleType

_ELEMENTS = 1 << 16  # of a slice, which is computed in f64
# The types of values by their bits, and whether they are signed.
_INTEGERS = [t for t in TYPES.values() if t.kind == "integer" and "weights" in t.roles]
_TYPES: dict[int, dict[bool, Any]] = {
    bits: {t.low < 0: t.name for t in _INTEGERS if t.bits == bits} for bits in {t.bits for t in _INTEGERS}
}
_COLUMNS = 64  # the fewest of a slice of row-major weights, whose rows are read in pieces


class Rule(NamedTuple):
    """How weights are quantised. group: elements of K that share a scale; the last group may be
    shorter."""

    bits: int
    group: int
    scale_type: ScaleType
    is_signed: bool

    @property
    def top(self) -> int:
        """The largest value; the smallest is 0, or -top for signed ones."""
        return int(2 ** (self.bits - self.is_signed) - 1)

    @property
    def data_type(self) -> DataType:
        own: DataType = _TYPES[self.bits][self.is_signed]
        return own

    @property
    def values_type(self) -> np.dtype[Any]:
        """numpy's type of a value, also of fewer bits."""
        return np.dtype(np.int8 if self.is_signed else np.uint8)


def rule_of(w: NDArray[Any], bits: int, group: int | None, scale_dtype: ScaleDType, symmetric: bool) -> Rule:
    """The rule for weights [K, N] or [E, K, N]. ValueError: bits, group or w do not fit."""
    if not isinstance(bits, (int, np.integer)) or bits not in _TYPES:
        *others, last = sorted(_TYPES, reverse=True)
        known = f"{', '.join(map(str, others))} and {last}"
        raise InvalidArgumentsError(f"bits is {check.shown(bits)}, none of {known}")
    scale_type, is_signed = scale_type_of(scale_dtype), bool(check.flag(symmetric, "symmetric"))
    if is_signed not in _TYPES[bits]:
        raise InvalidArgumentsError(f"weights of {bits} bits are unsigned: leave symmetric out")
    if w.ndim not in (2, 3):
        raise InvalidArgumentsError(f"w has shape {w.shape}, neither [K, N] nor [E, K, N]")
    k = w.shape[-2]
    if group is not None:
        check_group(group)
    return Rule(int(bits), k if group is None else min(int(group), k or 1), scale_type, is_signed)


class Codes(NamedTuple):
    """A part of a matrix [K, N]: the slices of K and N, their values [k, n], and scales and zero points
    [k / group, n]."""

    k: slice
    n: slice
    values: NDArray[Any]
    scales: NDArray[Any]
    zero_points: NDArray[np.uint8] | None

    def groups(self, rule: Rule) -> slice:
        """The slice of the groups of K."""
        return slice(self.k.start // rule.group, -(-self.k.stop // rule.group))


def has_rows_of_k(matrix: NDArray[Any]) -> bool:
    """Whether [.., K, N] is the transpose of rows along K, as torch keeps weights."""
    return abs(matrix.strides[-2]) < abs(matrix.strides[-1])


def _parts_of_k(k: int, group: int, most: int) -> Iterator[slice]:
    """Slices of K of at most so many elements, which are whole groups, and the shorter group at the end."""
    whole = k // max(group, 1) * group
    for low in range(0, whole, max(most, 1)):
        yield slice(low, min(low + most, whole))
    if whole < k:
        yield slice(whole, k)


def codes_of(matrix: NDArray[Any], rule: Rule, columns: slice | None = None) -> Iterator[Codes]:
    """Quantise some columns of a matrix [K, N], by default all. Slices begin at even columns. ValueError: an
    element is not finite, or the type cannot hold a scale."""
    k, n = matrix.shape
    begin, end = (0, n) if columns is None else (columns.start, columns.stop)
    if has_rows_of_k(matrix):
        wide = max(_ELEMENTS // max(k, 1) & ~7, 8)  # whole spans of any type
        for at in range(begin, end, wide):
            part = slice(at, min(at + wide, end))
            for kept in _parts_of_k(k, rule.group, k):
                length = kept.stop - kept.start
                rows = matrix.T[part, kept].reshape(part.stop - at, -1, min(rule.group, length))
                values, scales, zero_points = _quantised(rows, 2, rule)
                turned = None if zero_points is None else zero_points.T
                yield Codes(kept, part, values.reshape(-1, length).T, scales.T, turned)
        return
    wide = max(_ELEMENTS // max(rule.group, 1) & ~7, _COLUMNS)
    high = max(_ELEMENTS // (max(rule.group, 1) * wide), 1) * rule.group
    for at in range(begin, end, wide):
        part = slice(at, min(at + wide, end))
        for kept in _parts_of_k(k, rule.group, high):
            group = min(rule.group, kept.stop - kept.start)
            block = matrix[kept, part].reshape(-1, group, part.stop - at)
            values, scales, zero_points = _quantised(block, 1, rule)
            yield Codes(kept, part, values.reshape(-1, part.stop - at), scales, zero_points)


def _quantised(
    block: NDArray[Any], axis: int, rule: Rule
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.uint8] | None]:
    """Values of the block's shape, scales and zero points of groups that lie along an axis."""
    wide = block.astype(np.float64)
    low, high = wide.min(axis=axis, initial=0.0), wide.max(axis=axis, initial=0.0)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise _NotFiniteError
    span = np.maximum(-low, high) if rule.is_signed else high - low
    scales = scales_of(span, rule.top, rule.scale_type, rounds_up=rule.scale_type != "f32")
    check_scales(scales, rule.scale_type)
    steps = scales.astype(np.float64)
    wide /= np.expand_dims(steps, axis)
    np.rint(wide, out=wide)
    if rule.is_signed:
        np.clip(wide, -rule.top, rule.top, out=wide)
        return wide.astype(np.int8), scales, None
    zero_points = np.rint(-low / steps).clip(0, rule.top)
    wide += np.expand_dims(zero_points, axis)
    np.clip(wide, 0, rule.top, out=wide)
    return wide.astype(np.uint8), scales, zero_points.astype(np.uint8)


class _NotFiniteError(Exception):
    """A slice has an element that is not finite. Who has the whole array says which one it is."""


@contextmanager
def naming_elements(w: NDArray[Any]) -> Iterator[None]:
    """Errors of codes_of() about elements name the first of w [.., K, N] that is not finite."""
    try:
        yield
    except _NotFiniteError:
        for at in np.ndindex(w.shape[:-1]):
            for n in np.flatnonzero(~np.isfinite(w[at].astype(np.float64))):
                where = ", ".join(map(str, (*at, int(n))))
                raise InvalidArgumentsError(f"w[{where}] is {float(w[at][n])}; all must be finite") from None
        raise AssertionError("elements have changed") from None
