# SPDX-License-Identifier: Apache-2.0
"""A layer whose weights have minimums: w = scales * values - minimums."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zemm._arrays.host_tensors import as_array, check_out, host_of
from zemm.dtypes import FLOATING, dtype_name
from zemm.engine import Engine, Stream
from zemm.errors import InvalidArgumentsError
from zemm.gguf.sums import group_sums
from zemm.linear import Linear
from zemm.words import DType


class LinearWithMinimums:
    """y = x @ w + bias, made by zemm.gguf.Tensor.linear().

    product: the layer of scales * values, with the bias. minimums: the layer of the minimums, which
    takes the sums of x over groups of K, after x is converted or quantised for the product. Both
    results are float32, and so is their difference. Then y is converted to dst_dtype (by default the
    type of x).

    Zero points are no substitute: minimum / scale is not exact, and there is none for a scale of 0.
    """

    def __init__(self, product: Linear, minimums: Linear, dst_dtype: DType | None) -> None:
        self.product = product
        self.minimums = minimums
        self.dst_dtype = dtype_name(dst_dtype) if dst_dtype is not None else None

    @property
    def engine(self) -> Engine:
        """The engine that the weights are on."""
        return self.product.engine

    @property
    def in_features(self) -> int:
        """K"""
        return self.product.in_features

    @property
    def out_features(self) -> int:
        """N"""
        return self.product.out_features

    @property
    def experts(self) -> int | None:
        """E of [E, K, N]; None for one matrix."""
        return self.product.experts

    def __call__(
        self,
        x: Any,
        out: Any = None,
        *,
        expert: int | None = None,
        group_sizes: Sequence[int] | NDArray[Any] | None = None,
        stream: Stream | None = None,
    ) -> Any:
        """y = x @ w + bias, [.., N], of the same kind as x: an array or a tensor of torch.

        x: [.., K], floating-point. With experts it is [E, M, K], or [.., K] and the index of one expert,
        or [M, K] and group_sizes, as zemm.Linear takes them.

        out: the tensor to write to, of y's shape and type, with any strides; it may overlap x.

        stream: where the work is submitted. The call waits for it, as the host subtracts.

        ValueError: shapes or types do not fit, or a tensor of torch needs a gradient. IndexError:
        there is no such expert.
        """
        host = host_of(x)
        tensor = host.check(x, "x")
        data_type = host.type_name(tensor, "x")
        if data_type not in FLOATING:
            raise InvalidArgumentsError(f"x has type {data_type}, not a floating-point type")
        shape, _ = self.product._dst_shape(tuple(tensor.shape), expert, group_sizes is not None)
        dst_dtype = self.dst_dtype or (data_type if data_type != "f64" else "f32")
        if out is not None:
            check_out(host, out, shape, dst_dtype)
        # The sums below must be those of what is multiplied: rounding cancels against the minimums.
        array = as_array(host.plain(tensor, self.product._src_dtype(data_type)), "x")
        result = host.empty(shape, host.native("f32"), tensor)
        y = host.bytes_of(result).view(np.float32).reshape(shape)
        _, quantized = self.product._multiply(array, y, expert, group_sizes, stream)
        if stream is not None and quantized is not None:
            stream.wait()
        groups = self.minimums.in_features
        sums = group_sums(array, self.in_features // groups) if quantized is None else quantized.read(groups)
        sums = sums.reshape(*array.shape[:-1], groups)
        minimums = self.minimums(sums, expert=expert, group_sizes=group_sizes, stream=stream)
        if stream is not None:
            stream.wait()
        y -= minimums
        if out is None:
            return host.plain(result, dst_dtype)
        host.copy(out, result)
        return out

    def __repr__(self) -> str:
        return f"<LinearWithMinimums {self.product!r} - {self.minimums!r}>"
