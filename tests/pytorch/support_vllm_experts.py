# SPDX-License-Identifier: Apache-2.0
"""The interface of vLLM's experts, as support_vllm.py has that of its linear kernels. As on most CPUs, vLLM
has none of its own here."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from support_torch import torch
from support_vllm import ScalarType


class MoEActivation(Enum):
    SILU = "silu"
    GELU = "gelu"
    GELU_TANH = "gelu_tanh"
    SWIGLUOAI = "swigluoai"


@dataclass
class FusedMoEParallelConfig:
    use_ep: bool = False
    dp_size: int = 1
    pcp_size: int = 1
    sp_size: int = 1


@dataclass
class FusedMoEConfig:
    hidden_dim: int
    intermediate_size_per_partition: int
    activation: MoEActivation = MoEActivation.SILU
    in_dtype: Any = torch.float32
    moe_backend: str = "auto"
    moe_parallel_config: FusedMoEParallelConfig = field(default_factory=FusedMoEParallelConfig)
    has_bias: bool = False
    is_lora_enabled: bool = False
    swiglu_limit: float | None = None
    swiglu_alpha: float | None = None
    swiglu_beta: float | None = None


class FusedMoEMethodBase:
    def __init__(self, moe: FusedMoEConfig) -> None:
        self.moe = moe

    def create_weights(
        self,
        layer: Any,
        num_experts: int,
        hidden_size: int,
        intermediate_size_per_partition: int,
        params_dtype: Any,
        **extra_weight_attrs: Any,
    ) -> None:
        sizes = {
            "w13": (2 * intermediate_size_per_partition, hidden_size),
            "w2": (hidden_size, intermediate_size_per_partition),
        }
        for name, (n, k) in sizes.items():
            for part, (shape, dtype) in self.parts(n, k, params_dtype).items():
                tensor = torch.zeros(num_experts, *shape, dtype=dtype)
                layer.register_parameter(f"{name}_{part}", torch.nn.Parameter(tensor, requires_grad=False))

    def parts(self, n: int, k: int, dtype: Any) -> dict[str, tuple[tuple[int, ...], Any]]:
        """The tensors of an expert, by what vLLM calls them."""
        raise NotImplementedError

    def process_weights_after_loading(self, layer: Any) -> None: ...

    def get_fused_moe_quant_config(self, layer: Any) -> Any: ...

    def apply(
        self,
        layer: Any,
        x: Any,
        topk_weights: Any,
        topk_ids: Any,
        shared_experts: Any,
        shared_experts_input: Any,
    ) -> Any: ...


def look_for_kernel() -> None:
    raise NotImplementedError("No WNA16 MoE backend supports the deployment configuration.")


@dataclass
class QuantizationArgs:
    """Of the package compressed-tensors."""

    num_bits: int = 4
    symmetric: bool = True
    strategy: str = "group"
    group_size: int | None = 32
    actorder: str | None = None


class CompressedTensorsMoEMethod(FusedMoEMethodBase):
    @staticmethod
    def get_moe_method(quant: QuantizationArgs, moe: FusedMoEConfig) -> Any:
        """With other arguments than vLLM's."""
        from vllm.model_executor.layers.quantization.compressed_tensors.compressed_tensors_moe.compressed_tensors_moe_wna16 import (  # noqa: E501
            CompressedTensorsWNA16MoEMethod,
        )

        return CompressedTensorsWNA16MoEMethod(quant, None, moe)


