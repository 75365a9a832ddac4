# SPDX-License-Identifier: Apache-2.0
"""zemm.reorder(), and the quantisation of activations on a device, which is also a reorder."""

from typing import cast

from zemm._arrays.operands import groups_of
from zemm._library import check
from zemm._library.library import ARG
from zemm._library.lists import FloatScaling
from zemm.attributes import Attr
from zemm.engine import Engine, Stream, stream_of
from zemm.errors import InvalidArgumentsError
from zemm.memory import Memory
from zemm.memory_desc import MemoryDesc
from zemm.primitive import Primitive, ReorderPrimitiveDesc
from zemm.words import DataType, QuantizationMode, QuantizedFloatType, QuantizedType, ScaleType


def reorder(src: Memory, md: MemoryDesc, *, stream: Stream | None = None) -> Memory:
    """Copy src to a new memory on its engine, in the layout and data type of md.

        packed = zemm.reorder(weights, pd.query_md("weights_md"))

    Values are rounded to nearest even, and integers saturate. stream: submit the work there and do
    not wait; by default the result is complete on return. ValueError: md has other dims than src.
    NotImplementedError: zemm lacks the type or layout.
    """
    engine = _engine_of(src, "src", stream)
    pd = ReorderPrimitiveDesc(engine, src.md, check.instance(md, MemoryDesc, "md"))
    dst = Memory(md, engine)
    _run(pd, engine, stream, {ARG["FROM"]: src, ARG["TO"]: dst})
    return dst


def reorder_to(src: Memory, dst: Memory) -> None:
    """Copy src to another memory of its engine, whose layout and data type may be others."""
    engine = _engine_of(src, "src", None)
    pd = ReorderPrimitiveDesc(engine, src.md, dst.md)
    _run(pd, engine, None, {ARG["FROM"]: src, ARG["TO"]: dst})


def quantize_memory(
    x: Memory,
    group: int,
    scale_dtype: ScaleType,
    dtype: QuantizedType,
    stream: Stream | None,
    reduced_range: bool,
) -> tuple[Memory, Memory, Memory | None, Memory]:
    """Quantise x [.., M, K] in groups along K: values, scales, zero points (None for s8) and the
    s32 sums of each group's values. stream: submit the work there and do not wait."""
    engine = _engine_of(x, "x", stream)
    ndims, dims = x.md.ndims, x.md.dims
    if ndims == 1:
        raise InvalidArgumentsError(f"x has dims {dims}; a memory needs two dimensions or more, [.., M, K]")
    attr = quantizing_attr(ndims, group, scale_dtype, dtype, reduced_range=reduced_range)
    pd = ReorderPrimitiveDesc(engine, x.md, MemoryDesc(dims, dtype), attr)
    args = {ARG["FROM"]: x}
    for arg in (ARG["TO"], *(ARG[flag] | ARG["DST"] for flag in _OUTPUTS)):
        md = pd.query_md("exec_arg_md", arg)
        if md.ndims:
            args[arg] = Memory(md, engine)
    _run(pd, engine, stream, args)
    scales, zero_points, reductions = (args.get(ARG[flag] | ARG["DST"]) for flag in _OUTPUTS)
    assert scales is not None
    assert reductions is not None
    return args[ARG["TO"]], scales, zero_points, reductions


def quantize_memory_to_floats(
    x: Memory, rule: FloatScaling, dtype: QuantizedFloatType, stream: Stream | None
) -> tuple[Memory, Memory]:
    """Quantise x [.., M, K] in groups along K: values and scales. stream: submit the work
    there and do not wait."""
    engine = _engine_of(x, "x", stream)
    ndims, dims = x.md.ndims, x.md.dims
    if ndims < 2:
        raise InvalidArgumentsError(f"x has dims {dims}; a memory needs two dimensions or more, [.., M, K]")
    mode, scale_type = cast(QuantizationMode, rule.mode), cast(DataType, rule.type)
    attr = Attr()
    attr.set_scales(ARG["DST"], 2**ndims - 1, (1, rule.group), scale_type, quantization_mode=mode)
    values = Memory(MemoryDesc(dims, dtype), engine)
    scales = Memory(MemoryDesc((*dims[:-1], groups_of(dims[-1], rule.group)), scale_type), engine)
    pd = ReorderPrimitiveDesc(engine, x.md, values.md, attr)
    args = {ARG["FROM"]: x, ARG["TO"]: values, ARG["ATTR_SCALES"] | ARG["DST"]: scales}
    _run(pd, engine, stream, args)
    return values, scales


def quantizing_attr(
    ndims: int,
    group: int,
    scale_dtype: ScaleType,
    dtype: QuantizedType,
    sums_group: int | None = None,
    reduced_range: bool = False,
) -> Attr:
    """The attributes of a reorder that quantises: scales, zero points and sums are outputs. group,
    sums_group: elements that share a scale, and a sum (by default the same). reduced_range: to 7 bits."""
    every = 2**ndims - 1
    groups, of_sums = ((1, n) if ndims > 1 else () for n in (group, sums_group or group))
    attr = Attr()
    attr.set_scales(ARG["DST"], every, groups, scale_dtype, quantization_mode="dynamic_fp")
    if dtype == "u8":
        attr.set_zero_points(ARG["DST"], every)
    attr.set_precomputed_reductions(ARG["DST"], every, of_sums)
    if reduced_range:
        attr.set_reduced_range(ARG["DST"])
    return attr


_OUTPUTS = ("ATTR_SCALES", "ATTR_ZERO_POINTS", "ATTR_PRECOMPUTED_REDUCTIONS")


def _engine_of(memory: Memory, name: str, stream: Stream | None) -> Engine:
    engine = check.instance(memory, Memory, name).engine
    if engine is None:
        raise InvalidArgumentsError(f"{name} is a host scalar, which is on no engine")
    if stream is not None and check.instance(stream, Stream, "stream").engine is not engine:
        raise InvalidArgumentsError(
            f"the stream is on {stream.engine!r}, the memory {name} on {engine!r}: another engine object"
        )
    return engine


def _run(pd: ReorderPrimitiveDesc, engine: Engine, stream: Stream | None, args: dict[int, Memory]) -> None:
    primitive = Primitive(pd)
    used = stream if stream is not None else stream_of(engine)
    primitive.execute(used, args)
    if stream is None:
        used.wait()
