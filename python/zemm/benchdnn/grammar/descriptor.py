# SPDX-License-Identifier: Apache-2.0
"""The problem descriptor `SRC_DIMS:WEI_DIMS[_][nNAME]`: the dims of a matmul and its name."""

import math
from dataclasses import dataclass
from typing import ClassVar

from zemm._programs.usage import UsageError
from zemm.benchdnn.grammar import atoms
from zemm.benchdnn.grammar.atoms import VERIFICATION

MAX_NDIMS = 12


@dataclass(frozen=True)
class Descriptor:
    """Logical dims of src (.., M, K) and weights (.., K, N), and the name of the problem. There are
    as many for both; but with groups of rows (`--grouped`) src is [M, K] and weights are
    [groups, K, N]."""

    driver: ClassVar[str] = "matmul"

    src: tuple[int, ...]
    wei: tuple[int, ...]
    name: str = ""

    @property
    def ndims(self) -> int:
        return len(self.src)

    @property
    def m(self) -> int:
        return self.src[-2]

    @property
    def n(self) -> int:
        return self.wei[-1]

    @property
    def k(self) -> int:
        return self.src[-1]

    @property
    def dst(self) -> tuple[int, ...]:
        """The dims of dst. Each batch dim is the larger of both, or 0 if one of them is 0; then M
        and N follow."""
        pairs = zip(self.src[:-2], self.wei[:-2], strict=False)
        return (*(max(a, b) if a and b else 0 for a, b in pairs), self.m, self.n)

    @property
    def ops(self) -> int:
        """The number of multiplications and additions: 2 * elements of dst * K."""
        return 2 * math.prod(self.dst) * self.k

    def token(self, canonical: bool = False) -> str:
        """The DESC of a case line, with the name. canonical: also what can be left out."""
        return f"{self}_n{self.name}" if self.name else str(self)

    def __str__(self) -> str:
        return f"{atoms.show_dims(self.src)}:{atoms.show_dims(self.wei)}"


def parse_descriptor(token: str) -> Descriptor:
    """The descriptor in a DESC token. Missing trailing dims of weights are 1. UsageError if it is
    none."""
    dims_text, _, name = token.partition("n")
    what = f"problem '{token}'"
    tensors = dims_text.removesuffix("_").split(":")
    if len(tensors) != 2:
        raise UsageError(
            f"{VERIFICATION}{what}: {len(tensors)} tensors are given, SRC_DIMS:WEI_DIMS are needed"
        )
    src, wei = (atoms.dims(tensor, what) for tensor in tensors)
    if not 2 <= len(src) <= MAX_NDIMS:
        raise UsageError(f"{VERIFICATION}{what}: src has {len(src)} dims, 2 to {MAX_NDIMS} are possible")
    return Descriptor(src, wei + (1,) * (len(src) - len(wei)), name)
