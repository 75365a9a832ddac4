# SPDX-License-Identifier: Apache-2.0
"""What a format of checkpoints has to say: which tensors it stores for a linear layer, and how they become a
zemm.Linear. Each format is a module of this folder."""

import re
from abc import ABC, abstractmethod
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from zemm.errors import InvalidArgumentsError
from zemm.linear import Linear

Tensors = dict[str, torch.Tensor]
FLOATS = (torch.float16, torch.bfloat16, torch.float32)


@dataclass(frozen=True)
class Place:
    """A linear layer of a model: its name, its sizes, and whether it has a bias."""

    name: str
    in_features: int
    out_features: int
    has_bias: bool


@dataclass(frozen=True)
class Wanted:
    """A tensor that a format stores for a layer. optional: a checkpoint may lack it."""

    shape: tuple[int, ...]
    dtypes: tuple[torch.dtype, ...]
    optional: bool = False

    def check(self, name: str, tensor: torch.Tensor, reason: str) -> None:
        """ValueError: the tensor has another type or shape. reason: where these come from."""
        if tuple(tensor.shape) != self.shape or tensor.dtype not in self.dtypes:
            raise InvalidArgumentsError(
                f"tensor {name} is {_kind(tensor.dtype)} {tuple(tensor.shape)}, not {self}, as {reason} needs"
            )

    def __str__(self) -> str:
        return f"{' or '.join(map(_kind, self.dtypes))} {self.shape}"


@dataclass(frozen=True)
class Packed:
    """A layer, and which columns of x it multiplies, in its order; None: all, as they come."""

    layer: Linear
    columns: torch.Tensor | None = None


class Format(ABC):
    """A format, with the settings of a checkpoint's quantization_config."""

    # Whether output embeddings may be quantised, too, unless they share their weights.
    takes_heads = True

    def __init__(self, config: Mapping[str, Any]) -> None:
        """ValueError: the config has settings that zemm does not read."""
        self.config = config
        self._kept = list(config.get("modules_to_not_convert") or [])

    def keeps(self, name: str) -> bool:
        """Whether modules_to_not_convert has the name, its beginning up to a dot, or its end. Checkpoints
        show by their tensors what is quantised; this is for layers of which they have none."""
        return any(re.match(rf"(?:{key})(?:\.|$)", name) or name.endswith(key) for key in self._kept)

    def skips(self, name: str) -> bool:
        """Whether the config says that this layer is not quantised, whatever the checkpoint has."""
        return False

    def is_stored(self, place: Place, names: Container[str]) -> bool:
        """Whether a checkpoint with tensors of these names has the layer in this format."""
        return any(f"{place.name}.{key}" in names for key in self.tensors(place))

    @abstractmethod
    def tensors(self, place: Place) -> dict[str, Wanted]:
        """The tensors of a layer by their names in it, without its bias. ValueError: the layer's sizes do
        not fit the config."""

    @abstractmethod
    def layer(self, place: Place, tensors: Tensors, bias: torch.Tensor | None, **options: Any) -> Packed:
        """Pack checked tensors. options: of zemm.Linear.from_quantized(). ValueError: their values make
        no sense."""

    @abstractmethod
    def reason(self, place: Place) -> str:
        """The settings by which tensors() has found types and shapes, for errors."""


def setting(config: Mapping[str, Any], name: str, choices: tuple[Any, ...], default: Any, what: str) -> Any:
    """A setting of a quantization_config. ValueError: it is none of the choices."""
    found = config.get(name, default)
    if found is None:
        found = default
    if found not in choices or isinstance(found, bool) != isinstance(choices[0], bool):
        raise InvalidArgumentsError(
            f"the quantization_config has {name} {found!r}: zemm reads {what} with"
            f" {' or '.join(map(str, choices))}"
        )
    return found


def group_setting(config: Mapping[str, Any], default: int = 128) -> int:
    """group_size, the elements of K that share a scale; -1: all."""
    found = config.get("group_size", default)
    if type(found) is not int or (found < 1 and found != -1):
        raise InvalidArgumentsError(
            f"the quantization_config has group_size {found!r}, neither a positive integer nor -1"
        )
    return found


def _kind(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
