# SPDX-License-Identifier: Apache-2.0
"""What Transformers 5 makes of the tensors of a checkpoint while it loads a model."""

from copy import deepcopy
from typing import Any

from zemm.errors import UnimplementedError

# Tensors that only quantised layers have.
QUANTISED = ("qweight", "weight_packed", "weight_scale")


class Renaming:
    """The name that a model's conversions give a tensor. Asking changes them, so copies are asked."""

    def __init__(self, conversions: list[Any]) -> None:
        from transformers.core_model_loading import WeightConverter, WeightRenaming

        copies = deepcopy(conversions)
        self._renamings = [entry for entry in copies if isinstance(entry, WeightRenaming)]
        self._converters = [entry for entry in copies if isinstance(entry, WeightConverter)]

    def _asked(self, name: str) -> tuple[str, Any]:
        from transformers.core_model_loading import rename_source_key

        found: tuple[str, Any] = rename_source_key(name, self._renamings, self._converters)
        return found

    def computes(self, name: str) -> bool:
        """Whether a tensor is quantised, and becomes others."""
        module, _, key = name.rpartition(".")
        asked = (name, f"{module}.weight") if key in QUANTISED else ()
        return any(self._asked(own)[1] is not None for own in asked)

    def __call__(self, name: str) -> list[str]:
        """The names in the model, several of a tensor that is cut. NotImplementedError: the tensor is
        quantised, and becomes others there."""
        if self.computes(name):
            raise UnimplementedError(
                f"the checkpoint has the tensor {name}, which Transformers cuts or joins to others of the"
                " model: zemm does not do so with quantised tensors"
            )
        own, pattern = self._asked(name)
        targets = next((c.target_patterns for c in self._converters if pattern in c.source_patterns), [own])
        return [own.replace(targets[0], target, 1) for target in targets]
