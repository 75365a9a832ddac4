# SPDX-License-Identifier: Apache-2.0
"""The module that replaces the experts of a model: two products in groups, whatever the number of experts.

It is called as modules behind Transformers' experts interface are: with the tokens, the experts of each
token and their weights. Rows are sorted by expert, so that one matmul multiplies those of all.
"""

from collections.abc import Mapping
from copy import copy
from typing import Any

import torch

from zemm.linear import Linear
from zemm.torch._compressed import IN_ANOTHER_ORDER, IS_PART, Checkpoint, refusal
from zemm.torch._expert_places import ExpertsPlace, Names, Packed, Place, is_called_with_rows
from zemm.torch._experts import refuse_missing, run
from zemm.torch._gates import between, gate_of
from zemm.torch._layer_module import LayerModule
from zemm.torch._module import ACTIVATIONS
from zemm.torch._operator import is_dispatched


class ExpertsLayer(LayerModule):
    """A layer of all experts, and which columns each multiplies, [E, K]; None: all, as they come."""

    columns: torch.Tensor | None

    def __init__(self, packed: Packed) -> None:
        super().__init__()
        self._set(packed.layer)
        self.register_buffer("columns", packed.columns, persistent=False)

    def multiply(self, rows: torch.Tensor, experts: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
        """experts: the expert of each row, in order. sizes: how many rows each has."""
        if self.columns is not None:
            rows = rows.gather(-1, self.columns[experts])
        assert self.layer is not None
        y: torch.Tensor = self.layer(rows, group_sizes=sizes.numpy())
        return y


class QuantExperts(torch.nn.Module):
    """y = sum over the experts of a token of weight * down(between(up(x))). Inference only.

    up: the first layers, gates and what they are applied to in one product. down: the last ones. original:
    the module that is replaced, without its weights: it has what is between the products. names: of the
    first and the last layers of an expert in checkpoints; None: these have all experts in one tensor.

    num_experts: of the model, also if other processes have some of them, or a part of each
    (zemm.torch.parallel). forward() gives the part of the sum that this process has, in sum_dtype.
    """

    is_part = False
    first_expert = 0  # that this process has
    sum_dtype: torch.dtype | None = None  # None: that of hidden_states

    def __init__(self, up: Packed, down: Packed, original: Any, names: Names | None = None) -> None:
        super().__init__()
        self._names = names
        self.up, self.down, self.original = ExpertsLayer(up), ExpertsLayer(down), original
        self.num_experts: int = up.layer.weights.dims[0]
        self.in_features, self.out_features = up.layer.in_features, down.layer.out_features
        on_host = up.layer.engine.kind == "cpu"
        self.gate = gate_of(original) if on_host else None
        # Made here, for torch.compile does not trace json.
        self._gate_text = self.gate.text if self.gate is not None else None

    def forward(
        self, hidden_states: torch.Tensor, top_k_index: torch.Tensor, top_k_weights: torch.Tensor
    ) -> torch.Tensor:
        """hidden_states: [tokens, K]. top_k_index, top_k_weights: [tokens, k]. ValueError: there is no such
        expert, or the tensors do not fit."""
        if self._gate_text is None:
            return self._in_steps(hidden_states, top_k_index, top_k_weights)
        tensors, columns = (hidden_states, top_k_index, top_k_weights), (self.up.columns, self.down.columns)
        part: Any = self.first_expert, self.num_experts, self.sum_dtype
        if not is_dispatched(hidden_states) and self.up._has_own_parts() and self.down._has_own_parts():
            up: Any = self.up.layer
            down: Any = self.down.layer
            gate: Any = self.gate
            return run(*tensors, up, down, *columns, gate, *part)
        y: torch.Tensor = torch.ops.zemm.experts.default(
            *tensors,
            self.up._tensors(),
            self.down._tensors(),
            *columns,
            self._gate_text,
            self.in_features,
            self.out_features,
            *part,
        )
        return y

    def _warm_up(self) -> None:
        """Build the kernels of the steps around the products, with weights of both types that models have."""
        x = torch.zeros(1, self.in_features, dtype=self.up.float_dtype)
        index = torch.tensor([[self.first_expert]])
        for dtype in {torch.float32, x.dtype}:
            QuantExperts.forward(self, x, index, torch.ones(1, 1, dtype=dtype))

    def _store(self, name: str, checkpoint: Checkpoint) -> None:
        """Put the layers into a checkpoint. NotImplementedError: it cannot hold them."""
        if self.is_part:
            raise refusal(name, IS_PART)
        for part, names in zip((self.up, self.down), self._names or ([], []), strict=True):
            layer: Any = part.layer
            if not names or layer.bias is not None:
                raise refusal(name, "it has all experts in one tensor, or biases: keep the checkpoint")
            if part.columns is not None:
                raise refusal(name, IN_ANOTHER_ORDER)
            checkpoint.add_experts(name, layer.weights, names)

    @torch.compiler.disable
    def _in_steps(
        self, hidden_states: torch.Tensor, top_k_index: torch.Tensor, top_k_weights: torch.Tensor
    ) -> torch.Tensor:
        """The call on a GPU, or with a function between the products that zemm does not know."""
        tokens, top_k = top_k_index.shape
        refuse_missing(top_k_index, self.num_experts)
        experts, order = torch.sort(top_k_index.reshape(-1), stable=True)
        sizes = torch.bincount(experts, minlength=self.num_experts)
        up: Any = self.up.layer
        before, of_own, _ = sizes.tensor_split((self.first_expert, self.first_expert + up.experts))
        own = slice(int(before.sum()), int(before.sum() + of_own.sum()))
        experts, order = experts[own] - self.first_expert, order[own]
        rows = self.up.multiply(hidden_states[order // top_k], experts, of_own)
        rows = self.down.multiply(between(self.original, rows), experts, of_own)
        rows *= top_k_weights.reshape(-1)[order, None]
        back = rows.new_zeros(tokens * top_k, rows.shape[-1])
        back[order] = rows
        y = back.view(tokens, top_k, rows.shape[-1]).sum(dim=1, dtype=self.sum_dtype)
        return y.to(self.sum_dtype or hidden_states.dtype)

    def extra_repr(self) -> str:
        return f"up: {self.up.layer!r}, down: {self.down.layer!r}"


class QuantExpertsOfRows(QuantExperts):
    """Called as Llama 4's experts are: with rows for each expert, as many as there are tokens. Those that are
    0, as the rows of tokens for which the router has not chosen the expert, give 0, for there are no biases.
    They belong to one more expert, which no process has."""

    def __init__(self, up: Packed, down: Packed, original: Any, names: Names | None = None) -> None:
        super().__init__(up, down, original, names)
        self.num_experts += 1

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """hidden_states: [experts * tokens, K]."""
        last = self.num_experts - 1
        experts = torch.arange(last, device=hidden_states.device)[:, None]
        has_values = hidden_states.unflatten(0, (last, -1)).any(-1)
        index = torch.where(has_values, experts, last).view(-1, 1)
        return super().forward(hidden_states, index, torch.ones_like(index, dtype=torch.float32))


def quantised_experts(
    module: Any, place: ExpertsPlace, names: Names | None, arguments: Mapping[str, Any]
) -> QuantExperts:
    """The module of float experts. names: as in QuantExperts. arguments: of zemm.Linear.from_float();
    activation None: the type of the weights."""
    options = {**arguments, "transposed": not place.is_transposed}

    def quantised(own: Place) -> Packed:
        weight, bias = module._parameters[own.key], module._parameters.get(f"{own.key}_bias")
        options["activation"] = arguments["activation"] or ACTIVATIONS.get(weight.dtype, "f32")
        tensors = [None if tensor is None else tensor.detach() for tensor in (weight, bias)]
        return Packed(Linear.from_float(*tensors, **options))

    return experts_module(module, quantised(place.up), quantised(place.down), names)


def experts_module(original: torch.nn.Module, up: Packed, down: Packed, names: Names | None) -> QuantExperts:
    """The module that replaces `original`."""
    without = copy(original)  # a placeholder still has the shapes of its parameters
    without._parameters = {}
    kind = QuantExpertsOfRows if is_called_with_rows(original) else QuantExperts
    made = kind(up, down, without, names)
    made.up.float_dtype = made.down.float_dtype = next(original.parameters()).dtype
    return made
