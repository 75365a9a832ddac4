# SPDX-License-Identifier: Apache-2.0
"""zemm.torch.warm_up(): builds the kernels of a model's layers before they are needed."""

import torch

from zemm.errors import InvalidArgumentsError
from zemm.torch._embedding import QuantEmbedding

# Calls with so many rows need all kernels that a layer has (docs/layers.md).
_ROWS = (1, 5, 8, 16, 64)


def warm_up(model: torch.nn.Module) -> None:
    """Call one of each kind of a model's layers with few rows and with many, so that no later call waits
    until a kernel is built or loaded from disk.

        zemm.torch.warm_up(model)

    Layers of a kind have equal sizes, types and groups. Other modules are not called. All threads of the
    process use what is built.

    ValueError: the model has no layers of zemm, or an empty one.
    """
    if not isinstance(model, torch.nn.Module):
        raise InvalidArgumentsError(f"model is a {type(model).__name__}, not a torch.nn.Module")
    # Tables of embeddings multiply nothing, unless they are those of heads.
    tables = {id(part._modules.get("table")) for part in model.modules() if isinstance(part, QuantEmbedding)}
    layers = [part for part in model.modules() if hasattr(part, "_warm_up") and id(part) not in tables]
    if not layers:
        raise InvalidArgumentsError("model has no layers of zemm: quantise it first")
    with torch.no_grad():
        for layer in {layer._kind(): layer for layer in layers}.values():
            for rows in _ROWS:
                layer._warm_up(rows)
