# SPDX-License-Identifier: Apache-2.0
"""Files of several layers, each under its name."""

from collections.abc import Mapping
from os import PathLike
from typing import Any

from numpy.typing import NDArray

from zemm._layers.array_files import about_file, read_arrays, write_arrays
from zemm._layers.state import from_file, prefixes_of
from zemm._library import check
from zemm.engine import Engine
from zemm.errors import InvalidArgumentsError
from zemm.linear import Linear


def save_layers(path: str | PathLike[str], layers: Mapping[str, Linear]) -> None:
    """Write layers to one file. The names of a layer's arrays begin with its key and a dot."""
    state: dict[str, NDArray[Any]] = {}
    check.instance(layers, Mapping, "layers")  # type: ignore[type-abstract]
    for name, layer in layers.items():
        check.instance(name, str, "a key of layers")
        state.update(check.instance(layer, Linear, f"layers[{name!r}]").state_dict(f"{name}."))
    write_arrays(path, state)


def load_layers(path: str | PathLike[str], *, engine: Engine | None = None) -> dict[str, Linear]:
    """All layers of a file that save_layers() has written, by name. OSError: the file cannot be read.
    ValueError: it has other things than layers, or a layer is damaged."""
    state = from_file(read_arrays(path))
    prefixes = prefixes_of(state)
    with about_file(path):
        if state and not prefixes:
            raise InvalidArgumentsError(
                f"it holds no layers of zemm, but {len(state)} other arrays, such as {min(state)!r}: a layer"
                " has an array 'config' after its name, as save_layers() writes it"
            )
        return {
            prefix.removesuffix("."): Linear.from_state_dict(state, prefix, engine=engine)
            for prefix in prefixes
        }
