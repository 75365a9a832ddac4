# SPDX-License-Identifier: Apache-2.0
"""DLPack: a tensor's description in a capsule of Python, which keeps its bytes alive.

numpy makes the capsules that zemm gives away, and owns what is in them. It does not know bf16 and
f8, so these are made as integers, and their type is written into the capsule. Elements of 4 and 2
bits are made as bytes of two or four. Of f4 such a byte is an element with two lanes, as in torch
(float4_e2m1fn_x2); of integers each value is an element.
Source: the header dlpack.h, version 1.3.
"""

import ctypes
from typing import Any

from numpy.typing import NDArray

from zemm._library.codes import elements_of
from zemm._library.library import MAX_NDIMS
from zemm.errors import InvalidArgumentsError
from zemm.words import DataType

CPU, ONE_API = 1, 14  # DLDeviceType
READ_ONLY, PADDED = 1, 4  # bits of Versioned.flags; PADDED: an element of fewer than 8 bits has its own byte
# Data types by (DLDataTypeCode, bits)
TYPES: dict[tuple[int, int], DataType] = {
    (0, 4): "s4",
    (0, 8): "s8",
    (0, 32): "s32",
    (0, 64): "s64",
    (1, 2): "u2",
    (1, 3): "u3",
    (1, 4): "u4",
    (1, 8): "u8",
    (2, 16): "f16",
    (2, 32): "f32",
    (2, 64): "f64",
    (4, 16): "bf16",
    (10, 8): "f8_e4m3",
    (12, 8): "f8_e5m2",
    (14, 8): "e8m0",
    (17, 4): "f4_e2m1",
}
_CODES = {name: numbers for numbers, name in TYPES.items()}


class Tensor(ctypes.Structure):
    """DLTensor. strides are in elements; NULL: row-major."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned"""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def contents(capsule: Any) -> tuple[Tensor, int]:
    """The tensor of a capsule, valid as long as that lives, and its flags."""
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if versioned.major != 1:
            raise InvalidArgumentsError(f"x speaks DLPack {versioned.major}, zemm speaks 1 and those before")
        return versioned.tensor, versioned.flags
    if not _is_valid(capsule, b"dltensor"):
        raise InvalidArgumentsError("__dlpack__() of x returned no capsule of DLPack")
    return Tensor.from_address(_pointer(capsule, b"dltensor")), 0


def check_contents(tensor: Tensor, device: tuple[int, int]) -> None:
    """ValueError: the tensor is not on the device that its owner has named, or describes no memory."""
    own = tensor.device_type, tensor.device_id
    if own[0] != device[0] or (own != device and own[0] != CPU):
        raise InvalidArgumentsError(
            f"x says that it is on the device {device}, its capsule that it is on {own}"
        )
    if not 0 <= tensor.ndim <= MAX_NDIMS:
        raise InvalidArgumentsError(f"x has {tensor.ndim} dimensions in its capsule, not 0 to {MAX_NDIMS}")
    if tensor.ndim and not tensor.shape:
        raise InvalidArgumentsError(f"x has {tensor.ndim} dimensions in its capsule, but no shape")
    dims = tuple(tensor.shape[: tensor.ndim])
    if any(size < 0 for size in dims):
        raise InvalidArgumentsError(f"x has the shape {dims} in its capsule, with negative sizes")
    if 0 not in dims and not tensor.data:
        raise InvalidArgumentsError(f"x has the shape {dims} in its capsule, but no address")


def capsule_of(
    array: NDArray[Any],
    data_type: DataType,
    dims: tuple[int, ...],
    version: Any,
    device: Any,
    copy: bool | None,
) -> Any:
    """A capsule of an array, whose elements are of the data type, integers of its size, or bytes of
    several. dims: the tensor's; the array is shorter along the dimension whose elements share bytes."""
    wanted = {"max_version": version, "dl_device": device, "copy": copy}
    # Versions of numpy before 2.1 know none of these.
    capsule = array.__dlpack__(**{k: v for k, v in wanted.items() if v is not None})
    tensor = contents(capsule)[0]
    tensor.code, tensor.bits = _CODES[data_type]
    if data_type == "f4_e2m1":
        tensor.lanes = 2
    elif tensor.bits < 8:
        _count_elements(tensor, dims, data_type)
    return capsule


def _count_elements(tensor: Tensor, dims: tuple[int, ...], data_type: DataType) -> None:
    """Make a tensor of bytes one of the elements in them, with these dims."""
    for d, dim in enumerate(dims):
        if tensor.strides and tensor.shape[d] == dim:
            tensor.strides[d] = elements_of(data_type, tensor.strides[d])
        tensor.shape[d] = dim


def halves(dims: tuple[int, ...], strides: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """dims and strides in values of a tensor of bytes that have two each, which follow each other along
    the last dimension of stride 1. ValueError if there is none."""
    inner = next((d for d in reversed(range(len(dims))) if strides[d] == 1), None)
    if inner is None:
        raise InvalidArgumentsError(
            f"x has two elements to a byte and strides {strides}: along none of its dimensions bytes follow"
            " each other"
        )
    return (
        tuple(2 * n if d == inner else n for d, n in enumerate(dims)),
        tuple(1 if d == inner else 2 * s for d, s in enumerate(strides)),
    )
