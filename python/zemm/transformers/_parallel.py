# SPDX-License-Identifier: Apache-2.0
"""Tensor parallelism of from_pretrained(): each process keeps its part of a layer, once the layer is packed.

Transformers cuts the tensors that stay floats, embeddings for instance, by its own means."""

from typing import Any

from zemm.errors import InvalidArgumentsError, UnimplementedError
from zemm.torch.parallel import Rowwise, gather, style_of
from zemm.transformers._modules import Module, ReorderedLinear

_OTHERS = {"pp": "pipelines", "dp": "data parallelism", "ep": "parallel experts"}


def is_distributed(model: Any) -> bool:
    """Whether from_pretrained() was asked for several processes. NotImplementedError: for more than tensor
    parallelism."""
    config = getattr(model.config, "distributed_config", None)
    for key, what in _OTHERS.items():
        if (getattr(config, f"{key}_size", None) or 1) > 1:
            raise UnimplementedError(
                f"{key}_size is above 1: zemm's layers take tensor parallelism, no {what}"
            )
    return (getattr(config, "tp_size", None) or 1) > 1


def refuse_several(model: Any, what: str) -> None:
    """NotImplementedError: a model of this kind is loaded by several processes."""
    if is_distributed(model):
        raise UnimplementedError(
            f"{what} cannot be loaded by several processes: leave out tp_plan, or load the checkpoint whole"
            " and call zemm.torch.parallel.parallelize()"
        )


def part_of(model: Any, name: str, module: Module) -> Module:
    """The part of a layer that this process has by the model's plan; without other processes, all of it."""
    if not is_distributed(model):
        return module
    mesh = model._mesh_manager.get_mesh("tp")
    _, style = style_of(model.tp_plan, name)
    if style is None:
        return module
    try:
        if not isinstance(module, ReorderedLinear):
            style._apply(module, mesh)
            return module
        if isinstance(style, Rowwise):
            if not style.split:  # the columns of the part's rows are in the x of all processes
                module.register_forward_pre_hook(lambda _, args: (gather(args[0], mesh), *args[1:]))
            style = Rowwise(split=True)
        style._apply(module.linear, mesh)
        return module
    except InvalidArgumentsError as error:
        raise InvalidArgumentsError(
            f"the layer {name} cannot be cut for {mesh.size()} processes: {error}"
        ) from None
