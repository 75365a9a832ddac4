# SPDX-License-Identifier: Apache-2.0
"""Computes libstdc++'s minstd_rand and its integer and Bernoulli distributions for many seeds at
once.

After n steps the state is seed * 48271^n mod (2^31 - 1), so a table of powers gives all draws of
all seeds. Each function returns one row for each seed. The generators begin after `discard` steps.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_MODULUS = 2**31 - 1
_FACTOR = 48271
_BLOCK = 4096
_RANGE = _MODULUS - 2  # max() - min() of the generator, whose values are 1 .. 2^31 - 2

Seeds = NDArray[np.int64]


def integers(seeds: Seeds, discard: int, count: int, low: int, high: int) -> NDArray[np.int64]:
    """The first `count` draws of uniform_int_distribution<int>(low, high), of shape (seeds, count)."""
    size = high - low + 1
    scaling = _RANGE // size
    draws = _draws(seeds, discard, count)
    # The distribution rejects draws beyond the last whole multiple of size. That is rare, so only
    # rows with such a draw are computed again, with more draws.
    for row in np.flatnonzero((draws >= size * scaling).any(axis=1)):
        accepted, length = draws[row, :0], count
        while len(accepted) < count:
            length *= 2
            more = _draws(seeds[row : row + 1], discard, length)[0]
            accepted = more[more < size * scaling]
        draws[row] = accepted[:count]
    return (draws // np.uint64(scaling)).astype(np.int64) + low


def bernoulli(seeds: Seeds, discard: int, count: int, probability: float) -> NDArray[np.bool_]:
    """The first `count` draws of bernoulli_distribution(probability). Each uses two steps of the
    generator."""
    size = float(_RANGE + 1)
    draws = _draws(seeds, discard, 2 * count).astype(np.float64)
    chosen: NDArray[np.bool_] = (draws[:, 0::2] + draws[:, 1::2] * size) / (size * size) < probability
    return chosen


def _draws(seeds: Seeds, discard: int, count: int) -> NDArray[np.uint64]:
    """`state - min()` of the next `count` steps."""
    state = seeds.astype(np.uint64) % np.uint64(_MODULUS)
    state[state == 0] = 1
    product = state[:, None] * _powers(discard + 1, count)
    mask = np.uint64(_MODULUS)
    # 2^31 is 1 modulo 2^31 - 1, so add the high bits to the low ones: twice, as a product has up to
    # 62 bits. No product is a multiple of 2^31 - 1, so then all are less.
    for _ in range(2):
        product = (product & mask) + (product >> np.uint64(31))
    return product - np.uint64(1)


@lru_cache(8)
def _powers(first: int, count: int) -> NDArray[np.uint64]:
    """The factors of `count` steps, the first of which is step `first`."""
    return np.array([pow(_FACTOR, first + step, _MODULUS) for step in range(count)], np.uint64)


def sequence(low: int, high: int) -> Iterator[int]:
    """All draws of uniform_int_distribution<int>(low, high) from a generator that is not seeded."""
    size, state = high - low + 1, 1
    scaling = _RANGE // size
    while True:
        draws = _draws(np.array([state], np.int64), 0, _BLOCK)[0]
        state = int(draws[-1]) + 1
        accepted = draws[draws < np.uint64(size * scaling)]
        yield from ((accepted // np.uint64(scaling)).astype(np.int64) + low).tolist()
