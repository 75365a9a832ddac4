# SPDX-License-Identifier: Apache-2.0
"""What styles of zemm.torch.parallel share."""

from typing import Any

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor.parallel import ParallelStyle

from zemm._layers.shard import Along, check_parts, part_of
from zemm._library import check
from zemm.errors import InvalidArgumentsError
from zemm.linear import Linear, multiplied_type


def shard(layer: Linear, along: Along, rank: int, size: int, *, blocks: int = 1) -> Linear:
    """The part `rank` of `size` equal parts of a layer, cut from its plain arrays and packed.

    along: "N": a part of the columns, with their scales, zero points and bias. "K": a part of the rows
    without the bias, which belongs to the sum of all parts; of a layer with experts the part 0 has it. Its
    result is f32, so that the sum is rounded once. "E": some of the experts.

    blocks: of columns that lie side by side, as gates and what they are applied to: 2. A part has its part of
    each.

    ValueError: size does not divide the columns, rows or experts, or a part of the rows would begin inside of
    a group of weights or activations.
    """
    check.choice(along, Along, "along")
    size = check.integer(size, "size", 1)
    rank = check.integer(rank, "rank", 0, size - 1)
    blocks = check.integer(blocks, "blocks", 1)
    check_layer(layer, along, size, blocks)
    return Linear.from_state_dict(part_of(layer.state_dict(), along, rank, size, blocks), engine=layer.engine)


def check_layer(layer: Linear, along: Along, size: int, blocks: int = 1) -> None:
    """ValueError: the layer cannot be cut."""
    check.instance(layer, Linear, "layer")
    weights = layer.weights
    of_groups = {
        name: o.parameter.k_group for name, o in weights._operands().items() if not name.endswith("factors")
    }
    quantises = multiplied_type(layer.activation) == "s8"
    group = layer.activation_group if quantises else None
    check_parts(weights.dims, of_groups, group, along, size, blocks)


class Style(ParallelStyle):
    """parallelize_module() calls _apply(), plans of Transformers install_forward()."""

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> torch.nn.Module:
        self.check(module, device_mesh)
        self._cut(module, device_mesh)
        module.is_part = device_mesh.size() > 1
        return module

    def check(self, module: torch.nn.Module, mesh: DeviceMesh) -> None:
        """ValueError: the module cannot be cut."""
        if mesh.ndim != 1:
            raise InvalidArgumentsError(
                f"the mesh has {mesh.ndim} dimensions: give one of them, as in mesh['tp']"
            )
        self._check(module, mesh.size())

    install_forward = _apply

    def _check(self, module: Any, size: int) -> None:
        raise NotImplementedError

    def _cut(self, module: Any, mesh: DeviceMesh) -> None:
        raise NotImplementedError
