# SPDX-License-Identifier: Apache-2.0
"""The interface of a format of checkpoints: which tensors it stores for a linear layer, and how they become a
zemm.Linear. Each format is a module of this folder."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from zemm.errors import InvalidArgumentsError
from zemm.linear import Linear
from zemm.torch._expert_places import ExpertsPlace, Packed, Place
from zemm.transformers._checkpoint import Checkpoint
from zemm.transformers._formats.entries import CONFIG, entry
from zemm.transformers._formats.patterns import pattern
from zemm.words import DataType

Tensors = dict[str, torch.Tensor]
Biases = tuple[torch.Tensor | None, torch.Tensor | None]
FLOATS = (torch.float16, torch.bfloat16, torch.float32)


@dataclass(frozen=True)
class Wanted:
    """A tensor that a format stores for a layer. optional: a checkpoint may lack it. is_finite: it shall have
    neither infinities nor NaN; False: they are allowed, or refused by who packs it."""

    shape: tuple[int, ...]
    dtypes: tuple[torch.dtype, ...]
    optional: bool = False
    is_finite: bool = True

    def check(self, name: str, tensor: torch.Tensor, reason: str) -> None:
        """ValueError: the type, the shape or an element is wrong. reason: where the former come from."""
        if tuple(tensor.shape) != self.shape or tensor.dtype not in self.dtypes:
            raise InvalidArgumentsError(
                f"tensor {name} is {_kind(tensor.dtype)} {tuple(tensor.shape)}, not {self}, as {reason} needs"
            )
        if self.is_finite and not self._has_numbers(tensor):
            raise InvalidArgumentsError(f"tensor {name} has an element that is not finite")

    def _has_numbers(self, tensor: torch.Tensor) -> bool:
        if torch.float8_e8m0fnu in self.dtypes:  # also as bytes
            return not (tensor.view(torch.uint8) == 0xFF).any()
        if tensor.dtype == torch.float8_e4m3fn:
            return not (tensor.view(torch.uint8) & 0x7F == 0x7F).any()
        return not tensor.is_floating_point() or bool(tensor.isfinite().all())

    def __str__(self) -> str:
        return f"{' or '.join(map(_kind, self.dtypes))} {self.shape}"


@dataclass(frozen=True)
class Quantized:
    """Weights as zemm.Linear.from_quantized() takes them, not packed yet. transposed: values are [N, K],
    scales and zero points [N, G], or one; else [K, N] and [G, N]. group: the elements of K in a group, if the
    last one is shorter. columns: as in Packed. options: those that the weights ask for."""

    values: NDArray[Any] | torch.Tensor
    scales: NDArray[Any] | torch.Tensor | None = None
    zero_points: NDArray[Any] | torch.Tensor | None = None
    weights_dtype: DataType | None = None
    columns: NDArray[np.intp] | None = None
    transposed: bool = True
    group: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def pack(self, bias: torch.Tensor | None, **options: Any) -> Packed:
        layer = Linear.from_quantized(
            self.values,
            self.scales,
            self.zero_points,
            group=self.group,
            weights_dtype=self.weights_dtype,
            transposed=self.transposed,
            bias=bias,
            **{**options, **self.options},
        )
        return Packed(layer, None if self.columns is None else torch.from_numpy(self.columns))


class Format(ABC):
    """A format, with the settings of a checkpoint's quantization_config."""

    # Whether output embeddings may be quantised unless they share their weights.
    takes_heads = True

    def __init__(self, config: Mapping[str, Any]) -> None:
        """ValueError: the config has settings that zemm does not read."""
        self.config = config
        # The names that modules have in the files, where these are known: the config has them.
        self.names_in_files: Mapping[str, str] = {}
        self._kept = names_kept(config, CONFIG)

    def names_of(self, name: str) -> set[str]:
        """The names of a module, in the model and in the files."""
        return {name, self.names_in_files.get(name, name)}

    def keeps(self, name: str) -> bool:
        """Whether modules_to_not_convert has the name. Checkpoints show by their tensors what is quantised;
        this is for layers of which they have none."""
        return any(fits(own) for fits in self._kept.values() for own in self.names_of(name))

    def check_kept(self, names: Iterable[str]) -> None:
        """Warn of entries of modules_to_not_convert that fit none of the names, which those of layers are."""
        known = {own for name in names for own in self.names_of(name)}
        for key, fits in self._kept.items():
            if not any(map(fits, known)):
                warnings.warn(
                    f"modules_to_not_convert has {key!r}, which fits no layer of the model", stacklevel=2
                )

    def skips(self, name: str) -> bool:
        """Whether the config says that this layer is not quantised, whatever the checkpoint has."""
        return False

    def is_stored(self, place: Place, checkpoint: Checkpoint) -> bool:
        """Whether a checkpoint has the layer in this format."""
        return any(f"{place.name}.{key}" in checkpoint for key in self.tensors(place))

    @abstractmethod
    def tensors(self, place: Place) -> dict[str, Wanted]:
        """The tensors of a layer by their names in it, without its bias. ValueError: the layer's sizes do
        not fit the config."""

    def weights(self, place: Place, tensors: Tensors) -> Quantized:
        """The weights of checked tensors. ValueError: their values make no sense. A format has this, or
        layer() of its own."""
        raise NotImplementedError

    def layer(self, place: Place, tensors: Tensors, bias: torch.Tensor | None, **options: Any) -> Packed:
        """Pack checked tensors. options: of zemm.Linear.from_quantized()."""
        return self.weights(place, tensors).pack(bias, **options)

    def tensors_of_experts(self, place: ExpertsPlace) -> dict[str, Wanted] | None:
        """The tensors that have all experts of a module, by their names in it, without biases. None: each
        layer of each expert is stored as a linear layer."""
        return None

    def layers_of_experts(
        self, place: ExpertsPlace, tensors: Tensors, biases: Biases, **options: Any
    ) -> tuple[Packed, Packed]:
        """Pack checked tensors of all experts: the first layers, and the last ones."""
        raise NotImplementedError

    @abstractmethod
    def reason(self, place: Place) -> str:
        """The settings by which tensors() has found types and shapes, for errors."""


def names_kept(config: Mapping[str, Any], where: str) -> dict[str, Callable[[str], bool]]:
    """The entries of modules_to_not_convert, and whether each fits a name. The rule is that of
    should_convert_module() in Transformers: a name fits by its beginning, up to a dot or as a regular
    expression, and by its end. where: what has the entries, for errors. ValueError: they make no sense."""

    def fits(key: str) -> Callable[[str], bool]:
        pattern(key, f"modules_to_not_convert of {where}")  # by itself: a bracket may be closed too often
        begins = pattern(rf"(?:{key})(?:(?<=\.)|(?=\.|$))", f"modules_to_not_convert of {where}")
        return lambda name: name.endswith(key) or begins(name)

    return {key: fits(key) for key in entry(config, "modules_to_not_convert", list, [], where)}


def _kind(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
