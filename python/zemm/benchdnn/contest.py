# SPDX-License-Identifier: Apache-2.0
"""zemm and its peers timed in turns, A B A B, by the host clock around a synchronous call."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

MIN_ROUNDS = 5
SLOW_MS = 2000.0
SLOW_ROUNDS = 2
Run = Callable[[], None]


@dataclass
class Turns:
    """Milliseconds of every timed run of one contestant; `is_slow`: it took part in SLOW_ROUNDS only."""

    run: Run
    times_ms: list[float] = field(default_factory=list)
    is_slow: bool = False


def alternate(
    runs: Sequence[Run],
    rounds: int,
    budget_ms: float,
    before: Callable[[], object] = lambda: None,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Turns]:
    """Time `runs`, each of which has run before, in turns; `before` runs untimed ahead of each.

    `rounds` rounds, or with 0 until everything together has taken `budget_ms` for each contestant and there
    were MIN_ROUNDS. Who takes more than SLOW_MS leaves after SLOW_ROUNDS.
    """
    contestants = [Turns(run) for run in runs]
    done, spent = 0, 0.0
    while done < rounds if rounds else done < MIN_ROUNDS or spent < budget_ms * len(contestants):
        turn = [c for c in contestants if not c.is_slow or done < SLOW_ROUNDS]
        if not turn:
            break
        for contestant in turn:
            before()
            contestant.times_ms.append(_timed(contestant.run, clock))
            contestant.is_slow |= contestant.times_ms[-1] > SLOW_MS
            spent += contestant.times_ms[-1]
        done += 1
    return contestants


def _timed(run: Run, clock: Callable[[], float]) -> float:
    begin = clock()
    run()
    return 1e3 * (clock() - begin)
