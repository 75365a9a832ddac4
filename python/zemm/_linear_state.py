# SPDX-License-Identifier: Apache-2.0
"""A layer as plain arrays.

They are "values", "scales", "zero_points" and "bias" (those that the layer has), and "config",
JSON as bytes. Values are row-major, not packed, so that they serve any machine.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zemm._host_tensors import as_array
from zemm.dtypes import dtype_name, numpy_dtype
from zemm.errors import InvalidArgumentsError

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
