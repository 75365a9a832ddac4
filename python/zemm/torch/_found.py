# SPDX-License-Identifier: Apache-2.0
"""Finds the layer of an operator's tensors without making it at each call.

A layer that borrows the bytes of its parts is right for whatever lies at these addresses, as it
reads them at each call: it is found by description and addresses alone. A layer with copies is
right only for the storages that it was copied from, and until somebody writes to them.

Calls usually come with the same five tensor objects as before. Then only what may have changed in
them is looked at.
"""

import weakref
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from zemm.errors import InvalidArgumentsError
from zemm.linear import Linear
from zemm.torch._parts import COUNTS, layer_of, named

Parts = list[torch.Tensor]
_FIRST_SWEEP = 64


class _Entry:
    """A layer, and the parts that it serves. owned: a module keeps the layer alive; otherwise the entry
    does, as long as the parts live."""

    def __init__(self, layer: Linear, parts: Parts, borrows: bool, owned: bool) -> None:
        self._reference = weakref.ref(layer)
        self._keep = None if owned else layer
        self._storages = [StorageWeakRef(part.untyped_storage()) for part in parts[1:]]
        self._versions = None if borrows else _versions(parts)

    def layer(self, parts: Parts) -> Linear | None:
        """The layer, if it is alive and serves these parts."""
        if self._versions is None or (None not in self._versions and self._versions == _versions(parts)):
            return self._reference()
        return None

    def is_dead(self) -> bool:
        if self._keep is None:
            return self._reference() is None
        return any(storage.expired() for storage in self._storages)


def _versions(parts: Parts) -> list[tuple[int, int] | None]:
    """The storage of each part and how often it was written to. None: a tensor of
    torch.inference_mode() does not count that. An entry keeps the address of its storages from being
    used for others."""
    return [
        None if part.is_inference() else (part.untyped_storage()._cdata, part._version) for part in parts[1:]
    ]


_entries: dict[tuple[Any, ...], _Entry] = {}
_next_sweep = _FIRST_SWEEP


def remember(parts: Parts, layer: Linear) -> bool:
    """Serve calls with these parts of a layer by the layer itself, as long as it lives. Whether it has
    their bytes, and not copies."""
    borrows = layer.engine.kind == "cpu" and parts[1].data_ptr() == layer.weights.memory.handle
    _add(_key(parts), _Entry(layer, parts, borrows, owned=True))
    return borrows


class _Known:
    """The layer of five tensor objects that it borrows from. It ends with the first of them."""

    def __init__(self, ids: tuple[int, ...], parts: Parts, entry: _Entry) -> None:
        self.layer = entry._reference
        self.addresses = [part.data_ptr() for part in parts]
        self.version = parts[0]._version  # of the description
        self._watches = [weakref.ref(part, lambda _: _known.pop(ids, None)) for part in parts]


_known: dict[tuple[int, ...], _Known] = {}


def find(parts: Parts) -> Linear:
    """The layer whose parts these are. ValueError: they are damaged."""
    ids = tuple(map(id, parts))
    known = _known.get(ids)
    if known is not None:
        layer = known.layer()
        if (
            layer is not None
            and known.addresses == [part.data_ptr() for part in parts]
            and known.version == parts[0]._version
        ):
            return layer
    key = _key(parts)
    entry = _entries.get(key)
    layer = entry.layer(parts) if entry is not None else None
    if entry is None or layer is None:
        found = layer_of(parts)
        entry, layer = _Entry(found.layer, parts, found.borrows, owned=False), found.layer
        _add(key, entry)
    if entry._versions is None and not parts[0].is_inference():
        _known[ids] = _Known(ids, parts, entry)
    return layer


def _key(parts: Parts) -> tuple[Any, ...]:
    if len(parts) not in COUNTS:
        raise InvalidArgumentsError(f"a layer has {' or '.join(map(str, COUNTS))} parts, not {len(parts)}")
    for name, part in named(parts).items():
        if part.dtype != torch.uint8 or part.ndim != 1 or not part.is_contiguous() or not part.is_cpu:
            raise InvalidArgumentsError(
                f"the part {name} of a layer is {part.dtype} {tuple(part.shape)} on {part.device}, not dense"
                " bytes on the host"
            )
    return (parts[0].numpy().tobytes(), *[(part.data_ptr(), part.nbytes) for part in parts[1:]])


def _add(key: tuple[Any, ...], entry: _Entry) -> None:
    """Add an entry, and drop those of tensors that are gone whenever their number has doubled. There
    is no lock, which another thread could hold while this process forks: each step leaves a dict that
    is right, and at worst a layer is made again."""
    global _next_sweep
    _entries[key] = entry
    if len(_entries) >= _next_sweep:
        for old, other in list(_entries.items()):
            if other.is_dead():
                _entries.pop(old, None)
        _next_sweep = max(_FIRST_SWEEP, 2 * len(_entries))
