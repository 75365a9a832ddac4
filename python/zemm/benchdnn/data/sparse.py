# SPDX-License-Identifier: Apache-2.0
"""Which elements of a sparse tensor are stored, and their values, drawn as benchdnn does."""

import numpy as np
from numpy.typing import NDArray

from zemm.benchdnn.data.minstd import sequence

Places = NDArray[np.bool_]

_SPREAD = 3


def places(rows: int, columns: int, stored: int) -> Places:
    """Whether an element is stored, of shape (rows, columns). `stored` elements are. Rows have very
    different numbers of them; some have none."""
    found = np.zeros((rows, columns), bool)
    if not found.size:
        return found
    counts, drawn = _counts(rows, columns, stored), sequence(0, columns - 1)
    for row in np.flatnonzero(counts).tolist():
        chosen: set[int] = set()
        while len(chosen) < counts[row]:
            chosen.add(next(drawn))
        found[row, list(chosen)] = True
    return found


def _counts(rows: int, columns: int, stored: int) -> list[int]:
    """The number of stored elements of each row: up to three times the average, then what is left,
    divided over all rows with room."""
    wanted = np.fromiter(sequence(0, stored // rows * _SPREAD), np.int64, rows)
    counts = _in_turn(stored, np.minimum(wanted, columns))
    while left := stored - int(counts.sum()):
        counts += _in_turn(left, np.minimum(columns - counts, max(left // rows, 1)))
    found: list[int] = counts.tolist()
    return found


def _in_turn(total: int, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """The share of each row if each in turn takes as many as it wants, until `total` are taken."""
    return np.clip(total - (np.cumsum(wanted) - wanted), 0, wanted)
