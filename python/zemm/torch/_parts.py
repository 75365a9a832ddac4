# SPDX-License-Identifier: Apache-2.0
"""A layer as tensors of bytes: what the operator takes, and what a program of torch saves.

They are a description (JSON), the packed weights, scales, zero points or offsets, and the bias. If scales
have factors, those of scales and of offsets follow. A part that the layer lacks is one byte, as
torch.export.save() fails at some tensors without bytes. On a CPU engine the tensors are the very bytes that
the engine multiplies, so a layer is in memory once. All are uint8, so that no to() of a program converts
them.
"""

import ctypes
import json
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from zemm._arrays.operands import describe, in_place, tensor
from zemm._arrays.reorder import reorder
from zemm._library import check
from zemm._library.codes import span_of
from zemm.dtypes import FLOATING, dtype_name, numpy_dtype, type_of
from zemm.engine import Engine, default_engine
from zemm.errors import InvalidArgumentsError
from zemm.linear import Linear, multiplied_type
from zemm.memory import Memory
from zemm.memory_desc import MemoryDesc
from zemm.packed_weights import PARAMETERS, Operand, PackedWeights, matmul_desc
from zemm.words import Activation, DataType

NAMES = ("config", "weights", "scales", "zero_points", "bias", "scale_factors", "offset_factors")
COUNTS = (5, 7)  # of the parts of a layer without factors, and with them
_FORMAT = 1
_ALIGNMENT = 64  # of weights, as kernels like it


def parts_of(layer: Linear) -> list[torch.Tensor]:
    """The layer as tensors, in the order of NAMES. They keep its bytes alive, not the layer."""
    weights = layer.weights
    memory, tag = weights.memory, _tag_of(weights.md)
    if tag is None:
        # A dense layout without blocks, whose rows end with a byte.
        is_cut = weights.dims[-1] % span_of(weights.data_type).elements != 0
        tag = ("ba" if is_cut else "ab") if len(weights.dims) == 2 else ("acb" if is_cut else "abc")
        memory = reorder(memory, MemoryDesc(weights.dims, weights.data_type, tag))
    arrays = {name: operand.parameter.values for name, operand in weights._operands().items()}
    if layer.bias is not None:
        arrays["bias"] = layer.bias
    config = {
        "format": _FORMAT,
        "dims": weights.dims,
        "weights_dtype": weights.data_type,
        "tag": tag,
        "activation": layer.activation,
        "activation_group": layer.activation_group,
        "dst_dtype": layer.dst_dtype,
        "fpmath": layer.fpmath,
        "group": weights._uneven_group(),
        "arrays": {name: [dtype_name(array.dtype), array.shape] for name, array in arrays.items()},
    }
    parts = [
        _tensor(np.frombuffer(bytearray(json.dumps(config).encode()), np.uint8)),
        _bytes_of_memory(memory),
        _bytes_of_operand(weights.scales),
        _bytes_of_operand(weights.zero_points or weights.offsets),
        _nothing()
        if layer.bias is None
        else _tensor(_bytes_at(layer.bias.ctypes.data, layer.bias.nbytes, layer.bias)),
    ]
    if weights.scale_factors or weights.offset_factors:
        parts += map(_bytes_of_operand, (weights.scale_factors, weights.offset_factors))
    return parts


def named(parts: list[torch.Tensor]) -> dict[str, torch.Tensor]:
    """The parts by their names."""
    return dict(zip(NAMES[: len(parts)], parts, strict=True))


@dataclass(frozen=True)
class Found:
    """A layer made of parts. borrows: it reads the bytes of the parts at each call, and does not keep
    them alive. Otherwise it has copies."""

    layer: Linear
    borrows: bool


def layer_of(parts: list[torch.Tensor]) -> Found:
    """The layer whose parts these are, for the engine of this process. ValueError: they are damaged.

    The weights stay where they are if their layout is what this machine wants. Otherwise they were
    packed for another machine, and are packed again.
    """
    try:
        config = json.loads(parts[0].numpy().tobytes())
        if config["format"] != _FORMAT:
            raise InvalidArgumentsError(
                f"the layer of the program has format {config['format']}, this zemm reads {_FORMAT}: export"
                " the program again with this zemm"
            )
        return _found(config, named(parts))
    except InvalidArgumentsError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidArgumentsError(f"the parts of a layer are damaged: {error!r}") from None


