# SPDX-License-Identifier: Apache-2.0
"""Device maps: all of a model is on the host."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from transformers import modeling_utils

from zemm.errors import InvalidArgumentsError

_log = logging.getLogger("zemm")
_AUTOMATIC = ("auto", "balanced", "balanced_low_0", "sequential")


class _Host(str):
    """The device map "auto" of a model with zemm's layers, until Transformers makes a map of it."""


def on_the_host(device_map: Any) -> Any:
    """What Transformers goes on with. ValueError: the user has named another device."""
    places = device_map.values() if isinstance(device_map, dict) else [device_map]
    wanted = {str(place) for place in places if place is not None}
    if others := sorted(wanted - {"cpu", *_AUTOMATIC}):
        raise InvalidArgumentsError(
            f"device_map has {others[0]!r}: the layers of zemm take tensors of the host, so leave it out"
            " or give 'cpu'"
        )
    return _Host("auto") if wanted & set(_AUTOMATIC) else None


def _on_the_host(make: Callable[..., Any]) -> Callable[..., Any]:
    """Transformers' _get_device_map(), the only one that sees max_memory. Models of zemm get no map."""

    @wraps(make)
    def made(model: Any, device_map: Any, max_memory: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(device_map, _Host):
            return make(model, device_map, max_memory, *args, **kwargs)
        if max_memory:
            _log.warning("max_memory has no effect: a model with zemm's layers stays in memory, all of it")
        return None

    return made


modeling_utils._get_device_map = _on_the_host(modeling_utils._get_device_map)
