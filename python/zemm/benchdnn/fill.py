# SPDX-License-Identifier: Apache-2.0
"""Values of tensors, drawn as benchdnn draws them: chunks of 64 elements with a generator each."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from zemm.benchdnn.dtypes import BY_NAME, Floats, rounded
from zemm.benchdnn.minstd import Streams

CHUNK = 64
KINDS = {"SRC": 0, "WEI": 1, "BIA": 2, "DST": 3}
_REAL_RANGES = {
    "f32": (-1024, 1024), "f64": (-1024, 1024), "s32": (-1024, 1024), "bf16": (-32, 32), "f16": (-8, 8),
    "s8": (-32, 32), "u8": (0, 64), "s4": (-8, 7), "u4": (0, 15),
}  # fmt: skip
_FIRST = {"u8": 128.0, "s32": 256.0, "u4": 15.0, "s4": -8.0}


def integers(
    count: int,
    kind: str,
    values: tuple[int, int],
    density: float = 1.0,
    zero_point: float = 0.0,
    dt: str = "f32",
) -> Floats:
    """`count` integers of [min, max] in the order of the reference memory: src, weights, bias or old dst.

    A share of 1 - `density` is zero; `zero_point` is added to the others, which are then rounded to `dt`.
    Element 0 is drawn until it is positive.
    """
    if count == 0:
        return np.zeros(0, np.float32)
    seeds = KINDS[kind] * count + np.arange(0, count, CHUNK, dtype=np.int64) + 1
    rest = _Drawing(seeds[1:], values, density, zero_point)
    start = _Drawing(seeds[:1], values, density, zero_point)
    parts = [start.positive(), start.rows(CHUNK - 1), rest.rows(CHUNK)]
    return rounded(np.concatenate(parts)[:count], dt)


class _Drawing:
    """The generators of some chunks: one for values, which only kept elements advance, one for the choice."""

    def __init__(
        self, seeds: NDArray[np.int64], values: tuple[int, int], density: float, zero_point: float
    ) -> None:
        self._draw, self._choose = Streams(seeds, 1), Streams(seeds, 10)
        self._shape = len(seeds)
        self._values, self._density, self._zero_point = values, density, np.float32(zero_point)

    def positive(self) -> Floats:
        """The next value above zero of every chunk (any value when the range has none)."""
        drawn = self._draw.integers(*self._values)
        while self._values[1] > 0 and not (drawn > 0).all():
            drawn = np.where(drawn > 0, drawn, self._draw.integers(*self._values, where=drawn <= 0))
        return drawn.astype(np.float32) + self._zero_point

    def rows(self, steps: int) -> Floats:
        """The next `steps` elements of every chunk, chunk after chunk."""
        table = np.zeros((steps, self._shape), np.float32)
        for row in table:
            keep = self._choose.bernoulli(self._density) if self._density < 1 else None
            row[:] = self._draw.integers(*self._values, where=keep)
            row += self._zero_point
            if keep is not None:
                row[~keep] = 0
        return table.T.reshape(-1)


def scales(count: int, value: float) -> Floats:
    """One scale is `value`; several are drawn from 1/16, 1/8, 1/4."""
    return _chunked(count, value, 0, -4, -2, lambda draws: np.exp2(draws))


def zero_points(count: int, value: float, dt: str) -> Floats:
    """One zero point is `value`; several are integers of [max(-2, lowest), 2]."""
    return _chunked(count, value, 0, int(max(-2, BY_NAME[dt].low)), 2, lambda draws: draws)


def post_op(count: int, low: int, high: int, dt: str, factor: float = 1.0) -> Floats:
    """A post-op's tensor: integers of [low, high] times `factor`, clamped to `dt`; element 0 is special."""
    info = BY_NAME[dt]
    drawn = _chunked(count, None, count, low, high, lambda draws: draws * np.float32(factor))
    drawn = np.clip(drawn, np.float32(info.low), np.float32(info.high))
    if count and info.integral:
        drawn[0] = _FIRST.get(dt, drawn[0])
    elif count:
        drawn[0] += 0.5 if drawn[0] < high * abs(factor) else -0.5
    return rounded(drawn, dt)


def real(count: int, dt: str, seed: int) -> Floats:
    """Uniform real data of benchdnn's range, rounded to `dt` (the sequence is not benchdnn's)."""
    low, high = _REAL_RANGES.get(dt, (-2, 2))
    values = np.random.default_rng(seed).random(count, np.float32)
    return rounded(values * np.float32(high - low) + np.float32(low), dt)


def _chunked(
    count: int, value: float | None, offset: int, low: int, high: int, convert: Callable[[Floats], Floats]
) -> Floats:
    """Draws of [low, high], chunks seeded offset + chunk start + 1; `value` (unless None) if count is 1."""
    if count == 1 and value is not None:
        return np.array([value], np.float32)
    if count == 0:
        return np.zeros(0, np.float32)
    streams = Streams(offset + np.arange(0, count, CHUNK, dtype=np.int64) + 1, 1)
    table = np.stack([streams.integers(low, high) for _ in range(min(CHUNK, count))]).astype(np.float32)
    return convert(table).T.reshape(-1)[:count]
