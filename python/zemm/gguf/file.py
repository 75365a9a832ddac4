# SPDX-License-Identifier: Apache-2.0
"""zemm.gguf.load(): a GGUF file as a mapping of its tensors by name."""

import difflib
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from zemm._library import check
from zemm.errors import InvalidArgumentsError, missing_package
from zemm.gguf.formats import FORMATS
from zemm.gguf.header import TensorEntry, read_header
from zemm.gguf.tensor import Tensor

_NAMES = {form.number: name for name, form in FORMATS.items()}


def load(path: str | os.PathLike[str]) -> "File":
    """Open a GGUF file. Reads its header only.

    ValueError: the file is no GGUF file, truncated or damaged; the message says where. ImportError:
    the package gguf is missing. OSError: the file cannot be read.
    """
    return File(path)


class File(Mapping[str, Tensor]):
    """The tensors of a GGUF file by name, and its metadata.

    metadata: the file's fields: numbers, bool, str, arrays of numpy, lists of str.

    The file is mapped into memory, so it must not be written or truncated while it is in use. Each
    look-up makes a new Tensor, which keeps what it has decoded: keep the tensors that you use again.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        gguf = _package()
        self.path = check.path(path, "path")
        try:
            if os.path.getsize(self.path) == 0:
                raise InvalidArgumentsError("it is empty")
            self._data = np.asarray(np.memmap(self.path, np.uint8, "r"))
            header = read_header(self._data, gguf)
            self.metadata: dict[str, Any] = header.metadata
            self._tensors: dict[str, Tensor] = {}
            for entry in header.tensors:
                if entry.name in self._tensors:
                    raise InvalidArgumentsError(f"it has the tensor {entry.name!r} twice")
                self._tensors[entry.name] = self._tensor(entry, header.data_start, gguf)
        except InvalidArgumentsError as error:
            raise InvalidArgumentsError(f"{self.path!r} cannot be read: {error}") from None

    def _tensor(self, entry: TensorEntry, data_start: int, gguf: ModuleType) -> Tensor:
        type_name = _type_name(entry.type, gguf)
        if type_name not in FORMATS:
            return Tensor(entry.name, type_name, entry.dims, self._data[:0])
        form = FORMATS[type_name]
        k, *others = entry.dims
        if k % form.elements:
            raise InvalidArgumentsError(
                f"tensor {entry.name!r} has K = {k} (dims {entry.dims}), but its type {type_name} has"
                f" blocks of {form.elements} elements"
            )
        size = k // form.elements * form.block.itemsize * math.prod(others)
        start = data_start + entry.offset
        if start + size > self._data.size:
            raise InvalidArgumentsError(
                f"tensor {entry.name!r} of type {type_name} and dims {entry.dims} has {size} bytes from byte"
                f" {start}, but the file has {self._data.size}: it is truncated or damaged"
            )
        return Tensor(entry.name, type_name, entry.dims, self._data[start : start + size])

    def __getitem__(self, name: str) -> Tensor:
        found = self._tensors.get(name)
        if found is None:
            raise _NoTensorError(_no_tensor(name, self._tensors))
        return Tensor(found.name, found.type, found._dims, found._data)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __repr__(self) -> str:
        return f"<zemm.gguf.File {self.path!r} with {len(self)} tensors>"


def _type_name(number: int, gguf: ModuleType) -> str:
    """ggml's name of a type. Types that zemm reads may be newer than the package."""
    if number in _NAMES:
        return _NAMES[number]
    try:
        return str(gguf.GGMLQuantizationType(number).name)
    except ValueError:
        return f"number {number}"


class _NoTensorError(KeyError):
    def __str__(self) -> str:
        return str(self.args[0])  # KeyError shows its repr


def _no_tensor(name: Any, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, names, 3, 0.7) if isinstance(name, str) else []
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "list(file) has all names"
    return f"no tensor {check.shown(name)}: {hint}"


def _package() -> ModuleType:
    try:
        import gguf
    except ImportError as error:
        raise missing_package("zemm.gguf", "gguf", error) from None
    module: ModuleType = gguf
    return module
