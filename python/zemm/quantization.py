# SPDX-License-Identifier: Apache-2.0
"""Quantisation of activations and weights for an integer matmul.

real = scale * (value - zero point), with a scale (and zero point) for each group along K. The sums
R of each group of activations keep zero points of weights out of the K loop: see oneDNN's RFC
"User's Precomputed Reductions for GeMM".
"""

from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zemm._arrays.operands import groups_of, tensor
from zemm._arrays.reorder import quantize_memory
from zemm._arrays.scales import (
    check_inferred,
    check_scales,
    finite,
    floating,
    group_count,
    in_groups,
    quantized_type_of,
    scale_type_of,
    scales_of,
    symmetric,
)
from zemm._arrays.weight_codes import codes_of, naming_elements, rule_of
from zemm._library import check
from zemm._library.codes import items_of, join, span_of
from zemm.dtypes import SUB_BYTE, numpy_dtype, packed_array, type_of
from zemm.engine import Engine, Stream
from zemm.errors import InvalidArgumentsError
from zemm.memory import Memory
from zemm.words import QuantizedDType, QuantizedType, ScaleDType, ScaleType


class QuantizedActivations(NamedTuple):
    """Activations as s8: x ~ values * scales. The fields are arrays, or memories if x was one."""

    values: Any
    scales: Any
    reductions: Any


class QuantizedActivationsU8(NamedTuple):
    """Activations as u8: x ~ (values - zero_points) * scales. The fields are arrays, or memories if
    x was one."""

    values: Any
    scales: Any
    zero_points: Any
    reductions: Any


class QuantizedWeights(NamedTuple):
    """Weights as integers: w ~ (values - zero_points) * scales. zero_points is None if symmetric. values of
    fewer than 8 bits are a zemm.PackedInt4 or the like, which knows its type. zemm.matmul() takes the tuple
    as weights, and zemm.pack(*q) and zemm.Linear.from_quantized(*q) its parts."""

    values: NDArray[Any]
    scales: NDArray[Any]
    zero_points: NDArray[np.uint8] | None


