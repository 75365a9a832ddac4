# SPDX-License-Identifier: Apache-2.0
"""CPU tensors of torch for zemm._arrays.host_tensors, which imports this once the program has imported
torch."""

from math import prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.autograd import forward_ad

from zemm._library import library
from zemm._library.torch_derivatives import refuse_gradient, refuse_tangent
from zemm.dtypes import numpy_dtype
from zemm.errors import InvalidArgumentsError
from zemm.words import DataType

_TYPES: dict[Any, DataType] = {
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float64: "f64",
    torch.int8: "s8",
    torch.uint8: "u8",
    torch.int32: "s32",
    torch.float8_e5m2: "f8_e5m2",
    torch.float8_e4m3fn: "f8_e4m3",
    torch.float8_e8m0fnu: "e8m0",
}
_DTYPES = {name: dtype for dtype, name in _TYPES.items()}


Tensor = torch.Tensor


class _Torch:
    def check(self, x: Any, name: str) -> Any:
        if not x.is_cpu:
            raise InvalidArgumentsError(f"{name} is on the device {x.device}: call {name}.cpu() first")
        if x.layout is not torch.strided:
            raise InvalidArgumentsError(f"{name} has the layout {x.layout}: call {name}.to_dense() first")
        if forward_ad._current_level >= 0:
            refuse_tangent(x, name)
        if type(x) is torch.Tensor and not x.requires_grad:
            return x
        refuse_gradient(x, name)
        return x.detach()

    def type_name(self, x: Any, name: str) -> DataType:
        try:
            return _TYPES[x.dtype]
        except KeyError:
            raise InvalidArgumentsError(
                f"{name} has type {x.dtype}, not one of {', '.join(map(str, _TYPES))}"
            ) from None

    def plain(self, x: Any, data_type: DataType) -> Any:
        return x.to(_DTYPES[data_type]).contiguous().resolve_neg()

    def is_plain(self, x: Any) -> bool:
        return bool(x.is_contiguous()) and not x.is_neg()

    def form(self, shape: tuple[int, ...], data_type: DataType) -> tuple[Any, ...]:
        strides = [prod(max(size, 1) for size in shape[d + 1 :]) for d in range(len(shape))]
        return shape, strides, _DTYPES[data_type]

    def empty(self, form: tuple[Any, ...], x: Any) -> Any:
        shape, strides, dtype = form  # with strides torch takes half as long
        return x.new_empty_strided(shape, strides, dtype=dtype)

    def address(self, x: Any) -> int:
        try:
            address = int(x.data_ptr())
        except RuntimeError:  # of the wrappers of torch.func
            address = 0
        if not address and x.numel():
            raise InvalidArgumentsError(
                f"a {type(x).__name__} that torch traces or transforms has no bytes: zemm.torch.QuantLinear"
                " is for programs that do this"
            )
        return address

    def pointer(self, x: Any) -> Any:
        try:
            address = x.data_ptr()
        except RuntimeError:
            address = 0
        return library.pointer(address or self.address(x))

    def check_writable(self, out: Any) -> None:
        if not isinstance(out, torch.Tensor):
            raise InvalidArgumentsError(f"out is a {type(out).__name__}, x a tensor: give the same kind")
        self.check(out, "out")
        if torch._debug_has_internal_overlap(out) == 1:
            raise InvalidArgumentsError(f"out has strides {out.stride()}: some of its elements share memory")

    def copy(self, to: Any, values: Any) -> None:
        to.copy_(values)

    def bytes_of(self, x: Any) -> NDArray[np.uint8]:
        size = x.numel() * x.element_size()
        if not size:
            return np.empty(0, np.uint8)
        return np.asarray(x.view(-1).view(torch.uint8).numpy())

    def of_array(self, array: NDArray[Any]) -> torch.Tensor:
        return sharing(array)


HOST = _Torch()


def dtype_of(name: DataType) -> torch.dtype:
    """torch's type for zemm's name of a data type."""
    return _DTYPES[name]


def from_array(array: NDArray[Any]) -> torch.Tensor:
    """A tensor with a copy of an array, also of the types of ml_dtypes that torch has."""
    return sharing(np.array(array, order="C"))


def sharing(array: NDArray[Any]) -> torch.Tensor:
    """A tensor with the bytes of the array if it is dense and row-major."""
    names = {numpy_dtype(name): dtype for name, dtype in _DTYPES.items()}
    plain = np.ascontiguousarray(array)
    tensor = torch.from_numpy(plain.reshape(-1).view(np.uint8)).view(names[plain.dtype])
    return tensor.reshape(array.shape)
