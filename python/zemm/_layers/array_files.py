# SPDX-License-Identifier: Apache-2.0
"""Files of named arrays in the safetensors format, which layers are kept in."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zemm._library import check
from zemm.dtypes import numpy_dtype
from zemm.errors import InvalidArgumentsError, UnimplementedError, missing_package
from zemm.words import DataType

# safetensors' names of the types that a layer may have
_TYPES: dict[str, DataType] = {
    "F64": "f64",
    "F32": "f32",
    "F16": "f16",
    "BF16": "bf16",
    "F8_E4M3": "f8_e4m3",
    "F8_E5M2": "f8_e5m2",
    "F8_E8M0": "e8m0",
    "I64": "s64",
    "I32": "s32",
    "I8": "s8",
    "U8": "u8",
}


def _safetensors() -> ModuleType:
    try:
        import safetensors.numpy
    except ImportError as error:
        raise missing_package("a file of layers", "safetensors", error) from None
    return safetensors.numpy


def _safetensors_error() -> type[Exception]:
    from safetensors import SafetensorError

    error: type[Exception] = SafetensorError
    return error


def write_arrays(path: str | PathLike[str], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Types that only ml_dtypes has are stored as integers of their size. The file appears whole, with the
    permissions of any new file, or of the one that it replaces. OSError: it cannot be written."""
    file = check.path(path, "path")
    plain = {
        name: array.view(f"u{array.itemsize}") if array.dtype.kind == "V" else array
        for name, array in arrays.items()
    }
    save_file = _safetensors().save_file
    if os.path.isdir(file):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), file)
    beside = os.path.join(os.path.dirname(file), f".zemm-{secrets.token_hex(12)}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        try:
            mode = os.stat(file if os.path.exists(file) else descriptor).st_mode
        finally:
            os.close(descriptor)
        try:
            save_file(plain, beside)  # as another file of this name, which only its owner may read
            os.chmod(beside, stat.S_IMODE(mode))
            os.replace(beside, file)
        except BaseException:
            os.unlink(beside)
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, file) from None
    except _safetensors_error() as error:
        raise OSError(f"{file!r} cannot be written: {str(error).replace(beside, file)}") from None


def read_arrays(path: str | PathLike[str]) -> dict[str, NDArray[Any]]:
    """OSError: the file cannot be read. ValueError: it has another format, or is damaged."""
    file, module = check.path(path, "path"), _safetensors()
    try:
        return dict(module.load_file(file))
    except OSError:
        raise
    except (AttributeError, KeyError, TypeError):
        pass  # types that numpy does not know by itself
    except Exception as error:  # the package has exceptions of its own
        raise InvalidArgumentsError(f"path: {file} is no file of layers: {error}") from None
    return _with_more_types(file)


def _with_more_types(file: str) -> dict[str, NDArray[Any]]:
    """Arrays of a valid file in which safetensors finds types that torch has written."""
    import safetensors

    arrays = {}
    for name, entry in safetensors.deserialize(Path(file).read_bytes()):
        if entry["dtype"] not in _TYPES:
            raise InvalidArgumentsError(f"path: {file} has {name!r} in the type {entry['dtype']}")
        array = np.frombuffer(entry["data"], numpy_dtype(_TYPES[entry["dtype"]]))
        arrays[name] = array.reshape(entry["shape"])
    return arrays


@contextmanager
def about_file(path: str | PathLike[str]) -> Iterator[None]:
    """Errors of arguments that are raised inside name the file that the arguments come from."""
    try:
        yield
    except (InvalidArgumentsError, UnimplementedError) as error:
        raise type(error)(f"path: {check.path(path, 'path')}: {error}", error.status) from None