@overload
def quantize_activations(
    x: ArrayLike | Memory,
    group: int = ...,
    scale_dtype: ScaleDType = ...,
    *,
    dtype: Literal["s8", "int8"] | type[np.int8] = ...,
    reduced_range: bool = ...,
    engine: Engine | None = ...,
    stream: Stream | None = ...,
) -> QuantizedActivations: ...
@overload
def quantize_activations(
    x: ArrayLike | Memory,
    group: int = ...,
    scale_dtype: ScaleDType = ...,
    *,
    dtype: Literal["u8", "uint8"] | type[np.uint8],
    reduced_range: bool = ...,
    engine: Engine | None = ...,
    stream: Stream | None = ...,
) -> QuantizedActivationsU8: ...
def quantize_activations(
    x: ArrayLike | Memory,
    group: int = 128,
    scale_dtype: ScaleDType = "f32",
    *,
    dtype: QuantizedDType = "s8",
    reduced_range: bool = False,
    engine: Engine | None = None,
    stream: Stream | None = None,
) -> QuantizedActivations | QuantizedActivationsU8:
    """Quantise activations to 8 bits in groups along K.

        values, scales, reductions = zemm.quantize_activations(x)
        values, scales, zero_points, reductions = zemm.quantize_activations(x, dtype="u8")

    x: [.., M, K], f16, bf16 or f32; an array may also be f64 if no engine is given.

    group: elements of K that share a scale, whatever the groups of the weights. Where it does not divide K,
    the last group is shorter, and zemm.matmul() needs it as src_group.

    Returns a QuantizedActivations or, with dtype "u8", a QuantizedActivationsU8. Both are tuples of
    these tensors, with x ~ (values - zero points) * scales:
    - values [.., M, K]: int8 in -127..127 (symmetric), or with dtype "u8" uint8, where 0..255
      stands for the range from the smallest to the largest element, extended to include 0
    - scales [.., M, K / group] of scale_dtype ("f32", "f16" or "bf16"); 1 for a group of zeros
    - zero points, int32 [.., M, K / group], with dtype "u8" only
    - reductions, int32 [.., M, K / group]: the sums of the values of each group (R of the RFC)
    Values are computed with the scale after its rounding to scale_dtype.

    reduced_range: quantise to 7 bits, -63..63 or 0..127. zemm.matmul(.., reduced_range=True) multiplies
    these faster on CPUs that have AVX2 without VNNI. The error of quantisation is twice as large.

    If x is an array, arrays are returned. They are computed by numpy or, if an engine is given, on
    that, with the same bits. ValueError: K has as many groups as of another size that divides it, an element
    is not finite, or scale_dtype cannot hold a scale (f16: from 9.5e-7 to 65504).

    If x is a Memory, memories on its engine are returned, and the host reads nothing. A group with
    an element that is not finite therefore raises no error: its scale is not finite, and its values
    are 0. Nor does one whose scale is too small for f16. stream: submit the work there and do not wait.
    """
    kind, scale_type = quantized_type_of(dtype), scale_type_of(scale_dtype)
    top = (127 if check.flag(reduced_range, "reduced_range") else 255) // (1 if kind == "u8" else 2)
    most = (2**31 - 1) // (255 if kind == "u8" else 127)
    if isinstance(group, (int, np.integer)) and group > most:
        raise InvalidArgumentsError(
            f"int32 holds sums of {most} {kind} values, the group is {check.shown(group)}"
        )
    if engine is not None:
        check.instance(engine, Engine, "engine")
    if isinstance(x, Memory):
        if engine is not None and engine is not x.engine:
            raise InvalidArgumentsError(
                f"x is a memory on another engine object ({x.engine!r}) than engine={engine!r}"
            )
        group_count(x.md.dims[-1] if x.md.ndims else 0, group, x.md.dims)
        return _named(*quantize_memory(x, group, scale_type, kind, stream, reduced_range))
    if stream is not None:
        raise InvalidArgumentsError("a stream is for a Memory: arrays are there on return")
    if engine is not None:
        return _quantize_on(engine, x, group, scale_type, kind, reduced_range)
    array = finite(x, "x")
    if array.ndim == 0:
        raise InvalidArgumentsError("x is a single number; it must have K as its last dimension")
    *leading, k = array.shape
    groups = group_count(k, group, array.shape)
    size = min(int(group), k)
    # Zeros after the last group change neither its scale nor its zero point.
    grouped = in_groups(array, size)
    padded_shape = (*leading, groups * size)
    if kind == "u8":
        low = grouped.min(axis=-1, initial=0.0)
        span = grouped.max(axis=-1, initial=0.0) - low
        # A device computes ranges in f32. Do the same, for equal bits, unless x is f64.
        span = span if np.asarray(x).dtype == np.float64 else _in_digits_of_f32(span)
        scales = scales_of(span, top, scale_type)
        check_scales(scales, scale_type)
        steps = scales.astype(np.float64)
        zero_points = np.rint(-low / steps).clip(0, top)
        values = (np.rint(grouped / steps[..., None]) + zero_points[..., None]).clip(0, top).astype(np.uint8)
        values, sums = _without_padding(values, padded_shape, k)
        return _named(values, scales, zero_points.astype(np.int32), sums)
    codes, scales = symmetric(grouped, top, scale_type)
    values, sums = _without_padding(codes, padded_shape, k)
    return _named(values, scales, None, sums)


