# SPDX-License-Identifier: Apache-2.0
"""Linear kernels by the interface of vLLM 0.32 and 0.33. Importing this needs vLLM.

A kernel packs the weights once they are loaded, and frees vLLM's own. What it cannot take is left to the
next kernel of vLLM's list.
"""

import os
from dataclasses import fields
from functools import cache
from typing import Any

import torch
from vllm.model_executor.kernels import linear
from vllm.scalar_type import scalar_types

from zemm._library.codes import split
from zemm._library.lists import TYPES
from zemm.dtypes import pack_int4
from zemm.engine import Engine
from zemm.linear import Linear
from zemm.torch import QuantLinear
from zemm.torch._module import ACTIVATIONS
from zemm.words import DataType

# zemm's types, and what turns the codes of a byte into theirs: a bias of half the range is a sign bit.
# Values of int4 have a byte each.
_TYPES: dict[Any, tuple[DataType, int]] = {
    scalar_types.int4: ("s4", 0),
    scalar_types.uint4: ("u4", 0),
    scalar_types.uint8: ("u8", 0),
    scalar_types.uint4b8: ("s4", 0x88),
    scalar_types.uint8b128: ("s8", 0x80),
}


def _check_interface(base: type[Any], methods: set[str], config: type[Any], members: set[str]) -> None:
    """TypeError: vLLM calls other methods of a kernel, or describes a layer in other words."""
    if getattr(base, "__abstractmethods__", None) != methods:
        raise TypeError(f"{base.__name__} has other methods than {', '.join(sorted(methods))}")
    if missing := members - {field.name for field in fields(config)}:
        raise TypeError(f"{config.__name__} has no {', '.join(sorted(missing))}")


_check_interface(
    linear.MPLinearKernel,
    {"get_min_capability", "can_implement", "process_weights_after_loading", "apply_weights"},
    linear.MPLinearLayerConfig,
    {"partition_weight_shape", "weight_type", "act_type", "group_size", "zero_points"},
)
_check_interface(
    linear.Int8ScaledMMLinearKernel,
    {"is_supported", "can_implement", "process_weights_after_loading", "apply_weights"},
    linear.Int8ScaledMMLinearLayerConfig,
    {"is_static_input_scheme", "is_channelwise", "input_symmetric"},
)


def tables() -> list[tuple[type[Any], Any]]:
    """The kernels, each with vLLM's table of kernels by platform."""
    return [
        (ZemmMPLinearKernel, linear._POSSIBLE_KERNELS),
        (ZemmInt8LinearKernel, linear._POSSIBLE_INT8_KERNELS),
    ]


class _Applied:
    """A kernel whose layer has zemm's module."""

    def apply_weights(self, layer: Any, x: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
        y: torch.Tensor = layer.zemm(x)
        return y if bias is None else y + bias


class ZemmMPLinearKernel(_Applied, linear.MPLinearKernel):
    """Weights of 4 or 8 bits by floating-point activations. Those of int4 (W4A8 of compressed-tensors) are
    multiplied by activations of 8 bits, one scale for each row. With VLLM_CPU_INT4_W4A8=1 in the environment
    so are other weights of 4 bits, one scale for each row and group of weights."""

    @classmethod
    def get_min_capability(cls) -> int:
        return -1

    @classmethod
    def can_implement(cls, c: Any) -> tuple[bool, str | None]:
        if c.weight_type not in _TYPES:
            return False, f"zemm takes weights of {', '.join(map(str, _TYPES))}, not {c.weight_type}"
        if c.act_type not in ACTIVATIONS:
            return False, f"zemm takes activations of {', '.join(map(str, ACTIVATIONS))}, not {c.act_type}"
        if c.zero_points and c.weight_type not in (scalar_types.uint4, scalar_types.uint8):
            return False, f"zemm takes zero points of uint4 and uint8, not of {c.weight_type}"
        if getattr(c, "has_g_idx", False):
            return False, "zemm takes no g_idx: groups must be neighbours along K"
        k = c.partition_weight_shape[0]
        if k % 8:
            return False, f"zemm takes input sizes that are multiples of 8, not {k}"
        if c.group_size != -1 and k % c.group_size:
            return (
                False,
                f"vLLM has scales of whole groups only, but {c.group_size} does not divide {k} inputs",
            )
        return True, None

    def process_weights_after_loading(self, layer: torch.nn.Module) -> None:
        weights, scales, zero_points = given = self._get_weight_params(layer)
        data_type, flip = _TYPES[self.config.weight_type]
        options: dict[str, Any] = {"activation": ACTIVATIONS[self.config.act_type]}
        if self.config.weight_type == scalar_types.int4:
            values = torch.from_numpy(pack_int4(weights.data.numpy()))
            options = {"activation": "int8", "activation_group": weights.shape[1]}
        elif weights.input_dim != weights.packed_dim:
            raise ValueError("zemm takes weights that are packed along their input")
        else:
            values = _codes(weights, weights.input_dim) ^ flip
            if os.environ.get("VLLM_CPU_INT4_W4A8") == "1" and TYPES[data_type].bits == 4:
                options = {"activation": "int8"}
        if self.config.zero_points:
            codes = _codes(zero_points, zero_points.output_dim).numpy()
            zero_points = torch.from_numpy(split(codes, TYPES[data_type].bits)).T
        else:
            zero_points = None
        layer.zemm = QuantLinear(
            Linear.from_quantized(
                values.view(torch.int8) if data_type == "s8" else values,
                scales if scales.output_dim == 0 else scales.T,
                zero_points,
                weights_dtype=data_type,
                transposed=True,
                engine=_engine(os.getpid()),
                **options,
            )
        )
        _free(layer, *given)


class ZemmInt8LinearKernel(_Applied, linear.Int8ScaledMMLinearKernel):
    """Weights of 8 bits by activations that are quantised to 8 bits, one scale for each row."""

    @classmethod
    def is_supported(cls, compute_capability: int | None = None) -> tuple[bool, str | None]:
        return True, None

    @classmethod
    def can_implement(cls, c: Any) -> tuple[bool, str | None]:
        if c.is_static_input_scheme or not c.input_symmetric:
            return False, "zemm quantises activations itself, with a scale for each row and no zero point"
        return True, None

    def process_weights_after_loading(self, layer: torch.nn.Module) -> None:
        weights, scales, *_ = given = self._get_layer_params(layer)
        scales = scales.reshape(-1)
        if len(scales) not in (1, len(weights)):  # one for each of the layers that were fused
            widths = torch.tensor(layer.logical_widths)
            scales = scales.repeat_interleave(widths)
        layer.zemm = QuantLinear(
            Linear.from_quantized(
                weights,
                scales,
                activation="int8",
                activation_group=weights.shape[1],
                transposed=True,
                engine=_engine(os.getpid()),
            )
        )
        _free(layer, *given)


@cache
def _engine(process: int) -> Engine:
    """The CPU, also where there is a GPU."""
    return Engine("cpu")


def _codes(packed: torch.Tensor, along: int) -> torch.Tensor:
    """Words of int32 that are packed along a dimension as bytes, which are along the last one."""
    words = packed.data if along == 1 else packed.data.T
    return words.contiguous().flatten().view(torch.uint8).view(len(words), -1)


def _free(layer: torch.nn.Module, *parameters: torch.Tensor | None) -> None:
    """Take parameters from a layer. vLLM has weights of int4 under two names."""
    for name, parameter in list(layer.named_parameters(recurse=False, remove_duplicate=False)):
        if any(parameter is given for given in parameters):
            setattr(layer, name, None)
