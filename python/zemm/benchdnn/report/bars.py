# SPDX-License-Identifier: Apache-2.0
"""The bars of a run as numbers: the time of each case beside those of its peers."""

from dataclasses import dataclass
from itertools import groupby

from zemm.benchdnn.report.records import Record, Run

CUT = 3.0  # bars longer than so many of zemm's are cut


@dataclass(frozen=True)
class Bar:
    """A record and the time of its best run in ms, by the clock of the run; None if it was not timed.
    A reference kernel has a time, but no bar."""

    record: Record
    time: float | None


@dataclass(frozen=True)
class Bars:
    """The bars of each case, that of zemm first. Relative bars are as long as the ratio to zemm's
    time, others as the time in ms. `longest`: the length of a full bar; what is longer is cut."""

    cases: list[list[Bar]]
    is_relative: bool
    longest: float

    def length(self, bar: Bar) -> float:
        """The length of a bar before it is cut."""
        if not self.is_relative:
            return bar.time or 0.0
        return bar.record.ratio_best or 1.0


def bars(run: Run) -> Bars | None:
    """The bars of a run, relative ones if peers can be compared; None if no case was timed."""
    groups = groupby(run.records, lambda record: record.index)
    cases = [[Bar(record, run.best(record)) for record in group] for _, group in groups]
    cases = [case for case in cases if case[0].time is not None]
    if not cases:
        return None
    ratios = [bar.record.ratio_best for case in cases for bar in case if bar.record.ratio_best]
    if ratios:
        return Bars(cases, True, min(max(1.25, *ratios), CUT))
    return Bars(cases, False, max(case[0].time or 0.0 for case in cases))
