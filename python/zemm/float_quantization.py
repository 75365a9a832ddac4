# SPDX-License-Identifier: Apache-2.0
"""Quantisation to floats of 8 and 4 bits, with a scale for each group: OCP MX, and NVFP4."""

from typing import Any, NamedTuple, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zemm._arrays.operands import tensor
from zemm._arrays.reorder import quantize_memory_to_floats
from zemm._arrays.scales import group_count, type_among
from zemm._library import check
from zemm._library.codes import split
from zemm._library.lists import FLOAT_SCALINGS, TYPES
from zemm.dtypes import SUB_BYTE, numpy_dtype, pack_values, type_of
from zemm.engine import Engine, Stream, default_engine
from zemm.errors import InvalidArgumentsError
from zemm.memory import Memory
from zemm.words import FloatScaling, QuantizedFloatDType, QuantizedFloatType

_SOURCES = ("f32", "f16", "bf16", "f8_e5m2", "f8_e4m3", "f4_e2m1")


class QuantizedFloats(NamedTuple):
    """Floats of 8 or 4 bits: x ~ values * scales. The fields are arrays, or memories if x was one."""

    values: Any
    scales: Any


def quantize_floats(
    x: ArrayLike | Memory,
    dtype: QuantizedFloatDType = "f8_e4m3",
    scaling: FloatScaling = "mx",
    *,
    engine: Engine | None = None,
    stream: Stream | None = None,
) -> QuantizedFloats:
    """Quantise activations or weights to floats of 8 or 4 bits in groups along the last dimension.

        values, scales = zemm.quantize_floats(x)
        w = zemm.quantize_floats(weights.T)  # along K of weights [K, N]
        y = zemm.matmul(values, w.values.T, src_scales=scales, weights_scales=w.scales.T)

    x: [.., K] of f32, f16, bf16 or a narrower float, an array or a memory.

    dtype: "f8_e4m3", "f8_e5m2" or "f4_e2m1".

    scaling: "mx" (OCP MX) makes scales that are powers of two, for groups of 32: the exponent of the
    largest magnitude less that of dtype's largest value. "nvfp4" makes f8_e4m3 scales, for groups of
    16: the largest magnitude / dtype's largest value, from 0.125 to 448. Values are x / scale, rounded
    half to even; what exceeds dtype's range becomes its largest value.

    Returns a tuple of values [.., K] of dtype, and scales [.., K / 32] of e8m0 or [.., K / 16] of
    f8_e4m3. If x is an array, they are arrays of ml_dtypes' types, made on the engine: by default a GPU
    if there is one, else the CPU. If x is a Memory, they are memories on its engine. stream: submit the
    work there and do not wait; for a Memory only.

    The scale of a group with a NaN, and for "mx" also with an infinity, is NaN. Its values are NaN, or
    6 for f4_e2m1.

    Where the group does not divide K, the last one is shorter, and zemm.matmul() needs it as src_group.

    ValueError: K has as many groups as of another size that divides it, or an argument is of another type.
    """
    kind = cast(QuantizedFloatType, type_among(dtype, get_args(QuantizedFloatType), "dtype"))
    scheme = check.choice(scaling, FloatScaling, "scaling")
    if engine is not None:
        check.instance(engine, Engine, "engine")
    rule = FLOAT_SCALINGS[scheme]
    group = rule.group
    if isinstance(x, Memory):
        if engine is not None and engine is not x.engine:
            raise InvalidArgumentsError(
                f"x is a memory on another engine object ({x.engine!r}) than engine={engine!r}"
            )
        group_count(x.md.dims[-1] if x.md.ndims else 0, group, x.md.dims)
        return QuantizedFloats(*quantize_memory_to_floats(x, rule, kind, stream))
    if stream is not None:
        raise InvalidArgumentsError("a stream is for a Memory: arrays are there on return")
    array = check.array(x, "x")
    name = type_of(array, "x")
    if name not in _SOURCES:
        raise InvalidArgumentsError(f"x has type {name}, none of {', '.join(_SOURCES)}")
    if array.ndim == 0:
        raise InvalidArgumentsError("x is a single number; it must have K as its last dimension")
    groups = group_count(array.shape[-1], group, array.shape)
    shapes = array.shape, (*array.shape[:-1], groups)
    if array.size == 0:
        types = numpy_dtype(kind), numpy_dtype(rule.type)
        return QuantizedFloats(*(np.empty(shape, dt) for shape, dt in zip(shapes, types, strict=True)))
    used = engine if engine is not None else default_engine()
    rows = array.reshape(-1, array.shape[-1])
    source = tensor(pack_values(rows, name) if name in SUB_BYTE else rows, name, 2, used)
    made = quantize_memory_to_floats(source.memory(used), rule, kind, None)
    return QuantizedFloats(*(_elements(m).reshape(shape) for m, shape in zip(made, shapes, strict=True)))


def _elements(memory: Memory) -> NDArray[Any]:
    """The elements of a row-major memory, one in each element of an array."""
    if memory.md.data_type not in SUB_BYTE:
        return memory.as_numpy()
    codes = split(memory.read(), TYPES[memory.md.data_type].bits)
    return codes.view(numpy_dtype(memory.md.data_type))
