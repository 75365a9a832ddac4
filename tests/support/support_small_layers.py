# SPDX-License-Identifier: Apache-2.0
"""Layers of every type of weights and of the smallest sizes, and their weights."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import zemm

TYPES = {"s8": 1, "u8": 1, "s4": 2, "u4": 2, "f4_e2m1": 2, "u2": 4, "f8_e4m3": 1}
KS, NS = (1, 3, 4, 16), (1, 2, 3, 4)
Arrays = dict[str, Any]


def layers(data_type: Any, ks: tuple[int, ...] = KS, ns: tuple[int, ...] = NS) -> Iterator[zemm.Linear]:
    """Of all sizes, both orders of values, and scales in one group or several. Those of fewer than 4 elements
    want plain rows, which may end inside a byte: only types of whole bytes have them."""
    rng, each = np.random.default_rng(0), TYPES[data_type]
    for k, n, along_k in product(ks, ns, (False, True)):
        if (k if along_k else n) % each:
            continue
        rows, columns = (n, k // each) if along_k else (k, n // each)
        values = rng.integers(0, 120, (rows, columns)).astype(np.uint8)
        packed = {"weights_dtype": data_type}
        if each == 1:
            values, packed = values.view(zemm.numpy_dtype(data_type)), {}
        for groups in {1, k if each == 1 else 1, max(k // 4, 1)}:
            scales = rng.uniform(1, 2, (groups, n)).astype(np.float32)
            given: Arrays = {"scales": scales.T if along_k else scales}
            if data_type in ("u4", "u8", "u2"):
                given["zero_points"] = (given["scales"] * 1.9).astype(np.uint8)
            elif data_type == "s8":
                given["offsets"] = -given["scales"]
            yield zemm.Linear.from_quantized(values, **given, **packed, transposed=along_k)


def weights_of(layer: zemm.Linear) -> Any:
    """[K, N], by the kernels."""
    return layer(np.eye(layer.in_features, dtype=np.float32))


def expected(layer: zemm.Linear, dtype: Any = np.float64) -> np.ndarray[Any, Any]:
    """[.., K, N], by numpy from the plain arrays, computed in a floating-point type."""
    state, k, data_type = layer.state_dict(), layer.in_features, layer.weights.data_type
    values, each = state["values"], TYPES.get(data_type, 1)
    if each > 1:
        along_k = values.shape[-2] * each == k
        codes = values.swapaxes(-1, -2) if along_k else values
        codes = np.stack([codes >> (i * 8 // each) & (2 ** (8 // each) - 1) for i in range(each)], -1)
        codes = codes.reshape(*codes.shape[:-3], layer.out_features if along_k else k, -1)
        values = codes.swapaxes(-1, -2) if along_k else codes
        if data_type == "s4":
            values = (values ^ 8).astype(np.int8) - 8
        if data_type == "f4_e2m1":
            values = values.astype(np.uint8).view(zemm.numpy_dtype("f4_e2m1"))
    operands = layer.weights._operands()

    def whole(name: str, absent: int) -> Any:
        array = state[name].astype(dtype) if name in state else np.array(absent, dtype)
        if array.ndim < 2:
            return array
        return np.repeat(array, operands[name].parameter.k_group, -2)[..., :k, :]

    return (values.astype(dtype) - whole("zero_points", 0)) * whole("scales", 1) + whole("offsets", 0)
