# SPDX-License-Identifier: Apache-2.0
"""A module that has a layer, whose bytes are its buffers (zemm.torch._parts)."""

from collections.abc import Iterator
from itertools import zip_longest
from operator import is_
from typing import Any

import torch

from zemm._arrays.torch_tensors import HOST
from zemm.linear import Linear
from zemm.primitive import PrimitiveDesc
from zemm.torch._found import remember
from zemm.torch._parts import COUNTS, NAMES, parts_of
from zemm.torch._saving import save_compressed
from zemm.torch._stand_in import dtype_after

PARTS = tuple(f"_{name}" for name in NAMES)


class LayerModule(torch.nn.Module):
    """It has no parameters. to() and its relatives change nothing but float_dtype, and refuse other devices.
    Operators take the layer as _tensors()."""

    layer: Linear | None  # None: nothing has been loaded yet
    float_dtype: torch.dtype | None = None  # of the weights that the layer stands for; None: not known
    _own_parts: list[torch.Tensor]
    _kept: dict[Any, torch.Tensor]  # what others read, made of the own parts

    def _clear(self) -> None:
        save_compressed(LayerModule)
        self.layer = None
        self._own_parts, self._kept = [], {}
        for name in PARTS:
            self.register_buffer(name, None, persistent=False)

    def _set(self, layer: Linear) -> None:
        save_compressed(LayerModule)
        self.layer = layer
        parts = parts_of(layer)
        self._own_parts, self._kept = parts if remember(parts, layer) else [], {}
        for name, part in zip_longest(PARTS, parts):
            self.register_buffer(name, part, persistent=False)

    def _tensors(self) -> list[torch.Tensor]:
        """The layer as the operators take it."""
        parts: Any = [getattr(self, name) for name in PARTS]
        return parts if parts[-1] is not None else parts[: COUNTS[0]]

    def _descs(self, rows: int) -> Iterator[PrimitiveDesc]:
        """The executions of a call with an x of float_dtype. rows: of each expert, if there are some."""
        self._tensors()
        layer: Any = self.layer
        given = HOST.type_name(torch.empty(0, dtype=self.float_dtype), "x")
        types = layer._src_dtype(given), layer._dst_dtype(given)
        found: Iterator[PrimitiveDesc] = layer._calls.descs(rows * (layer.experts or 1), *types, None, True)
        return found

    def _has_own_parts(self) -> bool:
        """Whether the buffers are the layer's own bytes, and no others that a program has put there."""
        own = self._own_parts
        return bool(own) and all(map(is_, map(self._buffers.get, PARTS), own))

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        """to(), half(), cuda() and their relatives call this: the layer stays on its engine."""
        self.float_dtype = dtype_after(fn, self.float_dtype or torch.float32, type(self).__name__)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """A copy or a pickle has the layer, which makes its parts anew."""
        buffers = {name: None if name in PARTS else buffer for name, buffer in self._buffers.items()}
        return {**self.__dict__, "_buffers": buffers, "_own_parts": [], "_kept": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self.layer is not None:
            self._set(self.layer)
