# SPDX-License-Identifier: Apache-2.0
"""The random numbers that oneDNN defines for dropout and stochastic rounding: Philox4x32-10.

The number of an element depends on its offset in dst's memory.
"""

import numpy as np
from numpy.typing import NDArray

from zemm._library.lists import TYPES
from zemm.benchdnn.grammar.attributes import Dropout
from zemm.benchdnn.grammar.dtypes import BY_NAME, Floats

Words = NDArray[np.uint32]
Offsets = NDArray[np.int64]  # in elements

_FACTORS = (0xD2511F53, 0xCD9E8D57)
_STEPS = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_LOW = np.uint64(0xFFFFFFFF)


def philox(counter: list[Words], key: tuple[int, int]) -> list[Words]:
    """The four output words of Philox4x32-10 for four counter words and a key of two words."""
    c, (k0, k1) = counter, key
    for _ in range(_ROUNDS):
        high0, low0 = _product(_FACTORS[0], c[0])
        high1, low1 = _product(_FACTORS[1], c[2])
        c = [high1 ^ c[1] ^ np.uint32(k0), low1, high0 ^ c[3] ^ np.uint32(k1), low0]
        k0, k1 = (k0 + _STEPS[0]) & 0xFFFFFFFF, (k1 + _STEPS[1]) & 0xFFFFFFFF
    return c


def wide_form(index: Offsets, seed: int, offset: int) -> Words:
    """A word for each index, from a 64-bit seed and offset. Four neighbours share a block, one
    output word each."""
    block = (index & ~3).astype(np.uint64)
    offsets = [np.full(index.shape, offset >> shift & 0xFFFFFFFF, np.uint32) for shift in (0, 32)]
    counter = [*offsets, (block & _LOW).astype(np.uint32), (block >> np.uint64(32)).astype(np.uint32)]
    lanes = philox(counter, (seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF))
    return np.choose(index & 3, lanes)


def narrow_form(index: Offsets, seed: int) -> Words:
    """A word for each index, from a 32-bit seed. Four neighbours all get output word 2 of their
    block."""
    x = (index & ~3 & 0xFFFFFFFF).astype(np.uint32)
    seed &= 0xFFFFFFFF
    return philox([x, x + np.uint32(1), x, x + np.uint32(3)], (seed, seed))[2]


def dropout_mask(dropout: Dropout, offsets: Offsets) -> NDArray[np.bool_]:
    """True for the elements of dst that dropout keeps. offsets: where they are in memory."""
    words = (
        wide_form(offsets, dropout.seed, dropout.offset)
        if dropout.offset
        else narrow_form(offsets, dropout.seed)
    )
    return words > 0xFFFFFFFF * dropout.p if dropout.p < 1 else np.zeros(offsets.shape, bool)


def stochastic_rounding(x: Floats, dt: str, seed: int, offsets: Offsets) -> Floats:
    """x rounded stochastically to dt: random bits are added below the last digit, and these digits
    are cut off.

    Results are clamped to dt's range; those of a floating-point type below its normal numbers become
    0. offsets: where the elements are in dst's memory.
    """
    info = BY_NAME[dt]
    drop = 24 - info.digits
    shift, width = (2, 8) if info.bits == 16 else (1, 16)
    lane = (offsets & ((1 << shift) - 1)).astype(np.uint32) * np.uint32(width)
    bias = narrow_form(offsets >> shift, seed) >> lane & np.uint32((1 << width) - 1)
    bits = np.ascontiguousarray(x).view(np.uint32) + (bias & np.uint32((1 << drop) - 1))
    out = (bits & ~np.uint32((1 << drop) - 1)).view(np.float32)
    out = np.clip(out, np.float32(info.low), np.float32(info.high))
    smallest = 0.0 if info.integral else TYPES[dt].smallest
    return np.where(np.isnan(x), x, np.where((out != 0) & (np.abs(out) < smallest), np.float32(0), out))


def _product(factor: int, word: Words) -> tuple[Words, Words]:
    wide = word.astype(np.uint64) * np.uint64(factor)
    return (wide >> np.uint64(32)).astype(np.uint32), (wide & _LOW).astype(np.uint32)
