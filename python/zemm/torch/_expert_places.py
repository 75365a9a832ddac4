# SPDX-License-Identifier: Apache-2.0
"""Where a model of Transformers has experts, and what a checkpoint calls them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from zemm.linear import Linear
from zemm.torch._gates import has_gate


@dataclass(frozen=True)
class Place:
    """A linear layer of a model: its name, its sizes, and whether it has a bias."""

    name: str
    in_features: int
    out_features: int
    has_bias: bool

    @property
    def key(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True)
class ExpertsPlace:
    """Experts of a model that are one module: its name, their number, and the layers of each, the first with
    its gate. The names of these layers are those of their weights in the model: [E, N, K] or, with
    is_transposed, [E, K, N]. is_called_with_rows: as the function of this name says."""

    name: str
    count: int
    up: Place
    down: Place
    is_transposed: bool
    is_called_with_rows: bool = False


@dataclass(frozen=True)
class Packed:
    """A layer, and which columns of x it multiplies, in its order; None: all, as they come. [E, K] of a layer
    with experts."""

    layer: Linear
    columns: torch.Tensor | None = None


def place_of(name: str, module: torch.nn.Module) -> ExpertsPlace | None:
    """The experts that a module has. None: it has none, or other ones than the experts interface knows and
    Llama 4 has."""
    of_rows = is_called_with_rows(module)
    is_transposed = True if of_rows else getattr(module, "is_transposed", None)
    if not isinstance(is_transposed, bool) or getattr(module, "has_post_expert_norm", False):
        return None
    has_bias = not of_rows and bool(module.has_bias)
    up = "gate_up_proj" if has_gate(module) else "up_proj"
    places, count = [], 0
    for key in (up, "down_proj"):
        weight = module._parameters.get(key)
        if weight is None or weight.ndim != 3:
            return None
        count, n, k = weight.mT.shape if is_transposed else weight.shape
        places.append(Place(f"{name}.{key}", k, n, has_bias))
    return ExpertsPlace(name, count, places[0], places[1], is_transposed, of_rows)


def is_called_with_rows(module: torch.nn.Module) -> bool:
    """Whether a module has the experts of Llama 4, which are behind no interface: they are called with rows
    of all tokens for each expert, scaled by the router, those of tokens that it does not get by 0."""
    return type(module).__name__ == "Llama4TextExperts"


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


# Transformers has no conversions for them: it has other modules in place of quantised ones.
_OF_ROWS = Parts(["gate_proj", "up_proj"], "down_proj", [], [])


def parts_of(place: ExpertsPlace, conversions: list[Any]) -> Parts | None:
    """The parts by a model's conversions. None: its checkpoints have all experts in one tensor."""
    if place.is_called_with_rows:
        return _OF_ROWS
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


def names_of(model: Any, place: ExpertsPlace) -> Names | None:
    """The names by the conversions of a model of Transformers; None: its checkpoints have all experts in one
    tensor, or it has no conversions."""
    if not hasattr(model, "save_pretrained"):
        return None
    if place.is_called_with_rows:
        return _OF_ROWS.names
    from transformers.conversion_mapping import get_model_conversion_mapping

    parts = parts_of(place, get_model_conversion_mapping(model))
    return None if parts is None else parts.names


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
