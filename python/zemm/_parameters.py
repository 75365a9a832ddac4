# SPDX-License-Identifier: Apache-2.0
"""Finds the mask and groups of scales, zero points and reductions from the shape of their array."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zemm import _check
from zemm._lists import types_for
from zemm._numbers import as_float32
from zemm.dtypes import FLOATING, FOUR_BIT, dtype_name, type_of
from zemm.errors import InvalidArgumentsError
from zemm.words import DataType

Shape = tuple[int, ...]
SCALE_TYPES = types_for("scale")
_FOR_MANY = ("e8m0", "f8_e4m3")  # the library takes no single scale of these types
ZERO_POINT_TYPES = tuple(name for name in types_for("zero_point") if name not in FOUR_BIT)
_INTEGER_ZERO_POINTS = tuple(name for name in ZERO_POINT_TYPES if name not in FLOATING)


@dataclass(frozen=True)
class Parameter:
    """A dense tensor of scales, zero points or reductions, with its mask and groups.

    k_group: elements of K that share a value (for src and weights).
    """

    values: NDArray[Any]
    mask: int
    groups: Shape
    k_group: int

    @property
    def data_type(self) -> DataType:
        return dtype_name(self.values.dtype)


def scale_values(values: ArrayLike, name: str) -> NDArray[Any]:
    array = _check.array(values, name)
    if array.dtype.kind in "iu" or (array.size == 1 and type_of(array, name) in _FOR_MANY):
        array = array.astype(np.float32)
    return _of_type(as_float32(array, name, may_vanish=False), name, SCALE_TYPES)


def zero_point_values(values: ArrayLike, name: str) -> NDArray[Any]:
    """Zero points of src or dst: integers."""
    return _of_type(_integers_of_32_bits(values, name), name, _INTEGER_ZERO_POINTS)


def weights_zero_point_values(values: ArrayLike, name: str) -> NDArray[Any]:
    """Zero points of weights: integers or floats. float64 becomes float32."""
    return _of_type(as_float32(_integers_of_32_bits(values, name), name), name, ZERO_POINT_TYPES)


def _integers_of_32_bits(values: ArrayLike, name: str) -> NDArray[Any]:
    array = _check.array(values, name)
    if array.dtype.kind in "iu" and array.dtype not in (np.int32, np.int8, np.uint8):
        array = _as_int32(array, name)
    return array


def reduction_values(values: ArrayLike, name: str) -> NDArray[Any]:
    array = _check.array(values, name)
    if array.dtype == np.int64 and not hasattr(values, "dtype"):  # numbers that are in no array yet
        array = _as_int32(array, name)
    return _of_type(array, name, ("s32",))


def _as_int32(array: NDArray[Any], name: str) -> NDArray[np.int32]:
    limits = np.iinfo(np.int32)
    if array.size and (array.min() < limits.min or array.max() > limits.max):
        raise InvalidArgumentsError(f"{name} lies in {array.min()}..{array.max()}, outside 32 bits")
    return array.astype(np.int32)


def _of_type(array: NDArray[Any], name: str, types: tuple[str, ...]) -> NDArray[Any]:
    dtype = type_of(array, name)
    if dtype not in types:
        raise InvalidArgumentsError(f"{name} has type {dtype}, not {' or '.join(types)}")
    return array


def describe(values: NDArray[Any], name: str, owner: str, dims: Shape) -> Parameter:
    """The parameter `values` of its owner ("weights" or "dst"), whose dims are given.

    The dimensions of `values` belong to the last ones of dims. Each is as large as the owner's (one
    value for each index), 1 (one value for all) or, along K of weights, a number of groups that
    divides K. With groups there must be a value for each column: otherwise [N, 1] would be taken
    for N groups. A single value has mask 0. ValueError if the shape does not fit.
    """
    k = dims[-2]
    if values.size == 0 and (k or owner != "weights"):
        raise _misfit(values, name, owner, dims)
    if values.size == 1:
        return Parameter(values.reshape(1), 0, (), k)
    shape = (1,) * (len(dims) - values.ndim) + values.shape
    more = len(shape) - len(dims)  # batch dimensions that the owner lacks: they must be 1
    if any(size != 1 for size in shape[:more]):
        raise _misfit(values, name, owner, dims)
    shape = shape[more:]
    mask, groups = 0, [1, 1]
    k_dim = len(dims) - 2 if owner == "weights" else None
    if k_dim is not None and shape[-2] > 1 and shape[-1] != dims[-1]:
        raise _misfit(values, name, owner, dims)
    for d, (have, full) in enumerate(zip(shape, dims, strict=True)):
        if have == full:
            mask |= int(full > 1) << d
        elif d == k_dim and have > 1 and full % have == 0:
            mask |= 1 << d
            groups[d - len(dims)] = full // have
        elif have != 1:
            raise _misfit(values, name, owner, dims)
    k_group = k // max(shape[-2], 1)
    dense = np.ascontiguousarray(values).reshape(shape)
    return Parameter(dense, mask, tuple(groups) if groups != [1, 1] else (), k_group)


def describe_src(
    values: NDArray[Any], name: str, dims: Shape, ndims: int, flat: bool, common: bool = True
) -> Parameter:
    """A parameter of src, [.., M, G]: one value for each row and group of K / G elements.

    dims: of src. ndims: of the primitive, which may have more. flat: the primitive has the leading
    dimensions of src merged with its rows. common: a single value is allowed and has mask 0.
    ValueError if the shape does not fit.
    """
    if common and values.size == 1:
        return Parameter(values.reshape(1), 0, (), dims[-1])
    fits = values.ndim == len(dims) and values.shape[:-1] == dims[:-1]
    if fits and dims[-1] == 0:
        return Parameter(values, 0, (), 0)
    groups = values.shape[-1] if fits else 0
    if groups == 0 or dims[-1] % groups:
        raise _misfit(values, name, "src", dims)
    values = np.ascontiguousarray(values)
    leading = (-1,) if flat else (*(1,) * (ndims - len(dims)), *dims[:-1])
    group = dims[-1] // groups
    return Parameter(values.reshape(*leading, groups), (1 << ndims) - 1, (1, group), group)


def _misfit(values: NDArray[Any], name: str, owner: str, dims: Shape) -> InvalidArgumentsError:
    rules = {
        "src": "one value, or [.., M, G] where the number of groups G divides K",
        "weights": "one value, [N], or [.., G, N] where the number of groups G divides K",
        "dst": "one value or [N]",
    }
    return InvalidArgumentsError(
        f"{name} of shape {values.shape} does not fit {owner} of shape {dims}: it must be {rules[owner]}"
    )
