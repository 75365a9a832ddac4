# SPDX-License-Identifier: Apache-2.0
"""A layer as plain arrays.

They are "values", "scales", "zero_points", "offsets", "scale_factors", "offset_factors" and "bias" (those
that the layer has), and "config", JSON as bytes. Values are row-major, not packed, so that they serve any
machine.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zemm._arrays.host_tensors import as_array
from zemm._library.check import shown
from zemm.dtypes import dtype_name, numpy_dtype, type_of
from zemm.errors import InvalidArgumentsError

State = dict[str, NDArray[Any]]
_ARRAYS = ("values", "scales", "zero_points", "offsets", "scale_factors", "offset_factors", "bias")
_SETTINGS = ("dims", "weights_dtype", "activation", "activation_group", "dst_dtype", "fpmath", "group")
_ABOUT_ARRAYS = ("format", "types", "shapes")
_FORMAT = 1


def pack_state(arrays: Mapping[str, NDArray[Any] | None], settings: Mapping[str, Any], prefix: str) -> State:
    """Copies of the arrays with their names. config has their types, which a file does not keep, and
    their shapes, by which a cut array is found out."""
    state = {name: np.array(array, order="C") for name, array in arrays.items() if array is not None}
    about = {
        "types": {name: dtype_name(array.dtype) for name, array in state.items()},
        "shapes": {name: array.shape for name, array in state.items()},
    }
    config = json.dumps({"format": _FORMAT, **about, **settings})
    state["config"] = np.frombuffer(config.encode(), np.uint8).copy()
    return {prefix + name: array for name, array in state.items()}


def unpack_state(state: Mapping[str, Any], prefix: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays by name (None for those that are missing) and the settings. ValueError: there is no
    layer with the prefix, or it is damaged."""
    if prefix + "config" not in state:
        raise InvalidArgumentsError(
            f"state has no layer with the prefix {prefix!r}; prefixes: {prefixes_of(state) or 'none'}"
        )
    try:
        config = config_of(state[prefix + "config"])
        given = {name: state[prefix + name] for name in _ARRAYS if state.get(prefix + name) is not None}
        arrays = _checked(given, config["types"], config["shapes"])
    except InvalidArgumentsError as error:
        raise damaged(prefix, error) from None
    return {name: arrays.get(name) for name in _ARRAYS}, {name: config.get(name) for name in _SETTINGS}


def damaged(prefix: str, error: object) -> InvalidArgumentsError:
    return InvalidArgumentsError(f"the layer {prefix!r} is damaged: {error}")


def from_file(arrays: Mapping[str, NDArray[Any]]) -> State:
    """The state in a file, which holds types that only ml_dtypes has as integers of their size."""
    state = dict(arrays)
    for prefix in prefixes_of(arrays):
        try:
            types = config_of(arrays[prefix + "config"])["types"]
        except InvalidArgumentsError:
            continue  # whoever asks for this layer gets the error
        for name, dtype in types.items():
            array = state.get(prefix + name)
            if array is not None and dtype.kind == "V" and array.dtype == np.dtype(f"u{dtype.itemsize}"):
                state[prefix + name] = array.view(dtype)
    return state


def prefixes_of(names: Iterable[str]) -> list[str]:
    """The prefixes of the layers in a state or file."""
    return sorted(name.removesuffix("config") for name in map(str, names) if name.endswith("config"))


def config_of(values: Any) -> dict[str, Any]:
    """The settings of a layer, "types" as types of numpy and "shapes" as tuples."""
    data = _as_type(as_array(values, "config"), np.dtype(np.uint8), "config")
    try:
        config = json.loads(data.tobytes())
    except RecursionError:
        raise InvalidArgumentsError("config is JSON that is nested too deeply, not one object") from None
    except ValueError as error:
        raise InvalidArgumentsError(f"config is no JSON: {error}") from None
    if not isinstance(config, dict):
        raise InvalidArgumentsError(f"config is {shown(config)}, not an object of JSON")
    version = config.get("format")
    if version != _FORMAT:
        raise InvalidArgumentsError(f"config has format {shown(version)}, this zemm reads {_FORMAT}")
    if unknown := [name for name in config if name not in (*_SETTINGS, *_ABOUT_ARRAYS)]:
        raise InvalidArgumentsError(f"config has {shown(unknown[0])}, none of {', '.join(_SETTINGS)}")
    if not _is_shape(config.get("dims")):
        raise InvalidArgumentsError(
            f"config has dims {shown(config.get('dims'))}, not a list of integers [K, N] or [E, K, N]"
        )
    config["types"] = {
        name: numpy_dtype(dtype_name(found, f"the type of {name} in config"))
        for name, found in _by_name(config, "types").items()
    }
    config["shapes"] = {name: tuple(shape) for name, shape in _by_name(config, "shapes").items()}
    return config


def _by_name(config: dict[str, Any], what: str) -> dict[str, Any]:
    """An object in config with an entry for each array."""
    entries = config.get(what, {})
    if not isinstance(entries, dict) or any(name not in _ARRAYS for name in entries):
        raise InvalidArgumentsError(f"config has {what} that are not those of {', '.join(_ARRAYS)}")
    if what == "shapes" and not all(_is_shape(shape) for shape in entries.values()):
        raise InvalidArgumentsError("config has shapes that are no lists of integers")
    return entries


def _is_shape(value: Any) -> bool:
    return isinstance(value, list) and all(type(n) is int and n >= 0 for n in value)


def _checked(
    given: dict[str, Any], types: dict[str, np.dtype[Any]], shapes: dict[str, tuple[int, ...]]
) -> dict[str, NDArray[Any]]:
    """The arrays in the types that config names. ValueError: they are not those that it describes."""
    if missing := [name for name in ("values", *types, *shapes) if name not in given]:
        raise InvalidArgumentsError(f"it has no {missing[0]}")
    arrays = {name: as_array(values, name) for name, values in given.items()}
    for name, array in arrays.items():
        if shapes and name not in shapes:
            raise InvalidArgumentsError(f"it has {name}, of which its config says nothing")
        if shapes and array.shape != shapes[name]:
            raise InvalidArgumentsError(
                f"{name} has shape {array.shape}, not {shapes[name]} as in its config"
            )
        if name in types:
            arrays[name] = _as_type(array, types[name], name)
    return arrays


def _as_type(array: NDArray[Any], dtype: np.dtype[Any], name: str) -> NDArray[Any]:
    """Converts numbers to a type. ValueError: it cannot hold them, or they are integers where floats
    are expected: these may be the bytes of floats."""
    if array.dtype.newbyteorder("=") == dtype:
        return array.astype(dtype, copy=False)
    wanted = dtype_name(dtype)
    if array.dtype.kind not in "iuf":
        type_of(array, name)  # refuses what is no number
    if array.dtype.kind not in "iu" or dtype.kind in "iu":
        with np.errstate(all="ignore"):
            made = array.astype(dtype)
            same = np.array_equal(made.astype(np.float64), array.astype(np.float64), equal_nan=True)
        if same:
            return made
    raise InvalidArgumentsError(
        f"{name} has type {array.dtype} and numbers that do not become {wanted}, the type of the layer's"
        f" {name}: keep the arrays as state_dict() made them"
    )
