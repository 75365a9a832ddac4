# SPDX-License-Identifier: Apache-2.0
"""PyTorch's products with quantised weights, which it packs once: oneDNN's int8 product, and those
of bf16 by 4- and 8-bit weights."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.peers import PeerError
from zemm.benchdnn.peers.problem import given
from zemm.benchdnn.peers.weight_only import Matrices, matrices

_INTEGERS = ("s8", "u8")
_4_BITS = ("s4", "u4")
_RESULTS = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}
# The group sizes and multiples that _weight_int4pack_mm_for_cpu takes.
_GROUPS = (32, 64, 128, 256)
_MULTIPLE_OF_N = 16
# _weight_int8pack_mm loads aligned vectors of each row; with other rows the process ends.
_MULTIPLE_OF_K = 16


class Packed(NamedTuple):
    """A product with packed weights. pack: makes the weights, each time in new memory. multiply:
    gives the product of src and these weights."""

    impl: str
    src: Any
    pack: Callable[[], Any]
    multiply: Callable[[Any, Any], Any]


def is_quantised(case: Case) -> bool:
    """Whether a case has quantised weights, and a dst that is not the plain s32 of `_int_mm`."""
    return case.dt[1] in (*_INTEGERS, *_4_BITS) and case.dt[2] != "s32"


def packed(torch: Any, case: Case) -> Packed:
    """The product of a case."""
    if case.dt[0] in _INTEGERS:
        return _int8(torch, case)
    return _int4_weights(torch, case) if case.dt[1] in _4_BITS else _int8_weights(torch, case)


def _int8(torch: Any, case: Case) -> Packed:
    """oneDNN's product of 8-bit src by s8 weights. Scales belong to all of src and to columns."""
    found = matrices(case, _INTEGERS, ("s8",), tuple(_RESULTS), takes_src_parameters=True)
    scales = _of_columns(torch, case, found, "qlinear_pointwise")
    k, n = found.weights.shape
    weights = torch.from_numpy(np.ascontiguousarray(found.weights.T))
    points = torch.zeros(n, dtype=torch.int64)
    result = getattr(torch, _RESULTS[case.dt[2]])
    ops = torch.ops.onednn

    def pack() -> Any:
        return ops.qlinear_prepack(weights, [found.src.shape[0], k])

    def multiply(src: Any, packed: Any) -> Any:
        return ops.qlinear_pointwise(
            src, found.src_scale, found.src_zero_point, packed, scales, points,
            None, 1.0, 0, result, "none", [], "",
        )  # fmt: skip

    src = torch.from_numpy(np.ascontiguousarray(found.src))
    return Packed("onednn.qlinear_pointwise", src, pack, multiply)


def _int8_weights(torch: Any, case: Case) -> Packed:
    found = matrices(case, ("bf16",), ("s8",), ("bf16",))
    scales = _of_columns(torch, case, found, "_weight_int8pack_mm").bfloat16()
    if found.src.shape[1] % _MULTIPLE_OF_K:
        raise PeerError(
            f"_weight_int8pack_mm takes K in multiples of {_MULTIPLE_OF_K}, not {found.src.shape[1]}"
        )
    weights = torch.from_numpy(np.ascontiguousarray(found.weights.T))

    def multiply(src: Any, packed: Any) -> Any:
        return torch.ops.aten._weight_int8pack_mm(src, packed, scales)

    return Packed("_weight_int8pack_mm", _bf16(torch, found.src), weights.clone, multiply)


def _int4_weights(torch: Any, case: Case) -> Packed:
    """An element of the weights is (code - 8) * scale + zero, with codes from 0 to 15."""
    found = matrices(case, ("bf16",), _4_BITS, ("bf16",))
    k, n = found.weights.shape
    if found.group not in _GROUPS or n % _MULTIPLE_OF_N:
        options = given(case, "attr-scales", "attr-zero-points") or "no --attr-scales"
        raise PeerError(
            f"_weight_int4pack_mm_for_cpu takes groups of {', '.join(map(str, _GROUPS))} and N in multiples "
            f"of {_MULTIPLE_OF_N}, the case has groups of {found.group} ({options}) and N = {n}"
        )
    to_unsigned = 8 if case.dt[1] == "s4" else 0
    codes = torch.from_numpy(np.ascontiguousarray(found.weights.T).astype(np.int32) + to_unsigned)
    scales = np.ones((k // found.group, n), np.float32) if found.scales is None else found.scales
    points = np.zeros_like(scales) if found.zero_points is None else found.zero_points.astype(np.float32)
    parameters = np.stack([scales, (8 - to_unsigned - points) * scales], axis=-1)
    parameters = torch.from_numpy(parameters).bfloat16()
    ops = torch.ops.aten

    def pack() -> Any:
        return ops._convert_weight_to_int4pack_for_cpu(codes, 1)

    def multiply(src: Any, packed: Any) -> Any:
        return ops._weight_int4pack_mm_for_cpu(src, packed, found.group, parameters)

    return Packed("_weight_int4pack_mm_for_cpu", _bf16(torch, found.src), pack, multiply)


def _of_columns(torch: Any, case: Case, found: Matrices, name: str) -> Any:
    """The scale of each column. PeerError if weights have groups along K or zero points."""
    k, n = found.weights.shape
    if found.zero_points is not None:
        raise PeerError(f"{name} takes no zero points of weights: {given(case, 'attr-zero-points')}")
    if found.group != k:
        raise PeerError(f"{name} takes scales of columns, no groups along K: {given(case, 'attr-scales')}")
    return torch.ones(n) if found.scales is None else torch.from_numpy(found.scales[0].copy())


def _bf16(torch: Any, codes: Any) -> Any:
    """A row-major matrix of bf16, which torch does not take from numpy, in torch's own memory, whose
    alignment its kernels need."""
    return torch.from_numpy(np.ascontiguousarray(codes).view(np.int16)).view(torch.bfloat16).clone()
