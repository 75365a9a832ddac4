# SPDX-License-Identifier: Apache-2.0
"""Replaces linear layers of a model, or says why not."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from zemm.errors import ZemmError
from zemm.linear import Linear
from zemm.torch import QuantLinear
from zemm.torch._compressed import IN_ANOTHER_ORDER, Checkpoint, refusal
from zemm.torch._module import ACTIVATIONS
from zemm.torch._stand_in import LayerTensor, StandIn
from zemm.words import Activation


def is_kept_in_f32(model: Any, name: str, dtype: torch.dtype) -> bool:
    """Whether a model of a type keeps a parameter in f32, as it has values that the type cannot hold."""
    kept: set[str] = set()
    if dtype == torch.float16:
        kept.update(getattr(model, "_keep_in_fp32_modules", None) or ())
    if dtype in (torch.float16, torch.bfloat16):
        kept.update(getattr(model, "_keep_in_fp32_modules_strict", None) or ())
    return any(re.search(key.replace("*", ".*"), name) for key in kept)  # as Transformers does


def activation_of(model: Any, name: str, wanted: Activation | None, dtype: torch.dtype) -> Activation:
    """The type in which a layer of a model multiplies: the one that is wanted, or that of the model."""
    activation = wanted or ACTIVATIONS.get(dtype, "f32")
    is_short = activation in ("f16", "bf16")
    return "f32" if is_short and is_kept_in_f32(model, f"{name}.weight", dtype) else activation


@contextmanager
def packing(what: str) -> Iterator[None]:
    """Say in errors what cannot be packed."""
    try:
        yield
    except ZemmError as error:
        raise type(error)(f"{what} cannot be packed: {error}") from None


class ReorderedLinear(StandIn, torch.nn.Linear):
    """y = linear(x[..., columns]): weights whose rows were brought into the order of their groups."""

    columns: torch.Tensor

    def __init__(self, linear: QuantLinear, columns: torch.Tensor) -> None:
        torch.nn.Module.__init__(self)
        self.linear = linear
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.register_buffer("columns", columns)

    @property
    def weight(self) -> torch.Tensor:
        """[out_features, in_features], for x as it comes."""
        reordered, columns = self.linear.weight, self.columns

        def values() -> torch.Tensor:
            return reordered.index_select(1, columns.argsort())

        return values() if torch.compiler.is_compiling() else LayerTensor(values, reordered)

    @property
    def bias(self) -> torch.Tensor | None:
        return self.linear.bias

    def _store(self, name: str, checkpoint: Checkpoint) -> None:
        raise refusal(name, IN_ANOTHER_ORDER)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.linear(x.index_select(-1, self.columns))
        return y


Module = QuantLinear | ReorderedLinear


def module_of(layer: Linear, columns: torch.Tensor | None, dtype: torch.dtype) -> Module:
    """The module that multiplies by a layer. columns: those of x that it takes, in its order. dtype: of the
    model."""
    linear = QuantLinear(layer)
    linear.float_dtype = dtype
    return linear if columns is None else ReorderedLinear(linear, columns)
