# SPDX-License-Identifier: Apache-2.0
"""zemm.from_dlpack(): memories of other libraries' tensors, without a copy."""

from math import prod
from typing import Any

from zemm._library import check
from zemm._objects.dlpack import CPU, ONE_API, PADDED, READ_ONLY, TYPES, check_contents, contents, halves
from zemm.dtypes import numpy_dtype
from zemm.engine import Engine, default_engine
from zemm.errors import InvalidArgumentsError
from zemm.memory import Memory
from zemm.memory_desc import MemoryDesc


def from_dlpack(x: Any, *, engine: Engine | None = None) -> Memory:
    """A memory of the bytes of x, an object with __dlpack__(): an array of numpy, a tensor of torch,
    a zemm.Memory, ... Nothing is copied, and x's bytes stay alive as long as the memory does.

    x: in host memory for a CPU engine; on a oneAPI device (torch's "xpu") for a GPU engine, whose
    Level Zero context must be the one that x was allocated in. engine: for host memory by default
    the CPU.

    Elements of 4 bits are packed, two to a byte. Where x counts bytes of two (torch's float4_e2m1fn_x2),
    the last dimension of stride 1 becomes twice as large, in which they follow each other.

    A tensor without dimensions becomes a memory of dims (1,), as no memory has none.

    memory.readonly is True if x says that it is read-only: write() and executions that would write
    to the memory refuse it.

    ValueError: x is elsewhere, has a type or strides that a memory cannot have, or its capsule is damaged.
    """
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise InvalidArgumentsError(f"x is a {type(x).__name__}, which has no __dlpack__()")
    if engine is not None:
        check.instance(engine, Engine, "engine")
    named = x.__dlpack_device__()
    try:
        device, number = map(int, named)  # or members of an enumeration
    except (TypeError, ValueError):
        raise InvalidArgumentsError(
            f"__dlpack_device__() of x returned {check.shown(named)}, not two integers"
        ) from None
    if device == CPU and engine is None:
        engine = default_engine() if default_engine().kind == "cpu" else Engine("cpu")
    if device not in (CPU, ONE_API):
        raise InvalidArgumentsError(
            f"x is on a DLPack device of type {device}: zemm takes host memory ({CPU}) and oneAPI devices"
            f" ({ONE_API})"
        )
    kind = "cpu" if device == CPU else "gpu"
    if engine is None or engine.kind != kind:
        place = "in host memory" if device == CPU else "on a oneAPI device"
        raise InvalidArgumentsError(
            f"x is {place}, engine is {engine!r}: it needs a {kind} engine, or a copy by Memory.write()"
        )
    try:
        capsule = x.__dlpack__(max_version=(1, 3))
    except TypeError:  # x speaks a DLPack before 1.0
        capsule = x.__dlpack__()
    except (BufferError, RuntimeError) as error:
        raise InvalidArgumentsError(f"x cannot be exported: {error}") from None
    tensor, flags = contents(capsule)
    check_contents(tensor, (device, number))
    name = TYPES.get((tensor.code, tensor.bits))
    if name is None or tensor.lanes not in ((1, 2) if tensor.bits == 4 else (1,)):
        lanes = f" and {tensor.lanes} lanes" * (tensor.lanes != 1)
        raise InvalidArgumentsError(
            f"x has DLPack's type code {tensor.code} of {tensor.bits} bits{lanes}, which is no data type of"
            " zemm"
        )
    if tensor.bits < 8 and flags & PADDED:
        raise InvalidArgumentsError(
            f"x has a byte for each {name}, zemm several to a byte: zemm.pack_int{tensor.bits}() packs them"
        )
    dims = tuple(tensor.shape[: tensor.ndim]) or (1,)
    strides = tuple(tensor.strides[: tensor.ndim]) or (1,) if tensor.strides else None
    if 0 in dims:
        strides = None  # numpy's are 0, which would be elements that share a place
    if strides is not None and any(s < 0 for s in strides):
        raise InvalidArgumentsError(f"x has negative strides {strides}: copy it first")
    if tensor.lanes == 2:
        strides = strides or tuple(prod(dims[d + 1 :]) for d in range(len(dims)))
        dims, strides = halves(dims, strides)
        strides = None if 0 in dims else strides
    address = (tensor.data or 0) + tensor.byte_offset
    if address % numpy_dtype(name).itemsize:
        raise InvalidArgumentsError(f"x of type {name} begins at the unaligned address {address:#x}")
    md = MemoryDesc(dims, name, strides=strides)
    if address + md.size >= (2**57 if device == CPU else 2**64):
        raise InvalidArgumentsError(f"x has {md.size} bytes from {address:#x} on, beyond all memory")
    memory = Memory.from_handle(md, engine, address, keep=capsule)
    memory.readonly = bool(flags & READ_ONLY)
    return memory
