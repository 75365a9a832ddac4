# SPDX-License-Identifier: Apache-2.0
"""MXFP4 of gpt-oss: the experts of a module in one tensor, the other layers as they are.

`*_blocks`, [E, N, K / 32, 16], have 32 f4_e2m1 values of a row in 16 bytes, the first in the low bits, and
`*_scales`, [E, N, K / 32], the exponents of their common scales (e8m0).
"""

from typing import Any

import torch

from zemm.errors import InvalidArgumentsError
from zemm.torch._expert_places import ExpertsPlace, Packed, Place
from zemm.transformers._formats.format import Biases, Format, Quantized, Tensors, Wanted

_GROUP = 32


class Mxfp4(Format):
    def skips(self, name: str) -> bool:
        return True

    def tensors(self, place: Place) -> dict[str, Wanted]:
        return {}

    def reason(self, place: Place) -> str:
        return "MXFP4"

    def tensors_of_experts(self, place: ExpertsPlace) -> dict[str, Wanted]:
        found = {}
        for own in (place.up, place.down):
            if own.in_features % _GROUP:
                raise InvalidArgumentsError(
                    f"{own.name} has {own.in_features} inputs, not a multiple of {_GROUP} as MXFP4 needs"
                )
            shape = place.count, own.out_features, own.in_features // _GROUP
            found[f"{own.key}_blocks"] = Wanted((*shape, _GROUP // 2), (torch.uint8,))
            found[f"{own.key}_scales"] = Wanted(shape, (torch.float8_e8m0fnu, torch.uint8))
        return found

    def layers_of_experts(
        self, place: ExpertsPlace, tensors: Tensors, biases: Biases, **options: Any
    ) -> tuple[Packed, Packed]:
        up = _weights(place.up.key, tensors).pack(biases[0], **options)
        return up, _weights(place.down.key, tensors).pack(biases[1], **options)


def _weights(key: str, tensors: Tensors) -> Quantized:
    scales = tensors[f"{key}_scales"].view(torch.float8_e8m0fnu)
    return Quantized(tensors[f"{key}_blocks"].flatten(-2), scales, weights_dtype="f4_e2m1")
