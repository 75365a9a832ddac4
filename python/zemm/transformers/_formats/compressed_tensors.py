# SPDX-License-Identifier: Apache-2.0
"""Weights of compressed-tensors as zemm takes them.

A module has `weight` or `weight_packed`, [N, K], which stand for

    weight_scale * (weight - weight_zero_point)          (divided by weight_global_scale in NVFP4)

and further tensors by the scheme. Packed integers are stored with 2 ** (bits - 1) added, one after the
other from the lowest bit of int32 words on: weights along K, zero points along N.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from zemm._arrays.host_tensors import as_array
from zemm._arrays.operands import groups_of
from zemm._library.codes import join, split
from zemm._library.lists import TYPES
from zemm.errors import InvalidArgumentsError
from zemm.torch._expert_places import Place
from zemm.transformers._checkpoint import Checkpoint
from zemm.transformers._formats import words
from zemm.transformers._formats.compressed_schemes import MXFP4, MXFP8, NVFP4, PACKED, Scheme, Schemes
from zemm.transformers._formats.format import FLOATS, Format, Quantized, Tensors, Wanted
from zemm.words import DataType

Shape = tuple[int, ...]
_E8M0 = (torch.uint8, torch.float8_e8m0fnu)
# Scales of inputs that a checkpoint may have. zemm finds those of each input instead.
_OF_INPUTS = ("input_scale", "input_zero_point", "input_global_scale")


class CompressedTensors(Format):
    """Each group of config_groups has a scheme for the modules that its targets name."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(config)
        self._schemes = Schemes(config)

    def skips(self, name: str) -> bool:
        return self._schemes.of(self.names_of(name)) is None

    def _scheme(self, place: Place) -> Scheme:
        scheme = self._schemes.of(self.names_of(place.name))
        assert scheme is not None
        return scheme

    def is_stored(self, place: Place, checkpoint: Checkpoint) -> bool:
        """Layers of floats may have sizes that the scheme cannot store. They also have a tensor `weight`."""
        weight = f"{place.name}.weight"
        if f"{weight}_packed" in checkpoint or f"{weight}_scale" in checkpoint:
            return True
        return weight in checkpoint and checkpoint.has_codes(weight)

    def tensors(self, place: Place) -> dict[str, Wanted]:
        scheme, n, k = self._scheme(place), place.out_features, place.in_features
        if k % (unit := _unit(scheme)):
            raise InvalidArgumentsError(
                f"{place.name} has {k} inputs, not a multiple of {unit}: compressed-tensors cannot store it"
                f" as {self.reason(place)}"
            )
        of_scales = _shape_of_scales(scheme, n, k)
        packed_rows = -(-n * scheme.bits // 32)
        found: dict[str, Wanted] = {}
        if scheme.format == PACKED:
            found["weight_packed"] = Wanted((n, -(-k * scheme.bits // 32)), (torch.int32,))
            found["weight_shape"] = Wanted((2,), (torch.int64, torch.int32))
        elif scheme.format in (NVFP4, MXFP4):
            found["weight_packed"] = Wanted((n, k // 2), (torch.uint8,))
        else:
            found["weight"] = Wanted((n, k), (torch.float8_e4m3fn if scheme.is_float else torch.int8,))
        found["weight_scale"] = Wanted(of_scales, _E8M0 if scheme.format in (MXFP4, MXFP8) else FLOATS)
        if scheme.format == NVFP4:
            found["weight_scale"] = Wanted(of_scales, (torch.float8_e4m3fn,))
            found["weight_global_scale"] = Wanted((1,), (torch.float32,))
        if not scheme.symmetric and scheme.format == PACKED and scheme.strategy != "tensor":
            found["weight_zero_point"] = Wanted((packed_rows, of_scales[1]), (torch.int32,))
        elif not scheme.symmetric:
            found["weight_zero_point"] = Wanted(of_scales, (torch.int8,))
        if scheme.is_ordered:
            found["weight_g_idx"] = Wanted((k,), (torch.int32, torch.int64))
        if scheme.is_static:
            types = (*FLOATS, torch.int8, torch.float8_e4m3fn)
            found |= {name: Wanted((1,), types, optional=True, is_finite=False) for name in _OF_INPUTS}
        return found

    def reason(self, place: Place) -> str:
        return str(self._scheme(place))

    def weights(self, place: Place, tensors: Tensors) -> Quantized:
        scheme, k = self._scheme(place), place.in_features
        scales, zero_points = _parameters(scheme, place, tensors)
        weights_dtype: DataType | None = None
        if scheme.format == PACKED:
            values, weights_dtype = _integers(tensors["weight_packed"], scheme.bits, k, zero_points is None)
        elif scheme.format in (NVFP4, MXFP4):
            values, weights_dtype = tensors["weight_packed"].numpy(), "f4_e2m1"
        else:
            values = as_array(tensors["weight"], "weight")
        group = scheme.group_of_k
        uneven = group if group is not None and k % group else None
        found = Quantized(values, scales, zero_points, weights_dtype, group=uneven)
        if scheme.is_ordered:
            found = _in_order(found, place, scheme.group or k, tensors["weight_g_idx"])
        if scheme.int8_group is not None and not scheme.is_float:
            found = replace(found, options={"activation": "int8", "activation_group": scheme.int8_group or k})
        return found


def _unit(scheme: Scheme) -> int:
    """The package wants K to be a multiple of this. Where it is 1, the last group or block may be shorter."""
    if scheme.format == MXFP8:
        return scheme.group or 1
    return math.lcm(scheme.group or 1, 2) if scheme.format in (NVFP4, MXFP4) else 1


def _parameters(scheme: Scheme, place: Place, tensors: Tensors) -> tuple[torch.Tensor, Any]:
    """Scales and zero points, [N, G] or one."""
    n, k = place.out_features, place.in_features
    scales, zero_points = tensors["weight_scale"], tensors.get("weight_zero_point")
    if scheme.format == NVFP4:
        common = tensors["weight_global_scale"]
        if not 0 < common.item() < math.inf:
            raise InvalidArgumentsError(
                f"tensor {place.name}.weight_global_scale is {common.item()}, not a positive number"
            )
        scales = scales.float() / common
    elif scheme.format in (MXFP4, MXFP8):
        scales = scales.view(torch.float8_e8m0fnu)
    elif scheme.format == PACKED:
        shape = tensors["weight_shape"].tolist()
        if shape != [n, k]:
            raise InvalidArgumentsError(
                f"tensor {place.name}.weight_shape is {shape}, but the layer of the model is {[n, k]}"
            )
        if zero_points is not None and zero_points.dtype == torch.int32:
            return scales, _unsigned(zero_points.T, scheme.bits, n).T
        elif zero_points is not None:
            zero_points = (zero_points.to(torch.int16) + (1 << (scheme.bits - 1))).to(torch.uint8)
    if scheme.block is not None:
        scales = scales.repeat_interleave(scheme.block[0], dim=0)[:n]
        if zero_points is not None:
            zero_points = zero_points.repeat_interleave(scheme.block[0], dim=0)[:n]
    return scales, zero_points


def _in_order(found: Quantized, place: Place, group: int, g_idx: torch.Tensor) -> Quantized:
    """The weights with the rows of each group together."""
    names = "weight_g_idx", "weight_scale"
    sizes, columns = words.order_of(place.in_features, group, g_idx, place.name, names)
    if columns is None:
        return found
    bits = 8 if found.weights_dtype is None else TYPES[found.weights_dtype].bits
    values = join(split(np.asarray(found.values), bits)[:, columns], bits)
    parts = [part.T for part in (found.scales, found.zero_points) if part is not None]
    parts, uneven = words.common_group(sizes, parts, place.name)
    scales, *others = [part.T for part in parts]
    zeros = others[0] if others else None
    return Quantized(values, scales, zeros, found.weights_dtype, columns, group=uneven)


def _integers(packed: torch.Tensor, bits: int, k: int, signed: bool) -> tuple[NDArray[Any], DataType]:
    """The values [N, K], or [N, K / 2] of a 4-bit type. Where a type has as many bits as the values, these
    are the bytes of the checkpoint."""
    if bits == 2 and not signed and k % 4 == 0:
        return words.bytes_of(packed)[:, : k // 4], "u2"
    is_small = bits <= 4 and k % 2 == 0
    if bits == 8 or (bits == 4 and is_small):
        values = words.bytes_of(packed)[:, : k * bits // 8]
        if signed:  # the middle was added, which turns the sign bit
            values = values ^ np.uint8(0x88 if bits == 4 else 0x80)
    else:
        values = _unsigned(packed, bits, k)
        if signed:
            values -= np.uint8(1 << (bits - 1))  # modulo 256
        if is_small:
            values = join(values, 4)
    if is_small:
        return values, "s4" if signed else "u4"
    return (values.view(np.int8), "s8") if signed else (values, "u8")


def _unsigned(packed: torch.Tensor, bits: int, count: int) -> words.Bytes:
    """The first integers of each row of int32 words, [.., count]."""
    return split(words.bytes_of(packed), bits)[:, :count]


def _shape_of_scales(scheme: Scheme, n: int, k: int) -> Shape:
    if scheme.strategy == "tensor":
        return (1,)
    if scheme.strategy == "channel":
        return n, 1
    if scheme.block is not None:
        return groups_of(n, scheme.block[0]), groups_of(k, scheme.block[1])
    assert scheme.group is not None
    return n, groups_of(k, scheme.group)
