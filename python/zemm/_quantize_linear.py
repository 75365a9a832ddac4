# SPDX-License-Identifier: Apache-2.0
"""Quantises the weights of a layer: one matrix or several, with or without zero points."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zemm.dtypes import pack_int4
from zemm.errors import InvalidArgumentsError
from zemm.quantization import _finite, _group_count, _scales, quantize_weights

Quantized = tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None, str]


def quantize_linear(
    w: NDArray[Any], bits: int, group: int | None, symmetric: bool, scale_dtype: str, transposed: bool
) -> Quantized:
    """Values, scales, zero points (None if symmetric) and weights_dtype of w, [K, N] or [E, K, N];
    transposed: [.., N, K]. The results are not transposed. Values of 4 bits are packed, [.., N / 2]."""
    if bits not in (4, 8):
        raise InvalidArgumentsError(f"bits {bits!r} is neither 8 nor 4")
    if w.ndim not in (2, 3):
        raise InvalidArgumentsError(f"w has shape {w.shape}, not [K, N] or [E, K, N]")
    if transposed:
        w = w.swapaxes(-1, -2)
    if 0 in w.shape:
        raise InvalidArgumentsError(f"w has shape {w.shape}: nothing to quantise")
    if bits == 4 and w.shape[-1] % 2:
        raise InvalidArgumentsError(
            f"w {w.shape} has an odd N: a row of 4-bit values would end inside a byte"
        )
    dtype = ("s" if symmetric else "u") + str(bits)
    if w.ndim == 2:
        return *_matrix(w, bits, group, symmetric, scale_dtype), dtype
    values, scales, zero_points = zip(
        *(_matrix(m, bits, group, symmetric, scale_dtype) for m in w), strict=True
    )
    # Without groups [E, N] would be taken for E groups of one matrix.
    shape = (len(w), -1, w.shape[-1])
    points = None if symmetric else np.stack(zero_points).reshape(shape)
    return np.stack(values), np.stack(scales).reshape(shape), points, dtype


def _matrix(w: NDArray[Any], bits: int, group: int | None, symmetric: bool, scale_dtype: str) -> Any:
    if not symmetric:
        return tuple(quantize_weights(w, bits, group, scale_dtype))
    values, scales = _symmetric(w, bits, group, scale_dtype)
    return values, scales, None


def _symmetric(
    w: NDArray[Any], bits: int, group: int | None, scale_dtype: str
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Signed values: -127..127 or -7..7 stand for the range to the largest magnitude of each column
    and group."""
    wide = _finite(w, "w")
    k, n = wide.shape
    groups = 1 if group is None else _group_count(k, group, "w", wide.shape)
    grouped = wide.reshape(groups, k // groups, n)
    top = 2 ** (bits - 1) - 1
    scales = _scales(np.abs(grouped).max(axis=1), top, scale_dtype)
    codes = np.rint(grouped / scales.astype(np.float64)[:, None]).clip(-top, top)
    values = codes.astype(np.int8).reshape(k, n)
    if group is None:
        scales = scales[0]
    return (values if bits == 8 else pack_int4(values)), scales
