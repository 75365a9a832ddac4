# SPDX-License-Identifier: Apache-2.0
"""Tensors in host memory as layers take and return them: arrays of numpy, and CPU tensors of torch
once the program has imported that."""

import sys
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from zemm._arrays.operands import shares_places
from zemm._library import check, library
from zemm.dtypes import dtype_name, numpy_dtype, type_of
from zemm.errors import InvalidArgumentsError
from zemm.words import DataType

Shape = tuple[int, ...]


class Host(Protocol):
    """A kind of tensors, with the operations that a layer needs. Plain tensors are dense, row-major and
    aligned."""

    def check(self, x: Any, name: str) -> Any:
        """x as a tensor of this kind. ValueError: it is not in host memory, or needs a gradient."""

    def type_name(self, x: Any, name: str) -> DataType:
        """zemm's name of the data type."""

    def plain(self, x: Any, data_type: DataType) -> Any:
        """x, or a copy that is plain and has the data type."""

    def is_plain(self, x: Any) -> bool: ...

    def form(self, shape: Shape, data_type: DataType) -> Any:
        """The arguments of empty()."""

    def empty(self, form: Any, x: Any) -> Any:
        """A new plain tensor of this form, beside x."""

    def address(self, x: Any) -> int: ...

    def pointer(self, x: Any) -> Any:
        """The address of a plain tensor as a pointer of C."""

    def check_writable(self, out: Any) -> None:
        """ValueError: out is read-only, or some of its elements share memory."""

    def copy(self, to: Any, values: Any) -> None: ...

    def bytes_of(self, x: Any) -> NDArray[np.uint8]:
        """The bytes of a plain tensor, without a copy."""

    def of_array(self, array: NDArray[Any]) -> Any:
        """A tensor of an array's bytes, without a copy if the array is dense."""


class _Numpy:
    def check(self, x: Any, name: str) -> Any:
        return x if type(x) is np.ndarray else check.array(x, name)

    def type_name(self, x: Any, name: str) -> DataType:
        return _TYPES.get(x.dtype) or type_of(x, name)

    def plain(self, x: Any, data_type: DataType) -> Any:
        return np.require(x, numpy_dtype(data_type), ("C_CONTIGUOUS", "ALIGNED"))

    def is_plain(self, x: Any) -> bool:
        flags = x.flags
        return bool(flags.c_contiguous and flags.aligned and x.dtype.isnative)

    def form(self, shape: Shape, data_type: DataType) -> tuple[Shape, Any]:
        return shape, numpy_dtype(data_type)

    def empty(self, form: tuple[Shape, Any], x: Any) -> Any:
        return np.empty(*form)

    def address(self, x: Any) -> int:
        return library.address_of(x)

    def pointer(self, x: Any) -> Any:
        return library.pointer_to(x)

    def check_writable(self, out: Any) -> None:
        if not isinstance(out, np.ndarray):
            raise InvalidArgumentsError(f"out is a {type(out).__name__}, x an array: give the same kind")
        if not out.flags.writeable:
            raise InvalidArgumentsError("out is read-only")
        if shares_places(out):
            raise InvalidArgumentsError(f"out has strides {out.strides}: some of its elements share memory")

    def copy(self, to: Any, values: Any) -> None:
        np.copyto(to, values)

    def bytes_of(self, x: Any) -> NDArray[np.uint8]:
        array: NDArray[Any] = x
        return array.reshape(-1).view(np.uint8)

    def of_array(self, array: NDArray[Any]) -> Any:
        return array


_NUMPY = _Numpy()
# Native byte order only: the keys of a dict compare equal to it alone.
_TYPES: dict[Any, DataType] = {numpy_dtype(name): name for name in ("f32", "f16", "bf16")}


_HOSTS: dict[type, Host] = {np.ndarray: _NUMPY}  # of the types that most tensors have


def host_of(x: Any) -> Host:
    """The kind of a tensor: torch's for its tensors, else numpy's."""
    return _HOSTS.get(type(x)) or _find_host(x)


def _find_host(x: Any) -> Host:
    if "torch" in sys.modules:
        from zemm._arrays import torch_tensors

        _HOSTS[torch_tensors.Tensor] = torch_tensors.HOST
        if isinstance(x, torch_tensors.Tensor):
            return torch_tensors.HOST
    return _NUMPY


def as_array(x: Any, name: str) -> NDArray[Any]:
    """An array of numpy with the values of x, without a copy where it can be."""
    host = host_of(x)
    tensor = host.check(x, name)
    if isinstance(tensor, np.ndarray):
        return tensor
    data_type = host.type_name(tensor, name)
    plain = host.plain(tensor, data_type)
    return host.bytes_of(plain).view(numpy_dtype(data_type)).reshape(tuple(plain.shape))


def check_out(host: Host, out: Any, shape: Shape, data_type: str) -> None:
    """ValueError: out cannot hold a result of this shape and type."""
    host.check_writable(out)
    if tuple(out.shape) != shape:
        raise InvalidArgumentsError(f"out has shape {tuple(out.shape)}, y is {shape}")
    own = host.type_name(out, "out")
    if own != data_type:
        raise InvalidArgumentsError(f"out has type {own}, y has {data_type}")


def overlap(host: Host, x: Any, out: Any) -> bool:
    """Whether two plain tensors share bytes."""
    a, b = host.address(x), host.address(out)
    return a < b + out.nbytes and b < a + x.nbytes


def element_size(data_type: DataType) -> int:
    return numpy_dtype(dtype_name(data_type)).itemsize