def _found(config: dict[str, Any], parts: dict[str, torch.Tensor]) -> Found:
    engine = default_engine()
    parts = {**parts, "offsets": parts["zero_points"]}  # one part serves both: no layer has both
    arrays = {name: _array(parts[name], *about) for name, about in config["arrays"].items()}
    activation = cast(Activation, check.choice(config["activation"], Activation, "activation"))
    dst_dtype = dtype_name(config["dst_dtype"]) if config["dst_dtype"] is not None else None
    weights = _weights(config, parts["weights"], arrays, engine)
    weights.src_dtype = multiplied_type(activation)
    bias = arrays.get("bias")
    if bias is not None and (
        bias.shape != (*weights.dims[:-2], weights.dims[-1]) or type_of(bias, "bias") not in FLOATING
    ):
        raise ValueError(f"bias is {bias.dtype} {bias.shape}")
    layer = Linear._of(weights, bias, activation, config["activation_group"], dst_dtype, config["fpmath"])
    if _serves_in_place(layer, parts["weights"], arrays):
        return Found(layer, borrows=True)
    return Found(Linear.from_state_dict(layer.state_dict(), engine=engine), borrows=False)


def _weights(
    config: dict[str, Any], part: torch.Tensor, arrays: dict[str, NDArray[Any]], engine: Engine
) -> PackedWeights:
    weights = PackedWeights.__new__(PackedWeights)
    weights.engine, weights.data_type = engine, dtype_name(config["weights_dtype"])
    md = MemoryDesc(config["dims"], weights.data_type, config["tag"])
    if md.ndims not in (2, 3) or md.size != part.nbytes or not md.size:
        raise ValueError(f"weights have {part.nbytes} bytes, {md!r} needs {md.size}")
    weights.dims = md.dims
    weights.memory = _memory(md, engine, part)
    for name in PARAMETERS:
        operand = None
        if name in arrays:
            operand = _operand(arrays[name], name, md.dims, engine, config.get("group"))
        setattr(weights, name, operand)
    return weights


def _serves_in_place(layer: Linear, part: torch.Tensor, arrays: dict[str, NDArray[Any]]) -> bool:
    """Whether this machine would choose the layout of the weights, and all parts are aligned."""
    weights = layer.weights
    if weights.engine.kind != "cpu" or part.data_ptr() % _ALIGNMENT:
        return False
    pd = matmul_desc(
        weights,
        MemoryDesc(weights.dims, weights.data_type, tag="any"),
        weights.src_dtype,
        "f32",
        fpmath=layer.fpmath,
        src_group=layer.activation_group if multiplied_type(layer.activation) == "s8" else None,
    )
    return weights.md == pd.query_md("weights_md") and all(
        in_place(array, weights.engine) for array in arrays.values()
    )


def _operand(
    array: NDArray[Any], name: str, dims: tuple[int, ...], engine: Engine, group: int | None
) -> Operand:
    parameter = describe(array, name, "weights", dims, group)
    values = parameter.values
    return Operand(parameter, tensor(values, parameter.data_type, values.ndim, engine).memory(engine))


def _memory(md: MemoryDesc, engine: Engine, part: torch.Tensor) -> Memory:
    if engine.kind == "cpu":
        return Memory.from_handle(md, engine, part.data_ptr())
    memory = Memory(md, engine)
    memory.write(part.numpy())
    return memory


def _tag_of(md: MemoryDesc) -> str | None:
    """The tag of the layout. None: it has gaps, which no tag says."""
    tag = md._tag()
    return tag if md._has_tag(tag) else None


def _array(part: torch.Tensor, data_type: DataType, shape: list[int]) -> NDArray[Any]:
    """The values of a part, which stay where they are."""
    return _bytes_at(part.data_ptr(), part.nbytes).view(numpy_dtype(data_type)).reshape(shape)


def _bytes_of_memory(memory: Memory) -> torch.Tensor:
    assert memory.engine is not None
    if memory.engine.kind == "cpu":
        return _tensor(_bytes_at(memory.handle, memory.md.size, memory._handle))
    return _tensor(memory.read())


def _bytes_of_operand(operand: Operand | None) -> torch.Tensor:
    return _bytes_of_memory(operand.memory) if operand is not None else _nothing()


def _bytes_at(address: int, size: int, keep: Any = None) -> NDArray[np.uint8]:
    """The bytes at an address. keep: an object to keep alive as long as the array."""
    buffer = (ctypes.c_uint8 * size).from_address(address)
    buffer._keep = keep  # type: ignore[attr-defined]
    return np.frombuffer(memoryview(buffer), np.uint8)


def _tensor(array: NDArray[np.uint8]) -> torch.Tensor:
    return torch.from_numpy(array)


def _nothing() -> torch.Tensor:
    return _tensor(np.zeros(1, np.uint8))
