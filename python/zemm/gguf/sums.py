# SPDX-License-Identifier: Apache-2.0
"""Sums of activations over groups of K, by which minimums of weights are multiplied."""

from math import gcd
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zemm._arrays.operands import describe_src, reduction_values, scale_values


def group_sums(
    x: NDArray[Any], group: int, scales: ArrayLike | None = None, reductions: ArrayLike | None = None
) -> NDArray[np.float32]:
    """The sums of real activations over groups, float32 [.., M, K / group], each rounded once.

    x: [.., M, K]. scales, reductions: as in zemm.matmul(), of an integer x. Reductions are used
    if their groups lie within those of the scales and of the result.
    """
    k, ndims = x.shape[-1], x.ndim
    if x.dtype.kind not in "iu":
        wide = x.astype(np.float64, copy=False)
        return wide.reshape(*x.shape[:-1], k // group, group).sum(axis=-1).astype(np.float32)
    factors, step = np.ones(1), gcd(k, group)
    if scales is not None:
        scale = describe_src(scale_values(scales, "src_scales"), "src_scales", x.shape, ndims, flat=False)
        factors, step = scale.values.astype(np.float64), gcd(scale.k_group, group)
    sums = x.reshape(*x.shape[:-1], k // step, step).sum(axis=-1, dtype=np.int64)
    if reductions is not None:
        given = reduction_values(reductions, "reductions")
        reduced = describe_src(given, "reductions", x.shape, ndims, flat=False, common=False)
        if step % reduced.k_group == 0:
            sums, step = reduced.values, reduced.k_group
    if factors.size > 1:
        factors = np.repeat(factors, sums.shape[-1] // factors.shape[-1], axis=-1)
    return (sums * factors).reshape(*x.shape[:-1], k // group, group // step).sum(axis=-1).astype(np.float32)
