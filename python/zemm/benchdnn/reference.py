# SPDX-License-Identifier: Apache-2.0
"""Expected values of a case, computed with numpy in the order of oneDNN's arithmetic.

`Values` has f32 tensors by execution argument. A quantisation tensor has as many dimensions as the
tensor that it belongs to, with size 1 where it broadcasts.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from zemm.benchdnn import arguments as args
from zemm.benchdnn import dynamic, random_bits
from zemm.benchdnn.case import Case
from zemm.benchdnn.dtypes import Floats, rounded
from zemm.benchdnn.eltwise import binary, eltwise, prelu
from zemm.benchdnn.post_ops import Binary, Eltwise, Prelu, Sum
from zemm.benchdnn.product import matmul

Values = Mapping[int, Floats]


@dataclass
class Expected:
    """Expected outputs: dst before (`exact`) and after rounding to its data type, and others by
    argument."""

    exact: Floats
    dst: Floats
    extra: dict[int, Floats]


def expected(case: Case, values: Values, old_dst: Floats, dst_strides: tuple[int, ...]) -> Expected:
    """The expected outputs of a case. old_dst: dst before the run, read as the data type of the sum
    post-op.

    dst_strides: of dst, in elements. Only random numbers use them, as they depend on the offset in
    memory.
    """
    extra: dict[int, Floats] = {}
    x = matmul(dequantized(case, values, args.SRC), dequantized(case, values, args.WEI))
    if args.BIAS in values:
        x = x + values[args.BIAS]
    dropout = case.attributes.dropout
    if dropout.p > 0:
        keep = random_bits.dropout_mask(dropout, x.shape, dst_strides)
        extra[args.DROPOUT_MASK] = keep.astype(np.float32)
        inverse = np.float32(1 / (1 - dropout.p)) if dropout.p < 1 else np.float32(0)
        x = np.where(keep, x * inverse, np.float32(0))
    x = _after_post_ops(case, values, x, old_dst)
    x = _to_dst(case, values, x, extra)
    rounding = next((r for r in case.attributes.rounding if r.arg == args.DST), None)
    if rounding and rounding.mode == "stochastic":
        x = random_bits.stochastic_rounding(x, case.dt[2], rounding.seed, dst_strides)
    return Expected(x, rounded(x, case.dt[2]), extra)


def dequantized(case: Case, values: Values, arg: int) -> Floats:
    """The real values (x - zero point) * scale of src or weights."""
    x = values[arg]
    zero_points = values.get(args.ZERO_POINTS | arg)
    if zero_points is not None:
        x = x - spread(zero_points, x.shape)
    scales = values.get(args.SCALES | arg)
    if scales is not None:
        x = x * spread(scales, x.shape)
    return x


def spread(tensor: Floats, shape: tuple[int, ...]) -> Floats:
    """A quantisation tensor with its values repeated over each group, so that it broadcasts to
    `shape`."""
    for axis, (have, want) in enumerate(zip(tensor.shape, shape, strict=True)):
        if have not in (1, want):
            tensor = np.repeat(tensor, want // have, axis=axis)
    return tensor


def reductions(src: Floats, shape: tuple[int, ...]) -> Floats:
    """The sums of src over each K group. shape: that of src with K divided by the group size."""
    *rows, groups = shape
    sums: Floats = src.reshape(*rows, groups, -1).sum(axis=-1)
    return sums


def _after_post_ops(case: Case, values: Values, x: Floats, old_dst: Floats) -> Floats:
    for index, op in enumerate(case.attributes.post_ops):
        if isinstance(op, Sum):
            x = x + np.float32(op.scale) * (old_dst - np.float32(op.zero_point))
        elif isinstance(op, Eltwise):
            x = eltwise(op.name, x, op.alpha, op.beta)
        elif isinstance(op, Binary):
            s = values[args.post_op_arg(index, 2)]
            if op.name == "select":
                x = np.where(values[args.post_op_arg(index, 3)] != 0, x, s)
            else:
                x = binary(op.name, x, s)
        elif isinstance(op, Prelu):
            x = prelu(x, values[args.post_op_arg(index, 33)])
    return x


def _to_dst(case: Case, values: Values, x: Floats, extra: dict[int, Floats]) -> Floats:
    """x / scales + zero points of dst. Dynamic scales are computed here and added to `extra`."""
    entry = case.attributes.find("scales", args.DST)
    if entry and entry.quantization_mode != "static_sazp":
        shape = args.quantization_dims(case, entry)
        x, extra[args.SCALES | args.DST] = dynamic.quantized(x, shape, entry.quantization_mode, case.dt[2])
    elif entry:
        x = x / spread(values[args.SCALES | args.DST], x.shape)
    zero_points = values.get(args.ZERO_POINTS | args.DST)
    return x if zero_points is None else x + zero_points
