# SPDX-License-Identifier: Apache-2.0
"""Sizes for a form on both sides of the planner's thresholds, which are where its decision changes."""

import random
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace

from fuzz_forms import Form, Sizes

M = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 24, 31, 32, 33, 48, 64, 100, 120, 121, 240, 241, 300)
N = (1, 2, 8, 15, 16, 17, 32, 33, 48, 63, 64, 65, 112, 128, 130, 192, 256, 257, 512, 1024, 1040, 2048, 4100)
K = (1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 32, 33, 63, 64, 65, 127, 128, 130, 255, 256, 257, 512, 513, 1000, 1024,
     1030, 2048, 2059, 4096, 8200, 20000, 33030, 70000)  # fmt: skip
FEW = 16  # rows of a form that has few, or of its largest group
USUAL, MOST = 600_000, 2_500_000  # elements of all tensors
Ask = Callable[[Sizes], Hashable]


class SizeDrawer:
    def __init__(self, rng: random.Random, form: Form) -> None:
        self.rng, self.form = rng, form

    def axis(self, name: str) -> list[int]:
        """The values that a dimension may have, or the size of the largest group."""
        form = self.form
        if name == "m":
            return list(M)
        if name == "n":
            # One column of 4 bits is as good as an even number of columns: its elements lie along K.
            alone = {1} if form.unit_n <= 2 else set()
            return sorted(alone | {-(-n // form.unit_n) * form.unit_n for n in N})
        units = (1, 2, 3, 4, 5, 8, 9, 16, 32, 64, 128)
        if form.unit == form.unit_k:
            return list(K) if form.unit == 1 else [form.unit * count for count in units]
        shorter = {
            form.unit * count + rest for count in units for rest in (0, form.unit_k, form.unit - form.unit_k)
        }
        return sorted(shorter | {form.unit_k, form.unit - form.unit_k})

    def size(self) -> Sizes:
        """Random sizes that are not too large. The dimension that is drawn first may be the longest. With
        few rows it is N or K, and often long.
        """
        few = self.form.has_few_rows
        most = MOST if self.rng.random() < 0.03 else 2 * USUAL if few else USUAL
        groups = self.groups() if self.form.grouping else 0
        found = {"m": 1, "n": self.form.unit_n, "k": self.form.unit_k}

        def fits(name: str, value: int) -> bool:
            drawn = self.with_groups(Sizes(**found | {name: value}), groups)
            return drawn.elements * max([1, *(max(dims) for dims in self.form.batch)]) <= most

        if few:
            found["m"] = self.rng.choice([value for value in M if value <= FEW])
        for at, name in enumerate(self.rng.sample("nk" if few else "mnk", 2 if few else 3)):
            values = [value for value in self.axis(name) if fits(name, value)]
            if few and at == 0 and self.rng.random() < 0.6:
                values = values[len(values) * 2 // 3 :]
            found[name] = self.rng.choice(values or [found[name]])
        return self.with_groups(Sizes(**found), groups)

    def groups(self) -> int:
        return self.rng.choice((1, 2, 3, 4, 5, 9))

    def with_groups(self, s: Sizes, count: int) -> Sizes:
        """The sizes with `count` groups of about equal size, for which the planner's descriptor stands."""
        match self.form.grouping:
            case "rows":
                return replace(s, m=s.m * count, groups=(s.m,) * count)
            case "k":
                return replace(s, k=s.k * count, groups=(s.k,) * count)
        return s

    def along(self, s: Sizes, name: str) -> Iterator[tuple[int, Sizes]]:
        """The sizes with other values of a dimension."""
        return ((value, self.at(s, name, value)) for value in self.axis(name))

    def at(self, s: Sizes, name: str, value: int) -> Sizes:
        by_groups = {"rows": "m", "k": "k"}.get(self.form.grouping)
        if name == by_groups:
            one = replace(s, **{name: value})
            return self.with_groups(one, len(s.groups))
        return replace(s, **{name: value})

    def thresholds(self, s: Sizes, name: str, ask: Ask, most: int = 6) -> Iterator[Sizes]:
        """Neighbouring values of a dimension between which the answer changes, both of each pair."""
        unit = {"m": 1, "n": self.form.unit_n, "k": self.form.unit_k}[name]
        last: tuple[int, Hashable] | None = None
        found = 0
        for value, sizes in self.along(s, name):
            if sizes.elements > USUAL or found == most:
                return
            answer = ask(sizes)
            if last and answer != last[1]:
                low, high = last[0], value
                while high - low > unit:
                    middle = (low + high) // (2 * unit) * unit
                    if middle <= low:
                        break
                    if ask(self.at(s, name, middle)) == last[1]:
                        low = middle
                    else:
                        high = middle
                yield self.at(s, name, low)
                yield self.at(s, name, high)
                found += 1
            last = value, answer

    def uneven(self, s: Sizes) -> Sizes:
        """The sizes with groups of which the largest stays, others are smaller, odd or empty."""
        if not s.groups or self.rng.random() < 0.3:
            return s
        largest = max(s.groups)
        others = [self.rng.choice((0, 1, largest, largest // 2, self.rng.randint(0, largest)))
                  for _ in s.groups[1:]]  # fmt: skip
        groups = [largest, *others]
        self.rng.shuffle(groups)
        total = sum(groups)
        if self.form.grouping == "rows":
            return replace(s, m=total, groups=tuple(groups))
        return replace(s, k=total, groups=tuple(groups))
