# SPDX-License-Identifier: Apache-2.0
"""The planner's decision about a matmul, from the log of ZEMM_VERBOSE=plan."""

import os
import re
import tempfile
from collections.abc import Iterable
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from support_rows import BY_NAME, constant_id, flag

_LINE = re.compile(r"_verbose,(?:.*?,)?primitive,(create|exec):plan,matmul,(\w+),([^,]*),(.*)")
_KINDS = {
    str(constant_id(f"SPEC_{name}")): name.replace("_", " ")
    for name in ("ZP_TERM", "WEI_UNIT", "SRC_UNIT", "SRC_LOAD")
}
_WIDE_SUMS, _FLAGS = flag("FLAG_WIDE_SUMS"), str(constant_id("SPEC_FLAGS"))


class Decision(NamedTuple):
    """constants: of all kernels that are launched, by their names; flags are among them. cut: kinds of it
    instead of numbers, which are as many as there are sizes.
    """

    row: str
    constants: str
    cut: str

    def features(self) -> frozenset[str]:
        """The row, flags and other constants one by one, and the parts of the cut."""
        found = {self.row, *self.cut.split(", ")}
        for launch in self.constants.split():
            name, _, values = launch.partition(":")
            found.add(name)
            if name == "matmul":
                for constant in values.split(";"):
                    number, _, value = constant.partition("=")
                    if number == _FLAGS:
                        found |= {f"flag {bit}" for bit in range(32) if int(value) >> bit & 1}
                    elif number in _KINDS:
                        found.add(f"{_KINDS[number]} {value}")
                    else:
                        found.add(constant)  # a type
        return frozenset(found)


Group = tuple[str, ...]


_OF_SIZES = ("along", "adding", "slices", "dst", "batch")


def is_kind(feature: str) -> bool:
    """Whether a feature is a flag or a part of the cut: no type of a tensor, no name of a kernel, and not
    what most sizes change.
    """
    return "=" not in feature and "_" not in feature and not feature.startswith(_OF_SIZES)


@lru_cache(50_000)
def groups_of(features: frozenset[str]) -> frozenset[Group]:
    """All pairs of features, and all triples of flags and parts of the cut."""
    kinds = sorted(filter(is_kind, features))
    return frozenset(combinations(sorted(features), 2)) | frozenset(combinations(kinds, 3))


class Planned(NamedTuple):
    """A line of the log. event: "create" for the choice of a descriptor, "exec" for an execution."""

    event: str
    decision: Decision


class Log:
    """The log of this process, whose stdout becomes a file."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile("w+b")  # noqa: SIM115
        os.dup2(self._file.fileno(), 1)
        os.environ["ZEMM_VERBOSE"] = "plan"

    def plans(self) -> list[Planned]:
        """The lines since the last call."""
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(0)
        text = self._file.read(size).decode(errors="replace")
        self._file.truncate(0)
        self._file.seek(0)
        return list(plans_of(text.splitlines()))


def plans_of(lines: Iterable[str]) -> Iterable[Planned]:
    for line in lines:
        if match := _LINE.search(line):
            event, row, text, dims = match.groups()
            yield Planned(event, _decision(row, text, dims))


def _decision(row: str, text: str, dims: str) -> Decision:
    words = dict(word.split(":", 1) for word in text.split())
    launches = {name: value for name, value in words.items() if "=" in value or not value}
    numbers = {name: int(value) for name, value in words.items() if value.isdecimal()}
    return Decision(
        row, " ".join(f"{name}:{value}" for name, value in launches.items()), _cut(row, numbers, words, dims)
    )


def _cut(row: str, numbers: dict[str, int], words: dict[str, str], dims: str) -> str:
    """The kinds of a cut that the kernels distinguish: whether tiles are full, how many there are."""
    src, wei = ([int(dim) for dim in part.split("x")] for part in dims.split(":"))
    k, n, traits = src[-1], wei[-1], BY_NAME[row]
    ranges = int(words.get("groups", "1x1x1").split("x")[2])
    height, rows, segment = numbers["tile_rows"], numbers["rows"], max(numbers["segment"], 1)
    parts = {
        "grouping": ("none", "rows", "k")[numbers["grouping"]],
        "tile": "one row" if height == 1 else "at once" if height <= traits.rows else "high",
        "along m": "one" if height >= rows else "even" if rows % max(height, 1) == 0 else "last is lower",
        "along n": "even" if n % traits.tile_n == 0 else "last is narrower",
        "abreast": str(numbers["abreast"]),
        "segments": "one" if segment >= k else "even" if k % segment == 0 else "last is shorter",
        "ranges": "one" if ranges < 2 else "even" if k % numbers["k_range"] == 0 else "last is shorter",
        "strip": "one" if numbers["strip"] < 2 else "more",
        "slices": str(numbers["slices"]),
        "adding": "one row" if numbers["adding_rows"] == 1 else "rows" if numbers["adding_rows"] else "",
        "sums": "wide" if numbers["flags"] & _WIDE_SUMS else "",
    }
    return ", ".join(f"{name}: {value}" for name, value in parts.items() if value)
