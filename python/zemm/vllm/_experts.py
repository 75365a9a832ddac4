# SPDX-License-Identifier: Apache-2.0
"""Experts of compressed-tensors, GPTQ and AWQ, by the interface of vLLM 0.32 and 0.33, which this imports.

vLLM has no list of methods for experts that a plugin could add to, but names a class for each format. So a
function takes the place of that class, and gives one that is derived from it. vLLM creates and loads the
parameters, and routes the tokens.
"""

import inspect
from collections.abc import Callable
from typing import Any

import torch
from vllm import envs
from vllm.model_executor.layers.fused_moe.config import FusedMoEConfig, FusedMoEParallelConfig
from vllm.model_executor.layers.quantization import auto_awq, auto_gptq
from vllm.model_executor.layers.quantization.compressed_tensors.compressed_tensors_moe import (
    compressed_tensors_moe,
    compressed_tensors_moe_wna16,
)
from vllm.scalar_type import scalar_types

from zemm._library.codes import awq_in_order
from zemm.torch._expert_places import Packed
from zemm.torch._module import ACTIVATIONS
from zemm.torch._quant_experts import QuantExperts
from zemm.vllm._weights import check_fields, codes, free, layer_of, multiplied

_METHODS = {
    "create_weights": [
        "layer",
        "num_experts",
        "hidden_size",
        "intermediate_size_per_partition",
        "params_dtype",
        "extra_weight_attrs",
    ],
    "process_weights_after_loading": ["layer"],
    "get_fused_moe_quant_config": ["layer"],
    "apply": ["layer", "x", "topk_weights", "topk_ids", "shared_experts", "shared_experts_input"],
}
_LIMITS = ("swiglu_limit", "swiglu_alpha", "swiglu_beta")
_SIZES = ("dp_size", "pcp_size", "sp_size")

# By bits, and whether weights are symmetric.
_WEIGHTS = {
    (4, True): scalar_types.uint4b8,
    (4, False): scalar_types.uint4,
    (8, True): scalar_types.uint8b128,
    (8, False): scalar_types.uint8,
}

# What vLLM's activations do with the gates.
_GATES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "silu": torch.nn.functional.silu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda gates: torch.nn.functional.gelu(gates, approximate="tanh"),
}


def _check_signatures(theirs: Any, chosen_by: Any, arguments: list[str]) -> None:
    """TypeError: vLLM makes another class than theirs, calls its methods in another way, or describes experts
    in other words."""
    name = theirs.__name__
    if name not in chosen_by.__code__.co_names:
        raise TypeError(f"{chosen_by.__qualname__} makes no {name}")
    for method, parameters in {"__init__": arguments, **_METHODS}.items():
        found = list(inspect.signature(getattr(theirs, method)).parameters)
        if found != ["self", *parameters]:
            raise TypeError(f"{name}.{method} takes {', '.join(found)}")
    known = {"hidden_dim", "intermediate_size_per_partition", "activation", "in_dtype", "has_bias"}
    known |= {"moe_backend", "moe_parallel_config", "is_lora_enabled", *_LIMITS}
    check_fields(FusedMoEConfig, known)
    check_fields(FusedMoEParallelConfig, {"use_ep", *_SIZES})


_Compressed: Any = compressed_tensors_moe_wna16.CompressedTensorsWNA16MoEMethod
_GPTQ: Any = auto_gptq.AutoGPTQMoEMethod
_AWQ: Any = auto_awq.AutoAWQMoEMethod
_check_signatures(
    _Compressed,
    compressed_tensors_moe.CompressedTensorsMoEMethod.get_moe_method,
    ["weight_quant", "input_quant", "moe", "layer_name"],
)
_check_signatures(_GPTQ, auto_gptq.AutoGPTQConfig.get_quant_method, ["quant_config", "moe"])
_check_signatures(_AWQ, auto_awq.AutoAWQConfig.get_quant_method, ["quant_config", "moe"])


def use_experts() -> None:
    """Have vLLM ask for zemm's methods."""
    compressed_tensors_moe_wna16.CompressedTensorsWNA16MoEMethod = _compressed
    auto_gptq.AutoGPTQMoEMethod = _gptq
    auto_awq.AutoAWQMoEMethod = _awq


