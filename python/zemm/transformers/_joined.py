# SPDX-License-Identifier: Apache-2.0
"""Puts the weights of experts together, which a checkpoint has one by one."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zemm._arrays.host_tensors import as_array
from zemm.dtypes import per_byte, type_of
from zemm.errors import UnimplementedError
from zemm.transformers._formats.format import Quantized
from zemm.words import DataType

# For a signed type: the unsigned one, the bits of a byte that differ, the zero point.
_UNSIGNED: dict[str, tuple[DataType, int, int]] = {"s4": ("u4", 0x88, 8), "s8": ("u8", 0x80, 128)}


def joined(experts: list[list[Quantized]], name: str) -> Quantized:
    """Weights with a first dimension of experts, each of which has one layer, or two of the same inputs:
    their outputs come one after the other. name: of the experts, for errors."""
    if len({layer.zero_points is None for layer in _all(experts)}) > 1:
        experts = [[_unsigned(layer) for layer in expert] for expert in experts]
    first, *others = _all(experts)
    if any(_kind(layer) != _kind(first) for layer in others):
        raise UnimplementedError(
            f"the experts {name} have weights of different types or shapes: zemm multiplies alike ones"
        )
    groups = max(_groups(layer) for layer in _all(experts))
    if any(groups % _groups(layer) for layer in _all(experts)):
        raise UnimplementedError(f"the experts {name} have groups of sizes that do not divide each other")
    n_axis = 1 if first.transposed else 2

    def together(part: Callable[[Quantized], NDArray[Any]]) -> NDArray[Any]:
        made = np.stack([np.concatenate([part(layer) for layer in own], n_axis - 1) for own in experts])
        return made

    return replace(
        first,
        values=together(lambda layer: as_array(layer.values, "values")),
        scales=None if first.scales is None else together(lambda layer: _by_n(layer.scales, layer, groups)),
        zero_points=None
        if first.zero_points is None
        else together(lambda layer: _by_n(layer.zero_points, layer, groups)),
        columns=_columns(experts, name),
    )


def _all(experts: list[list[Quantized]]) -> Iterable[Quantized]:
    return (layer for expert in experts for layer in expert)


def _type(layer: Quantized) -> DataType:
    return layer.weights_dtype or type_of(as_array(layer.values, "values"), "values")


def _kind(layer: Quantized) -> tuple[Any, ...]:
    """The properties that must be equal. N may differ, as the layer beside a gate has its own."""
    values = as_array(layer.values, "values")
    k_axis = -1 if layer.transposed else -2
    return (
        _type(layer),
        values.shape[k_axis],
        layer.transposed,
        layer.scales is None,
        layer.group,
        dict(layer.options),
    )


def _parameters(layer: Quantized) -> list[NDArray[Any]]:
    return [as_array(part, "part") for part in (layer.scales, layer.zero_points) if part is not None]


def _groups(layer: Quantized) -> int:
    k_axis = -1 if layer.transposed else -2
    return max((part.shape[k_axis] for part in _parameters(layer) if part.ndim > 1), default=1)


def _by_n(parameter: Any, layer: Quantized, groups: int) -> NDArray[Any]:
    """Scales or zero points of each column and as many groups, also where there is one for several."""
    array = as_array(parameter, "parameter")
    if array.size == 1:
        array = array.reshape(1, 1)
    k_axis, n_axis = (1, 0) if layer.transposed else (0, 1)
    n = as_array(layer.values, "values").shape[n_axis]
    if not layer.transposed and layer.weights_dtype is not None:
        n *= per_byte(layer.weights_dtype)
    array = np.repeat(array, groups // array.shape[k_axis], k_axis)
    return np.broadcast_to(array, (n, groups) if layer.transposed else (groups, n))


def _unsigned(layer: Quantized) -> Quantized:
    """The layer with zero points."""
    dtype, values = _type(layer), as_array(layer.values, "values")
    if dtype not in _UNSIGNED or layer.zero_points is not None:
        return layer
    unsigned, bits, zero_point = _UNSIGNED[dtype]
    return replace(
        layer,
        values=values.view(np.uint8) ^ np.uint8(bits),
        zero_points=np.full(1, zero_point, np.uint8),
        weights_dtype=unsigned,
    )


def _columns(experts: list[list[Quantized]], name: str) -> NDArray[np.intp] | None:
    """The order of the inputs of each expert, [E, K]."""
    given = next((layer.columns for layer in _all(experts) if layer.columns is not None), None)
    if given is None:
        return None
    in_order = np.arange(len(given))
    orders = [[in_order if own.columns is None else own.columns for own in expert] for expert in experts]
    for index, own in enumerate(orders):
        if any(not np.array_equal(own[0], other) for other in own[1:]):
            raise UnimplementedError(
                f"expert {index} of {name} takes its inputs in two orders: zemm multiplies the gate and the"
                " layer beside it at once"
            )
    return np.stack([own[0] for own in orders])
