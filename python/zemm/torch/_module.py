# SPDX-License-Identifier: Apache-2.0
"""torch.nn.Linear with quantised weights."""

from collections.abc import Mapping
from operator import is_
from typing import Any

import torch

from zemm._arrays.torch_tensors import dtype_of, from_array
from zemm.errors import InvalidArgumentsError, ZemmError
from zemm.linear import Linear
from zemm.torch._layers import remember
from zemm.torch._operator import is_dispatched, linear
from zemm.torch._parts import NAMES, parts_of
from zemm.torch._state import faults_of
from zemm.words import Activation

_NAMES: dict[torch.dtype, Activation] = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}
_PARTS = tuple(f"_{name}" for name in NAMES)


class QuantLinear(torch.nn.Module):
    """y = x @ weights + bias on the host, with quantised weights. Inference only.

        module = zemm.torch.QuantLinear.from_linear(linear, bits=4, group=128)

    x: CPU tensors [.., in_features] of float32, float16, bfloat16 or float64, which is multiplied as
    `activation` says. y has x's type, also under autocast, unless the layer has a dst_dtype; it is
    row-major. x is not copied if it is contiguous and has the type of `activation`. A gradient or a
    tangent of x is refused; torch.func.vmap works.

    state_dict() has the layer's plain (not packed) arrays as tensors. load_state_dict() packs them
    for this machine. The layer must have the module's in_features and out_features, and the shapes
    that it had when it was saved; its bits, groups, bias and activation may be others than the
    module's. The module has no parameters, and to() and its relatives change nothing.

    A program of torch.export has the packed weights. Another process needs only `import zemm.torch`
    to load and run it; a machine that wants another layout packs them again at the first call.
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
        activation: Activation | None = None,
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
        parts = parts_of(layer)
        self._own_parts = parts if remember(parts, layer) else []
        for name, part in zip(_PARTS, parts, strict=True):
            self.register_buffer(name, part, persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """ValueError: x does not fit, is not on the host, or has a gradient."""
        if not is_dispatched(x) and x.dtype in _NAMES and self._has_own_parts():
            # Past torch's dispatcher, which takes longer than all else around a small layer.
            y: torch.Tensor = self.layer(x)
            return y
        parts = [getattr(self, name) for name in _PARTS]
        return linear(x, parts, self.in_features, self.out_features, self._dtype)

    def _has_own_parts(self) -> bool:
        """Whether the buffers are the layer's own bytes, and no others that a program has put there."""
        own = self._own_parts
        return bool(own) and all(map(is_, map(self._buffers.get, _PARTS), own))

    def _apply(self, fn: Any, recurse: bool = True) -> "QuantLinear":
        """What to(), half(), cuda() and their relatives call: the layer stays on its engine."""
        return self

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
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        with torch.no_grad():  # tensors of a checkpoint may require gradients
            found = faults_of(state_dict, prefix, self.in_features, self.out_features)
            if strict:
                missing_keys += found.missing
                unexpected_keys += found.unexpected
            error_msgs += found.errors
            if found.missing or found.errors:
                return  # the module keeps the layer that it has
            try:
                layer = Linear.from_state_dict(state_dict, prefix, engine=self.layer.engine)
            except ZemmError as error:
                error_msgs.append(str(error))
                return
        self._set(layer)

    def __getstate__(self) -> dict[str, Any]:
        """A copy or a pickle has the layer, which makes its parts anew."""
        buffers = {name: buffer for name, buffer in self._buffers.items() if name not in _PARTS}
        return {**self.__dict__, "_buffers": buffers, "_own_parts": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._set(self.layer)

    def extra_repr(self) -> str:
        return repr(self.layer)