def _compressed(weight_quant: Any, input_quant: Any, moe: Any, layer_name: str | None = None) -> Any:
    reason = _obstacle(weight_quant.num_bits, weight_quant.actorder == "group", moe)
    return _made(ZemmCompressedExperts, _Compressed, reason, weight_quant, input_quant, moe, layer_name)


def _gptq(quant_config: Any, moe: Any) -> Any:
    reason = _obstacle(quant_config.weight_bits, quant_config.desc_act, moe)
    return _made(ZemmGPTQExperts, _GPTQ, reason, quant_config, moe)


def _awq(quant_config: Any, moe: Any) -> Any:
    reason = _obstacle(quant_config.weight_bits, False, moe)
    if reason is None and quant_config.group_size == -1:
        reason = "vLLM creates no scales of whole columns for experts of AWQ"
    return _made(ZemmAWQExperts, _AWQ, reason, quant_config, moe)


def _made(own: Any, theirs: Any, reason: str | None, *arguments: Any) -> Any:
    """zemm's own method or, with a reason, that of vLLM. NotImplementedError: it has none, too."""
    if reason is None:
        return own(*arguments)
    try:
        return theirs(*arguments)
    except NotImplementedError as error:
        raise NotImplementedError(f"{reason}. vLLM itself says: {error}") from error


def _obstacle(bits: int, has_order: bool, moe: Any) -> str | None:
    """Why zemm does not take experts. None: it does."""
    parallel = moe.moe_parallel_config
    widths = moe.hidden_dim, moe.intermediate_size_per_partition
    if ZemmExperts.__name__ in envs.VLLM_DISABLED_KERNELS:
        return f"VLLM_DISABLED_KERNELS has {ZemmExperts.__name__}"
    if moe.moe_backend != "auto":
        return f"vLLM was told to compute experts by {moe.moe_backend}"
    if bits not in (4, 8):
        return f"zemm takes weights of 4 and 8 bits, not of {bits}"
    if has_order:
        return "zemm takes no g_idx of experts: groups must be neighbours along K"
    if moe.in_dtype not in ACTIVATIONS:
        return f"zemm takes activations of {', '.join(map(str, ACTIVATIONS))}, not {moe.in_dtype}"
    if moe.activation.value not in _GATES:
        return f"zemm takes experts with {', '.join(_GATES)}, not {moe.activation.value}"
    if any(getattr(moe, limit) is not None for limit in _LIMITS):
        return f"zemm takes experts without {', '.join(_LIMITS)}"
    if moe.has_bias or moe.is_lora_enabled:
        return "zemm takes experts without biases and adapters (LoRA)"
    if parallel.use_ep or any(getattr(parallel, size) > 1 for size in _SIZES):
        return "zemm takes a part of each expert (tensor parallelism), but not some of the experts or tokens"
    if any(width % 8 for width in widths):
        return f"zemm takes input sizes that are multiples of 8, not {' and '.join(map(str, widths))}"
    return None


class ZemmExperts:
    """Experts with weights of 4 or 8 bits by floating-point activations. With VLLM_CPU_INT4_W4A8=1 in the
    environment activations are quantised, as those of ZemmMPLinearKernel."""

    moe: Any

    def create_weights(self, layer: Any, *args: Any, **attributes: Any) -> None:
        if layer.apply_router_weight_on_input:
            raise NotImplementedError(
                "zemm applies the weights of experts to what they give, not to their input"
            )
        super().create_weights(layer, *args, **attributes)  # type: ignore[misc]

    def process_weights_after_loading(self, layer: Any) -> None:
        activation = _Activation(_GATES[self.moe.activation.value])
        layer.zemm = QuantExperts(self._packed(layer, "w13"), self._packed(layer, "w2"), activation)
        parameters = layer.named_parameters(recurse=False)
        free(layer, *(parameter for name, parameter in parameters if name.startswith(("w13_", "w2_"))))

    def _packed(self, layer: Any, name: str) -> Packed:
        """name: w13, the products of gates and of what they are applied to, or w2, the last ones."""
        raise NotImplementedError

    def get_fused_moe_quant_config(self, layer: Any) -> None:
        """None: it is for vLLM's kernels."""

    def apply(
        self,
        layer: Any,
        x: torch.Tensor,
        topk_weights: torch.Tensor,
        topk_ids: torch.Tensor,
        shared_experts: Any,
        shared_experts_input: torch.Tensor | None,
    ) -> torch.Tensor:
        y: torch.Tensor = layer.zemm(x, topk_ids, topk_weights)
        return y

    @property
    def supports_eplb(self) -> bool:
        return False


