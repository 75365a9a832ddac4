# SPDX-License-Identifier: Apache-2.0
"""Experts of several processes: each has a part of each expert, or some of the experts."""

from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

from zemm.errors import InvalidArgumentsError
from zemm.torch._gates import gate_of
from zemm.torch._quant_experts import QuantExperts
from zemm.torch._styles import Style, check_layer, shard


class _ExpertsStyle(Style):
    def check(self, module: torch.nn.Module, mesh: DeviceMesh) -> None:
        if not isinstance(module, QuantExperts):
            raise InvalidArgumentsError(
                f"module is a {type(module).__name__}, not experts that zemm has quantised"
            )
        if module.is_part:
            raise InvalidArgumentsError("the experts are cut already: cut the whole model once")
        super().check(module, mesh)


def _add_up(module: QuantExperts, mesh: DeviceMesh) -> None:
    """Have calls give the sum of what all processes compute."""
    group = mesh.get_group()

    def summed(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], y: torch.Tensor) -> torch.Tensor:
        dist.all_reduce(y, group=group)
        return y.to((args[0] if args else kwargs["hidden_states"]).dtype)

    module.sum_dtype = torch.float32
    module.register_forward_hook(summed, with_kwargs=True)


class TensorParallelExperts(_ExpertsStyle):
    """Experts keep a part of the columns of their first layers, gates with what these are applied to, and of
    the rows of their last layers. The f32 sums of all processes are added up, then y gets its type. The first
    process adds the bias of the last layers."""

    def _check(self, module: Any, size: int) -> None:
        if module.down.columns is not None:
            raise InvalidArgumentsError(
                "the last layers of these experts take their inputs in another order (act-order), which other"
                " processes have: share whole experts out, by ExpertParallel() or ep_size"
            )
        check_layer(module.up.layer, "N", size, _blocks(module))
        check_layer(module.down.layer, "K", size)

    def _cut(self, module: Any, mesh: DeviceMesh) -> None:
        rank, size = mesh.get_local_rank(), mesh.size()
        module.up._set(shard(module.up.layer, "N", rank, size, blocks=_blocks(module)))
        module.down._set(shard(module.down.layer, "K", rank, size))
        _add_up(module, mesh)


def _blocks(module: QuantExperts) -> int:
    """How many blocks of columns the first layers have: all gates may be beside what they are applied to.
    ValueError: zemm does not know."""
    gate = gate_of(module.original)
    if gate is None:
        raise InvalidArgumentsError(
            "zemm does not know what these experts do between their layers, so not which columns belong"
            " together: share whole experts out, by ExpertParallel() or ep_size"
        )
    return 2 if gate.is_gated and not gate.is_interleaved else 1


class ExpertParallel(_ExpertsStyle):
    """A process keeps whole experts, from rank * E / size on, and multiplies the rows of these. All processes
    take all tokens, and the numbers of experts are those of the whole model. The f32 sums of all processes
    are added up, then y gets its type."""

    def _check(self, module: Any, size: int) -> None:
        check_layer(module.up.layer, "E", size)

    def _cut(self, module: Any, mesh: DeviceMesh) -> None:
        rank, size = mesh.get_local_rank(), mesh.size()
        for part in (module.up, module.down):
            part._set(shard(part.layer, "E", rank, size))
            if part.columns is not None:
                part.columns = part.columns.tensor_split(size)[rank].clone()
        module.first_expert = rank * module.num_experts // size
        _add_up(module, mesh)
