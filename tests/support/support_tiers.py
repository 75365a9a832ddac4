# SPDX-License-Identifier: Apache-2.0
"""Chooses the cases of a product of rows and problems for the quick tier: each row, each fact of a problem,
few pairs.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, get_args

import pytest
import zemm
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support_calls import refusal
from support_cases import ARGS, PROBLEMS, Problem
from support_cases import NAMES as TENSORS
from support_rows import BY_NAME, CPU_ROWS, ROWS, XE_ROWS
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.attributes import Quantization
from zemm.benchdnn.grammar.post_ops import Binary, Eltwise
from zemm.words import DataType


def _row_cost(row: str) -> float:
    """A rough measure of the time in which a CPU builds a module of the row. The rows for GPUs multiply in
    software there, and unroll their tile.
    """
    traits = BY_NAME[row]
    tile = traits.tile_m * traits.tile_n
    return 1.3 + tile / 1200 if traits.is_xe else 1 + tile / 40000


# For each owner of a tile the row that builds fastest, an integer row if there is one.
SMALL_ROWS = {
    min(rows, key=lambda row: (_row_cost(row), BY_NAME[row].src != "int8")) for rows in (CPU_ROWS, XE_ROWS)
}


# For each policy the row that builds fastest: its rows are the same code for tiles of several sizes.
POLICY_ROWS = {
    min((row for row in ROWS if BY_NAME[row].policy == policy), key=_row_cost)
    for policy in {BY_NAME[row].policy for row in ROWS}
}


@cache
def takes(row: str, problem: Problem) -> bool:
    """Whether the row, forced by name, takes the problem on this machine's CPU device."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZEMM_KERNEL", row)
        return not refusal(problem)


_OF_TABLES = ("group", "units", "loads", "exact", "seed")  # words that do not change what is compiled


def facts(problem: Problem) -> set[str]:
    """The facts of a problem: types by tensor, attributes with their kinds, layouts."""
    case, attributes = problem.case, problem.case.attributes
    found = {f"{name} {dt}" for name, dt in zip(("src", "wei", "dst"), problem.dt, strict=True)}
    found |= {f"{name} {problem.tag(name)}" for name in ("src", "wei", "dst")}
    for kind in args.KINDS:
        entries: tuple[Quantization, ...] = getattr(attributes, kind)
        for entry in entries:
            mask = f"mask {args.mask_of(case, entry).bit_count()}"
            how = "host" if entry.on_host else "groups" if entry.groups else mask
            exactly = f" {entry.groups}" if kind == "precomputed_reductions" else ""
            found.add(f"{TENSORS[entry.arg]}_{kind} {entry.data_type} {how}{exactly}")
    for op in attributes.post_ops:
        name = op.name if isinstance(op, Binary | Eltwise) else ""
        found.add(f"{type(op).__name__} {name} {op.data_type if isinstance(op, Binary) else ''}")
    found.add(f"fpmath {attributes.fpmath}")
    found.add(f"others {attributes.scratchpad} {attributes.reduced_range} {attributes.src_dyn_quant}")
    if case.has_bias:
        found |= {"bias", f"bias {case.bia_mask}"}
    for word, value in problem.words.items():
        if word not in _OF_TABLES:
            found.add(word if word.endswith("_pad") else f"{word} {value}")
    return found


def loose_facts(problem: Problem) -> set[str]:
    """Facts that do not tell which scale or zero point has which type: the same functions convert all."""
    found = set()
    for fact in facts(problem):
        name, *rest = fact.split(" ", 2)
        if name.startswith(tuple(ARGS)) and name.endswith(("_scales", "_zero_points")):
            found |= {f"{name} {rest[1]}", f"{name.split('_', 1)[1]} {rest[0]}"}
        else:
            found.add(fact)
    return found


def few_facts(problem: Problem) -> set[str]:
    """The types of all tensors, and which attributes, post-ops and other words there are."""
    found = set()
    for fact in loose_facts(problem):
        first, second, *_ = f"{fact}  ".split(" ")
        found.add(f"{first} {second}" if second in get_args(DataType) else first)
    return found


def random_cases(quick: int, full: int) -> Callable[[Callable[[zemm.Engine, st.DataObject], None]], Any]:
    """Runs a test of an engine and data that hypothesis draws: few examples in the quick tier, more with
    --full.
    """

    def made(test: Callable[[zemm.Engine, st.DataObject], None]) -> Any:
        @pytest.mark.parametrize("examples", [quick, pytest.param(full, marks=pytest.mark.full)])
        def run_examples(engine: zemm.Engine, examples: int) -> None:
            @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
            @given(st.data())
            def each(data: st.DataObject) -> None:
                test(engine, data)

            each()

        return run_examples

    return made


def itself(name: Any) -> set[Any]:
    return {name}


def nothing(name: str) -> set[str]:
    return set()


def in_turns(
    rows: Sequence[str],
    names: Iterable[str],
    problem_of: Callable[[str, str], Problem | None],
    covers: Callable[[str], set[str]] = itself,
) -> Callable[[str, str], bool]:
    """A function that says whether a row runs a name in the quick tier.

    Each row runs at least one name, that which covers most of what is open then. What the names cover that
    any row takes, the chosen ones cover, too. problem_of returns what a row multiplies for a name; None:
    nothing. The device is asked which rows take a problem at the first call of the returned function, not
    before.
    """

    @cache
    def turns() -> set[tuple[str, str]]:
        able = {
            (row, name)
            for row in rows
            for name in names
            if (problem := problem_of(row, name)) and takes(row, problem)
        }
        chosen: set[tuple[str, str]] = set()
        times, load = dict.fromkeys(names, 0), dict.fromkeys(rows, 0.0)
        left = {name: set(covers(name)) for name in names if any((row, name) in able for row in rows)}

        def give(row: str, name: str) -> None:
            chosen.add((row, name))
            times[name] += 1
            load[row] += _row_cost(row)
            met = left[name].copy()
            for rest in left.values():
                rest -= met

        def most_open(name: str) -> tuple[int, int]:
            return len(left[name]), -times[name]

        for row in rows:
            if its_names := [name for name in left if (row, name) in able]:
                give(row, max(its_names, key=most_open))
        while any(left.values()):
            name = max(left, key=most_open)
            its_rows = [row for row in rows if (row, name) in able]
            give(min(its_rows, key=lambda row: load[row] + _row_cost(row)), name)
        return chosen

    names = list(names)
    return lambda row, name: (row, name) in turns()


NAMES = {problem: name for name, problem in PROBLEMS.items()}
_ON_CPU_ROWS = in_turns(
    CPU_ROWS, PROBLEMS, lambda row, name: PROBLEMS[name], covers=lambda name: loose_facts(PROBLEMS[name])
)
# The rows for Intel GPUs multiply in software here, and their modules take seconds each: fewer facts.
_ON_XE_ROWS = in_turns(
    XE_ROWS, PROBLEMS, lambda row, name: PROBLEMS[name], covers=lambda name: few_facts(PROBLEMS[name])
)


def is_quick_pair(row: str, name: str) -> bool:
    return any(is_turn(row, name) for is_turn in (_ON_CPU_ROWS, _ON_XE_ROWS))


def is_turn_of(row: str, problem: Problem) -> bool:
    """Whether the quick tier runs this problem of the kernels on this row. It runs as many on the
    rows for CPUs as have all loose facts, and on those for Intel GPUs as have all few facts.
    """
    return is_quick_pair(row, NAMES[problem])
