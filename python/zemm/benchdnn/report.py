# SPDX-License-Identifier: Apache-2.0
"""The lines that a run prints: one for each case, and tables and counts at the end."""

from collections import Counter
from collections.abc import Callable

from zemm.benchdnn import verdict
from zemm.benchdnn.atoms import show_dims
from zemm.benchdnn.expand import Job
from zemm.benchdnn.perf import Row, format_line, own_row, peer_row
from zemm.benchdnn.perf_table import table
from zemm.benchdnn.template import COMPARED, header, template_text
from zemm.benchdnn.verdict import Result

_MAX_FAILURES = 10
_FAILURES_TITLE = "= Failed cases summary (--summary=no-failures to disable) ="
_IMPLS_TITLE = "= Implementation statistics (--summary=no-impl to disable) ="
_STAGES = ("create_pd", "create_prim", "fill", "execute", "compute_ref", "compare")
_COUNTED = ("passed", "skipped", "mistrusted", "unimplemented", "invalid_arguments", "failed", "listed")
_COUNTED_AS_FAILED = (verdict.FAILED, verdict.UNIMPLEMENTED, verdict.INVALID_ARGUMENTS)


class Report:
    """Prints each result by `emit`, and collects the data for the end of the run."""

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._emit = emit
        self._counts: Counter[str] = Counter()
        self._failures: list[str] = []
        self._impls: Counter[str] = Counter()
        self._stages: Counter[str] = Counter()
        self._perf_totals: dict[str, float] | None = None
        self._last_template = ""
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
            self._emit(self._case_line(job, result, milliseconds))
        if result.sentence:
            self._emit(f"# reason: {result.sentence}")

    def finish(self, summary: frozenset[str], seconds: float) -> None:
        """Print the summary of the run: failed cases, implementations, counts and times."""
        if "impl" in summary and self._impls:
            self._emit_impls()
        if "impl-csv" in summary and self._impls:
            counted = (f"{impl}:{n}" for impl, n in self._impls.most_common())
            self._emit(",".join(["benchdnn_summary", "impl_names", *counted]))
        if "failures" in summary and self._failures:
            self._emit_failures()
        if self._compared:
            if self._compared[0].peaks:
                self._emit("\n".join(self._compared[0].peaks.lines()))
            self._emit(table(self._compared))
        self._emit(f"tests:{self._counts['tests']} {self.counts}")
        if self._perf_totals is not None:
            totals = self._perf_totals
            self._emit(f"total perf: min(ms):{totals['min']:g} avg(ms):{totals['avg']:g}")
        parts = [f"total: {seconds:.2f}s;"]
        for name in _STAGES:
            if name in self._stages:
                share = 100 * self._stages[name] / max(seconds, 1e-9)
                parts.append(f"{name}: {self._stages[name]:.2f}s ({share:.0f}%);")
        self._emit(" ".join(parts))

    def _count(self, job: Job, result: Result, milliseconds: float) -> None:
        state = result.state
        self._counts["tests"] += 1
        passed = state in (verdict.PASSED, verdict.EXECUTED, verdict.INITIALIZED)
        self._counts["passed" if passed else state.lower()] += 1
        if state in (verdict.UNIMPLEMENTED, verdict.INVALID_ARGUMENTS):
            self._counts["failed"] += 1
        if state in _COUNTED_AS_FAILED:
            self._failures.append(self._case_line(job, result, milliseconds))
        if result.impl:
            self._impls[result.impl] += 1
        self._stages.update(result.stages)

    def _case_line(self, job: Job, result: Result, milliseconds: float) -> str:
        errors = f" (errors:{result.errors} total:{result.total})" if result.errors else ""
        head = f"{job.index}:{result.state}{_reason(result)}{errors}"
        return f"{head} ({milliseconds:.0f} ms) __REPRO: {job.case.full_repro()}"

    def _add_perf(self, job: Job, result: Result) -> None:
        is_default = job.perf_template == "def" and job.case.options.compares
        template = COMPARED if is_default else template_text(job.perf_template)
        if template != self._last_template:
            self._last_template = template
            self._emit(f"Template entries: {template}")
            self._emit(header(template))
        rows = [own_row(job, result), *(peer_row(job, result, peer) for peer in result.peers)]
        for row in rows:
            self._emit(format_line(template, row))
        if job.case.options.compares:
            self._compared += rows
        totals = self._perf_totals = self._perf_totals or {"min": 0.0, "avg": 0.0}
        totals["min"] += min(result.times_ms)
        totals["avg"] += sum(result.times_ms) / len(result.times_ms)

    def _emit_failures(self) -> None:
        bar = "=" * len(_FAILURES_TITLE)
        lines = [bar, _FAILURES_TITLE, bar, *self._failures[:_MAX_FAILURES]]
        if len(self._failures) > _MAX_FAILURES:
            lines.append(f"(... {len(self._failures) - _MAX_FAILURES} more cases ...)")
        self._emit("\n".join([*lines, bar]))

    def _emit_impls(self) -> None:
        total = self._impls.total()
        name_width = max(map(len, self._impls))
        rows = [
            f"{impl:>{name_width}} : {n} ({100 * n / total:.0f}%)" for impl, n in self._impls.most_common()
        ]
        width = max(len(_IMPLS_TITLE) - 4, *map(len, rows))
        bar = "=" * (width + 4)
        lines = [bar, f"{_IMPLS_TITLE[:-1]:<{width + 3}}=", bar, *(f"| {row:<{width}} |" for row in rows)]
        self._emit("\n".join([*lines, bar]))


def _service(job: Job, result: Result) -> str:
    problem = job.case.problem
    dims = " ".join(f"{name}:{show_dims(getattr(problem, name))}" for name in ("src", "wei", "dst"))
    times = "".join(f" {stage}:{1e3 * seconds:.3f}ms" for stage, seconds in result.stages.items())
    return f"[SERVICE] {dims}{times}"


def _reason(result: Result) -> str:
    return f" ({result.reason})" if result.reason else ""
