# SPDX-License-Identifier: Apache-2.0
"""AWQ: weights = scales * (values - zero points), values in words along N.

A word of qweight [K, N / 8] has eight values of one row, whose columns are, from its lowest bits on,
0, 2, 4, 6, 1, 3, 5, 7. A word of qzeros [G, N / 8] has zero points in the same order.
"""

from collections.abc import Mapping
from typing import Any

import torch

from zemm._library.codes import awq_in_order, split
from zemm.errors import InvalidArgumentsError
from zemm.torch._expert_places import Place
from zemm.transformers._formats import words
from zemm.transformers._formats.entries import entry, setting
from zemm.transformers._formats.format import FLOATS, Quantized, Tensors, Wanted
from zemm.transformers._formats.overrides import GroupedFormat


class Awq(GroupedFormat):
    method, bits = "AWQ", (4,)

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(config)
        version = entry(config, "version", str) or entry(config, "format", str) or "gemm"
        setting({"version": version.lower()}, "version", ("gemm",), None, "AWQ")

    def tensors(self, place: Place) -> dict[str, Wanted]:
        _, group = self.settings_of(place.name)
        k, n = place.in_features, place.out_features
        if n % 8:
            raise InvalidArgumentsError(
                f"{place.name} has {n} outputs, not a multiple of 8: AWQ cannot store it"
            )
        groups = len(words.group_sizes(k, group))
        return {
            "qweight": Wanted((k, n // 8), (torch.int32,)),
            "qzeros": Wanted((groups, n // 8), (torch.int32,)),
            "scales": Wanted((groups, n), FLOATS),
        }

    def weights(self, place: Place, tensors: Tensors) -> Quantized:
        _, group = self.settings_of(place.name)
        values = awq_in_order(words.bytes_of(tensors["qweight"]))  # [K, N / 2]
        zero_points = split(awq_in_order(words.bytes_of(tensors["qzeros"])), 4)
        values, zeros, weights_dtype = words.centred(values, zero_points, 4)
        parameters = [tensors["scales"]] + ([zeros] if zeros is not None else [])
        sizes = words.group_sizes(place.in_features, group)
        (scales, *others), uneven = words.common_group(sizes, parameters, place.name)
        zeros = others[0] if others else None
        return Quantized(values, scales, zeros, weights_dtype, transposed=False, group=uneven)
