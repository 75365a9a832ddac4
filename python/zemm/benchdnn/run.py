# SPDX-License-Identifier: Apache-2.0
"""One case from its line to its verdict: create, fill, execute, compare. Only this file opens the library."""

import importlib
import os
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from zemm.benchdnn import arguments as args
from zemm.benchdnn import build, data, timing, verdict
from zemm.benchdnn.arguments import Argument
from zemm.benchdnn.atoms import UsageError
from zemm.benchdnn.buffers import Buffer
from zemm.benchdnn.case import Case
from zemm.benchdnn.compare import Comparison, Rules, compare, rules_for
from zemm.benchdnn.dtypes import BY_NAME, Floats
from zemm.benchdnn.expand import Job
from zemm.benchdnn.layout import Bytes
from zemm.benchdnn.ranges import filling
from zemm.benchdnn.reference import Expected, expected
from zemm.benchdnn.verdict import Result

_RAM_SHARE = 0.7


class Runner:
    """Runs jobs one after the other; engines and streams live as long as the runner."""

    def __init__(self, announce: Callable[[Job, str], None]) -> None:
        self._announce = announce
        self._engines: dict[tuple[str, int], Any] = {}

    def run(self, job: Job) -> Result:
        """The result of one job. UsageError when its engine does not exist."""
        case, result = job.case, Result()
        if job.index < case.options.start:
            return result.end(verdict.SKIPPED, verdict.SKIP_START)
        if case.options.mode == "L":
            return result.end(verdict.LISTED)
        reason = skip_reason(case)
        if reason:
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
            return Execution(case, engine, primitive, result).run()
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


def skip_reason(case: Case) -> str:
    """benchdnn's reason not to run a case, or ''."""
    if case.options.execution_mode != "direct":
        return verdict.EXECUTION_MODE
    if case.is_dense and _has_bad_runtime_masks(case):
        return verdict.INVALID_CASE
    if case.options.mem_check and data.estimated_bytes(case) > _RAM_SHARE * _memory():
        return verdict.NOT_ENOUGH_RAM
    return ""


def _has_bad_runtime_masks(case: Case) -> bool:
    src, wei = case.runtime_masks
    dst, m, n = case.runtime_dst_mask, 1 << (case.problem.ndims - 2), 1 << (case.problem.ndims - 1)
    open_layout = any(
        mask and tag == "any" and not strides
        for mask, tag, strides in zip((src, wei, dst), case.tags, case.strides, strict=True)
    )
    return open_layout or bool(src & n) != bool(wei & m) or (src & (m - 1)) != (wei & (m - 1))


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _create(case: Case, engine: Any, result: Result) -> Any:
    """The primitive of a case with its descriptor, or None with the state set."""
    zemm = importlib.import_module("zemm")
    try:
        with _timed(result, "create_pd"):
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
        if not case.is_dense:
            result.end(verdict.UNIMPLEMENTED, sentence="zemm-benchdnn fills dense tensors only")
        with _timed(result, "create_prim"):
            return pd, zemm.Primitive(pd)
    except NotImplementedError as error:
        result.end(verdict.UNIMPLEMENTED, sentence=str(error))
    except ValueError as error:
        result.end(verdict.INVALID_ARGUMENTS, sentence=str(error))
    return None


def _check_same_impl(plain: str, result: Result) -> None:
    if plain != result.impl:
        sentence = f"attributes changed the implementation from '{plain}' to '{result.impl}'"
        result.end(verdict.FAILED, sentence=sentence)


@contextmanager
def _timed(result: Result, stage: str) -> Iterator[None]:
    begin = time.perf_counter()
    try:
        yield
    finally:
        result.stages[stage] = result.stages.get(stage, 0.0) + time.perf_counter() - begin


