# SPDX-License-Identifier: Apache-2.0
"""Executes the primitive of a case, and compares or times it, depending on the mode."""

import importlib
from typing import Any

import numpy as np

from zemm.benchdnn.data.compare import Comparison, Rules, compare, rules_for
from zemm.benchdnn.data.layout import Bytes, Layout
from zemm.benchdnn.data.reference import Expected, expected
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.run import timing, verdict
from zemm.benchdnn.run.buffers import UNWRITTEN
from zemm.benchdnn.run.quantizing import Quantized
from zemm.benchdnn.run.rivals import Rivals
from zemm.benchdnn.run.tensors import Memories, Tensors
from zemm.benchdnn.run.verdict import Result


class Execution:
    """The execution of one case on an engine."""

    def __init__(
        self, case: Case, engine: Any, primitive: tuple[Any, Any], result: Result, rivals: Rivals
    ) -> None:
        self._rivals = rivals
        self._zemm = importlib.import_module("zemm")
        self._case, self._engine, self._result = case, engine, result
        self._pd, self._primitive = primitive

    def run(self) -> Result:
        """Execute in the mode of the case, and set the state of the result."""
        mode = self._case.options.mode
        with self._result.timed("fill"):
            self.prepare()
        self._result.bytes_in, self._result.bytes_out = self._tensors.bytes_moved()
        if self._case.options.is_perf:
            return self._measure()
        stream = self._zemm.Stream(self._engine)
        self._execute(stream)
        if mode == "B":
            self._compare_bits(stream)
        elif mode == "C":
            self._compare(self._tensors.buffers[args.DST].raw())
        else:
            self._result.end(verdict.EXECUTED)
        damage = self._tensors.damage()
        if damage:
            self._result.end(verdict.FAILED, sentence=damage)
        return self._result

    def prepare(self) -> None:
        """Make and fill the tensors."""
        self._tensors = Tensors(self._zemm, self._engine, self._case, self._pd, self._result)

    def sets(self) -> list[Memories]:
        """The memories by argument for runs to take one after the other: several with --cold-cache."""
        return self._tensors.sets()

    def _execute(self, stream: Any) -> None:
        """Run once and wait."""
        with self._result.timed("execute"):
            self._primitive.execute(stream, self._tensors.memories)
            stream.wait()

    def _compare(self, got: Bytes) -> None:
        """Compare all outputs with the reference and set the state of the result."""
        problem, options = self._case.problem, self._case.options
        dst = self._tensors.buffers[args.DST]
        if 0 in (*problem.src, *problem.wei, *problem.dst):
            self._verdict([_unchanged("dst", self._tensors.initial_dst, got)])
            return
        assert isinstance(dst.layout, Layout)  # dst is never sparse
        with self._result.timed("compute_ref"):
            want = expected(self._case, self._tensors.values, self._tensors.old_dst, dst.layout)
        with self._result.timed("compare"):
            rules = rules_for(self._case)
            found = [compare(want.exact, want.dst, dst.layout.load(got), rules, options.verbose)]
            found += self._compare_extra(want, rules)
        self._verdict(found)
        if options.verbose >= 6:
            self._result.lines.append(self._tensors.filling.line(self._case))

    def _compare_extra(self, want: Expected, rules: Rules) -> list[Comparison]:
        names = {args.DROPOUT_MASK: "DROPOUT_MASK", args.SCALES | args.DST: "DST_SCALES"}
        found = []
        for arg, values in want.extra.items():
            if arg in self._tensors.buffers:
                buffer = self._tensors.buffers[arg]
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
        outputs = self._tensors.outputs
        first = {role: buffer.raw().copy() for role, buffer in outputs.items()}
        for role, buffer in outputs.items():
            if role == "dst":
                buffer.write_raw(self._tensors.initial_dst)
            else:
                buffer.fill_bytes(UNWRITTEN)
        self._execute(stream)
        self._verdict([_unchanged(role, first[role], buffer.raw()) for role, buffer in outputs.items()])

    def _measure(self) -> Result:
        options = self._case.options
        primitive = self._primitive
        if self._case.quantize:
            primitive = Quantized(self._zemm, self._engine, self._case, primitive)
            self._result.bytes_in += primitive.source.size - self._tensors.buffers[args.SRC].size
        if options.compares:
            with self._result.timed("execute"):
                self._rivals.contest(
                    self._zemm, self._engine, self._case, primitive, self.sets(), self._result
                )
            return self._result.end(verdict.EXECUTED)
        with self._result.timed("execute"):
            sets = self._tensors.sets_of_streams()
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
