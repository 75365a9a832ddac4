# SPDX-License-Identifier: Apache-2.0
"""`--grouped=DIM:G:PROFILE[.PARAMETER][:HINT]`: sizes of groups that are drawn for a problem, as benchdnn
draws them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zemm._programs.usage import UsageError
from zemm.benchdnn.grammar import atoms
from zemm.benchdnn.grammar.atoms import VERIFICATION as ERROR
from zemm.benchdnn.grammar.descriptor import Descriptor
from zemm.benchdnn.grammar.encodings import MAX_END, Grouped

PROFILES = ("balanced", "hot", "decode")
_HALF, _ALL = 50, 100  # per cent
# The generator minstd_rand of C++: x = _FACTOR * x % _MODULUS.
_FACTOR, _MODULUS = 48271, 2**31 - 1
_BLOCK = 4096


@dataclass(frozen=True)
class GroupProfile:
    """How `count` groups along dimension `dim` of src get their sizes.

    balanced: each row goes to a group at random; the parameter is the seed (0).
    hot: the first group gets a share of the rows, the others get equal parts of the rest; the parameter
    is the share in per cent (50).
    decode: groups of one row, spread evenly over all groups; no parameter.
    hint: the largest size that is passed to the library; None: that of the groups.
    """

    dim: int
    count: int
    name: str
    parameter: int | None = None
    hint: int | None = None

    def of(self, problem: Descriptor) -> Grouped:
        """The groups of a problem. UsageError if the profile does not fit it."""
        total = problem.src[self.dim] if problem.ndims == 2 else 0  # else verify() refuses the problem
        if total > MAX_END:
            raise UsageError(f"{ERROR}{self}: {total} rows of {problem} are more than an s32 holds")
        sizes = self._sizes(total, problem)
        hint = max(sizes) if self.hint is None else self.hint
        return Grouped(self.dim, sizes, hint, str(self))

    def _sizes(self, total: int, problem: Descriptor) -> tuple[int, ...]:
        if self.name == "balanced":
            return _drawn(total, self.count, self.parameter or 0)
        if self.name == "hot":
            return _hot(total, self.count, _HALF if self.parameter is None else self.parameter)
        if total > self.count:
            raise UsageError(
                f"{ERROR}{self}: decode has groups of 1, and dim {self.dim} of src in {problem} is {total}: "
                f"more than the {self.count} groups"
            )
        busy = {row * self.count // total for row in range(total)}
        return tuple(int(group in busy) for group in range(self.count))

    def __str__(self) -> str:
        parameter = "" if self.parameter is None else f".{self.parameter}"
        hint = "" if self.hint is None else f":{self.hint}"
        return f"--grouped={self.dim}:{self.count}:{self.name}{parameter}{hint}"


def is_profile(text: str) -> bool:
    """Whether the third field of `--grouped` is a profile, not a list of sizes."""
    return text[:1].isalpha()


def parse_profile(dim: int, count: int, fields: list[str], what: str) -> GroupProfile:
    """A profile from the fields `PROFILE[.PARAMETER]` and, perhaps, HINT."""
    name, *parameter = atoms.split(fields[0], ".", what)
    atoms.at_most(parameter, 1, what)
    atoms.choice(name, what, PROFILES, "profile")
    if parameter and name == "decode":
        raise UsageError(f"{what}: '{fields[0]}': decode has no parameter, as its groups have size 1")
    low, high = (1, _ALL) if name == "hot" else (0, 2**63 - 1)
    value = atoms.integer(parameter[0], what, low, high) if parameter else None
    hint = atoms.integer(fields[1], what, 0, MAX_END) if len(fields) > 1 else None
    return GroupProfile(dim, count, name, value, hint)


def _drawn(total: int, count: int, seed: int) -> tuple[int, ...]:
    """The numbers of rows of the groups if each row goes to the group that the generator draws."""
    sizes = np.zeros(count, np.int64)
    state = (count * total + seed + 1) % 2**64 % _MODULUS or 1
    state = _FACTOR * state % _MODULUS  # benchdnn leaves out the first number
    factors = _powers(min(_BLOCK, total))
    for first in range(0, total, _BLOCK):
        numbers = factors[: total - first] * state % _MODULUS
        sizes += np.bincount(numbers % count, minlength=count)
        state = int(numbers[-1])
    return tuple(map(int, sizes))


def _powers(count: int) -> NDArray[np.int64]:
    """The factor to the powers 1 to `count`, by the generator's modulus."""
    powers = [1]
    for _ in range(count):
        powers.append(powers[-1] * _FACTOR % _MODULUS)
    return np.array(powers[1:], np.int64)


def _hot(total: int, count: int, share: int) -> tuple[int, ...]:
    if count == 1:
        return (total,)
    hot = total * share // _ALL
    size, larger = divmod(total - hot, count - 1)
    return (hot, *(size + (group < larger) for group in range(count - 1)))
