# SPDX-License-Identifier: Apache-2.0
"""Weights that torchao has quantised, which are tensors of its own classes, as arguments of
zemm.Linear.from_quantized(). The package need not be there: a model that has such tensors has imported it.
"""

from typing import Any

import torch

from zemm.dtypes import PackedInt4, pack_int4
from zemm.errors import InvalidArgumentsError


def is_torchao(weight: Any) -> bool:
    """Whether a weight is a tensor of torchao's."""
    return type(weight).__module__.split(".")[0] == "torchao"


def problem_of(weight: Any) -> str | None:
    """Why zemm does not take a weight of torchao's. None: it does."""
    kind = type(weight).__name__
    if kind not in _READERS:
        return f"its weight is torchao's {kind}, none of {', '.join(_READERS)}"
    if weight.ndim != 2 or weight.block_size[0] != 1:
        return f"its weight has shape {tuple(weight.shape)} and blocks of {tuple(weight.block_size)} elements"
    if getattr(weight, "act_pre_scale", None) is not None:
        return "its weight has act_pre_scale, by which the activations would be multiplied first"
    return None


def bits_of(weight: Any) -> int:
    return 4 if type(weight).__name__ == "Int4Tensor" or _is_int4(weight) else 8


def nbytes_of(weight: Any) -> int:
    """Bytes of a weight, which says those of the tensor that it stands for."""
    if not is_torchao(weight):
        return int(weight.nbytes)
    return sum(int(part.nbytes) for part in (weight.qdata, weight.scale, weight.zero_point))


def arguments_of(weight: Any) -> dict[str, Any]:
    """The arguments of Linear.from_quantized(). ValueError: zemm does not take the weight."""
    problem = problem_of(weight)
    if problem is not None:
        raise InvalidArgumentsError(f"linear: {problem}")
    arguments: dict[str, Any] = _READERS[type(weight).__name__](weight)
    return {**arguments, "transposed": True}


def activation_of(weight: Any) -> dict[str, Any]:
    """How the activations are multiplied, if torchao quantises them: to int8, each row by itself."""
    if getattr(weight, "activation_quantization", None) is None:
        return {}
    return {"activation": "int8", "activation_group": weight.shape[1]}


def _int4(weight: Any) -> dict[str, Any]:
    """weights = scale * q + zero_point, q in -8..7, two in a byte along K."""
    packed = weight.qdata.contiguous().view(torch.uint8).numpy()
    scales, offsets = weight.scale.T, weight.zero_point.T
    parts = {"values": PackedInt4(packed, "s4"), "scales": scales}
    return {**parts, "offsets": offsets} if offsets.any() else parts


def _intx(weight: Any) -> dict[str, Any]:
    """weights = scale * (q - zero_point), q as int8."""
    values: Any = weight.qdata
    if _is_int4(weight):
        values = PackedInt4(pack_int4(weight.qdata.numpy()), "s4")
    parts = {"values": values, "scales": weight.scale}
    return {**parts, "zero_points": weight.zero_point} if weight.zero_point.any() else parts


def _is_int4(weight: Any) -> bool:
    target = str(getattr(weight, "target_dtype", ""))
    return target in ("torch.int1", "torch.int2", "torch.int3", "torch.int4") and weight.shape[1] % 2 == 0


_READERS = {"Int4Tensor": _int4, "IntxUnpackedToInt8Tensor": _intx}
