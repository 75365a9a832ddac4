# SPDX-License-Identifier: Apache-2.0
"""`--cold-cache` for peers whose weights are part of a compiled model, which has no copies."""

from collections.abc import Callable

import numpy as np

from zemm.benchdnn.data.cold_cache import CACHE_BYTES, cools_weights_only


def flusher(cold_cache: str, read_src: Callable[[], object]) -> Callable[[], None]:
    """A function that empties the caches: it writes CACHE_BYTES of other memory. If only weights
    must be cold, it calls read_src afterwards. Without --cold-cache it does nothing."""
    if cold_cache == "none":
        return lambda: None
    other = np.zeros(CACHE_BYTES, np.uint8)

    def flush() -> None:
        np.add(other, 1, out=other)
        if cools_weights_only(cold_cache):
            read_src()

    return flush
