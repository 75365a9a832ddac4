# SPDX-License-Identifier: Apache-2.0
"""Turns the zemm layers of a model back into layers of floats: what the peers multiply where Transformers
alone loads a quantised checkpoint with no other packages."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import zemm
from zemm.errors import UnimplementedError
from zemm.linear import Linear
from zemm.torch import QuantLinear
from zemm.torch._quant_experts import QuantExperts


def put_floats(net: Any) -> Any:
    """The model with torch.nn.Linear in place of zemm's layers, one after the other. NotImplementedError: it
    has experts."""
    for name, module in list(net.named_modules()):
        if isinstance(module, QuantExperts):
            raise UnimplementedError(f"{name} has experts, whose weights stay packed")
        if not isinstance(module, QuantLinear) or module.layer is None:
            continue
        weights = torch.from_numpy(weights_of(module.layer)).to(net.dtype)
        linear = torch.nn.Linear(*weights.shape, bias=module.layer.bias is not None, device="meta")
        linear.weight = torch.nn.Parameter(weights.T.contiguous(), requires_grad=False)
        if module.layer.bias is not None:
            bias = torch.from_numpy(np.asarray(module.layer.bias, np.float32)).to(net.dtype)
            linear.bias = torch.nn.Parameter(bias, requires_grad=False)
        net.set_submodule(name, linear)
    return net


def weights_of(layer: Linear) -> NDArray[np.float32]:
    """scales * (values - zero points) + offsets, [K, N]."""
    packed = layer.weights
    weights = zemm.reorder(packed.memory, zemm.MemoryDesc(packed.dims, "f32")).as_numpy()
    for operand, factors, apply in (
        (packed.zero_points, None, np.subtract),
        (packed.scales, packed.scale_factors, np.multiply),
        (packed.offsets, packed.offset_factors, np.add),
    ):
        if operand is not None:
            parameter = np.atleast_1d(operand.parameter.values.astype(np.float32))
            if factors is not None:
                longer = np.atleast_2d(factors.parameter.values.astype(np.float32))
                parameter = parameter * np.repeat(longer, len(parameter) // len(longer), axis=0)
            groups = parameter.reshape(-1, 1, parameter.shape[-1])  # [G, 1, N], [1, 1, N] or [1, 1, 1]
            grouped = weights.reshape(len(groups), -1, weights.shape[-1])
            apply(grouped, groups, out=grouped)
    return weights
