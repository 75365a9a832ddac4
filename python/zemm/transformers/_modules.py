# SPDX-License-Identifier: Apache-2.0
"""What replaces a linear layer of a model."""

import torch

from zemm.gguf import LinearWithMinimums
from zemm.linear import Linear
from zemm.torch import QuantLinear


class ReorderedLinear(torch.nn.Module):
    """y = linear(x[..., columns]): weights whose rows were brought into the order of their groups."""

    columns: torch.Tensor

    def __init__(self, linear: QuantLinear, columns: torch.Tensor) -> None:
        super().__init__()
        self.linear = linear
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.register_buffer("columns", columns)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.linear(x.index_select(-1, self.columns))
        return y


class LayerModule(torch.nn.Module):
    """y = layer(x), for layers that QuantLinear does not take."""

    def __init__(self, layer: LinearWithMinimums) -> None:
        super().__init__()
        self.layer = layer
        self.in_features, self.out_features = layer.in_features, layer.out_features

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.layer(x)
        return y

    def extra_repr(self) -> str:
        return repr(self.layer)


def module_of(
    layer: Linear | LinearWithMinimums, columns: torch.Tensor | None = None
) -> QuantLinear | ReorderedLinear | LayerModule:
    """The module that multiplies by a layer. columns: those of x that it takes, in its order."""
    if isinstance(layer, LinearWithMinimums):
        return LayerModule(layer)
    linear = QuantLinear(layer)
    return linear if columns is None else ReorderedLinear(linear, columns)