class ZemmCompressedExperts(ZemmExperts, _Compressed):
    """W4A16 and W8A16 of compressed-tensors."""

    def __init__(self, weight_quant: Any, input_quant: Any, moe: Any, layer_name: str | None) -> None:
        super(_Compressed, self).__init__(moe)  # vLLM's own looks for a kernel
        self.weight_quant, self.input_quant = weight_quant, input_quant
        self.num_bits, self.symmetric = weight_quant.num_bits, weight_quant.symmetric
        self.packed_factor = 32 // weight_quant.num_bits
        self.strategy, self.group_size = weight_quant.strategy, weight_quant.group_size or -1

    def _packed(self, layer: Any, name: str) -> Packed:
        """vLLM has weights [E, N, K / 8], scales [E, N, G] and zero points [E, N / 8, G]."""
        weights, scales = (getattr(layer, f"{name}_weight_{part}") for part in ("packed", "scale"))
        zero_points = None if self.symmetric else codes(getattr(layer, f"{name}_weight_zero_point"), 1)
        weight_type = _WEIGHTS[self.num_bits, self.symmetric]
        options = multiplied(weight_type, self.moe.in_dtype)
        return Packed(layer_of(weight_type, codes(weights, 2), scales, zero_points, **options))


class ZemmGPTQExperts(ZemmExperts, _GPTQ):
    """GPTQ, whose weights are symmetric for vLLM."""

    def __init__(self, quant_config: Any, moe: Any) -> None:
        super(_GPTQ, self).__init__(moe)  # vLLM's own looks for a kernel
        self.quant_config, self.input_dtype = quant_config, None

    def _packed(self, layer: Any, name: str) -> Packed:
        """vLLM has weights [E, K / 8, N], scales [E, G, N], and biases of 0 where the checkpoint has none."""
        if getattr(layer, f"{name}_bias").any():
            raise NotImplementedError("zemm takes experts without biases, as vLLM adds them in each process")
        weights, scales = (getattr(layer, f"{name}_{part}") for part in ("qweight", "scales"))
        weight_type = self.quant_config.quant_type
        options = multiplied(weight_type, self.moe.in_dtype)
        return Packed(layer_of(weight_type, codes(weights, 1), scales.mT, None, **options))


class ZemmAWQExperts(ZemmExperts, _AWQ):
    """AWQ, with or without zero points."""

    def __init__(self, quant_config: Any, moe: Any) -> None:
        super(_AWQ, self).__init__(moe)  # vLLM's own looks for a kernel
        self.quant_config, self.input_dtype = quant_config, None

    def _packed(self, layer: Any, name: str) -> Packed:
        """vLLM has weights [E, K, N / 8], zero points [E, G, N / 8], both in AWQ's order, and scales
        [E, G, N]."""
        weights, zero_points = (
            torch.from_numpy(awq_in_order(codes(getattr(layer, f"{name}_{part}"), 2).numpy()))
            for part in ("qweight", "qzeros")
        )
        points = zero_points if self.quant_config.zero_point else None
        weight_type, scales = self.quant_config.quant_type, getattr(layer, f"{name}_scales")
        options = multiplied(weight_type, self.moe.in_dtype)
        return Packed(layer_of(weight_type, weights, scales, points, transposed=False, **options))


class _Activation(torch.nn.Module):
    """The part of a module behind Transformers' experts interface that QuantExperts asks for."""

    def __init__(self, of_gates: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self._of_gates = of_gates

    def _apply_gate(self, rows: torch.Tensor) -> torch.Tensor:
        gates, ups = rows.chunk(2, -1)
        return self._of_gates(gates) * ups
