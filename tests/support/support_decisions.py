# SPDX-License-Identifier: Apache-2.0
"""Chooses the cases of a product of rows and problems for the full tier: by what the library decides.

Rows of one policy are the same code, compiled for tiles of several sizes. Policies are kin if their owner,
their kind of operands (int8 or not) and the way in which they load are the same: they share all code that
distinguishes what the library decides. A case runs if it shows something that no case before it shows:
- on its row: a launch, a flag
- on the rows of its policy: a constant of the kernel, a fact of the problem
- on the rows of kin policies for CPUs: two launches, constants or flags together
- on the rows for CPUs, and on those for Intel GPUs: the problem itself
Triples are the business of tests/fuzz/fuzz_arithmetic.py.

test_kernels.py::test_row shows these. The other tests vary sizes or values, so their cases need to show less:
- each row
- on the rows of a policy: a launch, a constant, a flag, the case's own name (or facts of the problem)
- on the rows for CPUs, and on those for Intel GPUs: the problem itself
"""

import heapq
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache
from itertools import combinations, product
from typing import Any

import pytest
from support_calls import make_pd
from support_cases import Problem
from support_rows import BY_NAME, constant_id
from support_tiers import facts, itself

_FLAGS = constant_id("SPEC_FLAGS")
_BITS = {bit: f"flag {bit}" for bit in range(32)}


def features(row: str, problem: Problem) -> frozenset[str]:
    """The decisions that the kernels of a problem distinguish: launches, constants, flags. Nothing if the
    row refuses the problem.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZEMM_KERNEL", row)
        try:
            modules = make_pd(problem).modules()
        except NotImplementedError:
            return frozenset()
    found = set()
    for module in modules:
        found.add("main" if module.name == row else module.name)
        if module.name == row:
            found |= {f"{number}={value}" for number, value in module.constants.items() if number != _FLAGS}
            found |= {text for bit, text in _BITS.items() if module.constants.get(_FLAGS, 0) >> bit & 1}
    return frozenset(found)


def shown(row: str, problem: Problem) -> frozenset[Hashable]:
    """The decisions and facts that a case shows; nothing if the row refuses the problem."""
    distinguished = features(row, problem)
    if not distinguished:
        return frozenset()
    traits = BY_NAME[row]
    kin = (traits.owner, traits.src == "int8", traits.block2d, traits.has_tiles)
    alone = {(traits.policy if "=" in feature else row, feature) for feature in distinguished}
    # Rows for Intel GPUs multiply in software here: their modules take several times as long to build.
    pairs = set() if traits.is_xe else {(kin, *pair) for pair in combinations(sorted(distinguished), 2)}
    return frozenset(alone | pairs | {(traits.policy, fact) for fact in facts(problem)})


def shown_by_policy(row: str, problem: Problem, covered: set[Any]) -> frozenset[Hashable]:
    """The decisions that a case shows whose test varies something else than decisions; nothing if the
    row refuses the problem.
    """
    distinguished = features(row, problem)
    if not distinguished:
        return frozenset()
    policy = BY_NAME[row].policy
    return frozenset({row} | {(policy, what) for what in distinguished | covered})


def choose(shows: dict[Hashable, frozenset[Hashable]], first: Iterable[Hashable]) -> set[Hashable]:
    """The cases of `first`, and cases that together with them show all: always the one that shows most of
    what is left.
    """
    chosen = set(first)
    met = set().union(*(shows[case] for case in chosen))
    heap = [(-len(what - met), place, case) for place, (case, what) in enumerate(shows.items())]
    heapq.heapify(heap)
    while heap:
        size, place, case = heapq.heappop(heap)
        left = len(shows[case] - met)
        if left and left < -size:
            heapq.heappush(heap, (-left, place, case))
        elif left:
            chosen.add(case)
            met |= shows[case]
    return chosen


def needed(
    rows: Sequence[str],
    names: Iterable[Any],
    problem_of: Callable[[str, Any], Problem | None],
    first: Callable[[str, Any], bool] = lambda row, name: False,
    covers: Callable[[Any], set[Any]] | None = itself,
) -> Callable[[str, Any], bool]:
    """A function that says whether a row runs a name in the full tier.

    problem_of returns what a row multiplies for a name; None: nothing. first: the cases of the quick
    tier. covers: what a name shows on the rows of a policy; None: the test is test_kernels.py::test_row. A
    refusal is always tested: it costs nothing.
    """
    names = list(names)

    @cache
    def left_out() -> set[Hashable]:
        shows: dict[Hashable, frozenset[Hashable]] = {}
        for turn, row in product(range(len(names)), rows):  # in turns, so that no row runs all of a policy
            name = names[(turn + rows.index(row)) % len(names)]
            problem = problem_of(row, name)
            if not problem:
                continue
            what = shown_by_policy(row, problem, covers(name)) if covers else shown(row, problem)
            if what:
                shows[row, name] = what | {(BY_NAME[row].is_xe, name)}
        return set(shows) - choose(shows, [case for case in shows if first(*case)])

    return lambda row, name: (row, name) not in left_out()
