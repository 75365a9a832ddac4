# SPDX-License-Identifier: Apache-2.0
"""A layer whose weights have minimums: w = scales * values - minimums."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zemm.dtypes import FLOATING, dtype_name, numpy_dtype, type_of
from zemm.errors import InvalidArgumentsError
from zemm.gguf.sums import group_sums
from zemm.linear import Linear
from zemm.words import DType


class LinearWithMinimums:
    """y = x @ w + bias, made by zemm.gguf.Tensor.linear().

    product: the layer of scales * values, with the bias. minimums: the layer of the minimums, which
    takes the sums of x over groups of K. Both results are float32, and so is their difference. Then
    y is converted to dst_dtype (by default the type of x).

    Zero points are no substitute: minimum / scale is not exact, and there is none for a scale of 0.
    """

    def __init__(self, product: Linear, minimums: Linear, dst_dtype: DType | None) -> None:
        self.product = product
        self.minimums = minimums
        self.dst_dtype = dtype_name(dst_dtype) if dst_dtype is not None else None

    @property
    def in_features(self) -> int:
        """K"""
        return self.product.in_features

    @property
    def out_features(self) -> int:
        """N"""
        return self.product.out_features

    def __call__(self, x: ArrayLike, *, expert: int | None = None) -> NDArray[Any]:
        """y = x @ w + bias, [.., N].

        x: [.., K], floating-point. With experts it is [E, M, K], or [.., K] and the index of one.
        ValueError: shapes or types do not fit.
        """
        array = np.asarray(x)
        data_type = type_of(array, "x")
        if data_type not in FLOATING:
            raise InvalidArgumentsError(f"x has type {data_type}, not a floating-point type")
        y: NDArray[Any] = self.product(array, expert=expert)
        y -= self.minimums(group_sums(array, self.in_features // self.minimums.in_features), expert=expert)
        return y.astype(
            numpy_dtype(self.dst_dtype or (data_type if data_type != "f64" else "f32")), copy=False
        )

    def __repr__(self) -> str:
        return f"<LinearWithMinimums {self.product!r} - {self.minimums!r}>"
