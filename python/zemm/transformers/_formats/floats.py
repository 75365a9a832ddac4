# SPDX-License-Identifier: Apache-2.0
"""Float checkpoints, whose layers are quantised while they load."""

from collections.abc import Mapping
from typing import Any

import torch

from zemm.linear import Linear
from zemm.torch._expert_places import ExpertsPlace, Packed, Place
from zemm.transformers._formats.format import FLOATS, Biases, Format, Tensors, Wanted


class Floats(Format):
    """The config is that of ZemmConfig."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(config)
        self.takes_heads = config.get("modules_to_not_convert") is not None

    def tensors(self, place: Place) -> dict[str, Wanted]:
        return {"weight": Wanted((place.out_features, place.in_features), FLOATS, is_finite=False)}

    def reason(self, place: Place) -> str:
        return "the model"

    def skips(self, name: str) -> bool:
        return self.keeps(name)

    def layer(self, place: Place, tensors: Tensors, bias: torch.Tensor | None, **options: Any) -> Packed:
        return self._pack(tensors["weight"], bias, transposed=True, **options)

    def tensors_of_experts(self, place: ExpertsPlace) -> dict[str, Wanted]:
        found = {}
        for own in (place.up, place.down):
            shape = own.out_features, own.in_features
            dims = place.count, *shape[:: -1 if place.is_transposed else 1]
            found[own.key] = Wanted(dims, FLOATS, is_finite=False)
        return found

    def layers_of_experts(
        self, place: ExpertsPlace, tensors: Tensors, biases: Biases, **options: Any
    ) -> tuple[Packed, Packed]:
        options["transposed"] = not place.is_transposed
        up = self._pack(tensors[place.up.key], biases[0], **options)
        return up, self._pack(tensors[place.down.key], biases[1], **options)

    def _pack(
        self, weight: torch.Tensor, bias: torch.Tensor | None, transposed: bool, **options: Any
    ) -> Packed:
        layer = Linear.from_float(
            weight,
            bias,
            bits=self.config["bits"],
            group=self.config["group"],
            symmetric=self.config["symmetric"],
            scale_dtype=self.config["scale_dtype"],
            transposed=transposed,
            **options,
        )
        return Packed(layer)
