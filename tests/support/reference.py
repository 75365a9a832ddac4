# SPDX-License-Identifier: Apache-2.0
"""A matmul in numpy: oneDNN's arithmetic (its order of steps, formulas and conversions) with error
bounds.

A result is a value in f64 and a bound: the library's f32 value lies within [value - error, value +
error]. The bound is 0 as long as every step is exact, or is a single correctly rounded operation on
exact operands. Formulas, groups of parameters and conversions come from zemm-benchdnn's reference,
which tests/benchdnn checks by other means. The product and all bounds are computed here.
"""

import math
from collections.abc import Callable

import numpy as np
from support_problem import NUMPY, RANGES, Data, Problem, Quant
from zemm.benchdnn.data import eltwise as formulas
from zemm.benchdnn.data.product import common_step
from zemm.benchdnn.data.reference import spread
from zemm.benchdnn.grammar.dtypes import encode

Array = np.ndarray
EPS = 2.0**-24  # half a unit in the last place of an f32 in [1, 2)


def f32(x: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return np.asarray(x, np.float64).astype(np.float32).astype(np.float64)


def quantum(a: Array) -> float:
    """The largest power of two that divides all values. The values are f32."""
    narrow = np.asarray(a, np.float32)
    assert np.array_equal(narrow, a)
    return common_step(narrow)


def expand(p: Problem, data: Data, name: str) -> Array:
    """The parameter (`src_scale`) repeated to one value for each element of its tensor."""
    dims, quant = p.dims(name.split("_")[0]), getattr(p, name)
    return np.broadcast_to(spread(data.quants[name], dims, quant.groups), dims)


def k_segments(p: Problem) -> int:
    """Length of the segments of K in which no parameter changes: the greatest common divisor of the
    K groups. The last segment may be shorter.
    """
    groups = []
    for name, axis in (("src", 1), ("wei", 0)):
        for what in ("scale", "zp"):
            quant: Quant | None = getattr(p, f"{name}_{what}")
            if quant and quant.mask >> (p.ndims - 2 + axis) & 1:
                groups.append(quant.groups[axis] if quant.groups else 1)
    if p.wei_offset and p.wei_offset.mask >> (p.ndims - 2) & 1:
        groups.append(p.wei_offset.groups[0] if p.wei_offset.groups else 1)
    if p.reduction_group:
        groups.append(p.reduction_group)
    return math.gcd(*(group for group in groups if group < p.k)) or p.k


def wrap32(x: Array) -> Array:
    return x.astype(np.uint64).astype(np.uint32).astype(np.int32).astype(np.int64)


def stored(p: Problem, sums: Array) -> Array:
    """Sums of integers, modulo 2^32 where the library keeps them as s32.

    That is the case where dst is the sum itself, and where zero points exceed the range of their
    tensor's type.
    """
    return wrap32(sums) if is_exact_s32(p) or p.huge_zero_points else sums


def exact_product(a: Array, b: Array) -> Array:
    """a @ b of integers modulo 2^64. If every sum fits the 53 bits of f64, it is computed in f64,
    which is faster.
    """
    size = max(float(np.abs(a).max(initial=0)), 1.0) * max(float(np.abs(b).max(initial=0)), 1.0)
    if size * a.shape[-1] < 2.0**53:
        return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)
    return a @ b


def integer_product(p: Problem, data: Data, k: slice) -> Array:
    """The sum over a segment of K."""
    src, wei = data.src[..., k].astype(np.int64), data.wei[..., k, :].astype(np.int64)
    zs = zw = None
    if p.src_zp:
        zs = expand(p, data, "src_zp")[..., k]
    if p.wei_zp:
        zw = expand(p, data, "wei_zp")[..., k, :]
    if data.reductions is None:
        return stored(p, exact_product(src if zs is None else src - zs, wei if zw is None else wei - zw))
    assert zw is not None
    # The caller's sums replace the sums of src. Zero points are constant within the segment.
    assert p.reduction_group
    column = k.start // p.reduction_group
    first = zw[..., :1, :]
    total = (
        exact_product(src if zs is None else src - zs, wei)
        - data.reductions[..., column : column + 1] * first
    )
    if zs is not None:
        total = total + (k.stop - k.start) * first * zs[..., :1]
    return stored(p, total)


