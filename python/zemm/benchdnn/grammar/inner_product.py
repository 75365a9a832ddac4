# SPDX-License-Identifier: Apache-2.0
"""The problem descriptor of the driver ip, `mbXicXidXihXiwXocX[_][nNAME]`, and the directions of `--dir`."""

import math
import re
from dataclasses import dataclass, replace
from typing import ClassVar

from zemm._programs.usage import UsageError
from zemm.benchdnn.grammar import atoms
from zemm.benchdnn.grammar.descriptor import Descriptor

DIRECTIONS = ("FWD_B", "FWD_D", "FWD_I", "BWD_D", "BWD_W", "BWD_WB", "BWD_DW")
WITH_BIAS = ("FWD_B", "BWD_WB")  # bias is f32 then
_DEFAULT_MB = 2
_SPATIAL = ("id", "ih", "iw")
_FORM = re.compile(r"((?:(?:mb|ic|id|ih|iw|oc)[^a-z_]*_?)+)(?:n(.*))?", re.DOTALL)
_DIM = re.compile("(mb|ic|id|ih|iw|oc)([^a-z_]*)")


@dataclass(frozen=True)
class InnerProduct(Descriptor):
    """Logical dims of src (MB, IC, up to three places) and weights (OC, IC, the same places), and the name
    of the problem. As a matmul it has M = MB, N = OC, and K = all other dims."""

    driver: ClassVar[str] = "ip"

    @property
    def m(self) -> int:
        return self.src[0]

    @property
    def n(self) -> int:
        return self.wei[0]

    @property
    def k(self) -> int:
        return math.prod(self.src[1:])

    @property
    def dst(self) -> tuple[int, ...]:
        return self.m, self.n

    def with_batch(self, mb: int) -> "InnerProduct":
        """A copy of the problem with MB = mb; 0 leaves MB as it is."""
        return replace(self, src=(mb, *self.src[1:])) if mb else self

    def token(self, canonical: bool = False) -> str:
        return f"{self._dims(canonical)}n{self.name}" if self.name else self._dims(canonical)

    def __str__(self) -> str:
        return self._dims(False)

    def _dims(self, canonical: bool) -> str:
        """The dims; unless canonical, without MB = 2, and with one number for a cube or a square."""
        places = self.src[2:]
        shown = places if canonical or len(set(places)) > 1 else places[:1]
        names = _SPATIAL[len(_SPATIAL) - len(places) :]
        mb = f"mb{self.m}" if canonical or self.m != _DEFAULT_MB else ""
        spatial = "".join(f"{name}{size}" for name, size in zip(names, shown, strict=False))
        return f"{mb}ic{self.src[1]}{spatial}oc{self.n}"


def parse_inner_product(token: str) -> InnerProduct:
    """The descriptor in a DESC token. MB is 2 unless it is given. UsageError if it is none."""
    what = f"{atoms.verification('ip')}problem '{token}'"
    match = _FORM.fullmatch(token)
    if not match:
        raise UsageError(f"{what} is not of the form mbXicXidXihXiwXocX[_][nNAME]")
    sizes = {"mb": _DEFAULT_MB}
    sizes |= {name: atoms.integer(size, f"{what}: {name}", 0) for name, size in _DIM.findall(match[1])}
    for name in ("ic", "oc"):
        if not sizes.get(name):
            raise UsageError(f"{what}: {name} is missing or 0")
    places = _places([sizes.get(name, 0) for name in _SPATIAL], what)
    src, wei = ((sizes[first], sizes["ic"], *places) for first in ("mb", "oc"))
    return InnerProduct(src, wei, match[2] or "")


def _places(sizes: list[int], what: str) -> list[int]:
    """The spatial dims. One that is 0 is not there; id alone is a cube, ih alone a square."""
    depth, height, width = sizes
    if depth and not (height or width):
        return [depth] * 3
    if depth and not (height and width):
        raise UsageError(f"{what}: with id both ih and iw are given, or none of them")
    if height and not width:
        return [height] * 2
    return [size for size in sizes if size]
