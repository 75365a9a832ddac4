# SPDX-License-Identifier: Apache-2.0
"""A matmul in numpy: oneDNN's arithmetic (its order of steps, formulas and conversions) with error
bounds.

A result is a value in f64 and a bound: the library's f32 value lies within [value - error, value +
error]. The bound is 0 as long as every step is exact, or is a single correctly rounded operation on
exact operands. Formulas, groups of parameters and conversions come from zemm-benchdnn's reference,
which tests/benchdnn checks by other means. The product and all bounds are computed here.

Words of a problem say how a row rounds:
- narrow: what f32 of src and weights is converted to: tf32, bf16 or two_bf16
- rounds_to_bf16: it rounds weights less float zero points to bf16
- scaled_at_once: it scales the sums of so many elements of K at once, which may be a part of a group
"""

import math
from collections.abc import Callable

import numpy as np
from support_cases import Problem
from support_fill import RANGES, Values
from zemm.benchdnn.data import eltwise as formulas
from zemm.benchdnn.data.product import common_step
from zemm.benchdnn.data.reference import spread
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.arguments import BIAS, DST, KINDS, SRC, WEI
from zemm.benchdnn.grammar.attributes import Quantization
from zemm.benchdnn.grammar.dtypes import BY_NAME, encode
from zemm.benchdnn.grammar.post_ops import Binary, Eltwise, PostOp, Prelu, Sum

Array = np.ndarray
FACTORS = {"scales": "scale_factors", "offsets": "offset_factors"}
EPS = 2.0**-24  # half a unit in the last place of an f32 in [1, 2)


def f32(x: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return np.asarray(x, np.float64).astype(np.float32).astype(np.float64)


def quantum(a: Array) -> float:
    """The largest power of two that divides all values. The values are f32."""
    narrow = np.asarray(a, np.float32)
    assert np.array_equal(narrow, a)
    return common_step(narrow)


def parameter(p: Problem, data: Values, kind: str, arg: int) -> Array | None:
    """Scales, zero points or offsets, with their factors, repeated to one value for each element of their
    tensor; None without them."""
    if not (entry := p.case.attributes.find(kind, arg)):
        return None
    dims = {SRC: p.case.problem.src, WEI: p.case.problem.wei}.get(arg, p.case.dst_dims)
    values = np.broadcast_to(spread(data[KINDS[kind] | arg], dims, entry.groups), dims)
    factors = parameter(p, data, factors_of, arg) if (factors_of := FACTORS.get(kind)) else None
    return values if factors is None else values * factors


def k_segments(p: Problem) -> int:
    """Length of the segments of K in which no parameter changes: the greatest common divisor of the
    K groups. The last segment may be shorter.
    """
    groups = []
    for kind in KINDS:
        entries: tuple[Quantization, ...] = getattr(p.case.attributes, kind)
        for entry in entries:
            axis = {SRC: 1, WEI: 0}.get(entry.arg)
            if axis is not None and args.mask_of(p.case, entry) >> (p.case.problem.ndims - 2 + axis) & 1:
                groups.append(entry.groups[axis] if entry.groups else 1)
    return math.gcd(*(group for group in groups if group < p.k)) or p.k


def wrap32(x: Array) -> Array:
    return x.astype(np.uint64).astype(np.uint32).astype(np.int32).astype(np.int64)


def stored(p: Problem, sums: Array) -> Array:
    """Sums of integers, modulo 2^32 where the library keeps them as s32.

    That is the case where dst is the sum itself, and where zero points exceed the range of their
    tensor's type.
    """
    return wrap32(sums) if is_exact_s32(p) or p.number("huge_zero_points") else sums


def exact_product(a: Array, b: Array) -> Array:
    """a @ b of integers modulo 2^64. If every sum fits the 53 bits of f64, it is computed in f64,
    which is faster.
    """
    size = max(float(np.abs(a).max(initial=0)), 1.0) * max(float(np.abs(b).max(initial=0)), 1.0)
    if size * a.shape[-1] < 2.0**53:
        return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)
    return a @ b


def integer_product(p: Problem, data: Values, k: slice) -> Array:
    """The sum over a segment of K."""
    src, wei = data[SRC][..., k].astype(np.int64), data[WEI][..., k, :].astype(np.int64)
    zs, zw = (parameter(p, data, "zero_points", arg) for arg in (SRC, WEI))
    zs = 0 if zs is None else zs[..., k]
    if not p.find("precomputed_reductions", "src"):
        return stored(p, exact_product(src - zs, wei if zw is None else wei - zw[..., k, :]))
    assert zw is not None
    # The caller's sums replace the sums of src. Zero points are constant within the segment.
    sums, first = reductions(p, data, k), zw[..., k, :][..., :1, :]
    total = exact_product(src - zs, wei) - sums * first
    if isinstance(zs, np.ndarray):
        total = total + (k.stop - k.start) * first * zs[..., :1]
    return stored(p, total)