def has_float_zero_points(p: Problem) -> bool:
    """Whether weights have these, or offsets in their place."""
    if p.wei_offset:
        return True
    return p.wei_zp is not None and p.wei_zp.dt in NUMPY and p.wei_zp.dt not in RANGES


def float_zero_points_product(p: Problem, data: Data, k: slice) -> tuple[Array, Array]:
    """The sum over a segment of K with float zero points of the weights, and the size of its terms: a
    device may add up parts of the segment, and subtract from weights of the other signedness.
    """
    src, wei = data.src[..., k].astype(np.float64), data.wei[..., k, :]
    zw = expand(p, data, "wei_zp")[..., k, :]
    if p.src_zp:
        src = src - expand(p, data, "src_zp")[..., k]
    return src @ (wei - zw), np.abs(src) @ (np.abs(wei) + np.abs(zw) + (256 if p.integer else 0))


def offsets_product(p: Problem, data: Data, all_src: Array, k: slice) -> tuple[Array, Array, Array]:
    """The scaled sum over a segment of K with offsets of the weights, the size of its terms, and that of its
    products. A device may multiply weights of the other signedness.
    """
    src, wei = all_src[..., k].astype(np.float64), data.wei[..., k, :].astype(np.float64)
    if p.src_zp:
        src = src - expand(p, data, "src_zp")[..., k]
    scale = expand(p, data, "wei_scale")[..., k, :] if p.wei_scale else 1.0
    offset = expand(p, data, "wei_offset")[..., k, :]
    size = (np.abs(wei) + (256 if p.integer else 0)) * np.abs(scale) + np.abs(offset)
    factor = expand(p, data, "src_scale")[..., k.start : k.start + 1] if p.src_scale else 1.0
    real, magnitude = wei * scale + offset, np.abs(src) * np.abs(factor)
    return (src @ real) * factor, magnitude @ size, magnitude @ np.abs(real)


def multiplied(p: Problem, values: Array, dt: str) -> Array:
    """Values of src or weights as the device multiplies them, after a conversion of f32 to
    p.narrow.
    """
    if not p.narrow or dt != "f32":
        return values
    if p.narrow == "bf16":
        return to_bf16(values)
    return without(values, 13) if p.narrow == "tf32" else without(values, 16) + rest(values)


def to_bf16(values: Array) -> Array:
    """Round to the nearest bf16, ties to even."""
    bits = values.astype(np.float32).view(np.uint32)
    return without((bits + np.uint32(0x7FFF) + (bits >> 16 & 1)).view(np.float32), 16)


def without(values: Array, lower: int) -> Array:
    """f32 values with their `lower` lowest bits cleared."""
    bits = values.astype(np.float32).view(np.uint32) >> lower << lower
    return bits.view(np.float32).astype(np.float64)


def rest(values: Array) -> Array:
    """The second of the two bf16 that a value is split into."""
    return to_bf16(values - without(values, 16))


