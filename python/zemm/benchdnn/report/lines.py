# SPDX-License-Identifier: Apache-2.0
"""The lines that a run prints: one for each case, and tables and counts at the end."""

from collections import Counter
from collections.abc import Callable

from zemm.benchdnn.grammar.atoms import show_dims
from zemm.benchdnn.grammar.expand import Job
from zemm.benchdnn.grammar.options import Options
from zemm.benchdnn.grammar.template import COMPARED, header, template_text
from zemm.benchdnn.report import summary
from zemm.benchdnn.report.perf import Row, format_line, own_row, peer_row
from zemm.benchdnn.report.perf_table import table
from zemm.benchdnn.run import verdict
from zemm.benchdnn.run.verdict import Result

_COUNTED = ("passed", "skipped", "mistrusted", "unimplemented", "invalid_arguments", "failed", "listed")
_COUNTED_AS_FAILED = (verdict.FAILED, verdict.UNIMPLEMENTED, verdict.INVALID_ARGUMENTS)
_FILES_NOTE = "# note: tensors came from the files of --buffer-prefix, whose values need not be exact in f32"


class Report:
    """Prints each result by `emit`, and collects the data for the end of the run."""

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._emit = emit
        self._counts: Counter[str] = Counter()
        self._failures: list[str] = []
        self._impls: Counter[str] = Counter()
        self._stages: Counter[str] = Counter()
        self._perf_totals = {"min": 0.0, "avg": 0.0}
        self._has_header = False
        self._compared: list[Row] = []

    @property
    def failed(self) -> int:
        return self._counts["failed"]

    @property
    def tests(self) -> int:
        return self._counts["tests"]

    @property
    def counts(self) -> str:
        """The counts of the closing line, `passed:N ...`."""
        return " ".join(f"{name}:{self._counts[name]}" for name in _COUNTED)

    def stage(self, job: Job, word: str) -> None:
        """Print `create: CASE` or `run: CASE`, at -v1 and above."""
        if job.case.options.verbose >= 1:
            self._emit(f"{word}: {job.case.repro()}")

    def add(self, job: Job, result: Result, milliseconds: float) -> None:
        """Count a case and print its lines."""
        self._count(job, result, milliseconds)
        for line in result.lines:
            self._emit(line)
        if result.impl and job.case.options.verbose >= 5:
            self._emit(f"oneDNN implementation: {result.impl}")
        if job.case.options.verbose >= 7:
            self._emit(_service(job, result))
        if job.case.options.is_perf and result.state == verdict.EXECUTED:
            self._add_perf(job, result)
        elif result.state != verdict.EXECUTED or job.case.options.mode == "R":
            self._emit(_case_line(job, result, milliseconds))
        if result.sentence:
            self._emit(f"# reason: {result.sentence}")
        if result.state == verdict.FAILED and result.has_files:
            self._emit(_FILES_NOTE)

    def finish(self, options: Options, seconds: float) -> None:
        """Print the summary of the run, as the options at its end want it: failed cases,
        implementations, counts and times."""
        if "impl" in options.summary and self._impls:
            self._emit(summary.implementations(self._impls))
        if "impl-csv" in options.summary and self._impls:
            self._emit(summary.implementations_csv(self._impls))
        if "failures" in options.summary and self._failures and not options.is_perf:
            self._emit(summary.failures(self._failures))
        if self._compared:
            if self._compared[0].peaks:
                self._emit("\n".join(self._compared[0].peaks.lines()))
            self._emit(table(self._compared))
        self._emit(f"tests:{self._counts['tests']} {self.counts}")
        if options.is_perf and self.tests:
            totals = self._perf_totals
            self._emit(f"total perf: min(ms):{totals['min']:g} avg(ms):{totals['avg']:g}")
        self._emit(summary.times(options.mode, self._stages, seconds, self.tests))

    def _count(self, job: Job, result: Result, milliseconds: float) -> None:
        state = result.state
        self._counts["tests"] += 1
        passed = state in (verdict.PASSED, verdict.EXECUTED, verdict.INITIALIZED)
        self._counts["passed" if passed else state.lower()] += 1
        if state in (verdict.UNIMPLEMENTED, verdict.INVALID_ARGUMENTS):
            self._counts["failed"] += 1
        if state in _COUNTED_AS_FAILED:
            self._failures.append(_case_line(job, result, milliseconds))
        if result.impl:
            self._impls[result.impl] += 1
        self._stages.update(result.stages)

    def _add_perf(self, job: Job, result: Result) -> None:
        is_default = job.perf_template == "def" and job.case.options.compares
        template = COMPARED if is_default else template_text(job.perf_template)
        if not self._has_header:
            self._has_header = True
            self._emit(f"Template entries: {template}")
            self._emit(header(template))
        rows = [own_row(job, result), *(peer_row(job, result, peer) for peer in result.peers)]
        for row in rows:
            self._emit(format_line(template, row))
        if job.case.options.compares:
            self._compared += rows
        self._perf_totals["min"] += min(result.times_ms)
        self._perf_totals["avg"] += sum(result.times_ms) / len(result.times_ms)


def _case_line(job: Job, result: Result, milliseconds: float) -> str:
    errors = f" (errors:{result.errors} total:{result.total})" if result.errors else ""
    head = f"{job.index}:{result.state}{_reason(result)}{errors}"
    return f"{head} ({int(milliseconds)} ms) __REPRO: {job.case.full_repro(result.impl)}"


def _service(job: Job, result: Result) -> str:
    problem = job.case.problem
    dims = " ".join(f"{name}:{show_dims(getattr(problem, name))}" for name in ("src", "wei", "dst"))
    times = "".join(f" {stage}:{1e3 * seconds:.3f}ms" for stage, seconds in result.stages.items())
    return f"[SERVICE] {dims}{times}"


def _reason(result: Result) -> str:
    return f" ({result.reason})" if result.reason else ""
