# SPDX-License-Identifier: Apache-2.0
"""Expected values of a case, computed with numpy in the order of oneDNN's arithmetic.

`Values` has f32 tensors by execution argument. A quantisation tensor has as many dimensions as the
tensor that it belongs to, with size 1 where it broadcasts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zemm.benchdnn.data import dynamic, quantized_src, random_bits
from zemm.benchdnn.data.eltwise import TENSOR_KINDS, binary, eltwise
from zemm.benchdnn.data.layout import Layout
from zemm.benchdnn.data.product import matmul
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import BY_NAME, Floats, rounded
from zemm.benchdnn.grammar.post_ops import Binary, Depthwise, Eltwise, Sum

Values = Mapping[int, Floats]


@dataclass
class Expected:
    """Expected outputs: dst before (`exact`) and after rounding to its data type, and others by
    argument."""

    exact: Floats
    dst: Floats
    extra: dict[int, Floats]


def expected(case: Case, values: Values, old_dst: Floats, dst_layout: Layout) -> Expected:
    """The expected outputs of a case. old_dst: dst before the run, read as the data type of the sum
    post-op.

    dst_layout: only random numbers depend on it.
    """
    extra: dict[int, Floats] = {}
    x = _product(case, dequantized(case, values, args.SRC), dequantized(case, values, args.WEI))
    if args.BIAS in values:
        x = x + _bias(case, values[args.BIAS])
    dropout = case.attributes.dropout
    if dropout.p > 0:
        keep = random_bits.dropout_mask(dropout, dst_layout.offsets())
        extra[args.DROPOUT_MASK] = keep.astype(np.float32)
        inverse = np.float32(1 / (1 - dropout.p)) if dropout.p < 1 else np.float32(0)
        x = np.where(keep, x * inverse, np.float32(0))
    x = _after_post_ops(case, values, x, old_dst)
    x = _to_dst(case, values, x, extra)
    if case.attributes.saturation:
        x = x.clip(BY_NAME[case.dt[2]].low, BY_NAME[case.dt[2]].high)  # NaN stays
    rounding = next((r for r in case.attributes.rounding_mode if r.arg == args.DST), None)
    if rounding and rounding.mode == "stochastic":
        x = random_bits.stochastic_rounding(x, case.dt[2], rounding.seed, dst_layout.offsets())
    return Expected(x, rounded(x, case.dt[2]), extra)


def _product(case: Case, src: Floats, wei: Floats) -> Floats:
    """src times weights; with groups each group of src times its own weights; the rows of an inner product
    with all dims but the first as one."""
    if case.is_inner_product:
        k = case.problem.k
        return matmul(src.reshape(-1, k), wei.reshape(-1, k).T)
    if not case.grouped:
        return matmul(src, wei)
    grouped = case.grouped
    groups = [slice(end - size, end) for size, end in zip(grouped.sizes, grouped.ends, strict=True)]
    if grouped.dim == 0:
        return np.concatenate([_matrix(src[group], w) for group, w in zip(groups, wei, strict=True)])
    return np.stack([_matrix(src[:, group], wei[group]) for group in groups])


def _matrix(src: Floats, wei: Floats) -> Floats:
    """The product of two matrices; zeros if one of them is empty."""
    return matmul(src, wei) if src.size and wei.size else np.zeros((src.shape[0], wei.shape[1]), np.float32)


def _bias(case: Case, bias: Floats) -> Floats:
    """bias, so that it broadcasts to dst: with groups of rows it has a row for each group."""
    grouped = case.grouped
    return np.repeat(bias, grouped.sizes, axis=0) if grouped and grouped.dim == 0 else bias


def _operand(case: Case, operand: Floats) -> Floats:
    """The operand of a binary post-op, so that it broadcasts to dst. With groups of rows one of
    dims [groups, 1] has a value for each group, as in oneDNN, also if dst has as many rows."""
    grouped = case.grouped
    is_per_group = grouped and grouped.dim == 0 and operand.shape == (grouped.count, 1)
    return np.repeat(operand, grouped.sizes, axis=0) if grouped and is_per_group else operand


def dequantized(case: Case, values: Values, arg: int) -> Floats:
    """The real values (x - zero point) * scale of src or weights, or x * scale + offset, where scales and
    offsets may have factors. A src that zemm quantises has lost its digits."""
    x = values[arg]
    if arg == args.SRC and case.attributes.src_dyn_quant:
        x = quantized_src.quantized(x, case.attributes)
    shape = x.shape

    def of_each(kind: str) -> Floats | None:
        tensor = values.get(args.KINDS[kind] | arg)
        entry = case.attributes.find(kind, arg)
        return None if tensor is None else spread(tensor, shape, entry.groups if entry else ())

    if (zero_points := of_each("zero_points")) is not None:
        x = x - zero_points
    if (scales := of_each("scales")) is not None:
        factors = of_each("scale_factors")
        place = None if x is values[arg] else x
        x = np.multiply(x, scales if factors is None else scales * factors, out=place)
    if (offsets := of_each("offsets")) is not None:
        x = x + (offsets if (factors := of_each("offset_factors")) is None else offsets * factors)
    return x


def spread(tensor: Floats, shape: tuple[int, ...], groups: Sequence[int] = ()) -> Floats:
    """A quantisation tensor with its values repeated over each group, so that it broadcasts to
    `shape`. groups: the sizes along the last two dimensions, where a last group may be shorter."""
    sizes = (0,) * (len(shape) - 2) + tuple(groups) if groups else (0,) * len(shape)
    for axis, (have, want, size) in enumerate(zip(tensor.shape, shape, sizes, strict=True)):
        if have not in (1, want):
            tensor = np.repeat(tensor, size or want // have, axis=axis).take(range(want), axis)
    return tensor


def reductions(src: Floats, group: int) -> Floats:
    """The sums of src over each group of K, of which the last one may be shorter."""
    sums: Floats = np.add.reduceat(src, range(0, src.shape[-1], group), axis=-1)
    return sums


def _after_post_ops(case: Case, values: Values, x: Floats, old_dst: Floats) -> Floats:
    for index, op in enumerate(case.attributes.post_ops):
        if isinstance(op, Sum):
            x = x + np.float32(op.scale) * (old_dst - np.float32(op.zero_point))
        elif isinstance(op, Eltwise):
            x = eltwise(op.name, x, op.alpha, op.beta)
        elif isinstance(op, Binary):
            s = _operand(case, values[args.post_op_arg(index, 2)])
            if op.name == "select":
                x = np.where(values[args.post_op_arg(index, 3)] != 0, x, s)
            else:
                x = binary(op.name, x, s)
        elif not isinstance(op, Depthwise):
            (arg,) = op.operands()
            x = TENSOR_KINDS[op.name](op, x, values[args.post_op_arg(index, arg)])
    return x


def _to_dst(case: Case, values: Values, x: Floats, extra: dict[int, Floats]) -> Floats:
    """x / scales + zero points of dst. Dynamic scales are computed here and added to `extra`."""
    entry = case.attributes.find("scales", args.DST)
    if entry and entry.quantization_mode != "static_sazp":
        shape = args.quantization_dims(case, entry)
        x, extra[args.SCALES | args.DST] = dynamic.quantized(x, shape, entry.quantization_mode, case.dt[2])
    elif entry:
        x = x / spread(values[args.SCALES | args.DST], x.shape, entry.groups)
    zero_points = values.get(args.ZERO_POINTS | args.DST)
    return x if zero_points is None else x + zero_points