def _without_padding(
    values: NDArray[Any], shape: tuple[int, ...], k: int
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Values [.., G, group] as [.., K], and the sum of each group. shape: of the values with padding."""
    rows = values.reshape(shape)
    rows[..., k:] = 0
    return np.ascontiguousarray(rows[..., :k]), values.sum(axis=-1, dtype=np.int32)


def _named(
    values: Any, scales: Any, zero_points: Any, reductions: Any
) -> QuantizedActivations | QuantizedActivationsU8:
    if zero_points is None:
        return QuantizedActivations(values, scales, reductions)
    return QuantizedActivationsU8(values, scales, zero_points, reductions)


def _quantize_on(
    engine: Engine,
    x: ArrayLike,
    group: int,
    scale_type: ScaleType,
    kind: QuantizedType,
    reduced_range: bool,
) -> QuantizedActivations | QuantizedActivationsU8:
    """quantize_activations() of an array on an engine."""
    array = check.array(x, "x")
    name = type_of(array, "x")
    if name not in ("f32", "f16", "bf16"):
        raise InvalidArgumentsError(f"x has type {name}; a device quantises f32, f16 and bf16")
    if array.ndim == 0:
        raise InvalidArgumentsError("x is a single number; it must have K as its last dimension")
    groups = group_count(array.shape[-1], group, array.shape)
    if array.size == 0:
        return quantize_activations(array, group, scale_type, dtype=kind)
    rows = tensor(array.reshape(-1, array.shape[-1]), name, 2, engine)
    made = quantize_memory(rows.memory(engine), group, scale_type, kind, None, reduced_range)
    values, *parameters = (None if memory is None else memory.as_numpy() for memory in made)
    scales = parameters[0]
    assert values is not None
    assert scales is not None
    if not np.isfinite(scales.astype(np.float32)).all():
        finite(array, "x")
    check_scales(scales, scale_type)
    shape = (*array.shape[:-1], groups)
    return _named(
        values.reshape(array.shape), *(None if part is None else part.reshape(shape) for part in parameters)
    )


def _in_digits_of_f32(spans: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values rounded to the precision of f32. A range of two f32 values may be up to twice the
    largest f32, so large values are halved before they are rounded."""
    factor = np.where(spans > np.finfo(np.float32).max, 2.0, 1.0)
    return (spans / factor).astype(np.float32).astype(np.float64) * factor


def quantize_weights(
    w: ArrayLike,
    bits: int,
    group: int | None = None,
    scale_dtype: ScaleDType = "f32",
    *,
    symmetric: bool = False,
) -> QuantizedWeights:
    """Quantise weights to 8 bits or fewer, for each column and K group.

        values, scales, zero_points = zemm.quantize_weights(w, bits=4, group=128)

    w: [K, N], or [E, K, N] for E experts, each quantised for itself; floating-point. group:
    elements of K that share a scale, whatever the groups of the activations; None: all of K. Where it
    does not divide K, the last group is shorter, and zemm.matmul() needs it as weights_group,
    zemm.pack() as group.

    symmetric: False makes unsigned values with zero points. Their range stands for the range from
    the smallest to the largest weight, extended to include 0. True makes signed values without zero
    points, in -127..127 or -7..7; only with 8 and 4 bits.

    Returns a tuple of these arrays, with w ~ (values - zero points) * scales:
    - values: uint8, or int8 if symmetric, of the shape of w. Fewer bits share bytes along
      N, the first in the lowest bits: for 4 uint8 [.., K, N / 2], a zemm.PackedInt4 of zemm's u4, or s4 if
      symmetric, and so on
    - scales [.., K / group, N] of scale_dtype ("f32", "f16" or "bf16"). For group None [N], or
      [E, 1, N]
    - zero points, uint8 of the same shape (0..15 for bits 4); None if symmetric

    ValueError: no type has so many bits, K has as many groups as of another size that divides it, a row
    along N ends inside a byte, an element is not finite, or scale_dtype cannot hold a scale (f16: from 9.5e-7
    to 65504).
    """
    array = floating(w, "w")
    rule = rule_of(array, bits, group, scale_dtype, symmetric)
    *leading, k, n = array.shape
    span = span_of(rule.data_type).elements
    if n % span:
        what = "an odd N" if span == 2 else f"an N that is no multiple of {span}"
        raise InvalidArgumentsError(
            f"w {array.shape} has {what}: a row of {bits}-bit values would end inside a byte"
        )
    check_inferred(k, rule.group, f"w {array.shape}")
    groups = 1 if group is None else groups_of(k, rule.group)
    is_packed = rule.data_type in SUB_BYTE
    values = np.empty((*leading, k, items_of(rule.data_type, n)), np.uint8 if is_packed else rule.values_type)
    scales = np.ones((*leading, groups, n), numpy_dtype(rule.scale_type))
    zero_points = None if rule.is_signed else np.zeros(scales.shape, np.uint8)
    for at in np.ndindex(*leading) if array.size else ():
        with naming_elements(array):
            for codes in codes_of(array[at], rule):
                first, last = (items_of(rule.data_type, x) for x in (codes.n.start, codes.n.stop))
                made = join(codes.values, rule.bits) if is_packed else codes.values
                values[at][codes.k, first:last] = made
                own = codes.groups(rule)
                scales[at][own, codes.n] = codes.scales
                if zero_points is not None and codes.zero_points is not None:
                    zero_points[at][own, codes.n] = codes.zero_points
    if group is None and not leading:
        scales, zero_points = scales[0], None if zero_points is None else zero_points[0]
    if is_packed:
        values = packed_array(values, rule.data_type)
    return QuantizedWeights(values, scales, zero_points)
