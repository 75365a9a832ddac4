# SPDX-License-Identifier: Apache-2.0
"""GPTQ: weights = scales * (values - zero points), values in words along K.

A word of qweight [K / 8, N] has eight values of 4 bits (four of 8; three words have 32 of 3) of one column,
the first in its lowest bits. qzeros [G, N / 8] has the zero points of eight columns in a word, in the version
"gptq" less one. There a stored 15 (255, 7) is a 0, as AutoGPTQ's and ExLlama's kernels read it. But GPTQModel
and AutoRound subtract ones from whole words, where a 0 borrows from its neighbour: adding ones to whole words
is the inverse.
g_idx [K] is the group of each row: act-order mixes them, then x has to be brought into the order of groups.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from zemm._library.codes import join, split
from zemm.errors import InvalidArgumentsError
from zemm.torch._expert_places import Place
from zemm.transformers._formats import words
from zemm.transformers._formats.entries import setting
from zemm.transformers._formats.format import FLOATS, Quantized, Tensors, Wanted
from zemm.transformers._formats.overrides import GroupedFormat


class Gptq(GroupedFormat):
    method, bits = "GPTQ", (3, 4, 8)

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(config)
        about = {"checkpoint_format": config.get("checkpoint_format") or config.get("format")}
        version = setting(about, "checkpoint_format", ("gptq", "gptq_v2"), "gptq", self.method)
        self._less_one = version == "gptq"
        makers = f"{config.get('meta')} {config.get('provider')}"
        self._borrows = "gptqmodel" in makers or "auto-round" in makers

    def tensors(self, place: Place) -> dict[str, Wanted]:
        bits, group = self.settings_of(place.name)
        k, n, unit = place.in_features, place.out_features, 32 // math.gcd(32, bits)  # of whole words
        if k % unit or n % unit:
            raise InvalidArgumentsError(
                f"{place.name} has {k} inputs and {n} outputs, not multiples of {unit}: GPTQ of {bits}"
                " bits cannot store it"
            )
        groups = len(words.group_sizes(k, group))
        return {
            "qweight": Wanted((k * bits // 32, n), (torch.int32,)),
            "qzeros": Wanted((groups, n * bits // 32), (torch.int32,)),
            "scales": Wanted((groups, n), FLOATS),
            "g_idx": Wanted((k,), (torch.int32, torch.int64), optional=True),
        }

    def weights(self, place: Place, tensors: Tensors) -> Quantized:
        bits, group = self.settings_of(place.name)
        values = words.bytes_of(tensors["qweight"].T)  # [N, K / 2], or [N, K] of 8 bits
        zero_points = self._zero_points(tensors["qzeros"], bits)
        sizes, columns = words.order_of(place.in_features, group, tensors.get("g_idx"), place.name)
        if columns is not None:
            values = join(split(values, bits)[:, columns], bits)
        values, zeros, weights_dtype = words.centred(values, zero_points, bits)
        parameters = [tensors["scales"]] + ([zeros] if zeros is not None else [])
        parameters, uneven = words.common_group(sizes, parameters, place.name)
        scales, *others = [parameter.T for parameter in parameters]
        zeros = others[0] if others else None
        return Quantized(values, scales, zeros, weights_dtype, columns, group=uneven)

    def _zero_points(self, qzeros: torch.Tensor, bits: int) -> words.Bytes:
        if not self._less_one:
            return split(words.bytes_of(qzeros), bits)
        if self._borrows:
            ones = join(np.ones(qzeros.shape[1] * 32 // bits, np.uint8), bits).view("<i4")
            return split(words.bytes_of(qzeros + torch.from_numpy(ones)), bits)
        return (split(words.bytes_of(qzeros), bits) + np.uint8(1)) & np.uint8(2**bits - 1)
