# SPDX-License-Identifier: Apache-2.0
"""Linear kernels by the interface of vLLM 0.32 and 0.33. Importing this needs vLLM.

A kernel packs the weights once they are loaded, and frees vLLM's own. What it cannot take is left to the
next kernel of vLLM's list.
"""

import os
from typing import Any

import torch
from vllm.model_executor.kernels import linear
from vllm.scalar_type import scalar_types

from zemm.dtypes import pack_int4
from zemm.linear import Linear
from zemm.torch import QuantLinear
from zemm.torch._module import ACTIVATIONS
from zemm.vllm._weights import WEIGHTS, check_fields, codes, engine, free, layer_of, multiplied


def _check_methods(base: type[Any], methods: set[str], config: type[Any], members: set[str]) -> None:
    """TypeError: vLLM calls other methods of a kernel, or describes a layer in other words."""
    if getattr(base, "__abstractmethods__", None) != methods:
        raise TypeError(f"{base.__name__} has other methods than {', '.join(sorted(methods))}")
    check_fields(config, members)


_check_methods(
    linear.MPLinearKernel,
    {"get_min_capability", "can_implement", "process_weights_after_loading", "apply_weights"},
    linear.MPLinearLayerConfig,
    {"partition_weight_shape", "weight_type", "act_type", "group_size", "zero_points"},
)
_check_methods(
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
        if c.weight_type not in WEIGHTS:
            return False, f"zemm takes weights of {', '.join(map(str, WEIGHTS))}, not {c.weight_type}"
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
        weight_type = self.config.weight_type
        if weight_type == scalar_types.int4:
            values = torch.from_numpy(pack_int4(weights.data.numpy()))
            options: dict[str, Any] = {"activation": "int8", "activation_group": weights.shape[1]}
        elif weights.input_dim != weights.packed_dim:
            raise ValueError("zemm takes weights that are packed along their input")
        else:
            values = codes(weights, weights.input_dim)
            options = multiplied(weight_type, self.config.act_type)
        points = codes(zero_points, zero_points.output_dim) if self.config.zero_points else None
        scales = scales if scales.output_dim == 0 else scales.T
        layer.zemm = QuantLinear(layer_of(weight_type, values, scales, points, **options))
        free(layer, *given)


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
                engine=engine(os.getpid()),
            )
        )
        free(layer, *given)
