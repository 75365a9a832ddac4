# SPDX-License-Identifier: Apache-2.0
"""Builds the kernels of a layer's call one by one, so that the line about it (zemm._terminal.building) can
say how many there are: those that all layers of the process need for as many rows."""

import os
from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakSet

from zemm._library.locks import Lock
from zemm._terminal import building
from zemm.engine import Engine
from zemm.errors import ZemmError
from zemm.primitive import Primitive, PrimitiveDesc

_lock = Lock()
_layers: "WeakSet[Any]" = WeakSet()  # the LinearCalls of the process
_built: dict[tuple[str, int], set[Any]] = {}  # kernels of earlier calls, by device


def _forget() -> None:
    """A child of fork() cannot use what its parent has built."""
    _layers.clear()
    _built.clear()


os.register_at_fork(after_in_child=_forget)


def add(calls: Any) -> None:
    with _lock.current:
        _layers.add(calls)


def build(calls: Any, engine: Engine, descs: Callable[[Any], Iterable[PrimitiveDesc]]) -> None:
    """Build the kernels of the call that descs(calls) describes, if anybody would see the line. descs()
    also says what the other layers need."""
    if not building.is_watched():
        return
    device = engine.kind, engine.index
    with _lock.current:
        built = _built.setdefault(device, set())
        layers = list(_layers)
    needed: set[Any] = set()
    for pd in descs(calls):
        new = kernels_of(pd) - built
        if new:
            needed = needed or _of_all(layers, device, descs)
            build_one(pd, f"{len(built) + 1} of {len(built | new | needed)}: {pd.impl_info}")
            built |= new


def build_one(pd: PrimitiveDesc, text: str) -> None:
    """text: of the line."""
    with building.watched(lambda: text):
        Primitive(pd)


def _of_all(
    layers: list[Any], device: tuple[str, int], descs: Callable[[Any], Iterable[PrimitiveDesc]]
) -> set[Any]:
    found: set[Any] = set()
    for calls in layers:
        try:
            if calls.device == device:
                for pd in descs(calls):
                    found |= kernels_of(pd)
        except (ZemmError, IndexError):  # a layer that does not take such a call
            continue
    return found


def kernels_of(pd: PrimitiveDesc) -> set[Any]:
    """The key of the descriptor's kernels."""
    return {(m.name, m.kernel, m.build_flags, tuple(sorted(m.constants.items()))) for m in pd.modules()}