def reductions(p: Problem, data: Values, k: slice) -> Array:
    """The caller's sums of src over a segment of K."""
    entry = p.find("precomputed_reductions", "src")
    assert entry
    column = k.start // (entry.groups[1] if entry.groups else 1)
    return data[args.REDUCTIONS | SRC][..., column : column + 1]


def has_float_zero_points(p: Problem) -> bool:
    """Whether weights have these, or offsets in their place."""
    zero_points = p.find("zero_points", "wei")
    is_float = zero_points is not None and zero_points.data_type not in RANGES
    return is_float or p.find("offsets", "wei") is not None


def shifted_src(p: Problem, data: Values, src: Array, k: slice) -> Array:
    """src less its zero points, in a segment of K."""
    zero_points = parameter(p, data, "zero_points", SRC)
    part = src[..., k].astype(np.float64)
    return part if zero_points is None else part - zero_points[..., k]


def float_zero_points_product(p: Problem, data: Values, k: slice) -> tuple[Array, Array]:
    """The sum over a segment of K with float zero points of the weights, and the size of its terms: a
    device may add up parts of the segment, and subtract from weights of the other signedness.
    """
    src, wei = shifted_src(p, data, data[SRC], k), data[WEI][..., k, :]
    zw = parameter(p, data, "zero_points", WEI)
    assert zw is not None
    zw = zw[..., k, :]
    return src @ (wei - zw), np.abs(src) @ (np.abs(wei) + np.abs(zw) + (256 if p.is_integer else 0))


def offsets_product(p: Problem, data: Values, all_src: Array, k: slice) -> tuple[Array, Array, Array]:
    """The scaled sum over a segment of K with offsets of the weights, the size of its terms, and that of its
    products. A device may multiply weights of the other signedness.
    """
    src, wei = shifted_src(p, data, all_src, k), data[WEI][..., k, :].astype(np.float64)
    scale, offset = (parameter(p, data, kind, WEI) for kind in ("scales", "offsets"))
    assert offset is not None
    scale, offset = 1.0 if scale is None else scale[..., k, :], offset[..., k, :]
    size = (np.abs(wei) + (256 if p.is_integer else 0)) * np.abs(scale) + np.abs(offset)
    factors = parameter(p, data, "scales", SRC)
    factor = 1.0 if factors is None else factors[..., k.start : k.start + 1]
    real, magnitude = wei * scale + offset, np.abs(src) * np.abs(factor)
    return (src @ real) * factor, magnitude @ size, magnitude @ np.abs(real)


def multiplied(p: Problem, values: Array, dt: str) -> Array:
    """Values of src or weights as the device multiplies them: f32 is made narrow."""
    narrow = p.words.get("narrow")
    if not narrow or dt != "f32":
        return values
    if narrow == "bf16":
        return to_bf16(values)
    return without(values, 13) if narrow == "tf32" else without(values, 16) + rest(values)


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


