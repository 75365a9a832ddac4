# SPDX-License-Identifier: Apache-2.0
"""The interface of vLLM's linear kernels, as far as zemm's plugin uses it: the package is too large to
install for tests. tests/models/vllm_models.py has vLLM itself.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any

import pytest


class PlatformEnum(Enum):
    CUDA = 1
    CPU = 2


@dataclass(frozen=True)
class ScalarType:
    name: str


@dataclass
class MPLinearLayerConfig:
    full_weight_shape: tuple[int, int]
    partition_weight_shape: tuple[int, int]
    weight_type: ScalarType
    act_type: Any
    group_size: int
    zero_points: bool
    out_type: Any = None


class MPLinearKernel(ABC):
    @classmethod
    @abstractmethod
    def get_min_capability(cls) -> int: ...

    @classmethod
    @abstractmethod
    def can_implement(cls, c: MPLinearLayerConfig) -> tuple[bool, str | None]: ...

    def __init__(
        self, c: Any, w_q_param_name: str, w_s_param_name: str, w_zp_param_name: str | None = None
    ) -> None:
        self.config = c
        self.w_q_name, self.w_s_name, self.w_zp_name = w_q_param_name, w_s_param_name, w_zp_param_name

    @abstractmethod
    def process_weights_after_loading(self, layer: Any) -> None: ...

    @abstractmethod
    def apply_weights(self, layer: Any, x: Any, bias: Any = None) -> Any: ...

    def _get_weight_params(self, layer: Any) -> tuple[Any, Any, Any]:
        names = (self.w_q_name, self.w_s_name, self.w_zp_name or "")
        return tuple(getattr(layer, name, None) for name in names)  # type: ignore[return-value]


@dataclass
class Int8ScaledMMLinearLayerConfig:
    is_static_input_scheme: bool
    is_channelwise: bool
    input_symmetric: bool


class ScaledMMLinearKernel(ABC):
    @classmethod
    @abstractmethod
    def is_supported(cls, compute_capability: int | None = None) -> tuple[bool, str | None]: ...

    @classmethod
    @abstractmethod
    def can_implement(cls, c: Any) -> tuple[bool, str | None]: ...

    def __init__(self, c: Any, layer_param_names: Any) -> None:
        assert self.can_implement(c)[0]
        self.config, self.layer_param_names = c, layer_param_names

    @abstractmethod
    def process_weights_after_loading(self, layer: Any) -> None: ...

    @abstractmethod
    def apply_weights(self, layer: Any, x: Any, bias: Any = None) -> Any: ...

    @abstractmethod
    def _get_layer_params(self, layer: Any) -> Any: ...


class Int8ScaledMMLinearKernel(ScaledMMLinearKernel):
    def _get_layer_params(self, layer: Any) -> tuple[Any, ...]:
        return tuple(getattr(layer, name, None) for name in self.layer_param_names)


KINDS = (
    MPLinearLayerConfig,
    MPLinearKernel,
    Int8ScaledMMLinearLayerConfig,
    ScaledMMLinearKernel,
    Int8ScaledMMLinearKernel,
)


def install(
    monkeypatch: pytest.MonkeyPatch,
    platform: PlatformEnum = PlatformEnum.CPU,
    more: Mapping[str, dict[str, Any]] = MappingProxyType({}),
) -> Any:
    """Let `import vllm` find the interface for one test. more: other modules, those above first, and what is
    in them. Returns vLLM's module of linear kernels."""
    contents: dict[str, dict[str, Any]] = {
        "vllm": {},
        "vllm.platforms": {
            "PlatformEnum": PlatformEnum,
            "current_platform": SimpleNamespace(is_cpu=lambda: platform is PlatformEnum.CPU),
        },
        "vllm.scalar_type": {
            "scalar_types": SimpleNamespace(
                **{
                    name: ScalarType(name)
                    for name in ("int4", "uint4", "uint8", "uint4b8", "uint8b128", "float4_e2m1f")
                }
            )
        },
        "vllm.model_executor": {},
        "vllm.model_executor.kernels": {},
        "vllm.model_executor.kernels.linear": {
            "_POSSIBLE_KERNELS": {PlatformEnum.CPU: [MPLinearKernel]},
            "_POSSIBLE_INT8_KERNELS": {PlatformEnum.CPU: [Int8ScaledMMLinearKernel]},
            **{kind.__name__: kind for kind in KINDS},
        },
        **more,
    }
    for name, members in contents.items():
        module = ModuleType(name)
        module.__path__ = []
        module.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, module)
        if "." in name:
            above, own = name.rsplit(".", 1)
            setattr(sys.modules[above], own, module)
    for name in ("_weights", "_kernels", "_experts"):
        monkeypatch.delitem(sys.modules, f"zemm.vllm.{name}", raising=False)
    return sys.modules["vllm.model_executor.kernels.linear"]
