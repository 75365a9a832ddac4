# SPDX-License-Identifier: Apache-2.0
"""Puts placeholders where a model has experts that a checkpoint has quantised."""

from collections.abc import Callable, Iterable
from typing import Any

import torch

from zemm.errors import UnimplementedError
from zemm.torch._expert_places import ExpertsPlace, Names, Parts, Place, layers_of, parts_of, place_of
from zemm.torch._quant_experts import experts_module
from zemm.transformers._checkpoint import Checkpoint
from zemm.transformers._expert_places import ExpertsPlaceholder
from zemm.transformers._formats.format import (
    FLOATS,
    Format,
    Quantized,
    Tensors,
    Wanted,
)
from zemm.transformers._joined import joined
from zemm.transformers._modules import packing
from zemm.transformers._parallel import part_of
from zemm.transformers._placeholder import Placeholder
from zemm.words import Activation

_Found = tuple[torch.nn.Module, ExpertsPlace, Parts | None]


class Experts:
    """The experts of a model. conversions: what Transformers would do with the tensors of a checkpoint."""

    def __init__(self, model: Any, form: Format, conversions: list[Any]) -> None:
        self._model, self._format = model, form
        self._conversions = conversions
        self._placed: list[Parts] = []
        self._all: list[_Found] = []
        for name, module in model.named_modules():
            place = place_of(name, module)
            if place is not None:
                self._all.append((module, place, parts_of(place, conversions)))

    @property
    def renamings(self) -> list[Any]:
        """The conversions of a checkpoint whose experts are all quantised."""
        return self._without(
            [
                parts
                for _, place, parts in self._all
                if parts is not None and self._format.tensors_of_experts(place) is None
            ]
        )

    @property
    def conversions(self) -> list[Any]:
        """The conversions that are left. Experts whose layers have placeholders are not put together."""
        return self._without(self._placed)

    def _without(self, all_parts: list[Parts]) -> list[Any]:
        used = [converter for parts in all_parts for converter in parts.converters]
        left = [entry for entry in self._conversions if not any(entry is own for own in used)]
        renamings = {str(entry): entry for parts in all_parts for entry in parts.renamings}
        return [*renamings.values(), *left]

    def put(self, checkpoint: Checkpoint, activation: Callable[[str], Activation]) -> None:
        """Put placeholders. checkpoint: its names after the renamings. activation: of experts, by their
        name."""
        for module, place, parts in self._all:
            options = {"activation": activation(place.name)}
            wanted = self._format.tensors_of_experts(place)
            if wanted is None:
                if parts is not None and self._is_quantised(place, parts, checkpoint):
                    of_each = self._of_each(module, place, parts, checkpoint, options)
                    self._model.set_submodule(place.name, of_each)
                    self._placed.append(parts)
            elif not self._format.keeps(place.name) and _has_any(checkpoint, place.name, wanted):
                names = None if parts is None else parts.names
                of_all = self._of_one_tensor(module, place, names, wanted, checkpoint, options)
                self._model.set_submodule(place.name, of_all)

    def _is_quantised(self, place: ExpertsPlace, parts: Parts, checkpoint: Checkpoint) -> bool:
        found = [self._is_stored(own, checkpoint) for _, _, own in layers_of(place, parts)]
        if any(found) and not all(found):
            raise UnimplementedError(
                f"the checkpoint has some layers of {place.name} as floats, but not all: zemm takes experts"
                " that are alike"
            )
        return any(found)

    def _is_stored(self, own: Place, checkpoint: Checkpoint) -> bool:
        if self._format.skips(own.name):
            return False
        return not checkpoint.is_known() or self._format.is_stored(own, checkpoint)

    def _of_one_tensor(
        self,
        module: torch.nn.Module,
        place: ExpertsPlace,
        names: Names | None,
        wanted: dict[str, Wanted],
        checkpoint: Checkpoint,
        options: dict[str, Any],
    ) -> Placeholder:
        up_bias, down_bias = f"{place.up.key}_bias", f"{place.down.key}_bias"
        if place.up.has_bias:
            wanted[up_bias] = Wanted((place.count, place.up.out_features), FLOATS, is_finite=False)
            wanted[down_bias] = Wanted((place.count, place.down.out_features), FLOATS, is_finite=False)

        def build(tensors: Tensors) -> torch.nn.Module:
            biases = tensors.get(up_bias), tensors.get(down_bias)
            with packing(f"the experts {place.name}"):
                layers = self._format.layers_of_experts(place, tensors, biases, **options)
            return part_of(self._model, place.name, experts_module(module, *layers, names))

        return placeholder_of(module, place.name, wanted, checkpoint, self._format.reason(place.up), build)

    def _of_each(
        self,
        module: torch.nn.Module,
        place: ExpertsPlace,
        parts: Parts,
        checkpoint: Checkpoint,
        options: dict[str, Any],
    ) -> ExpertsPlaceholder:
        if place.up.has_bias:
            raise UnimplementedError(
                f"{place.name} has biases: zemm reads quantised experts with biases from one tensor, not one"
                " by one"
            )

        def placeholder(own: Place, receive: Callable[[Quantized], Any]) -> Placeholder:
            wanted = wanted_of(self._format, own, checkpoint)

            def build(tensors: Tensors) -> Any:
                return receive(self._format.weights(own, tensors))

            reason = self._format.reason(own)
            return placeholder_of(torch.nn.Module(), own.name, wanted, checkpoint, reason, build)

        def build(arrived: list[dict[str, Quantized]]) -> torch.nn.Module:
            up = joined([[own[part] for part in parts.up] for own in arrived], place.name)
            down = joined([[own[parts.down]] for own in arrived], place.name)
            with packing(f"the experts {place.name}"):
                layers = up.pack(None, **options), down.pack(None, **options)
            return part_of(self._model, place.name, experts_module(module, *layers, parts.names))

        return ExpertsPlaceholder(module, place, parts, placeholder, build)


def wanted_of(form: Format, place: Place, checkpoint: Checkpoint) -> dict[str, Wanted]:
    """The tensors of a layer that a checkpoint has, or should have."""
    return {
        key: want
        for key, want in form.tensors(place).items()
        if not want.optional or f"{place.name}.{key}" in checkpoint or not checkpoint.is_known()
    }


def placeholder_of(
    original: torch.nn.Module,
    name: str,
    wanted: dict[str, Wanted],
    checkpoint: Checkpoint,
    reason: str,
    build: Callable[[Tensors], Any],
) -> Placeholder:
    dtypes = {key: checkpoint.dtype(f"{name}.{key}") for key in wanted}
    return Placeholder(original, name, wanted, dtypes, reason, build)


def _has_any(checkpoint: Checkpoint, name: str, keys: Iterable[str]) -> bool:
    """Whether a checkpoint has a tensor of a module. True: nothing is known of it."""
    return not checkpoint.is_known() or any(f"{name}.{key}" in checkpoint for key in keys)
