# SPDX-License-Identifier: Apache-2.0
"""The modules that receive the tensors of a model's experts."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from zemm.errors import InvalidArgumentsError
from zemm.torch._expert_places import ExpertsPlace, Parts, Place, layers_of
from zemm.transformers._formats.format import Quantized
from zemm.transformers._placeholder import Placeholder, StandIn


class ExpertsPlaceholder(StandIn):
    """Stands where experts will be, with a placeholder for each layer of each expert, which has its name in
    the checkpoint. original: the module that is replaced. build: makes the module of their weights, by expert
    and part."""

    def __init__(
        self,
        original: torch.nn.Module,
        place: ExpertsPlace,
        parts: Parts,
        placeholder: Callable[[Place, Callable[[Quantized], Any]], Placeholder],
        build: Callable[[list[dict[str, Quantized]]], torch.nn.Module],
    ) -> None:
        super().__init__()
        self._name, self._build = place.name, build
        self._arrived: list[dict[str, Quantized]] = [{} for _ in range(place.count)]
        self._missing = place.count * (len(parts.up) + 1)
        self.module: torch.nn.Module | None = None
        for expert, part, own in layers_of(place, parts):
            if str(expert) not in self._modules:
                self.add_module(str(expert), torch.nn.Module())
            received = placeholder(own, partial(self._receive, expert, part))
            self.get_submodule(str(expert)).add_module(part, received)
        self._stand_for(original)

    def _receive(self, expert: int, part: str, weights: Quantized) -> torch.nn.Module:
        self._arrived[expert][part] = weights
        self._missing -= 1
        if not self._missing:
            built = self._build(self._arrived)
            self._arrived = []
            object.__setattr__(self, "module", built)
        return torch.nn.Module()  # of the layer alone: nothing

    def finished(self) -> torch.nn.Module:
        """The module. ValueError: the checkpoint lacks a tensor of an expert."""
        for child in self.modules():
            if isinstance(child, Placeholder):
                child.finished()
        assert self.module is not None
        return self.module

    def forward(self, *_: Any) -> torch.Tensor:
        raise InvalidArgumentsError(f"{self._name} has no weights yet: the checkpoint was not loaded")
