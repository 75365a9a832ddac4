# SPDX-License-Identifier: Apache-2.0
"""The names of a checkpoint's tensors, and their types where the files tell them without being loaded."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from safetensors import safe_open

# Names of types in safetensors, for floats that a loader would convert.
_FLOATS = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


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
    def of_files(cls, files: Iterable[str] | None, rename: Callable[[str], str], prefix: str) -> "Checkpoint":
        """From the headers of safetensors files. Of other files nothing is known."""
        types: dict[str, torch.dtype | None] = {}
        names = {}
        for path in files or ():
            if not str(path).endswith(".safetensors"):
                return cls({}, prefix)
            with safe_open(path, "pt") as file:
                for name in file.keys():  # noqa: SIM118 (safe_open is no mapping)
                    names[own := rename(name)] = name
                    types[own] = _FLOATS.get(file.get_slice(name).get_dtype())
        return cls(types, prefix, names)

    def __contains__(self, name: Any) -> bool:
        return any(variant in self._types for variant in self._variants(name))

    def dtype(self, name: str) -> torch.dtype | None:
        """The type of a tensor of floats, if it is known."""
        return next((self._types[v] for v in self._variants(name) if v in self._types), None)

    def has_codes(self, name: str) -> bool:
        """Whether a tensor that is there is known to have no floats which a loader would convert."""
        return any(self._types.values()) and self.dtype(name) is None

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
