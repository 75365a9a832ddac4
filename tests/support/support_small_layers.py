# SPDX-License-Identifier: Apache-2.0
"""Layers of every type of weights and of the smallest sizes, and their weights."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import zemm
from zemm._library import lists
from zemm._library.codes import elements_of, items_of, numbers_of, span_of, split
from zemm.dtypes import SUB_BYTE

TYPES = ("s8", "u8", "s4", "u4", "f4_e2m1", "u2", "f8_e4m3")
KS, NS = (1, 3, 4, 16), (1, 2, 3, 4)
Arrays = dict[str, Any]
_ABSENT = {"scale": 1, "offset": 0}  # what is in the place of scales and offsets that a layer lacks


def layers(data_type: Any, ks: tuple[int, ...] = KS, ns: tuple[int, ...] = NS) -> Iterator[zemm.Linear]:
    """Of all sizes, both orders of values, and scales in one group or several. Those of fewer than 4 elements
    want plain rows, which may end inside a byte: only types of whole bytes have them."""
    rng, each = np.random.default_rng(0), span_of(data_type).elements
    for k, n, along_k in product(ks, ns, (False, True)):
        if (k if along_k else n) % each:
            continue
        rows, columns = (n, k) if along_k else (k, n)
        values = rng.integers(0, 120, (rows, items_of(data_type, columns))).astype(np.uint8)
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
    values, operands = state["values"], layer.weights._operands()
    if data_type in SUB_BYTE:
        along_k = elements_of(data_type, values.shape[-2]) == k
        codes = split(values.swapaxes(-1, -2) if along_k else values, lists.TYPES[data_type].bits)
        is_float = data_type == "f4_e2m1"
        values = codes.view(zemm.numpy_dtype(data_type)) if is_float else numbers_of(codes, data_type)
        values = values.swapaxes(-1, -2) if along_k else values

    def whole(name: str, absent: int) -> Any:
        array = state[name].astype(dtype) if name in state else np.array(absent, dtype)
        if array.ndim < 2:
            return array
        return np.repeat(array, operands[name].parameter.k_group, -2)[..., :k, :]

    scales, offsets = (whole(f"{of}s", none) * whole(f"{of}_factors", 1) for of, none in _ABSENT.items())
    return (values.astype(dtype) - whole("zero_points", 0)) * scales + offsets
