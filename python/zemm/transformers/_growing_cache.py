# SPDX-License-Identifier: Apache-2.0
"""Dynamic caches with room for more tokens, where Transformers copies all keys and values for each."""

from typing import Any

import torch
from transformers.cache_utils import DynamicCache, DynamicLayer

from zemm.transformers._replay import cache_of

_ROOM = 256  # tokens at least; a quarter of those that are there if that is more


class _Room:
    """A tensor [batch, heads, room, width], whose first tokens are those of a layer, its owner."""

    def __init__(self, owner: object, old: torch.Tensor, new: torch.Tensor) -> None:
        count = _length(old) + new.shape[2]
        # A copy of a layer, or one that was cropped, gets a room of its own: callers may have the tokens.
        self._owner, self._end = id(owner), _length(old)
        self._all = new.new_empty(*new.shape[:2], count + max(_ROOM, count // 4), new.shape[3])
        self._all[:, :, : self._end] = old

    def fits(self, owner: object, old: torch.Tensor, new: torch.Tensor) -> bool:
        """Whether the old tokens are still the first ones, and there is room for the new."""
        room = self._all
        return (
            (self._owner, self._end) == (id(owner), _length(old))
            and old.data_ptr() == room.data_ptr()
            and old.stride() == room.stride()
            and _length(old) + new.shape[2] <= room.shape[2]
            and (torch.is_inference_mode_enabled() or not room.is_inference())
        )

    def extended(self, old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        begin, self._end = self._end, self._end + new.shape[2]
        self._all[:, :, begin : self._end] = new
        return self._all[:, :, : self._end]


def _length(tokens: torch.Tensor) -> int:
    return tokens.shape[2]


def _is_usual(old: torch.Tensor | None, new: torch.Tensor) -> bool:
    """Whether there are tokens like the new ones, so that torch.cat would do no more than copy them."""
    return (
        old is not None
        and old.ndim == new.ndim == 4
        and (old.shape[:2], old.shape[3]) == (new.shape[:2], new.shape[3])
        and (old.dtype, old.device) == (new.dtype, new.device)
        and not (old.requires_grad or new.requires_grad)
    )


class GrowingLayer(DynamicLayer):
    """As DynamicLayer, whose methods may replace its tensors."""

    keys: Any
    values: Any
    _rooms: tuple[_Room, ...] | None = None

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        olds, news = (self.keys, self.values), (key_states, value_states)
        if torch.compiler.is_compiling() or not all(map(_is_usual, olds, news)):
            self._rooms = None
            return super().update(key_states, value_states, *args, **kwargs)
        pairs = list(zip(olds, news, strict=True))
        if self._rooms is None or not all(
            room.fits(self, *pair) for room, pair in zip(self._rooms, pairs, strict=True)
        ):
            self._rooms = tuple(_Room(self, *pair) for pair in pairs)
        self.keys, self.values = (room.extended(*pair) for room, pair in zip(self._rooms, pairs, strict=True))
        return self.keys, self.values


def give_room(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A hook before forward() of a model: its dynamic cache gets layers that grow. Layers of other kinds,
    such as those of sliding windows, stay."""
    cache: Any = None if torch.compiler.is_compiling() else cache_of(kwargs)
    if type(cache) is not DynamicCache or getattr(cache, "offloading", False):
        return
    if getattr(cache, "layer_class_to_replicate", None) is DynamicLayer:
        cache.layer_class_to_replicate = GrowingLayer
    for layer in cache.layers:
        if type(layer) is DynamicLayer:
            layer.__class__ = GrowingLayer
