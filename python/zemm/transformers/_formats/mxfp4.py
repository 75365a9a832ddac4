# SPDX-License-Identifier: Apache-2.0
"""MXFP4 of gpt-oss: the experts of a module in one tensor, the other layers as they are.

`*_blocks`, [E, N, K / 32, 16], have 32 f4_e2m1 values of a row in 16 bytes, the first in the low bits, and
`*_scales`, [E, N, K / 32], the exponents of their common scales (e8m0).
"""

import torch

from zemm.errors import InvalidArgumentsError
from zemm.transformers._formats.format import ExpertsPlace, Format, Place, Quantized, Tensors, Wanted

_GROUP = 32


class Mxfp4(Format):
    def skips(self, name: str) -> bool:
        return True

    def tensors(self, place: Place) -> dict[str, Wanted]:
        return {}

    def weights(self, place: Place, tensors: Tensors) -> Quantized:
        raise NotImplementedError

    def reason(self, place: Place) -> str:
        return "MXFP4"

    def tensors_of_experts(self, place: ExpertsPlace) -> dict[str, Wanted]:
        found = {}
        for layer in (place.up, place.down):
            key, n, k = layer.name.rpartition(".")[2], layer.out_features, layer.in_features
            if k % _GROUP:
                raise InvalidArgumentsError(
                    f"{layer.name} has {k} inputs, not a multiple of {_GROUP} as MXFP4 needs"
                )
            shape = place.count, n, k // _GROUP
            found[f"{key}_blocks"] = Wanted((*shape, _GROUP // 2), (torch.uint8,))
            found[f"{key}_scales"] = Wanted(shape, (torch.uint8,))
        return found

    def weights_of_experts(self, place: ExpertsPlace, tensors: Tensors) -> tuple[Quantized, Quantized]:
        up, down = (
            Quantized(
                tensors[f"{key}_blocks"].flatten(-2),
                tensors[f"{key}_scales"].view(torch.float8_e8m0fnu),
                weights_dtype="f4_e2m1",
            )
            for key in (layer.name.rpartition(".")[2] for layer in (place.up, place.down))
        )
        return up, down
