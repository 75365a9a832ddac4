# SPDX-License-Identifier: Apache-2.0
"""Finds the fastest choice for a case: first the row, then how it cuts the problem."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any

import numpy as np

import zemm
from zemm.benchdnn.data import build
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.run.contest import alternate
from zemm.benchdnn.run.execution import Execution
from zemm.benchdnn.run.rivals import Rivals
from zemm.benchdnn.run.verdict import Result
from zemm.tune.choices import Choice, parts_of, rows_for, variants

FIRST_ROUNDS = 3
FAR_BEHIND = 1.25  # slower by so much in the first rounds: not tried longer
JUDGEMENTS = 5
GAIN = 0.97  # of the usual time: what a choice has to reach in every judgement


@dataclass
class Trial:
    """A primitive that is ready to run. choice: None for what the library chooses by itself."""

    choice: Choice | None
    impl: str
    tuning: str
    run: Callable[[], None]

    def __str__(self) -> str:
        return str(self.choice or self.impl)


@dataclass(frozen=True)
class Found:
    """The choice for a case, with its median time and that of the usual kernel. tuning: the text of a
    file with this choice; "" if the usual kernel is as good."""

    usual: str
    choice: str
    usual_ms: float
    choice_ms: float
    tuning: str


class Bench:
    """Makes primitives of a case for choices. They share their tensors where the layouts are the
    same."""

    def __init__(self, engine: zemm.Engine, case: Case) -> None:
        attributes = replace(case.attributes, scratchpad="library")
        self._engine, self._case = engine, replace(case, attributes=attributes)
        self._stream = zemm.Stream(engine)
        self._filled: list[tuple[list[zemm.MemoryDesc], Execution, list[dict[int, Any]]]] = []

    def trial(self, choice: Choice | None) -> Trial | None:
        """A primitive that has run once; None if the choice does not take the case."""
        with forced(choice):
            try:
                pd = build.primitive_desc(zemm, self._engine, self._case)
                primitive = zemm.Primitive(pd)
            except NotImplementedError:
                return None
        submits = cycle([primitive.bind(self._stream, memories) for memories in self._sets(pd, primitive)])

        def run() -> None:
            next(submits)()
            self._stream.wait()

        run()
        return Trial(choice, primitive.impl_info, pd.tuning(), run)

    def _sets(self, pd: Any, primitive: Any) -> list[dict[int, Any]]:
        """The memories of runs, one after the other: several with --cold-cache."""
        layouts = [pd.query_md(name) for name in ("src_md", "weights_md", "dst_md")]
        for known, _, sets in self._filled:
            if known == layouts:
                return sets
        execution = Execution(self._case, self._engine, (pd, primitive), Result(), Rivals())
        execution.prepare()
        sets = execution.sets()
        self._filled.append((layouts, execution, sets))
        return sets


@contextmanager
def forced(choice: Choice | None) -> Iterator[None]:
    """Descriptors that are made here have the choice."""
    if choice:
        os.environ["ZEMM_KERNEL"] = str(choice)
    try:
        yield
    finally:
        os.environ.pop("ZEMM_KERNEL", None)


def search(engine: zemm.Engine, case: Case, budget_ms: float, say: Callable[[str], None]) -> Found:
    """The fastest choice for a case. NotImplementedError, ValueError: the library refuses the case."""
    build.primitive_desc(zemm, engine, case)  # raises the refusal
    bench = Bench(engine, case)
    usual = bench.trial(None)
    if usual is None:
        raise NotImplementedError("the case is refused")
    best = usual
    rows = [Choice(row) for row in rows_for(engine.kind, engine.features) if row != usual.impl]
    best = _best([best, *_trials(bench, rows)], budget_ms, say)
    start = best.choice or Choice(best.impl)
    for part in parts_of(start):
        current = best.choice or Choice(best.impl)
        best = _best([best, *_trials(bench, variants(current, part, case.problem.m))], budget_ms, say)
    if best is usual:
        return Found(usual.impl, usual.impl, 0.0, 0.0, "")
    return judged(usual, best, budget_ms)


def _trials(bench: Bench, choices: Sequence[Choice]) -> Iterator[Trial]:
    for choice in choices:
        trial = bench.trial(choice)
        if trial:
            yield trial


def _best(trials: list[Trial], budget_ms: float, say: Callable[[str], None]) -> Trial:
    """The trial with the smallest median time of runs in turns."""
    first = [min(turns.times_ms) for turns in alternate([t.run for t in trials], FIRST_ROUNDS, 0)]
    near = [t for t, time in zip(trials, first, strict=True) if time <= FAR_BEHIND * min(first)]
    medians = [float(np.median(turns.times_ms)) for turns in alternate([t.run for t in near], 0, budget_ms)]
    for trial, time in zip(near, medians, strict=True):
        say(f"#   {time:.4g} ms {trial}")
    return near[int(np.argmin(medians))]


def judged(usual: Trial, best: Trial, budget_ms: float) -> Found:
    """Compares a choice with the usual kernel several times. Each time it has to be faster by more
    than the noise."""
    pairs = []
    for _ in range(JUDGEMENTS):
        turns = alternate([usual.run, best.run], 0, budget_ms / JUDGEMENTS)
        pairs.append([float(np.median(contestant.times_ms)) for contestant in turns])
    usual_ms, best_ms = np.median(pairs, axis=0)
    is_faster = all(b <= GAIN * a for a, b in pairs)
    return Found(usual.impl, str(best), float(usual_ms), float(best_ms), best.tuning if is_faster else "")
