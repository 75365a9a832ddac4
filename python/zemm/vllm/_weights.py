# SPDX-License-Identifier: Apache-2.0
"""What vLLM has loaded, as zemm's layers. Importing this needs vLLM."""

import os
from dataclasses import fields
from functools import cache
from typing import Any

import torch
from vllm.scalar_type import scalar_types

from zemm._library.codes import split
from zemm._library.lists import TYPES
from zemm.engine import Engine
from zemm.linear import Linear
from zemm.torch._module import ACTIVATIONS
from zemm.words import DataType

# zemm's types, and what turns the codes of a byte into theirs: a bias of half the range is a sign bit.
# Values of int4 have a byte each.
WEIGHTS: dict[Any, tuple[DataType, int]] = {
    scalar_types.int4: ("s4", 0),
    scalar_types.uint4: ("u4", 0),
    scalar_types.uint8: ("u8", 0),
    scalar_types.uint4b8: ("s4", 0x88),
    scalar_types.uint8b128: ("s8", 0x80),
}


def check_fields(config: type[Any], members: set[str]) -> None:
    """TypeError: vLLM describes a layer in other words."""
    if missing := members - {field.name for field in fields(config)}:
        raise TypeError(f"{config.__name__} has no {', '.join(sorted(missing))}")


def layer_of(
    weight_type: Any,
    values: torch.Tensor,
    scales: Any,
    zero_points: Any,
    *,
    transposed: bool = True,
    **options: Any,
) -> Linear:
    """The layer of codes [.., N, K] and scales [.., N, G] or, not transposed, [.., K, N] and [.., G, N].
    zero_points: codes [.., G, N], or None."""
    if zero_points is None and weight_type == scalar_types.uint4:
        weight_type = scalar_types.uint4b8  # so does vLLM: AWQ without them means 8
    data_type, flip = WEIGHTS[weight_type]
    values = values ^ flip if flip else values
    if zero_points is not None:
        zero_points = torch.from_numpy(split(zero_points.numpy(), TYPES[data_type].bits))
        zero_points = zero_points.mT if transposed else zero_points
    return Linear.from_quantized(
        values.view(torch.int8) if data_type == "s8" else values,
        scales,
        zero_points,
        weights_dtype=data_type,
        transposed=transposed,
        engine=engine(os.getpid()),
        **options,
    )


def multiplied(weight_type: Any, dtype: torch.dtype) -> dict[str, Any]:
    """How activations of a type are multiplied by weights."""
    is_quantised = os.environ.get("VLLM_CPU_INT4_W4A8") == "1" and TYPES[WEIGHTS[weight_type][0]].bits == 4
    return {"activation": "int8" if is_quantised else ACTIVATIONS[dtype]}


@cache
def engine(process: int) -> Engine:
    """The CPU, also where there is a GPU."""
    return Engine("cpu")


def codes(packed: torch.Tensor, along: int) -> torch.Tensor:
    """Words of int32 that are packed along one of the last two dimensions as bytes, which are along the
    last one."""
    words = packed.data if along == packed.ndim - 1 else packed.data.mT
    return words.contiguous().flatten().view(torch.uint8).view(*words.shape[:-1], -1)


def free(layer: Any, *parameters: torch.Tensor | None) -> None:
    """Take the elements of parameters from a layer. vLLM has weights of int4 under two names, and its MLA
    asks a layer's weights for their device."""
    for name, parameter in list(layer.named_parameters(recurse=False, remove_duplicate=False)):
        if any(parameter is given for given in parameters):
            setattr(layer, name, torch.nn.Parameter(parameter.new_empty(0), requires_grad=False))
