# SPDX-License-Identifier: Apache-2.0
"""Parallel layers: each process multiplies with a part of a layer's weights.

    mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (size,))
    plan = {"up": zemm.torch.parallel.Colwise(), "down": zemm.torch.parallel.Rowwise()}
    torch.distributed.tensor.parallel.parallelize_module(model, mesh, plan)

Colwise() keeps a part of the columns and gives a part of y. Rowwise() multiplies a part of x with a part
of the rows, and the results of all processes are added up. TensorParallelExperts() does both with experts,
and ExpertParallel() keeps some of the experts.
"""

from collections.abc import Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

from zemm._arrays.torch_tensors import dtype_of, from_array
from zemm._layers.shard import Along
from zemm.errors import InvalidArgumentsError
from zemm.linear import Linear
from zemm.torch._module import QuantLinear
from zemm.torch._parallel_experts import ExpertParallel, TensorParallelExperts
from zemm.torch._quant_experts import QuantExperts
from zemm.torch._styles import Style, check_layer, shard

__all__ = ["Colwise", "ExpertParallel", "Rowwise", "TensorParallelExperts", "parallelize", "shard"]


def _layer_of(module: QuantLinear) -> Linear:
    if module.layer is None:
        raise InvalidArgumentsError(f"{module!r} is empty: load weights before it is cut")
    return module.layer


class _LinearStyle(Style):
    along: Along

    def check(self, module: torch.nn.Module, mesh: DeviceMesh) -> None:
        if not isinstance(module, QuantLinear):
            raise InvalidArgumentsError(f"module is a {type(module).__name__}, not a zemm.torch.QuantLinear")
        super().check(module, mesh)

    def _check(self, module: QuantLinear, size: int) -> None:
        check_layer(_layer_of(module), self.along, size)


class Colwise(_LinearStyle):
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


class Rowwise(_LinearStyle):
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


# The words of Transformers' plans for linear layers, and for experts.
_STYLES: dict[str, Style] = {
    "colwise": Colwise(),
    "colwise_rep": Colwise(gather=True),
    "colwise_gather_output": Colwise(gather=True),
    "rowwise": Rowwise(),
    "rowwise_rep": Rowwise(split=True),
    "rowwise_split_input": Rowwise(split=True),
}
_OF_EXPERTS: dict[str, Style] = {
    "moe_tp_experts": TensorParallelExperts(),
    "ep_dispatch_experts": ExpertParallel(),
    "grouped_gemm": ExpertParallel(),
}


def style_of(plan: Mapping[str, str], name: str, module: torch.nn.Module) -> tuple[str, Style | None]:
    """The word that a plan has for a module, and what it does with it; None: it stays whole."""
    pattern = ".".join("*" if part.isdigit() else part for part in name.split("."))
    word = plan.get(pattern, "")
    if isinstance(module, QuantExperts):
        # Before Transformers 5.20 plans of both kinds had one word for the module.
        is_shared_out = plan.get(f"{pattern}.down_proj") == "grouped_gemm"
        word = "grouped_gemm" if is_shared_out else word
        return word, _OF_EXPERTS.get(word)
    return word, _STYLES.get(word) if isinstance(module, QuantLinear) else None


def parallelize(
    model: torch.nn.Module, mesh: DeviceMesh, plan: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Cut the QuantLinear and the experts of a model as a plan of Transformers says, in place.

    plan: from names of modules, with * for numbers, to "colwise", "rowwise" and their relatives,
    "moe_tp_experts" or "ep_dispatch_experts"; None: model.tp_plan, as for tp_plan="auto". model.ep_plan
    shares experts out. Returns the names of the modules that were cut with the words of the plan. Other
    modules, such as routers, stay as they are.
    """
    if plan is None:
        plan = getattr(model, "tp_plan", None)
    if not plan:
        raise InvalidArgumentsError(f"{type(model).__name__} has no tp_plan: give a plan")
    found: dict[str, tuple[torch.nn.Module, str, Style]] = {}
    for name, module in model.named_modules():
        word, style = style_of(plan, name, module)
        if style is not None:
            found[name] = module, word, style
    for name, (module, _, style) in found.items():  # before the first one is cut
        try:
            style.check(module, mesh)
        except InvalidArgumentsError as error:
            raise InvalidArgumentsError(f"{name}: {error}") from None
    for module, _, style in found.values():
        style._apply(module, mesh)
    return {name: word for name, (_, word, _) in found.items()}
