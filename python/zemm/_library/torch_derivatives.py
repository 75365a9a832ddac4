# SPDX-License-Identifier: Apache-2.0
"""Refuses tensors of torch whose derivatives would be lost. Imported once the program has imported torch."""

from typing import Any

import torch
from torch.autograd import forward_ad

from zemm.errors import InvalidArgumentsError


def refuse_gradient(x: Any, name: str) -> None:
    """ValueError: torch records what is done with x, to differentiate it later."""
    if x.requires_grad and torch.is_grad_enabled():
        raise InvalidArgumentsError(
            f"{name} requires a gradient, which zemm does not compute: call it under torch.no_grad(), or"
            f" give {name}.detach()"
        )


def refuse_tangent(x: Any, name: str) -> None:
    """ValueError: forward-mode differentiation goes through x, which reading its values would end without
    a word."""
    if forward_ad._current_level >= 0 and forward_ad.unpack_dual(x).tangent is not None:
        raise InvalidArgumentsError(
            f"{name} has a tangent (torch.func.jvp or torch.autograd.forward_ad), and zemm computes no"
            f" derivatives: give {name} without it"
        )
