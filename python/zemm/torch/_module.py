# SPDX-License-Identifier: Apache-2.0
"""torch.nn.Linear with quantised weights."""

from collections.abc import Mapping
from typing import Any

import torch

from zemm._torch_tensors import dtype_of, from_array
from zemm.errors import InvalidArgumentsError
from zemm.linear import Linear
from zemm.torch._operator import linear, register

_NAMES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}


class QuantLinear(torch.nn.Module):
    """y = x @ weights + bias on the host, with quantised weights. Inference only.

        module = zemm.torch.QuantLinear.from_linear(linear, bits=4, group=128)

    x: CPU tensors [.., in_features] of float32, float16 or bfloat16; y has x's type. x is not copied
    if it is contiguous and has the type of `activation`.

    state_dict() has the layer's plain (not packed) arrays as tensors; load_state_dict() packs them
    for this machine, whatever the module had before. The module has no parameters, and to() and
    its relatives change nothing.
    """

    def __init__(self, layer: Linear) -> None:
        super().__init__()
        if not isinstance(layer, Linear):
            raise InvalidArgumentsError(f"layer is a {type(layer).__name__}, not a zemm.Linear")
        if layer.experts is not None:
            raise InvalidArgumentsError(f"{layer!r} has experts: a module takes one matrix")
        self._set(layer)

    @classmethod
    def from_linear(
        cls,
        linear: torch.nn.Linear,
        *,
        bits: int = 8,
        group: int | None = 128,
        symmetric: bool = False,
        activation: str | None = None,
        **more: Any,
    ) -> "QuantLinear":
        """Quantise a torch.nn.Linear. activation: by default the type of its weights. more: other
        arguments of zemm.Linear.from_float()."""
        if not isinstance(linear, torch.nn.Linear):
            raise InvalidArgumentsError(f"linear is a {type(linear).__name__}, not a torch.nn.Linear")
        layer = Linear.from_float(
            linear.weight.detach(),
            linear.bias.detach() if linear.bias is not None else None,
            bits=bits,
            group=group,
            symmetric=symmetric,
            activation=activation if activation is not None else _NAMES.get(linear.weight.dtype, "f32"),
            transposed=True,
            **more,
        )
        return cls(layer)

    def _set(self, layer: Linear) -> None:
        self.layer = layer
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self._dtype = dtype_of(layer.dst_dtype) if layer.dst_dtype is not None else None
        self.register_buffer("_number", register(layer), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """ValueError: x does not fit, is not on the host, or requires a gradient."""
        if x.requires_grad and torch.is_grad_enabled():
            raise InvalidArgumentsError(
                "x requires a gradient, which zemm does not compute: call the module under torch.no_grad()"
            )
        y: torch.Tensor = linear(x, self._number, self.out_features, self._dtype)
        return y

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, array in self.layer.state_dict(prefix).items():
            destination[name] = from_array(array)

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        if prefix + "config" not in state_dict:
            missing_keys.append(prefix + "config")
            return
        try:
            layer = Linear.from_state_dict(state_dict, prefix, engine=self.layer.engine)
        except InvalidArgumentsError as error:
            error_msgs.append(str(error))
            return
        self._set(layer)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._set(self.layer)

    def extra_repr(self) -> str:
        return repr(self.layer)
