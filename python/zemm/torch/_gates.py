# SPDX-License-Identifier: Apache-2.0
"""Finds what a model's experts do between their products among what zemm does in one pass.

Many models write the same function down in their own words. So it is found by what it does with numbers.
"""

from collections.abc import Iterator
from typing import Any

import torch

from zemm._layers.gate import Gate
from zemm._library.lists import GATES

_WIDTH = 64
_LIMITS, _ALPHAS = ("limit", "swiglu_limit"), ("alpha", "swiglu_alpha")


def has_gate(original: Any) -> bool:
    """Whether a module behind Transformers' experts interface has one. Before 5.3 all had."""
    return bool(getattr(original, "has_gate", True))


def between(original: Any, rows: torch.Tensor) -> torch.Tensor:
    """The function of a module behind Transformers' experts interface between its two products."""
    made: torch.Tensor
    if not has_gate(original):
        made = original.act_fn(rows)
    elif hasattr(original, "_apply_gate"):
        made = original._apply_gate(rows)
    else:  # Llama 4's
        gates, ups = rows.chunk(2, -1)
        made = original.act_fn(gates) * ups
    return made


def gate_of(original: Any) -> Gate | None:
    """The gate that does what the module does. None: it does something else."""
    if any(True for child in original.children() for _ in child.parameters()):
        return None  # those of the function may have no values yet
    rows = _probe(_WIDTH * (2 if has_gate(original) else 1))
    with torch.no_grad():
        expected = between(original, rows)
    for gate in _candidates(original):
        made = torch.from_numpy(gate(rows.numpy()))
        if expected.shape == made.shape:
            # But for roundings of the rows, each of which has numbers of one size.
            largest = expected.float().abs().amax(-1, keepdim=True)
            if ((made - expected.float()).abs() <= 1e-5 * largest).all():
                return gate
    return None


def _probe(width: int) -> torch.Tensor:
    """Small and large numbers, on both sides of any limit."""
    generator = torch.Generator("cpu").manual_seed(0)
    rows = torch.randn(64, width, generator=generator, dtype=torch.float32, device="cpu")
    return rows * torch.logspace(-2, 3, 64, dtype=torch.float32, device="cpu")[:, None]


def _candidates(original: Any) -> Iterator[Gate]:
    if not has_gate(original):
        for activation in GATES:
            yield Gate(activation, is_gated=False)
        return
    limit, alpha = _number(original, _LIMITS), _number(original, _ALPHAS)
    for interleaved in (False, True):
        for activation in GATES:
            yield Gate(activation, is_interleaved=interleaved)
        if limit is not None:
            yield Gate(is_interleaved=interleaved, gate_most=limit, up_most=limit)
        if limit is not None and alpha is not None:
            yield Gate("swish", True, interleaved, alpha, limit, limit, 1.0)


def _number(original: Any, names: tuple[str, ...]) -> float | None:
    found = (getattr(original, name, None) for name in names)
    return next((float(value) for value in found if isinstance(value, int | float)), None)
