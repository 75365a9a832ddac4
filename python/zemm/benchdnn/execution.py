# SPDX-License-Identifier: Apache-2.0
"""Fills the tensors of a case, executes its primitive, and compares or times it, depending on the
mode."""

import importlib
from typing import Any

import numpy as np

from zemm.benchdnn import arguments as args
from zemm.benchdnn import build, data, timing, verdict
from zemm.benchdnn.arguments import Argument
from zemm.benchdnn.buffers import UNWRITTEN, Buffer, SparseBuffer
from zemm.benchdnn.case import Case
from zemm.benchdnn.compare import Comparison, Rules, compare, rules_for
from zemm.benchdnn.dtypes import BY_NAME, Floats, rounded
from zemm.benchdnn.layout import Bytes
from zemm.benchdnn.quantizing import Quantized
from zemm.benchdnn.ranges import filling
from zemm.benchdnn.reference import Expected, expected
from zemm.benchdnn.rivals import Rivals
from zemm.benchdnn.verdict import Result

_DRAWN_AS_CHECKED = ("scales", "zero_points", "reductions")


class Execution:
    """The execution of one case on an engine."""

    def __init__(
        self, case: Case, engine: Any, primitive: tuple[Any, Any], result: Result, rivals: Rivals
    ) -> None:
        self._rivals = rivals
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
        """Execute in the mode of the case, and set the state of the result."""
        mode = self._case.options.mode
        with self._result.timed("fill"):
            self.prepare()
        self._count_bytes()
        if self._case.options.is_perf:
            return self._measure()
        stream = self._zemm.Stream(self._engine)
        self._execute(stream)
        if mode == "B" and self._case.options.fills:
            self._compare_bits(stream)
        elif mode == "C" and self._case.options.fills:
            self._compare(self._buffers[args.DST].raw())
        else:
            self._result.end(verdict.EXECUTED)
        self._check_guards()
        return self._result

    def prepare(self) -> None:
        """Make and fill the tensors."""
        self._buffers = {a.arg: self._buffer(a) for a in self._arguments if not a.on_host}
        self._memories = self._all_memories()
        self._fill()

    def sets(self) -> list[dict[int, Any]]:
        """The memories by argument for runs to take one after the other: several with --cold-cache."""
        cold_cache = self._case.options.cold_cache
        filled = timing.sets_of(cold_cache, self._buffers, lambda b: b.size, self._twin)
        return [self._memories | {arg: b.memory for arg, b in buffers.items()} for buffers in filled]

    def _buffer(self, argument: Argument) -> Any:
        sparsity = data.sparsity(self._case, argument)
        if sparsity.kind:
            md = self._pd.query_md("exec_arg_md", argument.arg)
            places = data.places(sparsity, argument)
            return SparseBuffer(self._zemm, self._engine, md, places, sparsity.kind == "coo")
        return Buffer(self._zemm, self._engine, self._memory_desc(argument))

    def _twin(self, buffer: Any) -> Any:
        """A copy; a sparse tensor itself."""
        if isinstance(buffer, SparseBuffer):
            return buffer
        twin = Buffer(self._zemm, self._engine, buffer.memory.md)
        twin.write_raw(buffer.raw())
        return twin

    def _memory_desc(self, argument: Argument) -> Any:
        """The descriptor of an argument. For tag any it is the one that the primitive chose."""
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
                stored = np.full(argument.dims, argument.value, np.float32)
                self._values[argument.arg] = rounded(stored, argument.data_type)
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
                if isinstance(buffer, SparseBuffer):
                    values = np.where(buffer.places, values, np.float32(0))
                self._values[argument.arg] = values
                buffer.store(values)

    def _drawn(self, argument: Argument) -> Floats:
        if self._case.options.mode == "C" or argument.role in _DRAWN_AS_CHECKED:
            return data.values(self._case, argument, self._filling, self._values.get(args.SRC))
        return data.real_values(argument, argument.arg)

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

    def _execute(self, stream: Any) -> None:
        """Run once and wait."""
        with self._result.timed("execute"):
            self._primitive.execute(stream, self._memories)
            stream.wait()

    def _compare(self, got: Bytes) -> None:
        """Compare all outputs with the reference and set the state of the result."""
        problem, options = self._case.problem, self._case.options
        dst = self._buffers[args.DST]
        if 0 in (*problem.src, *problem.wei, *problem.dst):
            self._verdict([_unchanged("dst", self._initial_dst, got)])
            return
        with self._result.timed("compute_ref"):
            want = expected(self._case, self._values, self._old_dst, dst.layout.strides)
        with self._result.timed("compare"):
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

    def _compare_bits(self, stream: Any) -> None:
        """Mode B: run again with the same inputs, and compare the bytes of all outputs."""
        outputs = {a.role: self._buffers[a.arg] for a in self._arguments if a.is_output}
        first = {role: buffer.raw().copy() for role, buffer in outputs.items()}
        for role, buffer in outputs.items():
            if role == "dst":
                buffer.write_raw(self._initial_dst)
            else:
                buffer.fill_bytes(UNWRITTEN)
        self._execute(stream)
        self._verdict([_unchanged(role, first[role], buffer.raw()) for role, buffer in outputs.items()])

    def _check_guards(self) -> None:
        for arg, buffer in self._buffers.items():
            if not buffer.is_intact():
                name = next((a.role for a in self._arguments if a.arg == arg), "scratchpad")
                sentence = f"memory before or behind the tensor '{name}' (argument {arg}) was written"
                self._result.end(verdict.FAILED, sentence=sentence)

    def _measure(self) -> Result:
        options = self._case.options
        sets = self.sets()
        primitive = self._primitive
        if self._case.quantize:
            primitive = Quantized(self._zemm, self._engine, self._case, primitive)
            self._result.bytes_in += primitive.source.size - self._buffers[args.SRC].size
        if options.compares:
            with self._result.timed("execute"):
                self._rivals.contest(self._zemm, self._engine, self._case, primitive, sets, self._result)
            return self._result.end(verdict.EXECUTED)
        with self._result.timed("execute"):
            measured = timing.measure(self._zemm, self._engine, primitive, sets, options)
        self._result.times_ms = measured.times_ms
        if options.verbose >= 1:
            self._result.lines.append(f"# times: {measured.source}, {len(measured.times_ms)} runs kept")
        return self._result.end(verdict.EXECUTED)


def _unchanged(role: str, before: Bytes, after: Bytes) -> Comparison:
    errors = int(np.count_nonzero(before != after))
    name = role.upper().replace(" ", "_")
    lines = [f"[COMPARE_BITS][{name}]: {errors} of {before.size} bytes differ"] if errors else []
    return Comparison(errors, before.size, False, lines)
