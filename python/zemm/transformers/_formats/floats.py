# SPDX-License-Identifier: Apache-2.0
"""Float checkpoints, whose layers are quantised while they load."""

from collections.abc import Mapping
from typing import Any

import torch

from zemm._arrays.host_tensors import as_array
from zemm.linear import Linear
from zemm.quantization import quantize_weights
from zemm.transformers._formats.format import FLOATS, Format, Packed, Place, Quantized, Tensors, Wanted


class Floats(Format):
    """The config is that of ZemmConfig."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(config)
        self.takes_heads = config.get("modules_to_not_convert") is not None

    def tensors(self, place: Place) -> dict[str, Wanted]:
        return {"weight": Wanted((place.out_features, place.in_features), FLOATS)}

    def reason(self, place: Place) -> str:
        return "the model"

    def skips(self, name: str) -> bool:
        return self.keeps(name)

    def weights(self, place: Place, tensors: Tensors) -> Quantized:
        w = as_array(tensors["weight"], "weight").swapaxes(-1, -2)
        group = _divisor(place.in_features, self.config["group"])
        symmetric = self.config["symmetric"]
        quantized = quantize_weights(
            w, self.config["bits"], group, self.config["scale_dtype"], symmetric=symmetric
        )
        return Quantized(*quantized, transposed=False)

    def layer(self, place: Place, tensors: Tensors, bias: torch.Tensor | None, **options: Any) -> Packed:
        layer = Linear.from_float(
            tensors["weight"],
            bias,
            bits=self.config["bits"],
            group=_divisor(place.in_features, self.config["group"]),
            symmetric=self.config["symmetric"],
            scale_dtype=self.config["scale_dtype"],
            transposed=True,
            **options,
        )
        return Packed(layer)


def _divisor(k: int, group: int | None) -> int | None:
    """The largest group up to this one that divides K."""
    return None if group is None else next(size for size in range(min(k, group), 0, -1) if k % size == 0)