class CompressedTensorsWNA16MoEMethod(CompressedTensorsMoEMethod):
    num_bits: int
    symmetric: bool
    group_size: int

    def __init__(self, weight_quant: Any, input_quant: Any, moe: Any, layer_name: str | None = None) -> None:
        super().__init__(moe)
        look_for_kernel()

    def parts(self, n: int, k: int, dtype: Any) -> dict[str, tuple[tuple[int, ...], Any]]:
        values, groups = 32 // self.num_bits, k // self.group_size if self.group_size != -1 else 1
        return {
            "weight_packed": ((n, k // values), torch.int32),
            "weight_scale": ((n, groups), dtype),
            "weight_shape": ((2,), torch.float32),
            **({} if self.symmetric else {"weight_zero_point": ((n // values, groups), torch.int32)}),
        }


@dataclass
class AutoGPTQConfig:
    weight_bits: int = 4
    group_size: int = 32
    desc_act: bool = False

    @property
    def quant_type(self) -> ScalarType:
        return ScalarType({3: "uint3b4", 4: "uint4b8", 8: "uint8b128"}[self.weight_bits])

    def get_quant_method(self, moe: FusedMoEConfig) -> Any:
        """With other arguments than vLLM's."""
        from vllm.model_executor.layers.quantization.auto_gptq import AutoGPTQMoEMethod

        return AutoGPTQMoEMethod(self, moe)


class AutoGPTQMoEMethod(FusedMoEMethodBase):
    quant_config: AutoGPTQConfig

    def __init__(self, quant_config: Any, moe: Any) -> None:
        super().__init__(moe)
        look_for_kernel()

    def parts(self, n: int, k: int, dtype: Any) -> dict[str, tuple[tuple[int, ...], Any]]:
        values, size = 32 // self.quant_config.weight_bits, self.quant_config.group_size
        groups = k // size if size != -1 else 1
        return {
            "qweight": ((k // values, n), torch.int32),
            "scales": ((groups, n), dtype),
            "qzeros": ((groups, n // values), torch.int32),
            "bias": ((n,), dtype),
        }


@dataclass
class AutoAWQConfig:
    weight_bits: int = 4
    group_size: int = 32
    zero_point: bool = True
    quant_type = ScalarType("uint4")

    def get_quant_method(self, moe: FusedMoEConfig) -> Any:
        """With other arguments than vLLM's."""
        from vllm.model_executor.layers.quantization.auto_awq import AutoAWQMoEMethod

        return AutoAWQMoEMethod(self, moe)


class AutoAWQMoEMethod(FusedMoEMethodBase):
    quant_config: AutoAWQConfig

    def __init__(self, quant_config: Any, moe: Any) -> None:
        super().__init__(moe)
        look_for_kernel()

    def parts(self, n: int, k: int, dtype: Any) -> dict[str, tuple[tuple[int, ...], Any]]:
        groups = k // self.quant_config.group_size
        return {
            "qweight": ((k, n // 8), torch.int32),
            "scales": ((groups, n), dtype),
            "qzeros": ((groups, n // 8), torch.int32),
        }


LAYERS = "vllm.model_executor.layers"
GPTQ = f"{LAYERS}.quantization.auto_gptq"
AWQ = f"{LAYERS}.quantization.auto_awq"
COMPRESSED = f"{LAYERS}.quantization.compressed_tensors"
CHOICE = f"{COMPRESSED}.compressed_tensors_moe.compressed_tensors_moe"
WNA16 = f"{CHOICE}_wna16"
CONFIG = f"{LAYERS}.fused_moe.config"
MODULES: dict[str, dict[str, Any]] = {
    "vllm.envs": {"VLLM_DISABLED_KERNELS": []},
    LAYERS: {},
    f"{LAYERS}.fused_moe": {},
    CONFIG: {"FusedMoEConfig": FusedMoEConfig, "FusedMoEParallelConfig": FusedMoEParallelConfig},
    f"{LAYERS}.quantization": {},
    GPTQ: {"AutoGPTQConfig": AutoGPTQConfig, "AutoGPTQMoEMethod": AutoGPTQMoEMethod},
    AWQ: {"AutoAWQConfig": AutoAWQConfig, "AutoAWQMoEMethod": AutoAWQMoEMethod},
    COMPRESSED: {},
    f"{COMPRESSED}.compressed_tensors_moe": {},
    CHOICE: {"CompressedTensorsMoEMethod": CompressedTensorsMoEMethod},
    WNA16: {"CompressedTensorsWNA16MoEMethod": CompressedTensorsWNA16MoEMethod},
}
