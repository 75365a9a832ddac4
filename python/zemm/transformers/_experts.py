# SPDX-License-Identifier: Apache-2.0
"""What replaces the experts of a model: two products in groups, whatever the number of experts.

It is called as modules behind Transformers' experts interface are: with the tokens, the experts of each
token and their weights. Rows are sorted by expert, so that one matmul multiplies those of all.
"""

from typing import Any

import torch

from zemm.errors import InvalidArgumentsError
from zemm.transformers._formats.format import Packed


class QuantExperts(torch.nn.Module):
    """y = sum over the experts of a token of weight * down(between(up(x))). Inference only.

    up: the first layers, gates and what they are applied to in one product. down: the last ones. original:
    the module that is replaced, without its weights: it has what is between the products.
    """

    def __init__(self, up: Packed, down: Packed, original: Any) -> None:
        super().__init__()
        self.up, self.down, self.original = up, down, original
        self.num_experts: int = up.layer.weights.dims[0]

    def _between(self, rows: torch.Tensor) -> torch.Tensor:
        original: Any = self.original
        made: torch.Tensor = original._apply_gate(rows) if original.has_gate else original.act_fn(rows)
        return made

    @torch.compiler.disable
    def forward(
        self, hidden_states: torch.Tensor, top_k_index: torch.Tensor, top_k_weights: torch.Tensor
    ) -> torch.Tensor:
        """hidden_states: [tokens, K]. top_k_index, top_k_weights: [tokens, k]. ValueError: there is no such
        expert."""
        tokens, top_k = top_k_index.shape
        experts, order = torch.sort(top_k_index.reshape(-1), stable=True)
        sizes = torch.bincount(experts, minlength=self.num_experts)
        if len(sizes) > self.num_experts:
            raise InvalidArgumentsError(
                f"top_k_index has expert {int(experts[-1])} of {self.num_experts}: experts on several"
                " machines are not supported"
            )
        rows = _multiply(self.up, hidden_states[order // top_k], experts, sizes)
        rows = _multiply(self.down, self._between(rows), experts, sizes)
        rows *= top_k_weights.reshape(-1)[order, None]
        back = torch.empty_like(rows)
        back[order] = rows
        return back.view(tokens, top_k, rows.shape[-1]).sum(dim=1).to(hidden_states.dtype)

    def extra_repr(self) -> str:
        return f"up: {self.up.layer!r}, down: {self.down.layer!r}"


def _multiply(packed: Packed, rows: torch.Tensor, experts: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
    """experts: the expert of each row, in order. sizes: how many rows each has."""
    if packed.columns is not None:
        rows = rows.gather(-1, packed.columns[experts])
    y: torch.Tensor = packed.layer(rows, group_sizes=sizes.numpy())
    return y
