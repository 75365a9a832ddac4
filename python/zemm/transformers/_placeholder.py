# SPDX-License-Identifier: Apache-2.0
"""A module that stands where a linear layer will be, and receives its tensors from a checkpoint.

It packs them once the last one has come and keeps none of them. So a model that is being loaded has a layer
either as the checkpoint's tensors or packed, not both.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from zemm.errors import InvalidArgumentsError
from zemm.transformers._formats.format import Wanted

Tensors = dict[str, torch.Tensor]
Build = Callable[[Tensors], torch.nn.Module]
_LOADED = "_is_hf_initialized"  # Transformers' mark of tensors that come from a checkpoint


class Placeholder(torch.nn.Module):
    """name: of the module. wanted: its tensors, buffers on the meta device until they come. reason: of their
    types and shapes. build: makes the module that is meant."""

    def __init__(
        self,
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
            self.register_buffer(key, torch.empty(want.shape, dtype=dtype, device="meta"))

    def __setattr__(self, name: str, value: Any) -> None:
        is_ours = name in self.__dict__.get("_wanted", ()) and getattr(value, _LOADED, False)
        if not is_ours:
            super().__setattr__(name, value)
            return
        self._wanted[name].check(f"{self._name}.{name}", value, self._reason)
        self._received[name] = value.detach()
        if self._received.keys() == self._wanted.keys():
            self._finish()

    def receive(self, name: str, value: torch.Tensor) -> None:
        """Take a tensor of the checkpoint."""
        setattr(value, _LOADED, True)
        setattr(self, name, value)

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
