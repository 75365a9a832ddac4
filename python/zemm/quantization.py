# SPDX-License-Identifier: Apache-2.0
"""Quantisation of activations and weights for an integer matmul.

real = scale * (value - zero point), with a scale (and zero point) for each group along K. The sums
R of each group of activations keep zero points of weights out of the K loop: see oneDNN's RFC
"User's Precomputed Reductions for GeMM".
"""

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zemm._reorder import quantize_memory
from zemm._tensors import tensor
from zemm.dtypes import FLOATING, dtype_name, numpy_dtype, pack_int4
from zemm.engine import Engine, Stream
from zemm.errors import InvalidArgumentsError
from zemm.memory import Memory


@overload
def quantize_activations(
    x: Memory,
    group: int = ...,
    scale_dtype: str = ...,
    *,
    dtype: str = ...,
    engine: Engine | None = ...,
    stream: Stream | None = ...,
) -> tuple[Memory, ...]: ...
@overload
def quantize_activations(
    x: ArrayLike,
    group: int = ...,
    scale_dtype: str = ...,
    *,
    dtype: str = ...,
    engine: Engine | None = ...,
    stream: None = ...,
) -> tuple[NDArray[Any], ...]: ...
def quantize_activations(
    x: ArrayLike | Memory,
    group: int = 128,
    scale_dtype: str = "f32",
    *,
    dtype: str = "s8",
    engine: Engine | None = None,
    stream: Stream | None = None,
) -> tuple[Any, ...]:
    """Quantise activations to 8 bits in groups along K.

        values, scales, reductions = zemm.quantize_activations(x)
        values, scales, zero_points, reductions = zemm.quantize_activations(x, dtype="u8")

    x: [.., M, K], f16, bf16 or f32; an array may also be f64 if no engine is given.

    group: elements of K that share a scale. Any number that divides K will do for zemm.matmul(),
    whatever the groups of the weights.

    Returns these tensors, with x ~ (values - zero points) * scales:
    - values [.., M, K]: int8 in -127..127 (symmetric), or with dtype "u8" uint8, where 0..255
      stands for the range from the smallest to the largest element, extended to include 0
    - scales [.., M, K / group] of scale_dtype ("f32", "f16" or "bf16"); 1 for a group of zeros
    - zero points, int32 [.., M, K / group], with dtype "u8" only
    - reductions, int32 [.., M, K / group]: the sums of the values of each group (R of the RFC)
    Values are computed with the scale after its rounding to scale_dtype.

    If x is an array, arrays are returned. They are computed by numpy or, if an engine is given, on
    that, with the same bits. ValueError: group does not divide K, an element is not finite, or
    scale_dtype cannot hold a scale.

    If x is a Memory, memories on its engine are returned, and the host reads nothing. A group with
    an element that is not finite therefore raises no error: its scale is not finite, and its values
    are 0. stream: submit the work there and do not wait.
    """
    if dtype not in ("s8", "u8"):
        raise InvalidArgumentsError(f"dtype {dtype!r} is neither 's8' nor 'u8'")
    most = (2**31 - 1) // (255 if dtype == "u8" else 127)
    if isinstance(group, int) and group > most:
        raise InvalidArgumentsError(f"int32 holds sums of {most} {dtype} values, the group is {group}")
    if isinstance(x, Memory):
        if engine is not None and engine is not x.engine:
            raise InvalidArgumentsError(
                f"x is a memory on another engine object ({x.engine!r}) than engine={engine!r}"
            )
        _check_scale_dtype(scale_dtype)
        _group_count(x.md.dims[-1] if x.md.ndims else 0, group, "x", x.md.dims)
        made = quantize_memory(x, group, scale_dtype, dtype, stream)
        return tuple(memory for memory in made if memory is not None)
    if stream is not None:
        raise InvalidArgumentsError("a stream is for a Memory: arrays are there on return")
    if engine is not None:
        return _quantize_on(engine, x, group, scale_dtype, dtype)
    array = _finite(x, "x")
    if array.ndim == 0:
        raise InvalidArgumentsError("x is a single number; it must have K as its last dimension")
    groups = _group_count(array.shape[-1], group, "x", array.shape)
    grouped = array.reshape(*array.shape[:-1], groups, array.shape[-1] // max(groups, 1))
    if dtype == "u8":
        low = grouped.min(axis=-1, initial=0.0)
        span = grouped.max(axis=-1, initial=0.0) - low
        # A device computes ranges in f32. Do the same, for equal bits, unless x is f64.
        span = span if np.asarray(x).dtype == np.float64 else _in_digits_of_f32(span)
        scales = _scales(span, 255, scale_dtype)
        steps = scales.astype(np.float64)
        zero_points = np.rint(-low / steps).clip(0, 255)
        values = (np.rint(grouped / steps[..., None]) + zero_points[..., None]).clip(0, 255).astype(np.uint8)
        sums = values.sum(axis=-1, dtype=np.int32)
        return values.reshape(array.shape), scales, zero_points.astype(np.int32), sums
    scales = _scales(np.abs(grouped).max(axis=-1, initial=0.0), 127, scale_dtype)
    codes = np.rint(grouped / scales.astype(np.float64)[..., None]).clip(-127, 127).astype(np.int8)
    return codes.reshape(array.shape), scales, codes.sum(axis=-1, dtype=np.int32)


def _quantize_on(
    engine: Engine, x: ArrayLike, group: int, scale_dtype: str, dtype: str
) -> tuple[NDArray[Any], ...]:
    """quantize_activations() of an array on an engine."""
    array = np.asarray(x)
    name = dtype_name(array.dtype)
    if name not in ("f32", "f16", "bf16"):
        raise InvalidArgumentsError(f"x has type {name}; a device quantises f32, f16 and bf16")
    if array.ndim == 0:
        raise InvalidArgumentsError("x is a single number; it must have K as its last dimension")
    _check_scale_dtype(scale_dtype)
    groups = _group_count(array.shape[-1], group, "x", array.shape)
    if array.size == 0:
        return quantize_activations(array, group, scale_dtype, dtype=dtype)
    rows = tensor(array.reshape(-1, array.shape[-1]), name, 2, engine)
    made = quantize_memory(rows.memory(engine), group, scale_dtype, dtype, None)
    values, *parameters = (memory.as_numpy() for memory in made if memory is not None)
    if not np.isfinite(parameters[0].astype(np.float32)).all():
        _finite(array, "x")
        raise InvalidArgumentsError(f"a scale does not fit scale_dtype {scale_dtype}")
    shape = (*array.shape[:-1], groups)
    return values.reshape(array.shape), *(values.reshape(shape) for values in parameters)


def _in_digits_of_f32(spans: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values rounded to the precision of f32. A range of two f32 values may be up to twice the
    largest f32, so large values are halved before they are rounded."""
    factor = np.where(spans > np.finfo(np.float32).max, 2.0, 1.0)
    return (spans / factor).astype(np.float32).astype(np.float64) * factor


def quantize_weights(
    w: ArrayLike, bits: int, group: int | None = None, scale_dtype: str = "f32"
) -> tuple[NDArray[np.uint8], NDArray, NDArray[np.uint8]]:
    """Quantise weights to unsigned 8 or 4 bits, for each column and K group.

    The unsigned range stands for the range from the smallest to the largest weight, extended to
    include 0.

    w: [K, N], floating-point. group: elements of K that share a scale; None: all of K. Any number
    that divides K will do for zemm.matmul(), whatever the groups of the activations.

    Returns these arrays, with w ~ (values - zero points) * scales:
    - values: uint8 [K, N], or for bits 4 uint8 [K, N / 2] with two values in a byte, low nibble
      first (zemm's u4)
    - scales [K / group, N] of scale_dtype ("f32", "f16" or "bf16"); [N] for group None
    - zero points, uint8 of the same shape (0..15 for bits 4)

    ValueError: bits is neither 8 nor 4, group does not divide K, N is odd with bits 4, an element
    is not finite, or scale_dtype cannot hold a scale.
    """
    if bits not in (4, 8):
        raise InvalidArgumentsError(f"bits {bits!r} is neither 8 nor 4")
    array = _finite(w, "w")
    if array.ndim != 2:
        raise InvalidArgumentsError(f"w has shape {array.shape}, not [K, N]")
    k, n = array.shape
    if bits == 4 and n % 2:
        raise InvalidArgumentsError(
            f"w {array.shape} has an odd N: a row of 4-bit values would end inside a byte"
        )
    groups = 1 if group is None else _group_count(k, group, "w", array.shape)
    grouped = array.reshape(groups, k // max(groups, 1), n)
    top = 2**bits - 1
    low = grouped.min(axis=1, initial=0.0)
    scales = _scales(grouped.max(axis=1, initial=0.0) - low, top, scale_dtype)
    steps = scales.astype(np.float64)
    zero_points = np.rint(-low / steps).clip(0, top).astype(np.uint8)
    values = np.rint(grouped / steps[:, None]) + zero_points[:, None]
    codes = values.clip(0, top).astype(np.uint8).reshape(k, n)
    if group is None:
        scales, zero_points = scales[0], zero_points[0]
    return (codes if bits == 8 else pack_int4(codes)), scales, zero_points


def _finite(values: ArrayLike, name: str) -> NDArray[np.float64]:
    array = np.asarray(values)
    dtype = dtype_name(array.dtype)
    if dtype not in FLOATING:
        raise InvalidArgumentsError(f"{name} has type {dtype}, not one of {', '.join(sorted(FLOATING))}")
    wide = array.astype(np.float64)
    bad = ~np.isfinite(wide)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InvalidArgumentsError(
            f"{name}[{', '.join(map(str, first))}] is {wide[first]}; all must be finite"
        )
    return wide


def _group_count(k: int, group: int, name: str, shape: tuple[int, ...]) -> int:
    if isinstance(group, bool) or not isinstance(group, (int, np.integer)) or group < 1:
        raise InvalidArgumentsError(f"group {group!r} is not a positive integer")
    if k % group:
        raise InvalidArgumentsError(f"K = {k} of {name} {shape} is not a multiple of group = {group}")
    return k // int(group)


def _scales(span: NDArray[np.float64], steps: int, scale_dtype: str) -> NDArray:
    """span / steps in scale_dtype. A span of 0 gives 1; other scales are at least the smallest
    normal number."""
    _check_scale_dtype(scale_dtype)
    smallest = {"f32": 2.0**-126, "f16": 2.0**-14, "bf16": 2.0**-126}[scale_dtype]
    wanted = np.where(span == 0, 1.0, np.maximum(span / steps, smallest))
    with np.errstate(over="ignore"):
        scales = wanted.astype(numpy_dtype(scale_dtype))
    if not np.isfinite(scales.astype(np.float64)).all():
        raise InvalidArgumentsError(f"a scale of {wanted.max():g} does not fit scale_dtype {scale_dtype}")
    return scales


def _check_scale_dtype(scale_dtype: str) -> None:
    if scale_dtype not in ("f32", "f16", "bf16"):
        raise InvalidArgumentsError(f"scale_dtype {scale_dtype!r} is none of f32, f16, bf16")
