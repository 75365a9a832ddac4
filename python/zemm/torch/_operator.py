# SPDX-License-Identifier: Apache-2.0
"""The operator torch.ops.zemm.linear, which torch.compile keeps as one node of its graph.

An operator takes tensors and numbers, so a layer is given by a number. The number is in a tensor:
torch.compile would compile once for every value of a plain number, that is for every layer.
"""

import itertools
import weakref

import torch

from zemm.errors import InvalidArgumentsError
from zemm.linear import Linear

_numbers = itertools.count()
_layers: "weakref.WeakValueDictionary[int, Linear]" = weakref.WeakValueDictionary()


def register(layer: Linear) -> torch.Tensor:
    """A number for the layer, as long as it lives: int64, without dimensions."""
    number = next(_numbers)
    _layers[number] = layer
    return torch.tensor(number)


def _layer(number: int) -> Linear:
    layer = _layers.get(number)
    if layer is None:
        raise InvalidArgumentsError(f"layer {number} is none of this process: its module is gone")
    return layer


@torch.library.custom_op("zemm::linear", mutates_args=(), device_types="cpu")
def linear(
    x: torch.Tensor, layer: torch.Tensor, out_features: int, dtype: torch.dtype | None
) -> torch.Tensor:
    """y = layer(x), [.., out_features]. dtype: of y; None: x's."""
    y: torch.Tensor = _layer(int(layer))(x)
    return y


@linear.register_fake
def _(x: torch.Tensor, layer: torch.Tensor, out_features: int, dtype: torch.dtype | None) -> torch.Tensor:
    return x.new_empty((*x.shape[:-1], out_features), dtype=dtype)
