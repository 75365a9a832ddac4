# SPDX-License-Identifier: Apache-2.0
"""`--encoding` and `--grouped`: which tensors are sparse, and which are divided into groups."""

from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from zemm.benchdnn.grammar import atoms

MAX_END = 2**31 - 1  # The ends of groups are s32.


@dataclass(frozen=True)
class Sparsity:
    """The entry of `--encoding` for one tensor: csr, coo, packed or '' (dense), and the share of
    zeros."""

    kind: str = ""
    share: float = 0.9

    def stored(self, count: int) -> int:
        """How many of `count` elements are stored, computed in f32 as in benchdnn."""
        stored = int(np.float32(count) * (np.float32(1) - np.float32(self.share)))
        return max(min(stored, count), 1)

    def __str__(self) -> str:
        return f"{self.kind}+{atoms.show_number(self.share)}" if self.share != Sparsity().share else self.kind


@dataclass(frozen=True)
class Groups:
    """The division of a 2-D tensor along its dimension `variable_dim`. Group i ends before the
    index ends[i]."""

    variable_dim: int
    ends: tuple[int, ...]

    @property
    def count(self) -> int:
        return len(self.ends)

    def strides(self, dims: tuple[int, ...]) -> tuple[int, int]:
        """The strides of the values: each group is contiguous."""
        return (dims[1], 1) if self.variable_dim == 0 else (1, dims[0])

    def tag(self) -> str:
        """The tag of the values' layout."""
        return "ab" if self.variable_dim == 0 else "ba"


@dataclass(frozen=True)
class Encoding:
    """`--encoding`: entries for src, weights and dst."""

    tensors: tuple[Sparsity, ...] = (Sparsity(), Sparsity(), Sparsity())

    def of_tensors(self) -> tuple[Sparsity | None, ...]:
        """How src, weights and dst are stored. None: dense."""
        return tuple(entry if entry.kind else None for entry in self.tensors)

    def __str__(self) -> str:
        return "--encoding=" + ":".join(map(str, self.tensors))


@dataclass(frozen=True)
class Grouped:
    """`--grouped`: the dimension of src that is divided into groups, the sizes of the groups, and
    the largest size as a hint for the library (0: no hint).

    dim 0, groups of rows: src [M, K] and dst [M, N] are divided, weights are [groups, K, N].
    dim 1, groups along K: src [M, K] and weights [K, N] are divided, dst is [groups, M, N].
    """

    dim: int
    sizes: tuple[int, ...]
    largest: int = 0
    spelling: str = ""  # the option that the sizes were drawn for (group_profiles.py)

    @property
    def count(self) -> int:
        return len(self.sizes)

    @property
    def ends(self) -> tuple[int, ...]:
        """Where each group ends: the sums of the sizes so far."""
        return tuple(accumulate(self.sizes))

    def of_tensors(self) -> tuple[Groups | None, ...]:
        """How src, weights and dst are stored. None: dense."""
        src, other = Groups(self.dim, self.ends), Groups(0, self.ends)
        return (src, None, other) if self.dim == 0 else (src, other, None)

    def __str__(self) -> str:
        if self.spelling:
            return self.spelling
        hint = f":{self.largest}" if self.largest else ""
        return f"--grouped={self.dim}:{self.count}:{'+'.join(map(str, self.sizes))}{hint}"
