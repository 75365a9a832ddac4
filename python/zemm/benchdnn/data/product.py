# SPDX-License-Identifier: Apache-2.0
"""The matrix product of the reference: in f32 if the data is such that f32 is exact, otherwise in
f64."""

import numpy as np

from zemm.benchdnn.grammar.dtypes import Floats

_EXACT = 2.0**24
_ROWS = 512
_BLOCK = 2**16  # elements that stay in a cache


def matmul(src: Floats, wei: Floats) -> Floats:
    """src (.., M, K) times wei (.., K, N), with numpy's broadcasting of batch dimensions; f32.

    Products are multiples of a common step, a power of two. If no partial sum can exceed 2^24
    steps, f32 is exact in any order. Otherwise sums are computed in f64 and rounded once.
    """
    if all(dim == 1 for dim in wei.shape[:-2]):
        rows = src.reshape(-1, src.shape[-1])
        out = _product(rows, wei.reshape(wei.shape[-2:]))
        return out.reshape(*src.shape[:-1], wei.shape[-1])
    return _product(src, wei)


def _product(src: Floats, wei: Floats) -> Floats:
    if is_exact_in_f32(src, wei):
        exact: Floats = np.matmul(src, wei)
        return exact
    wide = wei.astype(np.float64)
    if src.ndim > 2:
        batched: Floats = np.matmul(src.astype(np.float64), wide).astype(np.float32)
        return batched
    out = np.empty((src.shape[0], wei.shape[1]), np.float32)
    for row in range(0, src.shape[0], _ROWS):
        out[row : row + _ROWS] = np.matmul(src[row : row + _ROWS].astype(np.float64), wide)
    return out


def is_exact_in_f32(src: Floats, wei: Floats) -> bool:
    """Whether the sum over k of max|src[.., k]| * max|wei[k, ..]| is at most 2^24 common steps."""
    step = common_step(src) * common_step(wei)
    axes_src = tuple(range(src.ndim - 1))
    axes_wei = (*range(wei.ndim - 2), wei.ndim - 1)
    bound = float(np.sum(_largest(src, axes_src).astype(np.float64) * _largest(wei, axes_wei)))
    return step > 0 and bound <= _EXACT * step


def _largest(values: Floats, axes: tuple[int, ...]) -> Floats:
    largest: Floats = np.maximum(np.max(values, axis=axes), -np.min(values, axis=axes))
    return largest


def common_step(values: Floats) -> float:
    """The largest power of two that divides every value; 0 if a value is not finite, 1 if all are
    0."""
    lowest = 999
    for bits in np.array_split(values.ravel("K").view(np.uint32), max(1, values.size // _BLOCK)):
        exponents = (bits >> np.uint32(23)) & np.uint32(255)
        if np.any(exponents == 255):
            return 0.0
        mantissas = (bits & np.uint32(0x7FFFFF)) | np.uint32(0x800000)
        lowest_bits = (mantissas & -mantissas).astype(np.float32).view(np.uint32) >> np.uint32(23)
        places = lowest_bits + exponents
        lowest = min(lowest, int(places.min(where=(bits << np.uint32(1)) != 0, initial=999)))
    return 1.0 if lowest == 999 else 2.0 ** (lowest - 2 * 127 - 23)
