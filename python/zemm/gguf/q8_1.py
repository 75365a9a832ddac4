# SPDX-License-Identifier: Apache-2.0
"""Q8_1, ggml's format of activations: int8 values with a scale and a sum for every 32 of K."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zemm.errors import InvalidArgumentsError

GROUP = 32
# The package gguf still has the block of 40 bytes that ggml had until 2024.
BLOCK = np.dtype([("d", "<f2"), ("s", "<f2"), ("q", "i1", GROUP)])


class Q8_1(NamedTuple):  # noqa: N801 (the format's name)
    """Activations x ~ scales * values.

    values: int8 [.., M, K]. scales: float32 [.., M, K / 32]. sums: float32 [.., M, K / 32], the sum
    of x over each group. scales and sums were rounded to f16.
    """

    values: NDArray[np.int8]
    scales: NDArray[np.float32]
    sums: NDArray[np.float32]


def read_q8_1(blocks: ArrayLike) -> Q8_1:
    """Activations from blocks in ggml's layout of 36 bytes: f16 scale, f16 sum, 32 int8 values.

    blocks: uint8 [.., M, K / 32 * 36]. ValueError: another type, or a row is no multiple of 36.
    """
    data = np.asarray(blocks)
    if data.dtype != np.uint8 or data.ndim == 0:
        raise InvalidArgumentsError(
            f"blocks has type {data.dtype} and shape {data.shape}, not uint8 [.., M, bytes]"
        )
    if data.shape[-1] % BLOCK.itemsize:
        raise InvalidArgumentsError(
            f"blocks has shape {data.shape}: rows must be multiples of a block's {BLOCK.itemsize} bytes"
        )
    parts = np.ascontiguousarray(data).view(BLOCK)
    values = parts["q"].reshape(*data.shape[:-1], parts.shape[-1] * GROUP)
    return Q8_1(values, parts["d"].astype(np.float32), parts["s"].astype(np.float32))


def quantize_q8_1(x: ArrayLike) -> Q8_1:
    """Quantise activations as ggml does.

    The scale is the largest absolute value of a group divided by 127. Values are rounded to
    nearest, halves away from zero. The sum is that of the values times the scale before its
    rounding to f16.

    x: [.., M, K], floating-point. ValueError: K is no multiple of 32, an element is not finite, or
    a scale or sum does not fit f16.
    """
    array = np.asarray(x)
    if array.ndim == 0 or array.shape[-1] % GROUP:
        raise InvalidArgumentsError(
            f"x has shape {array.shape}: its last dimension K must be a multiple of {GROUP}"
        )
    if array.dtype.kind in "iub":
        raise InvalidArgumentsError(f"x has type {array.dtype}, not a floating-point type")
    groups = array.astype(np.float32).reshape(*array.shape[:-1], array.shape[-1] // GROUP, GROUP)
    scales = np.abs(groups).max(axis=-1) / np.float32(127)
    with np.errstate(divide="ignore"):
        inverse = np.where(scales == 0, np.float32(0), 1 / scales)
    scaled = groups * inverse[..., None]
    values = np.copysign(np.floor(np.abs(scaled) + np.float32(0.5)), scaled)
    with np.errstate(over="ignore"):
        kept = scales.astype(np.float16).astype(np.float32)
        sums = (values.sum(axis=-1) * scales).astype(np.float16).astype(np.float32)
    if not (np.isfinite(kept).all() and np.isfinite(sums).all()):
        raise InvalidArgumentsError(
            "x has an element that is not finite, or a group whose scale or sum exceeds f16"
        )
    return Q8_1(values.astype(np.int8).reshape(array.shape), kept, sums)