class Execution:
    """The tensors of one case on an engine, and what is done with them in each mode."""

    def __init__(self, case: Case, engine: Any, primitive: tuple[Any, Any], result: Result) -> None:
        self._zemm = importlib.import_module("zemm")
        self._case, self._engine, self._result = case, engine, result
        self._pd, self._primitive = primitive
        self._arguments = [
            *args.matrices(case),
            *args.quantizations(case),
            *args.post_op_tensors(case),
            *args.random_arguments(case),
        ]
        self._values: dict[int, Floats] = {}
        self._old_dst = np.zeros(1, np.float32)
        self._filling = filling(case)

    def run(self) -> Result:
        """Execute in the mode of the case and set the result's state."""
        mode = self._case.options.mode
        with _timed(self._result, "fill"):
            self._buffers = {a.arg: self._buffer(a) for a in self._arguments if not a.on_host}
            self._memories = self._all_memories()
            self._fill()
        self._count_bytes()
        if self._case.options.is_perf:
            return self._measure()
        stream = self._zemm.Stream(self._engine)
        first = self._execute(stream)
        if mode == "B":
            return self._compare_bits(first, stream)
        if mode == "C":
            self._compare(first)
        else:
            self._result.end(verdict.EXECUTED)
        self._check_guards()
        return self._result

    def _buffer(self, argument: Argument) -> Buffer:
        return Buffer(self._zemm, self._engine, self._memory_desc(argument))

    def _memory_desc(self, argument: Argument) -> Any:
        """The real descriptor: what the primitive chose where the case left it open."""
        if argument.tag == "any":
            return self._pd.query_md("exec_arg_md", argument.arg)
        return build.memory_desc(self._zemm, argument)

    def _all_memories(self) -> dict[int, Any]:
        memories = {arg: buffer.memory for arg, buffer in self._buffers.items()}
        for argument in self._arguments:
            if argument.on_host:
                integral = BY_NAME[argument.data_type].integral
                value = int(argument.value) if integral else argument.value
                md = build.memory_desc(self._zemm, argument)
                memories[argument.arg] = self._zemm.Memory.host_scalar(md, value)
                self._values[argument.arg] = np.full(argument.dims, argument.value, np.float32)
        if self._case.attributes.scratchpad == "user":
            scratchpad = self._pd.query_md("scratchpad_md")
            if scratchpad.size:
                self._buffers[args.SCRATCHPAD] = Buffer(self._zemm, self._engine, scratchpad)
                memories[args.SCRATCHPAD] = self._buffers[args.SCRATCHPAD].memory
        return memories

    def _fill(self) -> None:
        for argument in self._arguments:
            buffer = self._buffers.get(argument.arg)
            if buffer is None or argument.role == "dropout mask":
                continue
            if argument.role == "number":
                code = BY_NAME[argument.data_type].code
                buffer.write_raw(np.array([argument.value]).astype(code).view(np.uint8))
            elif not self._case.options.fills:
                buffer.fill_bytes(0)
            elif argument.role == "dst":
                self._fill_dst(argument, buffer)
            elif not argument.is_output:
                values = self._drawn(argument)
                self._values[argument.arg] = values
                buffer.store(values)

    def _drawn(self, argument: Argument) -> Floats:
        if self._case.options.mode == "C" or argument.role == "reductions":
            return data.values(self._case, argument, self._filling, self._values.get(args.SRC))
        return data.real_values(self._case, argument, argument.arg)

    def _fill_dst(self, argument: Argument, buffer: Buffer) -> None:
        old_type = data.old_dst_type(self._case)
        if old_type:
            self._old_dst = data.values(self._case, argument, self._filling)
            buffer.store(self._old_dst, old_type)
        self._initial_dst = buffer.raw().copy()

    def _count_bytes(self) -> None:
        outputs = {a.arg for a in self._arguments if a.is_output}
        for arg, buffer in self._buffers.items():
            if arg in outputs:
                self._result.bytes_out += buffer.size
            elif arg != args.SCRATCHPAD:
                self._result.bytes_in += buffer.size

    def _execute(self, stream: Any) -> Bytes:
        """Run once; the bytes of dst afterwards."""
        with _timed(self._result, "execute"):
            self._primitive.execute(stream, self._memories)
            stream.wait()
        return self._buffers[args.DST].raw().copy()

    def _compare(self, got: Bytes) -> None:
        """Set the state from every compared output."""
        problem, options = self._case.problem, self._case.options
        dst = self._buffers[args.DST]
        if 0 in (*problem.src, *problem.wei, *problem.dst):
            self._verdict([_unchanged(self._initial_dst, got)])
            return
        with _timed(self._result, "compute_ref"):
            want = expected(self._case, self._values, self._old_dst, dst.layout.strides)
        with _timed(self._result, "compare"):
            rules = rules_for(self._case)
            found = [compare(want.exact, want.dst, dst.layout.load(got), rules, options.verbose)]
            found += self._compare_extra(want, rules)
        self._verdict(found)
        if options.verbose >= 6:
            self._result.lines.append(self._filling.line(self._case))

    def _compare_extra(self, want: Expected, rules: Rules) -> list[Comparison]:
        names = {args.DROPOUT_MASK: "DROPOUT_MASK", args.SCALES | args.DST: "DST_SCALES"}
        found = []
        for arg, values in want.extra.items():
            if arg in self._buffers:
                buffer = self._buffers[arg]
                own = Rules(buffer.layout.data_type, rules.eltwise, on_cpu=rules.on_cpu, is_scales=True)
                got = buffer.load().reshape(values.shape)
                found.append(compare(values, values, got, own, self._case.options.verbose, names[arg]))
        return found

    def _verdict(self, found: list[Comparison]) -> None:
        result = self._result
        result.errors = sum(c.errors for c in found)
        result.total = sum(c.total for c in found)
        for comparison in found:
            result.lines += comparison.lines
        if result.errors:
            result.end(verdict.FAILED)
        elif found[0].mistrusted:
            result.end(verdict.MISTRUSTED)
        else:
            result.end(verdict.PASSED)

    def _compare_bits(self, first: Bytes, stream: Any) -> Result:
        """Mode B: a second run over the same inputs must give the same bytes."""
        self._buffers[args.DST].write_raw(self._initial_dst)
        self._verdict([_unchanged(first, self._execute(stream))])
        self._check_guards()
        return self._result

    def _check_guards(self) -> None:
        for arg, buffer in self._buffers.items():
            if not buffer.is_intact():
                name = next((a.role for a in self._arguments if a.arg == arg), "scratchpad")
                sentence = f"memory before or behind the tensor '{name}' (argument {arg}) was written"
                self._result.end(verdict.FAILED, sentence=sentence)

    def _measure(self) -> Result:
        options = self._case.options
        sets = [self._memories]
        for _ in range(timing.extra_copies(options.cold_cache, self._buffers)):
            names = [args.WEI] if options.cold_cache.startswith("wei") else list(self._buffers)
            copies = {arg: timing.copied(self._zemm, self._engine, self._buffers[arg]) for arg in names}
            self._copies = [*getattr(self, "_copies", []), copies]
            sets.append(self._memories | {arg: buffer.memory for arg, buffer in copies.items()})
        with _timed(self._result, "execute"):
            measured = timing.measure(self._zemm, self._engine, self._primitive, sets, options)
        self._result.times_ms = measured.times_ms
        if options.verbose >= 1:
            self._result.lines.append(f"# times: {measured.source}, {len(measured.times_ms)} runs kept")
        return self._result.end(verdict.EXECUTED)


def _unchanged(before: Bytes, after: Bytes) -> Comparison:
    errors = int(np.count_nonzero(before != after))
    lines = [f"[COMPARE_BITS] {errors} of {before.size} bytes differ"] if errors else []
    return Comparison(errors, before.size, False, lines)
