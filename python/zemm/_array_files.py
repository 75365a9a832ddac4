# SPDX-License-Identifier: Apache-2.0
"""Files of named arrays in the safetensors format, which layers are kept in."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from types import ModuleType
from typing import Any

from numpy.typing import NDArray

from zemm import _check
from zemm.errors import InvalidArgumentsError, UnimplementedError, missing_package


def _safetensors() -> ModuleType:
    try:
        import safetensors.numpy
    except ImportError as error:
        raise missing_package("a file of layers", "safetensors", error) from None
    return safetensors.numpy


def write_arrays(path: str | PathLike[str], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Types that only ml_dtypes has are stored as integers of their size."""
    file = _check.path(path, "path")
    plain = {
        name: array.view(f"u{array.itemsize}") if array.dtype.kind == "V" else array
        for name, array in arrays.items()
    }
    _safetensors().save_file(plain, file)


def read_arrays(path: str | PathLike[str]) -> dict[str, NDArray[Any]]:
    file, module = _check.path(path, "path"), _safetensors()
    try:
        arrays: dict[str, NDArray[Any]] = module.load_file(file)
    except OSError:
        raise
    except Exception as error:  # the package has exceptions of its own
        raise InvalidArgumentsError(f"path: {file} is no file of layers: {error}") from None
    return arrays


@contextmanager
def about_file(path: str | PathLike[str]) -> Iterator[None]:
    """Errors of arguments that are raised inside name the file that the arguments come from."""
    try:
        yield
    except (InvalidArgumentsError, UnimplementedError) as error:
        raise type(error)(f"path: {_check.path(path, 'path')}: {error}", error.status) from None
