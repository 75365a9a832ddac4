# SPDX-License-Identifier: Apache-2.0
"""Weights as checkpoints of compressed-tensors have them, in its format pack-quantized.

A layer of weights [K, N] has `weight_packed` [N, K], `weight_scale` [N, G], `weight_shape` and, unless it is
symmetric, `weight_zero_point` [N, G]. Integers are stored from 0 on, one after the other from the lowest bit
of int32 words on: weights along K, zero points along N.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from zemm._arrays.operands import Parameter
from zemm._arrays.torch_tensors import from_array
from zemm._library.codes import join, split
from zemm._library.lists import TYPES, DataType
from zemm.errors import UnimplementedError
from zemm.packed_weights import PackedWeights, are_along_k

_FORMAT = "pack-quantized"
_SCALES = ("f32", "f16", "bf16")
_EXPERTS = r"re:.*\.experts\.\d+\..*"  # the layers of experts, by their names in a checkpoint
IN_ANOTHER_ORDER = (
    "its inputs are in another order (act-order), which the package compressed-tensors no longer loads: keep"
    " the checkpoint that it came from"
)
IS_PART = "this process has a part of it: save the model before it is cut"
Tensors = dict[str, torch.Tensor]


class Scheme(NamedTuple):
    """How the weights of a layer are stored. group: elements of K that share a scale; None: all."""

    bits: int
    symmetric: bool
    group: int | None

    def settings(self, targets: list[str]) -> dict[str, Any]:
        """A group of config_groups."""
        weights = {
            "num_bits": self.bits,
            "type": "int",
            "symmetric": self.symmetric,
            "strategy": "channel" if self.group is None else "group",
            "group_size": self.group,
            "dynamic": False,
        }
        others = {"input_activations": None, "output_activations": None, "format": _FORMAT}
        return {"targets": targets, "weights": weights, **others}


class Checkpoint:
    """The tensors of a checkpoint by their names: floats, and those of quantised layers. ignored: layers that
    are among the floats. named: layers that the config names in any case, as vLLM's class for heads is no
    Linear."""

    def __init__(self) -> None:
        self.floats: Tensors = {}
        self.packed: Tensors = {}
        self.ignored: list[str] = []
        self.named: list[str] = []
        self._layers: dict[Scheme, list[str]] = {}
        self._of_experts: Scheme | None = None

    def add_layer(self, name: str, weights: PackedWeights, bias: NDArray[Any] | None) -> None:
        """NotImplementedError: the format cannot hold the layer."""
        scheme = _scheme_of(name, weights)
        self._layers.setdefault(scheme, []).append(name)
        self.packed |= _tensors(name, weights, scheme)
        if bias is not None:
            self.floats[f"{name}.bias"] = from_array(bias)

    def add_experts(self, name: str, weights: PackedWeights, parts: list[str]) -> None:
        """Add the weights [E, K, N] of all experts as layers of each, which have equal parts of the columns.
        NotImplementedError: the format cannot hold them, or Transformers does not load them."""
        scheme = _scheme_of(name, weights)
        if not scheme.symmetric:
            raise refusal(
                name,
                "it has zero points, and Transformers loads no experts with zero points from"
                " compressed-tensors: quantise with symmetric=True",
            )
        if self._of_experts not in (None, scheme):
            raise refusal(
                name,
                "other experts have other bits or groups, and Transformers loads experts of one kind:"
                " quantise with a group that is smaller than K of all",
            )
        self._of_experts = scheme
        width = weights.dims[-1] // len(parts)
        for expert in range(len(weights)):
            for i, part in enumerate(parts):
                columns = slice(i * width, (i + 1) * width)
                self.packed |= _tensors(f"{name}.{expert}.{part}", weights[expert], scheme, columns)

    def layers(self) -> Iterator[str]:
        """The quantised layers but those of experts."""
        return chain.from_iterable(self._layers.values())

    def separate(self) -> None:
        """Give floats that share memory memory of their own."""
        seen = set()
        for name, tensor in self.floats.items():
            place = tensor.untyped_storage().data_ptr()
            if place in seen:
                self.floats[name] = tensor.clone()
            seen.add(place)

    def config(self) -> dict[str, Any]:
        """The quantization_config. The scheme of most layers is that of each torch.nn.Linear that is neither
        ignored nor a target of another scheme."""
        return {
            "quant_method": "compressed-tensors",
            "quantization_status": "compressed",
            "format": _FORMAT,
            "config_groups": {f"group_{i}": group for i, group in enumerate(self._groups())},
            "ignore": self.ignored,
        }

    def _groups(self) -> Iterator[dict[str, Any]]:
        names = {scheme: list(own) for scheme, own in self._layers.items()}
        if self._of_experts is not None:
            names.setdefault(self._of_experts, []).append(_EXPERTS)
        # Names before the class, or the package warns that nothing fits them.
        *others, most = sorted(names, key=lambda scheme: len(names[scheme]))
        for scheme in others:
            yield scheme.settings(names[scheme])
        yield most.settings([*(name for name in names[most] if name in self.named), "Linear"])


def refusal(name: str, why: str) -> UnimplementedError:
    return UnimplementedError(f"save_pretrained() cannot save {name}: {why}")


def _scheme_of(name: str, weights: PackedWeights) -> Scheme:
    """NotImplementedError: the format cannot hold the weights of the layer called name."""
    kind, k = TYPES[weights.data_type], weights.dims[-2]
    keep = "keep the checkpoint or file that it came from"
    if kind.kind != "integer":
        raise refusal(name, f"its weights are {kind.name}, not integers, as {_FORMAT} has them: {keep}")
    for part in ("offsets", "scale_factors", "offset_factors"):
        if getattr(weights, part) is not None:
            raise refusal(name, f"it has {part}, as types of GGUF have, and {_FORMAT} has none: {keep}")
    scales = None if weights.scales is None else weights.scales.parameter.data_type
    if scales not in _SCALES:
        raise refusal(name, f"its scales are {scales}, none of {', '.join(_SCALES)}: {keep}")
    zeros = weights.zero_points
    if zeros is not None and not np.isin(_from_zero(zeros.parameter.values, kind), range(2**kind.bits)).all():
        raise refusal(name, f"it has zero points that are no {kind.name}: {keep}")
    if (group := weights._uneven_group()) is not None:
        raise refusal(
            name,
            f"its {k} inputs are in groups of {group}, of which the last one is shorter, and the package"
            f" compressed-tensors loads whole groups: quantise with a group that divides {k}",
        )
    return Scheme(kind.bits, zeros is None, None if weights.k_group == k else weights.k_group)


def _tensors(name: str, weights: PackedWeights, scheme: Scheme, columns: slice = slice(None)) -> Tensors:
    """The tensors of a layer called name, which has some columns of the weights [K, N]."""
    kind, (k, n) = TYPES[weights.data_type], weights.dims
    groups = k // (scheme.group or k)
    codes = _codes(weights, kind)[columns]
    assert weights.scales is not None
    stored = {
        "weight_packed": _words(codes, kind.bits),
        "weight_scale": from_array(_by_group(weights.scales.parameter, groups, n)[:, columns].T),
        "weight_shape": torch.tensor(codes.shape),
    }
    if weights.zero_points is not None:
        zeros = _by_group(weights.zero_points.parameter, groups, n)[:, columns]
        packed = _words(_from_zero(zeros, kind).astype(np.uint8), kind.bits)
        stored["weight_zero_point"] = packed.T.contiguous()
    return {f"{name}.{key}": tensor for key, tensor in stored.items()}


def _codes(weights: PackedWeights, kind: DataType) -> NDArray[np.uint8]:
    """The values [N, K] from 0 on, one in each byte."""
    values = weights.unpack()
    along_k = are_along_k(values, weights.data_type, weights.dims)
    codes = split(values.T, kind.bits) if along_k else split(values, kind.bits).T
    return codes ^ np.uint8(2 ** (kind.bits - 1)) if kind.low < 0 else codes


def _from_zero(zero_points: NDArray[Any], kind: DataType) -> NDArray[np.float64]:
    return zero_points.astype(np.float64) - kind.low


def _by_group(parameter: Parameter, groups: int, n: int) -> NDArray[Any]:
    """The values of each group and column, [G, N], also where there is one for several."""
    values = np.atleast_2d(parameter.values)
    return np.broadcast_to(np.repeat(values, groups // len(values), 0), (groups, n))


def _words(codes: NDArray[np.uint8], bits: int) -> torch.Tensor:
    """Rows of integers one after the other in int32 words, whose rest is 0."""
    data = join(np.ascontiguousarray(codes), bits)
    return torch.from_numpy(np.pad(data, ((0, 0), (0, -data.shape[-1] % 4))).view(np.int32))
