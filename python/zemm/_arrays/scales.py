# SPDX-License-Identifier: Apache-2.0
"""Checks, groups and scales of the quantisers of activations and of weights."""

import math
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zemm._arrays.operands import groups_of, inferred_group
from zemm._library import check
from zemm._library.lists import TYPES
from zemm.dtypes import FLOATING, dtype_name, numpy_dtype, type_of
from zemm.errors import InvalidArgumentsError
from zemm.words import QuantizedDType, QuantizedType, ScaleDType, ScaleType

Shape = tuple[int, ...]


def floating(values: ArrayLike, name: str) -> NDArray[Any]:
    """An array of floating-point values. ValueError: it has another type."""
    array = check.array(values, name)
    dtype = type_of(array, name)
    if dtype not in FLOATING:
        raise InvalidArgumentsError(f"{name} has type {dtype}, not one of {', '.join(sorted(FLOATING))}")
    return array


def finite(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Floating-point values as float64. ValueError: an element is not finite, or is no float."""
    array = floating(values, name)
    wide = array.astype(np.float64)
    bad = ~np.isfinite(wide)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InvalidArgumentsError(
            f"{name}[{', '.join(map(str, first))}] is {wide[first]}; all must be finite"
        )
    return wide


def check_group(group: int, what: str = "group") -> None:
    """ValueError: group, the argument what, is no positive integer."""
    if isinstance(group, bool) or not isinstance(group, (int, np.integer)) or group < 1:
        raise InvalidArgumentsError(f"{what} is {check.shown(group)}, not a positive integer")


def group_count(k: int, group: int, shape: Shape) -> int:
    """The number of groups of x [.., K], of which the last one may be shorter. ValueError: group is no
    positive integer, or the number could be that of other groups."""
    check_group(group)
    check_inferred(k, min(int(group), k), f"x {shape}")
    return groups_of(k, int(group))


def check_inferred(k: int, group: int, name: str) -> None:
    """ValueError: whoever sees the number of groups alone would take them for others, which divide K."""
    groups = groups_of(k, group) if group else 0
    if inferred_group(k, groups, None) not in (None, group) and groups > 1:
        raise InvalidArgumentsError(
            f"K = {k} of {name} has {groups} groups of {group}, as many as of {k // groups}, which divide K:"
            f" their number would not tell them apart, so choose another group, or pad K"
        )


def common_group(k: int, *groups: int) -> int:
    """The elements of K in the largest parts that lie within one group of each, or K."""
    return math.gcd(*(group for group in groups if group < k)) or k


class ScaleRangeError(InvalidArgumentsError):
    """A type cannot hold the scales of some values."""


# Subnormal scales of f16 are multiples of the smallest one. Below so many of them, rounding up costs more
# than a sixteenth of the scale.
_SMALLEST_F16, _FEWEST = 2.0**-24, 16


def scales_of(
    span: NDArray[np.float64], steps: int, scale_type: ScaleType, rounds_up: bool = False
) -> NDArray[Any]:
    """span / steps in scale_type, rounded to nearest; a subnormal f16, or with rounds_up any scale, is
    rounded up, so that no value leaves its range. A span of 0 gives 1; scales of f32 and bf16 are at
    least the smallest normal number. The caller checks them by check_scales()."""
    smallest = TYPES[scale_type].smallest
    wanted = np.where(span == 0, 1.0, np.maximum(span / steps, 0 if scale_type == "f16" else smallest))
    with np.errstate(over="ignore"):
        scales = wanted.astype(numpy_dtype(scale_type))
    is_less = (scales.astype(np.float64) < wanted) & (rounds_up | (wanted < smallest))
    scales[is_less] = np.nextafter(scales[is_less], scales.dtype.type(np.inf))
    return scales


def check_scales(scales: NDArray[Any], scale_type: ScaleType) -> None:
    """ScaleRangeError: a scale is infinite, or so small an f16 that it has too few digits."""
    wide = scales.astype(np.float64)
    if not np.isfinite(wide).all():
        raise ScaleRangeError(f"a scale is too large for scale_dtype {scale_type}: take another one, as f32")
    if scale_type == "f16" and wide.size and wide.min() < _FEWEST * _SMALLEST_F16:
        raise ScaleRangeError(
            f"a scale of {wide.min():.1g} is too small for scale_dtype f16: take f32 or bf16"
        )


def in_groups(values: NDArray[Any], size: int) -> NDArray[Any]:
    """[.., K] as [.., K / size, size], with zeros after the elements of a shorter last group. No elements are
    no groups, and may have the size 0."""
    *leading, k = values.shape
    groups = groups_of(k, size) if k else 0
    missing = groups * size - k
    padded = np.pad(values, [(0, 0)] * len(leading) + [(0, missing)]) if missing else values
    return padded.reshape(*leading, groups, size)


def symmetric(
    grouped: NDArray[np.float64], top: int, scale_type: ScaleType
) -> tuple[NDArray[np.int8], NDArray[Any]]:
    """The codes [.., G, size] of values of the same shape, in -top..top, and the scales [.., G] of groups."""
    scales = scales_of(np.abs(grouped).max(axis=-1, initial=0.0), top, scale_type)
    check_scales(scales, scale_type)
    codes = np.rint(grouped / scales.astype(np.float64)[..., None]).clip(-top, top)
    return codes.astype(np.int8), scales


def scale_type_of(scale_dtype: ScaleDType) -> ScaleType:
    """The type of scales that a quantiser makes."""
    return cast(ScaleType, type_among(scale_dtype, get_args(ScaleType), "scale_dtype"))


def quantized_type_of(dtype: QuantizedDType) -> QuantizedType:
    """The type of activations that a quantiser makes."""
    return cast(QuantizedType, type_among(dtype, get_args(QuantizedType), "dtype"))


def type_among(dtype: Any, choices: tuple[str, ...], what: str) -> str:
    """zemm's name of a data type. ValueError: it is none of the choices. what: the argument's name."""
    try:
        name = dtype_name(dtype, what)
    except InvalidArgumentsError:
        name = None
    if name not in choices:
        shown = check.shown(dtype if name is None else name)
        raise InvalidArgumentsError(f"{what} is {shown}, none of {', '.join(choices)}")
    return name
