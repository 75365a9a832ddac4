# SPDX-License-Identifier: Apache-2.0
"""Layouts in words, for the repr of a memory descriptor."""

from collections.abc import Sequence

from zemm._library import library


def numbers(values: Sequence[int]) -> str:
    """Dims or strides as a tuple in which ? is known at execution only."""
    words = ["?" if value == library.RUNTIME_DIM else str(value) for value in values]
    return f"({', '.join(words)}{',' * (len(words) == 1)})"


def tag(
    padded_dims: Sequence[int], strides: Sequence[int], inner_blks: Sequence[int], inner_idxs: Sequence[int]
) -> str:
    """The tag of a dense layout with these strides, such as "ba" or "BA16a64b4a": a letter for each
    dimension, the outermost first and upper-case if it has inner blocks, then the blocks."""
    letters = "abcdefghijkl"

    def place(d: int) -> tuple[int, int, int]:
        # Of two dimensions with the same stride one has a single block. It may be in either place;
        # the packings of weights have the last dimension outside.
        return -strides[d], -padded_dims[d], -d if inner_blks else d

    order = sorted(range(len(strides)), key=place)
    outer = (letters[d].upper() if d in inner_idxs else letters[d] for d in order)
    inner = (f"{size}{letters[d]}" for size, d in zip(inner_blks, inner_idxs, strict=True))
    return "".join((*outer, *inner))