def product(p: Problem, data: Values) -> tuple[Array, Array]:
    """Steps 1 to 3 of oneDNN: the sums over K, with the zero points and scales of src and weights."""
    all_src, all_wei = (multiplied(p, data[arg], dt) for arg, dt in zip((SRC, WEI), p.dt, strict=False))
    scales = [parameter(p, data, "scales", arg) for arg in (SRC, WEI)]
    length, dims = k_segments(p), p.case.dst_dims
    total, magnitude = np.zeros(dims), np.zeros(dims)
    weights = np.zeros(dims)  # sums of the magnitudes of products with offsets
    exact = np.zeros(dims, np.int64)
    unit = 1.0 if p.is_integer else quantum(all_src) * quantum(all_wei)
    for begin in range(0, p.k, length):
        k = slice(begin, min(begin + length, p.k))
        if p.find("offsets", "wei"):
            value, size, own = offsets_product(p, data, all_src, k)
            total, magnitude, weights = total + value, magnitude + size, weights + own
            continue
        factor = np.ones(dims)
        if scales[0] is not None:
            factor = factor * scales[0][..., begin : begin + 1]
        if scales[1] is not None:
            factor = factor * scales[1][..., begin : begin + 1, :]
        if p.is_integer and has_float_zero_points(p):
            value, size = float_zero_points_product(p, data, k)
        elif p.is_integer:
            value = integer_product(p, data, k)
            exact = exact + value
            # Terms of zero points cancel only after the sums of all parts are added.
            size = np.abs(value) + (2**16 * length if p.number("scaled_at_once") else 0)
        else:
            value, size = float_product(p, data, (all_src, all_wei), k)
        total += value * factor
        magnitude += size * np.abs(factor)
    is_scaled = any(scale is not None for scale in scales)
    if p.is_integer and not is_scaled and not has_float_zero_points(p):
        return stored(p, exact).astype(np.float64), np.zeros(dims)
    for arg in (args.SCALES | SRC, args.SCALES | WEI, KINDS["scale_factors"] | WEI):
        unit *= quantum(data.get(arg, np.ones(1)))
    if p.find("offsets", "wei"):
        unit = 0.0
    elif has_float_zero_points(p):
        unit *= min(1.0, quantum(data[args.ZERO_POINTS | WEI]))
    # Each product or segment is rounded a few times, and each addition once. Each rounding is
    # relative to `magnitude` at most. Nothing is rounded if every intermediate is a multiple of
    # `unit` and less than 2^24 units.
    at_once = p.number("scaled_at_once") or (min(length, 32) if has_float_zero_points(p) else length)
    roundings = -(-p.k // at_once) + (8 if p.find("offsets", "wei") else 4) + (0 if p.is_integer else p.k + 2)
    with np.errstate(over="ignore"):
        error = np.where(magnitude <= unit * 2**24, 0.0, roundings * EPS * magnitude)
    return total, error + weights * (2.0**-8 if p.number("rounds_to_bf16") else 0.0)


def float_product(p: Problem, data: Values, both: tuple[Array, Array], k: slice) -> tuple[Array, Array]:
    """The sum of floats over a segment of K, and the size of its terms. both: src and weights as they are
    multiplied."""
    src, wei = both[0][..., k], both[1][..., k, :].astype(np.float64)
    if (zero_points := parameter(p, data, "zero_points", WEI)) is not None:
        wei = wei - zero_points[..., k, :]
    if p.number("rounds_to_bf16"):
        wei = to_bf16(wei)
    value = src @ wei
    if p.words.get("narrow") == "two_bf16" and p.dt[1] == "f32":
        # The device leaves the products of two rests out.
        value = value - rest(data[SRC][..., k]) @ rest(data[WEI][..., k, :])
    return value, np.abs(src) @ np.abs(wei)


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
    name = alg.removesuffix("_dst")
    return lambda x: formulas.ELTWISE[name](x, alpha, beta), *bounds[name]


# Rounding bounds of binary operations, in the unit of eltwise's bounds. All other operations select
# or compare, and are exact.
BINARY_ROUNDINGS = {"add": 1.0, "sub": 1.0, "mul": 1.0, "mul_inplace": 1.0, "div": 5.0}


def binary(alg: str, s: Array) -> tuple[Function, float]:
    return lambda x: 1.0 * formulas.BINARY[alg](x, s), BINARY_ROUNDINGS.get(alg, 0.0)


def is_exact_s32(p: Problem) -> bool:
    """Whether this is an integer matmul into s32 without any step in f32."""
    attributes = p.case.attributes
    others = (attributes.scales, p.find("zero_points", "dst"), p.case.has_bias, attributes.post_ops)
    return p.is_integer and p.dt[2] == "s32" and not any(others) and not has_float_zero_points(p)


def matmul(p: Problem, data: Values) -> tuple[Array, Array]:
    """The least and the greatest value that each element of dst may have, in dst's type."""
    x, error = product(p, data)
    if is_exact_s32(p):
        return x.astype(np.int32), x.astype(np.int32)
    x = np.where(error == 0, f32(x), x)
    if p.case.has_bias:
        x, error = apply(lambda v: v + data[BIAS], x, error, 1)
    for index, op in enumerate(p.case.attributes.post_ops):
        x, error = after(op, index, data, x, error)
    if (scale := parameter(p, data, "scales", DST)) is not None:
        power_of_two = bool((np.frexp(scale)[0] == 0.5).all())
        x, error = apply(lambda v: v / scale, x, error, 1 if power_of_two else 5)
    if (zero_point := parameter(p, data, "zero_points", DST)) is not None:
        x, error = apply(lambda v: v + zero_point, x, error, 1)
    with np.errstate(all="ignore"):
        return convert(x - error, p.dt[2]), convert(x + error, p.dt[2])


def after(op: PostOp, index: int, data: Values, x: Array, error: Array) -> tuple[Array, Array]:
    """A value and its bound after a post-op."""
    if isinstance(op, Sum):
        # old - zero point is exact here; alpha adds one rounding if it is no power of two
        addend = float(np.float32(op.scale)) * (data[DST] - op.zero_point)
        x, error = apply(lambda v: v + addend, x, error, 1)
        return x, error + (f32(addend) != addend) * 2 * EPS * np.abs(addend)
    if isinstance(op, Eltwise):
        function, roundings, terms = eltwise(op.name, op.alpha, op.beta)
        return apply(function, x, error, roundings, terms)
    if isinstance(op, Prelu):
        slopes = data[args.post_op_arg(index, WEI)]
        return apply(lambda v: formulas.TENSOR_KINDS["prelu"](None, v, slopes), x, error, 1)
    assert isinstance(op, Binary)
    first = data[args.post_op_arg(index, 2)]
    if op.name == "select":
        keep = np.broadcast_to(data[args.post_op_arg(index, 3)] != 0, x.shape)
        return np.where(keep, x, first), np.where(keep, error, 0.0)
    function, roundings = binary(op.name, first)
    return apply(function, x, error, roundings)


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
    return encode(values, dt).astype(BY_NAME[dt].code, copy=False)
