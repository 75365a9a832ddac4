# SPDX-License-Identifier: Apache-2.0
"""A module that stands where a linear layer will be, and receives its tensors from a checkpoint.

It packs them once the last one has come and keeps none of them. So a model that is being loaded has a layer
either as the checkpoint's tensors or packed, not both.

While it loads, Transformers asks models for the attributes of their layers: _init_weights() of a parent fills
the weights of its layers, and conversions want their shapes. The module that is replaced answers. Its
parameters are on the meta device, where nothing is computed or stored.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from zemm.errors import InvalidArgumentsError
from zemm.transformers._formats.format import Wanted

Tensors = dict[str, torch.Tensor]
Build = Callable[[Tensors], torch.nn.Module]
_LOADED = "_is_hf_initialized"  # Transformers' mark of tensors that come from a checkpoint


class _Unwritten(torch.nn.Parameter):
    """A parameter that takes no values."""

    @property
    def data(self) -> torch.Tensor:
        return self.detach()

    @data.setter
    def data(self, value: torch.Tensor) -> None:
        pass


class StandIn(torch.nn.Module):
    """Has the attributes of the module that it stands for. Tensors that are written to it are dropped."""

    _is_hf_initialized = True
    _original: torch.nn.Module

    def _stand_for(self, original: torch.nn.Module) -> None:
        """original: its parameters and buffers are lost."""
        for tensors in (original._parameters, original._buffers):
            for key, tensor in tensors.items():
                if tensor is not None:
                    tensors[key] = _Unwritten(torch.empty_like(tensor, device="meta"), requires_grad=False)
                    setattr(tensors[key], _LOADED, True)
        # Not a child: its tensors are no tensors of the checkpoint.
        object.__setattr__(self, "_original", original)

    def __getattr__(self, name: str) -> Any:
        original = self.__dict__.get("_original")
        if original is not None and name in original._parameters:
            return original._parameters[name]  # also where a buffer has the name: it shall be a Parameter
        try:
            return super().__getattr__(name)
        except AttributeError:
            if original is None:
                raise
            return getattr(original, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if "_original" not in self.__dict__ or not isinstance(value, torch.Tensor):
            super().__setattr__(name, value)
        elif getattr(value, _LOADED, False) and not value.is_meta:  # as after "weight /= 2"
            self._take(name, value.detach())

    def _take(self, name: str, value: torch.Tensor) -> None:
        """Take a tensor of the checkpoint."""


def standing_for(original: torch.nn.Module) -> StandIn:
    """A module that receives nothing."""
    made = StandIn()
    made._stand_for(original)
    return made


class Placeholder(StandIn):
    """original: the module that is replaced. name: of the module. wanted: its tensors, buffers on the meta
    device until they come. reason: of their types and shapes. build: makes the module that is meant."""

    def __init__(
        self,
        original: torch.nn.Module,
        name: str,
        wanted: Mapping[str, Wanted],
        dtypes: Mapping[str, torch.dtype | None],
        reason: str,
        build: Build,
    ) -> None:
        super().__init__()
        self._name, self._wanted, self._reason, self._build = name, wanted, reason, build
        self._received: Tensors = {}
        self.module: torch.nn.Module | None = None
        for key, want in wanted.items():
            dtype = dtypes.get(key) or want.dtypes[-1]
            buffer = torch.empty(want.shape, dtype=dtype, device="meta")
            buffer._is_param = True  # Transformers 5.2 loads only what looks like a parameter
            self.register_buffer(key, buffer)

        self._stand_for(original)

    def _take(self, name: str, value: torch.Tensor) -> None:
        if name not in self._wanted:
            return
        self._wanted[name].check(f"{self._name}.{name}", value, self._reason)
        self._received[name] = value
        if self._received.keys() == self._wanted.keys():
            self._finish()

    def receive(self, name: str, value: torch.Tensor) -> None:
        """Take a tensor of the checkpoint."""
        self._take(name, value.detach())

    def finished(self) -> torch.nn.Module:
        """The module. ValueError: the checkpoint lacks one of its tensors."""
        for name, want in self._wanted.items():
            if name not in self._received and not want.optional and self.module is None:
                raise InvalidArgumentsError(
                    f"the checkpoint has no tensor {self._name}.{name}, {want}, which {self._reason} needs"
                )
        if self.module is None:
            self._finish()
        assert self.module is not None
        return self.module

    def _finish(self) -> None:
        with torch.no_grad():
            built = self._build(dict(self._received))
        self._received = {}
        # Not a child: its tensors are no tensors of the checkpoint.
        object.__setattr__(self, "module", built)

    def forward(self, *_: Any) -> torch.Tensor:
        raise InvalidArgumentsError(f"{self._name} has no weights yet: the checkpoint was not loaded")
