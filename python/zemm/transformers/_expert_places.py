# SPDX-License-Identifier: Apache-2.0
"""Where a model has experts, what a checkpoint calls them, and the modules that receive their tensors."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from zemm.errors import InvalidArgumentsError
from zemm.transformers._formats.format import ExpertsPlace, Place, Quantized
from zemm.transformers._gates import has_gate
from zemm.transformers._placeholder import Placeholder, StandIn


def place_of(name: str, module: torch.nn.Module) -> ExpertsPlace | None:
    """The experts that a module has. None: it has none, or other ones than the experts interface knows."""
    is_known = isinstance(getattr(module, "is_transposed", None), bool)
    if not is_known or getattr(module, "has_post_expert_norm", False):
        return None
    up = "gate_up_proj" if has_gate(module) else "up_proj"
    places, count = [], 0
    for key in (up, "down_proj"):
        weight = module._parameters.get(key)
        if weight is None or weight.ndim != 3:
            return None
        count, n, k = weight.mT.shape if module.is_transposed else weight.shape
        places.append(Place(f"{name}.{key}", k, n, bool(module.has_bias)))
    return ExpertsPlace(name, count, places[0], places[1], bool(module.is_transposed))


Names = tuple[list[str], list[str]]


@dataclass(frozen=True)
class Parts:
    """The names of an expert's layers in a checkpoint: the gate and the layer beside it, or that alone; and
    the last one. converters: those of Transformers that would put them together. renamings: what these also
    do to the name of the experts, before 5.5."""

    up: list[str]
    down: str
    converters: list[Any]
    renamings: list[Any]

    @property
    def names(self) -> Names:
        return self.up, [self.down]


def parts_of(place: ExpertsPlace, conversions: list[Any]) -> Parts | None:
    """The parts by a model's conversions. None: its checkpoints have all experts in one tensor."""
    up: list[str] = []
    down: list[str] = []
    used: list[Any] = []
    renamings: list[Any] = []
    for converter in conversions:
        targets, sources = _patterns(converter, "target"), _patterns(converter, "source")
        if len(targets) != 1 or not all("*" in source for source in sources):
            continue
        target = targets[0].replace("\\", "").lstrip("^.")
        names = [source.rpartition("*.")[2].removesuffix(".weight") for source in sources]
        if f".{place.up.name}".endswith(f".{target}"):
            up, used = names, [*used, converter]
        elif f".{place.down.name}".endswith(f".{target}"):
            down, used = names, [*used, converter]
            if not hasattr(converter, "_original_source_patterns"):
                renamings = _renamings(sources[0].partition("*")[0], target.removesuffix(place.down.key))
    return Parts(up, down[0], used, renamings) if up and down else None


def _renamings(before: str, after: str) -> list[Any]:
    """From the name of experts in a checkpoint to that in the model."""
    from transformers.core_model_loading import WeightRenaming

    is_same = before.replace("\\", "").lstrip("^.") == after
    return [] if is_same else [WeightRenaming(before, after)]


def _patterns(converter: Any, kind: str) -> list[str]:
    """As the model gives them. Before 5.5 Transformers did not change them."""
    attribute = f"{kind}_patterns"
    return list(getattr(converter, f"_original_{attribute}", getattr(converter, attribute, ())))


def layers_of(place: ExpertsPlace, parts: Parts) -> Iterator[tuple[int, str, Place]]:
    """The layers of each expert: its number, their names in it, their places."""
    width = place.up.out_features // len(parts.up)
    for expert in range(place.count):
        for part in parts.up:
            yield expert, part, Place(f"{place.name}.{expert}.{part}", place.up.in_features, width, False)
        name = f"{place.name}.{expert}.{parts.down}"
        yield expert, parts.down, Place(name, place.down.in_features, place.down.out_features, False)


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
