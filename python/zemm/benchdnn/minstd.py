# SPDX-License-Identifier: Apache-2.0
"""libstdc++'s minstd_rand with its integer and Bernoulli distributions, many independent streams in lockstep.

benchdnn fills tensors in chunks of 64 elements, each with a generator of its own; here one numpy array holds
the states of all chunks, and every operation advances all of them (or those of a mask) by one step.
"""

import numpy as np
from numpy.typing import NDArray

_MODULUS = 2**31 - 1
_FACTOR = 48271
_RANGE = _MODULUS - 2  # max() - min() of the engine, which gives 1 .. 2^31 - 2

Mask = NDArray[np.bool_]


class Streams:
    """Generators seeded with `seeds` (any integers), after `discard` steps."""

    def __init__(self, seeds: NDArray[np.int64], discard: int = 0) -> None:
        state = seeds.astype(np.uint64) % np.uint64(_MODULUS)
        state[state == 0] = 1
        jump = np.uint64(pow(_FACTOR, discard, _MODULUS))
        self._state = _reduced(state * jump)

    def integers(self, low: int, high: int, where: Mask | None = None) -> NDArray[np.int64]:
        """One draw of uniform_int_distribution<int>(low, high) per stream; those outside of `where` stay."""
        count = high - low + 1
        scaling = _RANGE // count
        draw = self._next(where)
        rejected = draw >= count * scaling
        while rejected.any():
            again = rejected if where is None else rejected & where
            if not again.any():
                break
            draw = np.where(again, self._next(again), draw)
            rejected = again & (draw >= count * scaling)
        return (draw // np.uint64(scaling)).astype(np.int64) + low

    def bernoulli(self, probability: float) -> Mask:
        """One draw of bernoulli_distribution(probability) per stream: two steps make a number in [0, 1)."""
        size = float(_RANGE + 1)
        low = self._next(None).astype(np.float64)
        high = self._next(None).astype(np.float64)
        return (low + high * size) / (size * size) < probability

    def _next(self, where: Mask | None) -> NDArray[np.uint64]:
        """Advance and return `state - min()`; the values of streams outside of `where` mean nothing."""
        step = _reduced(self._state * np.uint64(_FACTOR))
        self._state = step if where is None else np.where(where, step, self._state)
        return step - np.uint64(1)


def _reduced(product: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`product` (< 2^62) modulo 2^31 - 1, by folding the high bits onto the low ones."""
    mask = np.uint64(_MODULUS)
    folded = (product & mask) + (product >> np.uint64(31))
    folded = (folded & mask) + (folded >> np.uint64(31))
    return np.where(folded >= mask, folded - mask, folded)
