# SPDX-License-Identifier: Apache-2.0
"""Runs cases: decides whether a case is skipped, opens the engine, creates the primitive and executes
it."""

import importlib
import os
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

from zemm._library.locks import Lock
from zemm._programs.usage import UsageError
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.encodings import Encoding
from zemm.benchdnn.grammar.expand import Job
from zemm.benchdnn.run import create, footprint, verdict
from zemm.benchdnn.run.execution import Execution
from zemm.benchdnn.run.rivals import Rivals
from zemm.benchdnn.run.verdict import Result

Announce = Callable[[Job, str], None]


class Outcome(NamedTuple):
    """A job that has run, with its result and the milliseconds that it took."""

    job: Job
    result: Result
    milliseconds: float


@dataclass
class Task:
    """A job between creation and execution. `primitive` is the descriptor and the primitive; None if
    the job ends without an execution."""

    job: Job
    result: Result = field(default_factory=Result)
    engine: Any = None
    primitive: tuple[Any, Any] | None = None
    seconds: float = 0.0

    @contextmanager
    def timed(self) -> Iterator[None]:
        """A context whose seconds count for the job, and whose errors are its result."""
        begin, case = time.perf_counter(), self.job.case
        try:
            yield
        except MemoryError as error:
            self.primitive = None
            self.result.end(verdict.SKIPPED, verdict.NOT_ENOUGH_RAM, str(error))
        except UsageError:
            raise
        except Exception as error:
            self.primitive = None
            if case.options.verbose >= 2:
                self.result.lines.append(traceback.format_exc().rstrip())
            self.result.end(verdict.FAILED, sentence=f"{type(error).__name__}: {error}")
        finally:
            self.seconds += time.perf_counter() - begin


class Runner:
    """Runs jobs. It opens each engine once."""

    def __init__(self, announce: Announce) -> None:
        self._announce = announce
        self._engines: dict[tuple[str, int], Any] = {}
        self._lock = Lock()
        self._rivals = Rivals()

    def timed(self, job: Job) -> Outcome:
        """Run a job and measure the time. UsageError if its engine cannot be opened."""
        begin = time.perf_counter()
        result = self.run(job)
        return Outcome(job, result, 1e3 * (time.perf_counter() - begin))

    def run(self, job: Job) -> Result:
        """Run a job and return its result. UsageError if its engine cannot be opened."""
        return self._execute(self._create(job, self._announce)).result

    def together(self, jobs: list[Job]) -> Iterator[Outcome]:
        """Create the primitives of several jobs at the same time, then execute one after the other.
        As in benchdnn creations are not announced, as it is not clear which one is slow."""
        with ThreadPoolExecutor(len(jobs)) as pool:
            tasks = list(pool.map(lambda job: self._create(job, lambda job, word: None), jobs))
        for task in tasks:
            result = self._execute(task).result
            yield Outcome(task.job, result, 1e3 * task.seconds)

    def _create(self, job: Job, announce: Announce) -> Task:
        """Do all that comes before the execution. UsageError if the engine cannot be opened."""
        task, case = Task(job), job.case
        with task.timed():
            if job.index < case.options.start:
                task.result.end(verdict.SKIPPED, verdict.SKIP_START)
            elif case.options.mode == "L":
                task.result.end(verdict.LISTED)
            elif reason := skip_reason(case):
                if reason == verdict.INVALID_CASE and case.options.verbose >= 1:
                    task.result.lines.append(f"[INVALID]: {runtime_masks_error(case)}")
                sentence = (
                    f"--dir={case.direction}: zemm has forward passes only" if is_backward(case) else ""
                )
                task.result.end(verdict.SKIPPED, reason, sentence)
            else:
                task.engine = self._engine(case.options.engine)
                announce(job, "create")
                task.primitive = create.primitive(case, task.engine, task.result)
        return task

    def _execute(self, task: Task) -> Task:
        case = task.job.case
        with task.timed():
            if task.primitive is None or task.result.state:
                return task
            if case.options.mode == "I":
                task.result.end(verdict.INITIALIZED)
            elif _fits(case, task, task.primitive[0]):
                self._announce(task.job, "run")
                Execution(case, task.engine, task.primitive, task.result, self._rivals).run()
        return task

    def _engine(self, wanted: tuple[str, int]) -> Any:
        with self._lock.current:
            if wanted not in self._engines:
                try:
                    self._engines[wanted] = importlib.import_module("zemm").Engine(*wanted)
                except (ImportError, ValueError, RuntimeError, NotImplementedError) as error:
                    text = f"err: --engine={wanted[0]}:{wanted[1]} cannot be used: {error}"
                    raise UsageError(text) from None
            return self._engines[wanted]


class InTurn:
    """Runs of jobs in this process."""

    def __init__(self, jobs: list[Job], announce: Announce) -> None:
        self._jobs, self._runner = jobs, Runner(announce)

    def __enter__(self) -> "InTurn":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def in_order(self) -> Iterator[Outcome]:
        """Run the jobs, and give each outcome at once. Those with modifier P are created together, as
        many as the machine has processors."""
        for is_parallel, jobs in groupby(self._jobs, lambda job: "P" in job.case.options.mode_modifier):
            if not is_parallel:
                yield from map(self._runner.timed, jobs)
                continue
            waiting, processors = list(jobs), len(os.sched_getaffinity(0))
            for start in range(0, len(waiting), processors):
                yield from self._runner.together(waiting[start : start + processors])

    def rest(self) -> Iterator[Outcome]:
        """After an interrupt: no outcome had to wait."""
        return iter(())


def skip_reason(case: Case) -> str:
    """The reason why benchdnn would skip a case before it creates anything, or ''."""
    if case.options.execution_mode != "direct":
        return verdict.EXECUTION_MODE
    if isinstance(case.layout, Encoding) and any(entry.kind == "packed" for entry in case.layout.tensors):
        return verdict.NOT_SUPPORTED
    if is_backward(case):
        return verdict.NOT_SUPPORTED
    return verdict.INVALID_CASE if runtime_masks_error(case) else ""


def is_backward(case: Case) -> bool:
    """Whether the case is a backward pass, which zemm does not have."""
    return case.direction.startswith("BWD")


def runtime_masks_error(case: Case) -> str:
    """The sentence about --runtime_dims_masks that no descriptors can be made with, or ''."""
    src, wei = case.runtime_masks
    m, n = 1 << (case.problem.ndims - 2), 1 << (case.problem.ndims - 1)
    tensors = zip(
        ("src", "wei", "dst"), (src, wei, case.runtime_dst_mask), case.tags, case.strides, strict=True
    )
    for name, mask, tag, strides in tensors:
        if mask and tag == "any" and not strides:
            knob = f"--{name[0]}tag"
            return f"{name} has runtime dimensions, so {knob} or --strides must give its layout"
    if bool(src & n) != bool(wei & m):
        return "K is a runtime dimension of one of src and wei only"
    if (src & (m - 1)) != (wei & (m - 1)):
        return "the runtime batch dimensions of src and wei differ"
    return ""


def _fits(case: Case, task: Task, pd: Any) -> bool:
    """Whether there is memory for a case; if not, it is skipped."""
    options = case.options
    if not options.mem_check:
        return True
    needed = footprint.footprint(case, pd.query_md("scratchpad_md").size)
    there_is = footprint.capacity(task.engine)
    what = footprint.shortage(needed, there_is)
    if options.verbose >= (1 if what else 6):
        task.result.lines.append(footprint.line(needed, there_is, what))
    if what:
        task.result.end(verdict.SKIPPED, verdict.NOT_ENOUGH_RAM)
    return not what
