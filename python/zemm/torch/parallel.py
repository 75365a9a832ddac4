# SPDX-License-Identifier: Apache-2.0
"""Tensor parallelism: each process multiplies with a part of a layer's weights.

    mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (size,))
    plan = {"up": zemm.torch.parallel.Colwise(), "down": zemm.torch.parallel.Rowwise()}
    torch.distributed.tensor.parallel.parallelize_module(model, mesh, plan)

Colwise() keeps a part of the columns and gives a part of y. Rowwise() multiplies a part of x with a part
of the rows, and the results of all processes are added up.
"""

from collections.abc import Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor.parallel import ParallelStyle

from zemm._arrays.torch_tensors import dtype_of, from_array
from zemm._layers.shard import Along, check_parts, part_of
from zemm._library import check
from zemm.errors import InvalidArgumentsError
from zemm.linear import Linear, multiplied_type
from zemm.torch._module import QuantLinear

__all__ = ["Colwise", "Rowwise", "parallelize", "shard"]


def shard(layer: Linear, along: Along, rank: int, size: int) -> Linear:
    """The part `rank` of `size` equal parts of a layer, cut from its plain arrays and packed.

    along: "N": a part of the columns, with their scales, zero points and bias. "K": a part of the rows
    without the bias, which belongs to the sum of all parts. Its result is f32, so that the sum is rounded
    once.

    ValueError: the layer has experts, size does not divide the columns, or a part of the rows would begin
    inside of a group of weights or activations.
    """
    check.choice(along, Along, "along")
    size = check.integer(size, "size", 1)
    rank = check.integer(rank, "rank", 0, size - 1)
    _check(layer, along, size)
    return Linear.from_state_dict(part_of(layer.state_dict(), along, rank, size), engine=layer.engine)


def _check(layer: Linear, along: Along, size: int) -> None:
    """ValueError: the layer cannot be cut."""
    check.instance(layer, Linear, "layer")
    weights = layer.weights
    if layer.experts is not None:
        raise InvalidArgumentsError(f"{layer!r} has experts: only layers of one matrix are cut")
    of_groups = {
        name: o.parameter.k_group for name, o in weights._operands().items() if not name.endswith("factors")
    }
    quantises = multiplied_type(layer.activation) == "s8"
    check_parts(weights.dims, of_groups, layer.activation_group if quantises else None, along, size)


def _layer_of(module: QuantLinear) -> Linear:
    if module.layer is None:
        raise InvalidArgumentsError(f"{module!r} is empty: load weights before it is cut")
    return module.layer


class _Style(ParallelStyle):
    """parallelize_module() calls _apply(), plans of Transformers install_forward()."""

    along: Along

    def _apply(self, module: torch.nn.Module, device_mesh: DeviceMesh) -> torch.nn.Module:
        self.check(module, device_mesh)
        self._cut(module, device_mesh)
        module.is_part = device_mesh.size() > 1
        return module

    def check(self, module: torch.nn.Module, mesh: DeviceMesh) -> None:
        """ValueError: the module cannot be cut."""
        if not isinstance(module, QuantLinear):
            raise InvalidArgumentsError(f"module is a {type(module).__name__}, not a zemm.torch.QuantLinear")
        if mesh.ndim != 1:
            raise InvalidArgumentsError(
                f"the mesh has {mesh.ndim} dimensions: give one of them, as in mesh['tp']"
            )
        _check(_layer_of(module), self.along, mesh.size())

    install_forward = _apply

    def _cut(self, module: QuantLinear, mesh: DeviceMesh) -> None:
        raise NotImplementedError


class Colwise(_Style):
    """A QuantLinear keeps its part of the columns. It takes all of x and gives its part of y, the columns
    from rank * N / size on. gather: it gives all of y."""

    along = "N"

    def __init__(self, *, gather: bool = False) -> None:
        self.gather = gather

    def _cut(self, module: QuantLinear, mesh: DeviceMesh) -> None:
        module._set(shard(_layer_of(module), "N", mesh.get_local_rank(), mesh.size()))
        if not self.gather:
            return
        module.register_forward_hook(lambda module, args, y: gather(y, mesh))


def gather(part: torch.Tensor, mesh: DeviceMesh) -> torch.Tensor:
    """The parts of all processes, one after the other along the last dimension."""
    parts = [torch.empty_like(part) for _ in range(mesh.size())]
    dist.all_gather(parts, part.contiguous(), group=mesh.get_group())
    return torch.cat(parts, -1)


class Rowwise(_Style):
    """A QuantLinear keeps its part of the rows. It takes its part of x, as Colwise() gives it, and gives
    all of y: the f32 results of all processes are added up, then the bias is added, then y is rounded to
    its type. split: it takes all of x.
    """

    along = "K"

    def __init__(self, *, split: bool = False) -> None:
        self.split = split

    def _cut(self, module: QuantLinear, mesh: DeviceMesh) -> None:
        whole, rank, group = _layer_of(module), mesh.get_local_rank(), mesh.get_group()
        dtype = dtype_of(whole.dst_dtype) if whole.dst_dtype is not None else None
        bias = from_array(whole.bias).float() if whole.bias is not None else None
        module._set(shard(whole, "K", rank, mesh.size()))
        module.register_buffer("bias_of_sum", bias, persistent=False)
        features = module.in_features

        def own_part(module: torch.nn.Module, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
            return (args[0].narrow(-1, rank * features, features), *args[1:])

        def summed(module: Any, args: tuple[torch.Tensor, ...], y: torch.Tensor) -> torch.Tensor:
            dist.all_reduce(y, group=group)
            if module.bias_of_sum is not None:
                y = y + module.bias_of_sum
            return y.to(dtype if dtype is not None else args[0].dtype)

        if self.split:
            module.register_forward_pre_hook(own_part)
        module.register_forward_hook(summed)


# The words of Transformers' plans for linear layers.
_STYLES: dict[str, _Style] = {
    "colwise": Colwise(),
    "colwise_rep": Colwise(gather=True),
    "colwise_gather_output": Colwise(gather=True),
    "rowwise": Rowwise(),
    "rowwise_rep": Rowwise(split=True),
    "rowwise_split_input": Rowwise(split=True),
}


def style_of(plan: Mapping[str, str], name: str) -> tuple[str, _Style | None]:
    """The word that a plan has for a module, and what it does with a QuantLinear; None: it stays whole."""
    word = plan.get(".".join("*" if part.isdigit() else part for part in name.split(".")), "")
    return word, _STYLES.get(word)


def parallelize(
    model: torch.nn.Module, mesh: DeviceMesh, plan: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Cut the QuantLinear of a model as a plan of Transformers says, in place.

    plan: from names of modules, with * for numbers, to "colwise", "rowwise" and their relatives; None:
    model.tp_plan, as for tp_plan="auto". Returns the names of the modules that were cut with the words of
    the plan. Other modules stay whole.
    """
    if plan is None:
        plan = getattr(model, "tp_plan", None)
    if not plan:
        raise InvalidArgumentsError(f"{type(model).__name__} has no tp_plan: give a plan")
    found: dict[str, tuple[QuantLinear, str, _Style]] = {}
    for name, module in model.named_modules():
        word, style = style_of(plan, name)
        if style is not None and isinstance(module, QuantLinear):
            found[name] = module, word, style
    for name, (module, _, style) in found.items():  # before the first one is cut
        try:
            style.check(module, mesh)
        except InvalidArgumentsError as error:
            raise InvalidArgumentsError(f"{name}: {error}") from None
    for module, _, style in found.values():
        style._apply(module, mesh)
    return {name: word for name, (_, word, _) in found.items()}
