# SPDX-License-Identifier: Apache-2.0
"""DLPack: a tensor's description in a capsule of Python, which keeps its bytes alive.

numpy makes the capsules that zemm gives away, and owns what is in them. It does not know bf16 and
f8, so these are made as integers, and their type is written into the capsule.
Source: the header dlpack.h, version 1.1.
"""

import ctypes
from typing import Any

from numpy.typing import NDArray

from zemm.errors import InvalidArgumentsError
from zemm.words import DataType

CPU, ONE_API = 1, 14  # DLDeviceType
READ_ONLY = 1  # bit of Versioned.flags
# Data types by (DLDataTypeCode, bits)
TYPES: dict[tuple[int, int], DataType] = {
    (0, 8): "s8",
    (0, 32): "s32",
    (0, 64): "s64",
    (1, 8): "u8",
    (2, 16): "f16",
    (2, 32): "f32",
    (2, 64): "f64",
    (4, 16): "bf16",
    (10, 8): "f8_e4m3",
    (12, 8): "f8_e5m2",
    (14, 8): "e8m0",
}
_CODES = {name: code for (code, _), name in TYPES.items()}


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


def capsule_of(array: NDArray[Any], data_type: DataType, version: Any, device: Any, copy: bool | None) -> Any:
    """A capsule of an array, whose elements are of the data type or integers of its size."""
    wanted = {"max_version": version, "dl_device": device, "copy": copy}
    # Versions of numpy before 2.1 know none of these.
    capsule = array.__dlpack__(**{k: v for k, v in wanted.items() if v is not None})
    contents(capsule)[0].code = _CODES[data_type]
    return capsule
