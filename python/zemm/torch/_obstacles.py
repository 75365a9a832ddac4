# SPDX-License-Identifier: Apache-2.0
"""Says whether a torch.nn.Linear or torch.nn.Embedding may be replaced by zemm's module, and if not why.

quantize_(), from_linear() and zemm.transformers all ask here.
"""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from zemm.torch import _torchao
from zemm.torch._operator import TYPES
from zemm.torch._readers import readers
from zemm.torch._stand_in import StandIn

# These read the weights of the linears that they have, and do not call them.
_READERS = (torch.nn.MultiheadAttention, torch.nn.TransformerEncoderLayer)
# Their forward() computes what that of torch.nn.Linear does.
_PLAIN = ("transformers.models.falcon.modeling_falcon.FalconLinear",)
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def is_layer(module: Any) -> bool:
    """Whether a module may be asked about: it is a torch.nn.Linear or torch.nn.Embedding, not zemm's."""
    return isinstance(module, (torch.nn.Linear, torch.nn.Embedding)) and not isinstance(module, StandIn)


def obstacles(model: torch.nn.Module, *, slow: bool = True) -> dict[int, str]:
    """The layers of a model that cannot be replaced, by their id, and why not. slow: also those that can, but
    whose weights would be dequantised at each call."""
    owners: dict[int, list[torch.nn.Module]] = {}
    layers: dict[int, torch.nn.Module] = {}
    for owner in model.modules():
        for module in owner.children():
            if is_layer(module):
                owners.setdefault(id(module), []).append(owner)
                layers[id(module)] = module
    found: dict[int, str] = {}
    for key, module in layers.items():
        if (reason := obstacle(module, owners[key])) is not None:
            found[key] = reason
    for reasons in (adapters(model), readers(model, writes_only=not slow)):
        for key, reason in reasons.items():
            if key in layers:
                found.setdefault(key, reason)
    return found


def obstacle(module: Any, owners: Iterable[torch.nn.Module] = ()) -> str | None:
    """Why a layer cannot be replaced, as far as it and the modules that have it say. None: it can."""
    return next(_obstacles(module, owners), None)


def _obstacles(module: Any, owners: Iterable[torch.nn.Module]) -> Iterator[str]:
    kind = type(module).__name__
    if isinstance(module, StandIn):
        yield f"this {kind} is quantised already"
    if torch.nn.utils.parametrize.is_parametrized(module):
        yield "it has parametrisations: torch.nn.utils.parametrize.remove_parametrizations() ends them"
    base = torch.nn.Linear if isinstance(module, torch.nn.Linear) else torch.nn.Embedding
    name = f"{type(module).__module__}.{type(module).__qualname__}"
    is_plain = type(module).forward is base.forward or name in _PLAIN
    if not is_plain or "forward" in module.__dict__:
        yield f"this {kind} has a forward() of its own"
    if type(module).__call__ is not torch.nn.Module.__call__:
        yield f"this {kind} has a __call__() of its own"
    # Of torch.nn.MultiheadAttention alone, which reads its weight.
    if isinstance(module, torch.nn.modules.linear.NonDynamicallyQuantizableLinear):
        yield "the MultiheadAttention that has it reads its weight itself"
    for owner in owners:
        if isinstance(owner, _READERS):
            yield f"the {type(owner).__name__} that has it reads its weight itself"
    weight = module._parameters.get("weight")
    if weight is None:
        yield "its weight is no parameter"
    if torch.nn.parameter.is_lazy(weight):
        yield "its sizes are not known yet: call the model once"
    if any(getattr(module, name) for name in _HOOKS):
        yield "it has hooks, which would be lost"
    if weight.device.type not in ("cpu", "meta"):
        yield f"its weight is on the device {weight.device}: move the model to the CPU first"
    if _torchao.is_torchao(weight):
        if (problem := _torchao.problem_of(weight)) is not None:
            yield problem
    elif weight.dtype not in TYPES:
        yield f"its weight has type {weight.dtype}, which cannot be quantised"
    if isinstance(module, torch.nn.Embedding) and module.max_norm is not None:
        yield f"its max_norm {module.max_norm} changes its table when it is called"
    if 0 in weight.shape:
        yield f"its weight has shape {tuple(weight.shape)}: nothing to multiply"


def adapters(model: torch.nn.Module) -> dict[int, str]:
    """Layers of the adapters of the package peft, beside the layers that these adapt."""
    tuners = sys.modules.get("peft.tuners.tuners_utils")
    if tuners is None:
        return {}
    return {
        id(layer): f"it is part of an adapter ({type(module).__name__} of peft)"
        for module in model.modules()
        if isinstance(module, tuners.BaseTunerLayer)
        for name, child in module.named_children()
        if name != "base_layer"
        for layer in child.modules()
    }
