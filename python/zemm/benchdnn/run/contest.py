# SPDX-License-Identifier: Apache-2.0
"""Times several contestants (zemm and its peers) in turns, A B A B, by the host clock."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

MIN_ROUNDS = 5
SLOW_MS = 2000.0
SLOW_ROUNDS = 2
Run = Callable[[], None]


@dataclass
class Turns:
    """The milliseconds of each timed run of one contestant. `is_slow`: a run took more than
    SLOW_MS."""

    run: Run
    times_ms: list[float] = field(default_factory=list)
    is_slow: bool = False


def alternate(
    runs: Sequence[Run],
    rounds: int,
    budget_ms: float,
    before: Callable[[int], object] = lambda index: None,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Turns]:
    """Time each of `runs` once in every round. They return when their work is done, and have run
    once before.

    `before` is called before each timed run, with its index in `runs`, and is not timed. There are
    `rounds` rounds. If that is 0, there are at least MIN_ROUNDS, and they go on until the runs have
    taken `budget_ms` times the number of contestants. A contestant with a run of more than SLOW_MS
    takes part in SLOW_ROUNDS rounds only.
    """
    contestants = [Turns(run) for run in runs]
    done, spent = 0, 0.0
    while done < rounds if rounds else done < MIN_ROUNDS or spent < budget_ms * len(contestants):
        turn = [(i, c) for i, c in enumerate(contestants) if not c.is_slow or done < SLOW_ROUNDS]
        if not turn:
            break
        for index, contestant in turn:
            before(index)
            begin = clock()
            contestant.run()
            contestant.times_ms.append(1e3 * (clock() - begin))
            contestant.is_slow |= contestant.times_ms[-1] > SLOW_MS
            spent += contestant.times_ms[-1]
        done += 1
    return contestants
