# SPDX-License-Identifier: Apache-2.0
"""Parallelism of from_pretrained(): each process keeps its part of a layer, once the layer is packed.

Transformers cuts the tensors that stay floats, embeddings for instance, by its own means."""

from typing import Any

import torch

from zemm.errors import InvalidArgumentsError, UnimplementedError
from zemm.torch import QuantLinear
from zemm.torch.parallel import ExpertParallel, Rowwise, gather, style_of
from zemm.transformers._modules import ReorderedLinear

_OTHERS = {"pp": "pipelines", "dp": "data parallelism"}


def is_distributed(model: Any) -> bool:
    """Whether from_pretrained() was asked for several processes. NotImplementedError: for more than tensor
    and expert parallelism."""
    config = getattr(model.config, "distributed_config", None)
    for key, what in _OTHERS.items():
        if (getattr(config, f"{key}_size", None) or 1) > 1:
            raise UnimplementedError(
                f"{key}_size is above 1: zemm's layers take tensor and expert parallelism, no {what}"
            )
    return (getattr(config, "tp_size", None) or 1) > 1


def refuse_several(model: Any, what: str) -> None:
    """NotImplementedError: a model of this kind is loaded by several processes."""
    if is_distributed(model):
        raise UnimplementedError(
            f"{what} cannot be loaded by several processes: leave out tp_plan, or load the checkpoint whole"
            " and call zemm.torch.parallel.parallelize()"
        )


def part_of(model: Any, name: str, module: torch.nn.Module) -> torch.nn.Module:
    """The part of a layer, or of experts, that this process has by the model's plans; without other
    processes, all of it."""
    if not is_distributed(model):
        return module
    plan = model.tp_plan
    if model.config.distributed_config.ep_size > 1:
        plan = {**plan, **model.ep_plan}
    own = module.linear if isinstance(module, ReorderedLinear) else module
    _, style = style_of(plan, name, own)
    if style is None:
        return module
    mesh = model._mesh_manager.get_mesh("ep" if isinstance(style, ExpertParallel) else "tp")
    try:
        if own is not module and isinstance(style, Rowwise):
            if not style.split:  # the columns of the part's rows are in the x of all processes
                module.register_forward_pre_hook(lambda _, args: (gather(args[0], mesh), *args[1:]))
            style = Rowwise(split=True)
        style._apply(own, mesh)
        return module
    except InvalidArgumentsError as error:
        what = "layer" if isinstance(own, QuantLinear) else "experts"
        raise InvalidArgumentsError(
            f"the {what} {name} cannot be cut for {mesh.size()} processes: {error}"
        ) from None
