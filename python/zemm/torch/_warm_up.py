# SPDX-License-Identifier: Apache-2.0
"""zemm.torch.warm_up(): builds the kernels of a model's layers before they are needed."""

from typing import Any

import torch

from zemm._layers.first_pass import build_one, kernels_of
from zemm.errors import InvalidArgumentsError
from zemm.torch._embedding import QuantEmbedding
from zemm.torch._layer_module import LayerModule

# Calls with so many rows need all kernels that a layer has (docs/layers.md).
_ROWS = (1, 5, 8, 16, 32, 64)


def warm_up(model: torch.nn.Module) -> None:
    """Build all kernels that calls of a model's layers need, or load them from disk, so that no call waits
    for one. Transformers' from_pretrained() does so itself.

        zemm.torch.warm_up(model)

    The layers of a model have few kinds, which differ in sizes, types and groups; each is built once. A
    terminal shows which kernel of how many is built (docs/layers.md).

    ValueError: the model has no layers of zemm, or an empty one.
    """
    if not isinstance(model, torch.nn.Module):
        raise InvalidArgumentsError(f"model is a {type(model).__name__}, not a torch.nn.Module")
    if not build_kernels(model):
        raise InvalidArgumentsError("model has no layers of zemm: quantise it first")


def build_kernels(model: torch.nn.Module) -> bool:
    """warm_up(). False: the model has no layers of zemm."""
    modules = list(model.modules())
    # Tables of embeddings multiply nothing, unless they are those of heads.
    tables = {id(part._modules.get("table")) for part in modules if isinstance(part, QuantEmbedding)}
    layers = [part for part in modules if isinstance(part, LayerModule) and id(part) not in tables]
    kinds = {tuple(pd._problem() for pd in layer._descs(1)): layer for layer in layers}
    needed: dict[frozenset[Any], Any] = {}
    for layer in kinds.values():
        for rows in _ROWS:
            for pd in layer._descs(rows):
                needed.setdefault(frozenset(kernels_of(pd)), pd)
    for number, pd in enumerate(needed.values(), 1):
        build_one(pd, f"{number} of {len(needed)}: {pd.impl_info}")
    with torch.no_grad():
        for part in modules:
            if hasattr(part, "_warm_up"):  # experts
                part._warm_up()
    return bool(layers)
