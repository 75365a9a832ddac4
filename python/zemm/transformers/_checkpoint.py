# SPDX-License-Identifier: Apache-2.0
"""The names of a checkpoint's tensors, and their types where the files tell them without being loaded."""

from collections.abc import Callable, Iterable, Iterator
from pickle import UnpicklingError
from typing import Any

import torch
from safetensors import safe_open

from zemm.errors import InvalidArgumentsError

# Floats that a loader would convert, by their names in safetensors, and all that zemm reads.
_FLOATS = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
_TYPES = _FLOATS | {
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "F8_E8M0": torch.float8_e8m0fnu,
}


class Checkpoint:
    """A set of names, with a type where it is known.

    prefix: of the base model's names. Checkpoints have it or lack it, whatever the model does. files: the
    names that tensors have in the files."""

    def __init__(
        self, types: dict[str, torch.dtype | None], prefix: str, files: dict[str, str] | None = None
    ) -> None:
        self._types = types
        self._prefix = f"{prefix}."
        self._files = files or {}

    @classmethod
    def of_files(
        cls, files: Iterable[str] | None, rename: Callable[[str], list[str]], prefix: str
    ) -> "Checkpoint":
        """From the headers of the files. Without files nothing is known. ValueError: a file is damaged."""
        types: dict[str, torch.dtype | None] = {}
        names = {}
        for path in files or ():
            found = _tensors_of(str(path))
            if found is None:
                return cls({}, prefix)
            for name, dtype in found.items():
                for own in rename(name):
                    names[own], types[own] = name, dtype
        return cls(types, prefix, names)

    def __contains__(self, name: Any) -> bool:
        return any(variant in self._types for variant in self._variants(name))

    def dtype(self, name: str) -> torch.dtype | None:
        """The type of a tensor, if it is known."""
        return next((self._types[v] for v in self._variants(name) if v in self._types), None)

    def has_codes(self, name: str) -> bool:
        """Whether a tensor that is there is known to have no floats which a loader would convert."""
        return self.dtype(name) not in (None, *_FLOATS.values())

    def names(self) -> Iterator[tuple[str, ...]]:
        """The tensors, each by the names that a model may have for it, its own one first."""
        return map(self._variants, self._types)

    def modules(self) -> dict[str, str]:
        """The modules with tensors, by their names: what they are called in the files."""
        found = {}
        for own, name in self._files.items():
            for variant in self._variants(own.rpartition(".")[0]):
                found[variant] = name.rpartition(".")[0]
        return found

    def is_known(self) -> bool:
        return bool(self._types)

    def _variants(self, name: str) -> tuple[str, ...]:
        return name, name.removeprefix(self._prefix), self._prefix + name


def _tensors_of(path: str) -> dict[str, torch.dtype | None] | None:
    """The types of the tensors of a file, without their values. None: they are pickled with other objects,
    which only a caller may trust."""
    try:
        if path.endswith(".safetensors"):
            with safe_open(path, "pt") as file:
                return {name: _TYPES.get(file.get_slice(name).get_dtype()) for name in file.keys()}  # noqa: SIM118 (no mapping)
        tensors = torch.load(path, map_location="meta", weights_only=True)
        return {name: tensor.dtype for name, tensor in tensors.items() if isinstance(tensor, torch.Tensor)}
    except UnpicklingError:
        return None
    except Exception as error:  # each reader has its own
        why = str(error) or type(error).__name__
        raise InvalidArgumentsError(f"the file {path} of the checkpoint cannot be read: {why}") from None
