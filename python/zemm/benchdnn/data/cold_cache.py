# SPDX-License-Identifier: Apache-2.0
"""`--cold-cache`: tensors in turns, so that none is in a cache when its turn comes."""

from collections.abc import Callable
from typing import Generic, TypeVar

from zemm.benchdnn.grammar.arguments import SCRATCHPAD, WEI

CACHE_BYTES = 256 * 2**20
_MAX_COPIES = 256
_UNITS = {"M": 2**20, "G": 2**30}
T = TypeVar("T")


def sets_of(
    cold_cache: str, tensors: dict[int, T], size: Callable[[T], int], copied: Callable[[T], T]
) -> list[dict[int, T]]:
    """Sets of tensors, by argument, for runs to take one after the other: the given ones and, with
    --cold-cache, copies of the weights (`wei`) or of all but the scratchpad. There are enough copies
    to fill the caches, so that each set is cold at its turn; at most _MAX_COPIES, as small tensors
    would need very many."""
    if cold_cache == "none":
        return [tensors]
    may_be_cold = (WEI,) if cools_weights_only(cold_cache) else tuple(set(tensors) - {SCRATCHPAD})
    chosen = {arg: tensor for arg, tensor in tensors.items() if arg in may_be_cold}
    total = sum(map(size, chosen.values()))
    count = min(-(-CACHE_BYTES // total), _MAX_COPIES) if total else 0
    return [
        tensors,
        *(tensors | {arg: copied(tensor) for arg, tensor in chosen.items()} for _ in range(count)),
    ]


class Turns(Generic[T]):
    """Sets of tensors, or what is made of them, which runs take one after the other."""

    def __init__(self, sets: list[T]) -> None:
        self._sets, self._turn = sets, -1

    def next(self) -> T:
        """The set of the next run."""
        self._turn = (self._turn + 1) % len(self._sets)
        return self.last

    @property
    def last(self) -> T:
        """The set of the last run."""
        return self._sets[self._turn]


def cools_weights_only(cold_cache: str) -> bool:
    """Whether src and dst may stay in the caches."""
    return cold_cache.startswith("wei")


def tlb_bytes(cold_cache: str) -> int:
    """The bytes of memory that `+tlb[:SIZE]` writes between runs; 1 GB by default, 0 without the
    option."""
    _, found, size = cold_cache.partition("+tlb")
    if not found:
        return 0
    return int(float(size[1:-1]) * _UNITS[size[-1].upper()]) if size else _UNITS["G"]
