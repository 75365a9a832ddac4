# SPDX-License-Identifier: Apache-2.0
"""A layer as plain arrays, and files of them in the safetensors format.

The arrays are "values", "scales", "zero_points" and "bias" (those that the layer has), and "config",
JSON as bytes. Values are row-major, not packed, so that a file serves any machine.
"""

import json
from collections.abc import Iterable, Mapping
from os import PathLike
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zemm import _check
from zemm._host_tensors import as_array
from zemm.dtypes import dtype_name, numpy_dtype
from zemm.errors import InvalidArgumentsError, missing_package

State = dict[str, NDArray[Any]]
_ARRAYS = ("values", "scales", "zero_points", "bias")
_FORMAT = 1


def pack_state(arrays: Mapping[str, NDArray[Any] | None], settings: Mapping[str, Any], prefix: str) -> State:
    """Arrays with their names. config has their types: a file does not."""
    types, state = {}, {}
    for name, array in arrays.items():
        if array is not None:
            types[name] = dtype_name(array.dtype)
            state[prefix + name] = np.ascontiguousarray(array)
    config = json.dumps({"format": _FORMAT, "types": types, **settings})
    state[prefix + "config"] = np.frombuffer(config.encode(), np.uint8).copy()
    return state


def unpack_state(state: Mapping[str, Any], prefix: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays by name (None for those that are missing) and the settings."""
    if prefix + "config" not in state:
        raise InvalidArgumentsError(
            f"state has no layer with the prefix {prefix!r}; prefixes: {prefixes_of(state) or 'none'}"
        )
    try:
        config = json.loads(as_array(state[prefix + "config"], "config").tobytes())
        version, types = config.pop("format"), config.pop("types")
        arrays = {name: state.get(prefix + name) for name in _ARRAYS}
        for name, data_type in types.items():
            array, dtype = as_array(state[prefix + name], name), numpy_dtype(data_type)
            arrays[name] = array.view(dtype) if array.dtype != dtype else array
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidArgumentsError(f"the layer {prefix!r} is damaged: {error!r}") from None
    if version != _FORMAT:
        raise InvalidArgumentsError(f"the layer {prefix!r} has format {version}, this zemm reads {_FORMAT}")
    return arrays, config


def prefixes_of(names: Iterable[str]) -> list[str]:
    """The prefixes of the layers in a state or file."""
    return sorted(name.removesuffix("config") for name in map(str, names) if name.endswith("config"))


def _safetensors() -> ModuleType:
    try:
        import safetensors.numpy
    except ImportError as error:
        raise missing_package("a file of layers", "safetensors", error) from None
    return safetensors.numpy


def write_state(path: str | PathLike[str], state: State) -> None:
    """Types that only ml_dtypes has are stored as integers of their size."""
    file = _check.path(path, "path")
    plain = {
        name: array if array.dtype.isbuiltin == 1 else array.view(f"u{array.itemsize}")
        for name, array in state.items()
    }
    _safetensors().save_file(plain, file)


def read_state(path: str | PathLike[str]) -> State:
    file, module = _check.path(path, "path"), _safetensors()
    try:
        state: State = module.load_file(file)
    except OSError:
        raise
    except Exception as error:  # the package has exceptions of its own
        raise InvalidArgumentsError(f"path: {file} is no file of layers: {error}") from None
    return state
