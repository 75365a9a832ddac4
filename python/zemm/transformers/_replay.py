# SPDX-License-Identifier: Apache-2.0
"""Repeats a compiled decode step without torch's guards and lookups."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from transformers import cache_utils

_PLAIN = (bool, int, float, str)
_KNOWN = (cache_utils.StaticLayer, cache_utils.StaticSlidingWindowLayer)


def cache_of(inputs: dict[str, Any]) -> Any:
    """The cache that forward() gets, under the name of the version of Transformers; None: it gets none."""
    found = inputs.get("cache")
    return found if found is not None else inputs.get("past_key_values")


def is_static(cache: Any) -> bool:
    """Whether all layers of a cache keep their tensors in place, and have no state that is not known here."""
    return isinstance(cache, cache_utils.StaticCache) and all(type(layer) in _KNOWN for layer in cache.layers)


class Counts:
    """The numbers of tokens that layers with a sliding window keep as integers of Python. A graph has them as
    constants: so it is traced with 0, or the size of a full window, and they are counted here."""

    def __init__(self, cache: Any) -> None:
        names = ("cumulative_length_int", "cumulative_length")
        found = (
            (layer, next((n for n in names if isinstance(getattr(layer, n, None), int)), None))
            for layer in cache.layers
        )
        self._places = [(layer, name) for layer, name in found if name is not None]

    def full(self) -> list[bool]:
        """Whether each window is full."""
        return [getattr(layer, name) >= layer.max_cache_len for layer, name in self._places]

    def advance(self) -> None:
        for layer, name in self._places:
            setattr(layer, name, getattr(layer, name) + 1)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        kept = [getattr(layer, name) for layer, name in self._places]
        for (layer, name), is_full in zip(self._places, self.full(), strict=True):
            setattr(layer, name, layer.max_cache_len if is_full else 0)
        try:
            yield
        finally:
            for (layer, name), count in zip(self._places, kept, strict=True):
                setattr(layer, name, count)


class Recorded:
    """A call of a compiled graph. args: tensors of the model, of its cache, and of the step."""

    def __init__(self, graph: Callable[..., Any], args: tuple[Any, ...], results: Any) -> None:
        self.graph, self.args, self.results = graph, list(args), results


class Replay:
    """Calls the graph of a recorded step with the tensors of another one, for the same cache. This is right
    as long as nothing changes the model."""

    def __init__(self, call: Recorded, inputs: dict[str, Any], output: Any, counts: Counts) -> None:
        self._call, self._counts, self._full = call, counts, counts.full()
        self._cache, self._kind = cache_of(inputs), type(output)
        self._tensors = [layer.keys for layer in self._cache.layers]
        self._inputs = dict(_leaves(inputs))
        places = {id(arg): place for place, arg in enumerate(call.args)}
        self._places = {
            name: places.get(id(value))
            for name, value in self._inputs.items()
            if isinstance(value, torch.Tensor)
        }
        self._logits = next((at for at, one in enumerate(call.results) if one is output.logits), None)
        self._cache_name = next((name for name, value in output.items() if value is self._cache), None)
        rest = [name for name in output if name not in ("logits", self._cache_name)]
        self.is_possible = self._logits is not None and not rest

    def __call__(self, inputs: dict[str, Any]) -> Any:
        """The output of the step; None: it is not like the recorded one."""
        leaves, args = _leaves(inputs), self._call.args
        if len(leaves) != len(self._inputs):
            return None
        for name, value in leaves:
            if name not in self._inputs:
                return None
            known = self._inputs[name]
            if not isinstance(known, torch.Tensor):
                if value is not known and not (isinstance(known, _PLAIN) and value == known):
                    return None
            elif (
                not isinstance(value, torch.Tensor)
                or value.shape != known.shape
                or value.dtype is not known.dtype
                or value.stride() != known.stride()
            ):
                return None
            elif (place := self._places[name]) is not None:
                args[place] = value
        if self._counts.full() != self._full or any(
            layer.keys is not kept for layer, kept in zip(self._cache.layers, self._tensors, strict=True)
        ):
            return None
        logits = self._call.graph(*args)[self._logits]
        self._counts.advance()
        made = {"logits": logits}
        if self._cache_name is not None:
            made[self._cache_name] = self._cache
        return self._kind(**made)


def _leaves(inputs: dict[str, Any]) -> list[tuple[str, Any]]:
    """The arguments of forward() by name, those of a dictionary of masks one by one."""
    found: list[tuple[str, Any]] = []
    for name, value in inputs.items():
        if isinstance(value, dict):
            found += [(f"{name}.{key}", one) for key, one in value.items()]
        else:
            found.append((name, value))
    return found