def product(p: Problem, data: Data) -> tuple[Array, Array]:
    """Steps 1 to 3 of oneDNN: the sums over K, with the zero points and scales of src and weights."""
    all_src, all_wei = multiplied(p, data.src, p.src_dt), multiplied(p, data.wei, p.wei_dt)
    length = k_segments(p)
    total = np.zeros(p.dst_dims)
    magnitude = np.zeros(p.dst_dims)
    scaled = bool(p.src_scale or p.wei_scale)
    weights = np.zeros(p.dst_dims)  # sums of the magnitudes of products with offsets
    exact = np.zeros(p.dst_dims, np.int64)
    unit = 1.0 if p.integer else quantum(all_src) * quantum(all_wei)
    for begin in range(0, p.k, length):
        k = slice(begin, min(begin + length, p.k))
        factor = np.ones(p.dst_dims)
        if p.src_scale:
            factor = factor * expand(p, data, "src_scale")[..., begin : begin + 1]
        if p.wei_scale:
            factor = factor * expand(p, data, "wei_scale")[..., begin : begin + 1, :]
        if p.wei_offset:
            value, size, own = offsets_product(p, data, all_src, k)
            total += value
            magnitude += size
            weights += own
            continue
        if p.integer and has_float_zero_points(p):
            value, size = float_zero_points_product(p, data, k)
            total += value * factor
            magnitude += size * np.abs(factor)
            continue
        if p.integer:
            part = integer_product(p, data, k)
            exact = exact + part
            total += part * factor
            magnitude += np.abs(part * factor)
            if p.scaled_at_once:  # the zero-point terms cancel only after the sums of all parts are added
                magnitude += 2**16 * length * np.abs(factor)
            continue
        src, wei = all_src[..., k], all_wei[..., k, :].astype(np.float64)
        if p.wei_zp:
            wei = wei - expand(p, data, "wei_zp")[..., k, :]
        if p.rounds_to_bf16:
            wei = to_bf16(wei)
        total += (src @ wei) * factor
        if p.narrow == "two bf16" and p.wei_dt == "f32":  # the device leaves out the products of two rests
            total -= (rest(data.src[..., k]) @ rest(data.wei[..., k, :])) * factor
        magnitude += (np.abs(src) @ np.abs(wei)) * np.abs(factor)
    if p.integer and not scaled and not has_float_zero_points(p):
        return stored(p, exact).astype(np.float64), np.zeros(p.dst_dims)
    for name in ("src_scale", "wei_scale"):
        if getattr(p, name):
            unit *= quantum(data.quants[name])
    if p.wei_offset:
        unit = 0.0
    elif has_float_zero_points(p):
        unit *= min(1.0, quantum(data.quants["wei_zp"]))
    # Each product or segment is rounded a few times, and each addition once. Each rounding is
    # relative to `magnitude` at most. Nothing is rounded if every intermediate is a multiple of
    # `unit` and less than 2^24 units.
    segments = -(-p.k // (p.scaled_at_once or (min(length, 32) if has_float_zero_points(p) else length)))
    roundings = segments + (8 if p.wei_offset else 4) + (0 if p.integer else p.k + 2)
    with np.errstate(over="ignore"):
        error = np.where(magnitude <= unit * 2**24, 0.0, roundings * EPS * magnitude)
    return total, error + weights * (2.0**-8 if p.rounds_to_bf16 else 0.0)


Function = Callable[[Array], Array]


def apply(
    f: Function, x: Array, error: Array, roundings: float, terms: Function | None = None
) -> tuple[Array, Array]:
    """f(x) and its error bound.

    roundings: half units in the last place by which f may be off; 1: f is correctly rounded. terms:
    a second quantity whose size adds to that of the result.
    """
    with np.errstate(all="ignore"):
        y = f(x)
        moved = np.maximum(np.abs(f(x + error) - y), np.abs(f(x - error) - y))
        moved = np.where(error == 0, 0.0, np.nan_to_num(moved, nan=0.0, posinf=np.inf))
        if roundings == 1:
            rounded = f32(y)
            return np.where(moved == 0, rounded, y), np.where(moved == 0, 0.0, moved + 2 * EPS * np.abs(y))
        tiny = 2.0**-126 if roundings else 0.0  # a device may flush results below this to zero
        size = np.abs(y) if terms is None else np.abs(y) + np.abs(terms(x))
        slack = np.where(np.isfinite(y) & np.isfinite(size), roundings * EPS * size + tiny, 0.0)
        return f32(y), moved + slack


def eltwise(alg: str, a: float, b: float) -> tuple[Function, float, Function | None]:
    """The formula, its rounding bound and the terms that add to the error.

    The bound is in half units in the last place of the result, from OpenCL's bounds of the
    functions. The terms are summands that cancel, or an argument whose rounding exp amplifies;
    None: there are none.
    """
    alpha, beta = np.float32(a), np.float32(b)
    one = np.float32(1)
    bounds: dict[str, tuple[float, Function | None]] = {
        "relu": (1, None),
        "tanh": (12, None),
        "elu": (10, None),
        "square": (1, None),
        "abs": (0, None),
        "sqrt": (6, None),
        "linear": (2, lambda x: alpha * x),
        "soft_relu": (12, lambda x: x * formulas.soft_relu(alpha * x, one, one)),
        "hardsigmoid": (2, lambda x: np.minimum(np.abs(alpha * x), abs(beta) + 1)),
        "logistic": (16, None),
        "exp": (8, None),
        "gelu_tanh": (12, lambda x: x),
        "swish": (12, lambda x: x * formulas.logistic(alpha * x) * alpha * x),
        "log": (8, None),
        "clip": (0, None),
        "clip_v2": (0, None),
        "pow": (36, None),
        "gelu_erf": (36, lambda x: x),
        "round": (0, None),
        "mish": (24, None),
        "hardswish": (4, lambda x: np.abs(x) * (abs(beta) + 1)),
    }
    name = alg.removeprefix("eltwise_").removesuffix("_use_dst_for_bwd")
    return lambda x: formulas.ELTWISE[name](x, alpha, beta), *bounds[name]


# Rounding bounds of binary operations, in the unit of eltwise's bounds. All other operations select
# or compare, and are exact.
BINARY_ROUNDINGS = {"add": 1.0, "sub": 1.0, "mul": 1.0, "mul_inplace": 1.0, "div": 5.0}


def binary(alg: str, s: Array) -> tuple[Function, float]:
    name = alg.removeprefix("binary_")
    return lambda x: 1.0 * formulas.BINARY[name](x, s), BINARY_ROUNDINGS.get(name, 0.0)


def is_exact_s32(p: Problem) -> bool:
    """Whether this is an integer matmul into s32 without any step in f32."""
    others = (p.src_scale, p.wei_scale, p.dst_scale, p.dst_zp, p.bias_dt, p.post_ops)
    return p.integer and p.dst_dt == "s32" and not any(others) and not has_float_zero_points(p)


def matmul(p: Problem, data: Data) -> tuple[Array, Array]:
    """The least and the greatest value that each element of dst may have, in dst's type."""
    x, error = product(p, data)
    if is_exact_s32(p):
        return x.astype(np.int32), x.astype(np.int32)
    x = np.where(error == 0, f32(x), x)
    if data.bias is not None:
        x, error = apply(lambda v: v + data.bias, x, error, 1)
    for op, (first, second) in zip(p.post_ops, data.post_ops, strict=True):
        if op.kind == "sum":
            # old - zero point is exact here; alpha adds one rounding if it is no power of two
            addend = float(np.float32(op.alpha)) * (data.dst - op.zero_point)
            x, error = apply(lambda v, s=addend: v + s, x, error, 1)  # type: ignore[misc]
            error = error + (f32(addend) != addend) * 2 * EPS * np.abs(addend)
        elif op.kind == "prelu":
            x, error = apply(lambda v, s=first: formulas.TENSOR_KINDS["prelu"](v, s), x, error, 1)  # type: ignore[misc]
        elif op.alg == "binary_select":
            assert first is not None
            assert second is not None
            keep = np.broadcast_to(second != 0, p.dst_dims)
            x, error = np.where(keep, x, first), np.where(keep, error, 0.0)
        elif op.kind == "binary":
            assert first is not None
            function, roundings = binary(op.alg, first)
            x, error = apply(function, x, error, roundings)
        else:
            function, roundings, terms = eltwise(op.alg, op.alpha, op.beta)
            x, error = apply(function, x, error, roundings, terms)
    if p.dst_scale:
        scale = expand(p, data, "dst_scale")
        power_of_two = bool((np.frexp(scale)[0] == 0.5).all())
        x, error = apply(lambda v: v / scale, x, error, 1 if power_of_two else 5)
    if p.dst_zp:
        zero_point = expand(p, data, "dst_zp")
        x, error = apply(lambda v: v + zero_point, x, error, 1)
    with np.errstate(all="ignore"):
        return convert(x - error, p.dst_dt), convert(x + error, p.dst_dt)


# NaN in integer types; 0 in those of 4 bits.
NAN_AS = {"s32": -(2**31), "s8": -128, "u8": 255}


def convert(x: Array, dt: str) -> Array:
    """Step 10 of oneDNN: conversion to dst's type.

    For integers values saturate, then round half to even, and NaN becomes what oneDNN's kernels for
    CPUs make of it. For floats they round half to even. A value that would be a denormal bf16 becomes 0.
    """
    values = f32(x).astype(np.float32)
    if dt in RANGES:
        values = np.where(np.isnan(values), np.float32(NAN_AS.get(dt, 0)), values)
    return encode(values, dt).astype(NUMPY[dt], copy=False)
