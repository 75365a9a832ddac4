# SPDX-License-Identifier: Apache-2.0
"""Times the rows of kernels.def on the machine's own CPU."""

from zemm import Engine
from zemm.benchdnn.grammar.expand import expand
from zemm.benchdnn.run.runner import Runner
from zemm.isa.cpu.prediction import Measured
from zemm.isa.errors import IsaError
from zemm.isa.rows import Problem, Row, forced

_MILLISECONDS = 1500  # of runs of a problem


class Clock:
    """Runs problems. The limits of the device are measured again beside each, and the best one of a run
    counts, as other work on the machine lowers them; of the bandwidth the better one beside a problem."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._runner = Runner(lambda job, word: None)
        self._limits: dict[str, float] = {}

    def limit(self, unit: str) -> float:
        """The highest rate of a unit so far."""
        return self._limits[unit]

    def run(self, row: Row, problem: Problem) -> Measured:
        """The best run of a problem on a row. IsaError if it does not run."""
        (job,), _ = expand(
            ["--mode=P", f"--max-ms-per-prb={_MILLISECONDS}", "--matmul", *problem.words.split()]
        )
        before = self._measure(row.unit)
        with forced(row):
            result = self._runner.run(job)
        after = self._measure(row.unit)
        if not result.times_ms:
            raise IsaError(f"{row.name}, {problem.name}: it does not run: {result.sentence or result.state}")
        return Measured(
            operations=job.case.problem.ops,
            seconds=min(result.times_ms) / 1e3,
            unit=row.unit,
            limit=self.limit(row.unit),
            read=max(before, after),
            moved=result.bytes_in + result.bytes_out,
        )

    def _measure(self, unit: str) -> float:
        """Measure a unit, and return the read bandwidth."""
        try:
            rate = self._engine.measure_peak(unit)  # type: ignore[arg-type]
        except NotImplementedError as error:
            raise IsaError(str(error)) from None
        self._limits[unit] = max(rate, self._limits.get(unit, 0.0))
        return self._engine.measure_peak("read")
