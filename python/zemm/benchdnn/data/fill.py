# SPDX-License-Identifier: Apache-2.0
"""Random values of tensors, drawn as benchdnn does: each chunk of 64 elements has its own
generator."""

from collections.abc import Callable

import numpy as np

from zemm.benchdnn.data.minstd import Seeds, bernoulli
from zemm.benchdnn.data.minstd import integers as integers_of
from zemm.benchdnn.grammar.dtypes import BY_NAME, SMALL_INTEGERS, Floats, rounded

CHUNK = 64
_BLOCK = 2**10 * CHUNK  # what is computed at once stays in a cache
KINDS = {"SRC": 0, "WEI": 1, "BIA": 2, "DST": 3}
# Ranges of benchdnn, but s8 has 6 bits, as ggml's Q6_K has.
_REAL_RANGES = {
    "f32": (-1024, 1024), "f64": (-1024, 1024), "s32": (-1024, 1024), "bf16": (-32, 32), "f16": (-8, 8),
    "s8": (-32, 31), "u8": (0, 64),
} | {dt.name: (int(dt.low), int(dt.high)) for dt in SMALL_INTEGERS}  # fmt: skip
_FIRST = {"u8": 128.0, "s32": 256.0} | {dt.name: dt.low or dt.high for dt in SMALL_INTEGERS}


def integers(
    count: int,
    kind: str,
    values: tuple[int, int],
    density: float = 1.0,
    zero_point: float = 0.0,
    dt: str = "f32",
) -> Floats:
    """`count` random integers in [min, max] for src, weights, bias or old dst (`kind`, a key of
    KINDS).

    They are in the order of benchdnn's reference memory. A share of 1 - density of them is zero.
    zero_point is added to the others. All are rounded to dt. Element 0 is drawn until it is
    positive.
    """
    out = np.empty(-(-count // CHUNK) * CHUNK, np.float32)
    for start in range(0, count, _BLOCK):
        chunks = np.arange(start, min(start + _BLOCK, count), CHUNK, dtype=np.int64)
        rows = _rows(KINDS[kind] * count + chunks + 1, values, density, np.float32(zero_point))
        if start == 0:
            rows[0] = _first_row(KINDS[kind] * count + 1, values, density, np.float32(zero_point))
        out[start : start + rows.size] = rounded(rows.reshape(-1), dt)
    return out[:count]


def _rows(seeds: Seeds, values: tuple[int, int], density: float, zero_point: np.float32) -> Floats:
    """One chunk for each seed. A second generator chooses which elements are not zero. Only these
    use up a drawn value."""
    drawn = integers_of(seeds, 1, CHUNK, *values).astype(np.float32) + zero_point
    if density >= 1:
        return drawn
    keep = bernoulli(seeds, 10, CHUNK, density)
    return np.where(keep, np.take_along_axis(drawn, np.maximum(np.cumsum(keep, 1) - 1, 0), 1), np.float32(0))


def _first_row(seed: int, values: tuple[int, int], density: float, zero_point: np.float32) -> Floats:
    """The first chunk of a tensor. Values are drawn until one is positive; that is element 0, never
    zero."""
    seeds = np.array([seed], np.int64)
    drawn = integers_of(seeds, 1, 4 * CHUNK, *values)[0]
    drawn = drawn[int(np.argmax(drawn > 0)) :]
    keep = np.ones(CHUNK, bool)
    if density < 1:
        keep[1:] = bernoulli(seeds, 10, CHUNK - 1, density)[0]
    return np.where(keep, drawn[np.cumsum(keep) - 1] + zero_point, np.float32(0))


def stored(count: int, kind: str, values: tuple[int, int], dt: str) -> Floats:
    """`count` random integers in [min, max], rounded to dt: the stored elements of a sparse tensor."""
    return rounded(_chunked(count, None, KINDS[kind] * count, *values, lambda draws: draws), dt)


def scales(count: int, value: float, low: int = -4, high: int = -2) -> Floats:
    """Scales: a single one is `value`, several are powers of two, with exponents in [low, high]."""
    return _chunked(count, value, count, low, high, lambda draws: np.exp2(draws))


def zero_points(count: int, value: float, dt: str) -> Floats:
    """Zero points: a single one is `value`, several are integers in [max(-2, smallest value of dt),
    2], or quarters in [-2, 2] if dt is a float."""
    if not BY_NAME[dt].integral:
        return rounded(_chunked(count, value, 0, -8, 8, lambda draws: draws * np.float32(0.25)), dt)
    return _chunked(count, value, 0, int(max(-2, BY_NAME[dt].low)), 2, lambda draws: draws)


def post_op(count: int, low: int, high: int, dt: str, factor: float = 1.0) -> Floats:
    """Values of a post-op's tensor: integers in [low, high] times `factor`, clamped to dt. As in
    benchdnn, element 0 is an extreme value for u8, s32, u4 and s4, and a fraction for
    floating-point types."""
    info = BY_NAME[dt]
    drawn = _chunked(count, None, count, low, high, lambda draws: draws * np.float32(factor))
    drawn = np.clip(drawn, np.float32(info.low), np.float32(info.high))
    if count and info.integral:
        drawn[0] = _FIRST.get(dt, drawn[0])
    elif count:
        drawn[0] += 0.5 if drawn[0] < high * abs(factor) else -0.5
    return rounded(drawn, dt)


def real(count: int, dt: str, seed: int) -> Floats:
    """Uniform real values in a range for dt, rounded to dt. The sequence is not that of
    benchdnn."""
    low, high = _REAL_RANGES.get(dt, (-2, 2))
    values = np.random.default_rng(seed).random(count, np.float32)
    return rounded(values * np.float32(high - low) + np.float32(low), dt)


def _chunked(
    count: int, value: float | None, offset: int, low: int, high: int, convert: Callable[[Floats], Floats]
) -> Floats:
    """Integers in [low, high], converted by `convert`; the seed of a chunk is offset + its first
    index + 1. If count is 1 and value is not None, the result is just value."""
    if count == 1 and value is not None:
        return np.array([value], np.float32)
    if count == 0:
        return np.zeros(0, np.float32)
    seeds = offset + np.arange(0, count, CHUNK, dtype=np.int64) + 1
    drawn = integers_of(seeds, 1, min(CHUNK, count), low, high).astype(np.float32)
    return convert(drawn).reshape(-1)[:count]
