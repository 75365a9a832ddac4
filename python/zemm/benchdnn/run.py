# SPDX-License-Identifier: Apache-2.0
"""Runs one case: decides whether it is skipped, opens the engine, creates the primitive and
executes it."""

import importlib
import os
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from zemm.benchdnn import build, data, verdict
from zemm.benchdnn.atoms import UsageError
from zemm.benchdnn.case import Case, Encoding
from zemm.benchdnn.execution import Execution
from zemm.benchdnn.expand import Job
from zemm.benchdnn.rivals import Rivals
from zemm.benchdnn.verdict import Result

_RAM_SHARE = 0.7


Announce = Callable[[Job, str], None]


class Outcome(NamedTuple):
    """A job that has run, with its result and the milliseconds that it took."""

    job: Job
    result: Result
    milliseconds: float


class Runner:
    """Runs jobs one after the other. It opens each engine once."""

    def __init__(self, announce: Announce) -> None:
        self._announce = announce
        self._engines: dict[tuple[str, int], Any] = {}
        self._rivals = Rivals()

    def timed(self, job: Job) -> Outcome:
        """Run a job and measure the time. UsageError if its engine cannot be opened."""
        begin = time.perf_counter()
        result = self.run(job)
        return Outcome(job, result, 1e3 * (time.perf_counter() - begin))

    def run(self, job: Job) -> Result:
        """Run a job and return its result. UsageError if its engine cannot be opened."""
        case, result = job.case, Result()
        if job.index < case.options.start:
            return result.end(verdict.SKIPPED, verdict.SKIP_START)
        if case.options.mode == "L":
            return result.end(verdict.LISTED)
        reason = skip_reason(case)
        if reason:
            if reason == verdict.INVALID_CASE and case.options.verbose >= 1:
                result.lines.append(f"[INVALID]: {runtime_masks_error(case)}")
            return result.end(verdict.SKIPPED, reason)
        engine = self._engine(case.options.engine)
        try:
            self._announce(job, "create")
            primitive = _create(case, engine, result)
            if primitive is None or result.state:
                return result
            if case.options.mode == "I":
                return result.end(verdict.INITIALIZED)
            self._announce(job, "run")
            return Execution(case, engine, primitive, result, self._rivals).run()
        except MemoryError as error:
            return result.end(verdict.SKIPPED, verdict.NOT_ENOUGH_RAM, str(error))
        except Exception as error:
            if case.options.verbose >= 2:
                result.lines.append(traceback.format_exc().rstrip())
            return result.end(verdict.FAILED, sentence=f"{type(error).__name__}: {error}")

    def _engine(self, wanted: tuple[str, int]) -> Any:
        if wanted not in self._engines:
            try:
                self._engines[wanted] = importlib.import_module("zemm").Engine(*wanted)
            except (ImportError, ValueError, RuntimeError, NotImplementedError) as error:
                raise UsageError(f"err: --engine={wanted[0]}:{wanted[1]} cannot be used: {error}") from None
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
        """Run the jobs, and give each outcome at once."""
        return map(self._runner.timed, self._jobs)

    def rest(self) -> Iterator[Outcome]:
        """After an interrupt: no outcome had to wait."""
        return iter(())


def skip_reason(case: Case) -> str:
    """The reason why benchdnn would skip a case, or ''."""
    if case.options.execution_mode != "direct":
        return verdict.EXECUTION_MODE
    if isinstance(case.layout, Encoding) and any(entry.kind == "packed" for entry in case.layout.tensors):
        return verdict.NOT_SUPPORTED
    if case.is_dense and runtime_masks_error(case):
        return verdict.INVALID_CASE
    if case.options.mem_check and needs_the_memory(case, 1):
        return verdict.NOT_ENOUGH_RAM
    return ""


def needs_the_memory(case: Case, count: int) -> bool:
    """Whether the machine has too little memory for `count` such cases at the same time."""
    return count * data.estimated_bytes(case) > _RAM_SHARE * _memory()


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


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _create(case: Case, engine: Any, result: Result) -> Any:
    """The primitive descriptor and primitive of a case. None if there are none; the result then has
    the state."""
    zemm = importlib.import_module("zemm")
    try:
        with result.timed("create_pd"):
            pd = build.primitive_desc(zemm, engine, case)
        while not case.impl_filter.accepts(pd.impl_info):
            if not pd.next_impl():
                result.end(verdict.SKIPPED, verdict.SKIP_IMPL)
                return None
        result.impl = pd.impl_info
        if case.options.attr_same_pd_check:
            _check_same_impl(build.primitive_desc(zemm, engine, case, False).impl_info, result)
        if case.options.check_ref_impl and "ref" in result.impl:
            result.end(verdict.FAILED, verdict.REF_IMPL)
        with result.timed("create_prim"):
            primitive = zemm.Primitive(pd)
        result.impl = primitive.impl_info
        return pd, primitive
    except NotImplementedError as error:
        result.end(verdict.UNIMPLEMENTED, sentence=str(error))
    except ValueError as error:
        result.end(verdict.INVALID_ARGUMENTS, sentence=str(error))
    return None


def _check_same_impl(plain: str, result: Result) -> None:
    if plain != result.impl:
        sentence = f"attributes changed the implementation from '{plain}' to '{result.impl}'"
        result.end(verdict.FAILED, sentence=sentence)
