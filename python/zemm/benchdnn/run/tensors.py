# SPDX-License-Identifier: Apache-2.0
"""The tensors of a case: their memories, filled as the mode of the case wants it."""

from dataclasses import replace
from typing import Any

import numpy as np

from zemm.benchdnn.data import build, contents, files
from zemm.benchdnn.data.cold_cache import sets_of
from zemm.benchdnn.data.layout import Bytes
from zemm.benchdnn.data.ranges import filling
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.arguments import Argument
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import BY_NAME, Floats, rounded
from zemm.benchdnn.run.buffers import Buffer, buffer_of
from zemm.benchdnn.run.verdict import Result

Memories = dict[int, Any]


class Tensors:
    """`buffers` by argument, all `memories` for an execution (also those of numbers on the host), and
    `values` for the reference."""

    def __init__(self, zemm: Any, engine: Any, case: Case, pd: Any, result: Result) -> None:
        self.arguments = [
            *args.matrices(case),
            *args.quantizations(case),
            *args.post_op_tensors(case),
            *args.random_arguments(case),
            *args.hints(case),
        ]
        self.filling = filling(case)
        self.values: dict[int, Floats] = {}
        self.old_dst = np.zeros(1, np.float32)
        self._zemm, self._engine, self._case, self._pd = zemm, engine, case, pd
        self._result = result
        self._are_dst = [a.arg for a in self.arguments if a.is_dst]
        self.buffers = {a.arg: self._buffer(a) for a in self.arguments if not (a.on_host or a.is_dst)}
        self._add_scratchpad()
        self.memories = self._memories_of(self.buffers)
        for argument in self.arguments:
            if argument.on_host:
                self._add_host_scalar(argument)
            elif argument.role != "dropout mask" and not argument.is_dst:
                self._fill(argument, self.buffers[argument.arg])
        self.initial_dst: Bytes = self.buffers[args.DST].raw().copy()

    @property
    def outputs(self) -> dict[str, Buffer]:
        """The buffers that the primitive writes, by role."""
        return {a.role: self.buffers[a.arg] for a in self.arguments if a.is_output}

    def bytes_moved(self) -> tuple[int, int]:
        """The bytes that are read and written. A sum post-op reads dst. Weights of a group without rows
        are not read."""
        written = sum(buffer.size for buffer in self.outputs.values())
        everything = sum(buffer.size for arg, buffer in self.buffers.items() if arg != args.SCRATCHPAD)
        grouped = self._case.grouped
        if grouped and grouped.dim == 0:
            of_groups = (a for a in self.arguments if a.arg in self.buffers and len(a.dims) == 3)
            unused = sum(self.buffers[a.arg].size for a in of_groups) * grouped.sizes.count(0)
            everything -= unused // grouped.count
        reads_dst = bool(contents.old_dst_type(self._case))
        return everything - written + reads_dst * self.buffers[args.DST].size, written

    def sets(self) -> list[Memories]:
        """The memories by argument for runs to take one after the other: several with --cold-cache."""
        return self._cold_sets(self.buffers)

    def sets_of_streams(self) -> list[list[Memories]]:
        """The sets for each stream of --num-streams. All but the first are copies."""
        others = [
            {arg: self._twin(buffer) for arg, buffer in self.buffers.items()}
            for _ in range(self._case.options.num_streams - 1)
        ]
        return [self._cold_sets(buffers) for buffers in (self.buffers, *others)]

    def damage(self) -> str:
        """The sentence about a write to what is no output; '' if there was none."""
        for arg, buffer in self.buffers.items():
            damage = buffer.damage()
            if damage:
                name = next((a.role for a in self.arguments if a.arg == arg), "scratchpad")
                return f"{damage} of the tensor '{name}' (argument {arg}) was written"
        return ""

    def _cold_sets(self, buffers: dict[int, Buffer]) -> list[Memories]:
        options = self._case.options
        cold_cache = options.cold_cache if options.mode != "S" else "none"
        filled = sets_of(cold_cache, buffers, lambda b: b.size, self._twin)
        return [self.memories | self._memories_of(found) for found in filled]

    def _memories_of(self, buffers: dict[int, Buffer]) -> Memories:
        """The memories of buffers, also for the arguments that are dst."""
        memories = {arg: buffer.memory for arg, buffer in buffers.items()}
        return memories | dict.fromkeys(self._are_dst, memories[args.DST])

    def _twin(self, buffer: Buffer) -> Buffer:
        return buffer.twin(self._zemm, self._engine)

    def _buffer(self, argument: Argument) -> Buffer:
        """The buffer of an argument. The layout for tag any is the one that the primitive chose."""
        if argument.tag == "any" and not argument.encoding:
            md = self._pd.query_md("exec_arg_md", argument.arg)
        else:
            md = build.memory_desc(self._zemm, argument)
        return buffer_of(self._zemm, self._engine, md, argument)

    def _add_scratchpad(self) -> None:
        if self._case.attributes.scratchpad == "user":
            scratchpad = self._pd.query_md("scratchpad_md")
            if scratchpad.size:
                self.buffers[args.SCRATCHPAD] = Buffer(self._zemm, self._engine, scratchpad)

    def _add_host_scalar(self, argument: Argument) -> None:
        value = int(argument.value) if BY_NAME[argument.data_type].integral else argument.value
        md = build.memory_desc(self._zemm, argument)
        self.memories[argument.arg] = self._zemm.Memory.host_scalar(md, value)
        stored = np.full(argument.dims, argument.value, np.float32)
        self.values[argument.arg] = rounded(stored, argument.data_type)

    def _fill(self, argument: Argument, buffer: Buffer) -> None:
        if argument.role == "number":
            code = BY_NAME[argument.data_type].code
            buffer.write_raw(np.array([argument.value]).astype(code).view(np.uint8))
        elif argument.role == "dst":
            self._fill_dst(argument, buffer)
        elif not self._case.options.fills:
            buffer.fill_bytes(0)
        elif not argument.is_output and not self._read(argument, buffer):
            values = self._drawn(argument)
            self._keep(argument, values)
            buffer.store(values)

    def _keep(self, argument: Argument, values: Floats) -> None:
        """Keep values that are read again: those for the reference, and src for its reductions."""
        if self._case.options.mode == "C" or argument.arg == args.SRC:
            self.values[argument.arg] = values.reshape(argument.dims)

    def _drawn(self, argument: Argument) -> Floats:
        is_checked = self._case.options.mode == "C" or argument.role in args.KINDS
        if is_checked or argument.encoding:
            return contents.values(self._case, argument, self.filling, self.values.get(args.SRC))
        return contents.real_values(argument, argument.arg)

    def _fill_dst(self, argument: Argument, buffer: Buffer) -> None:
        """dst is filled if a post-op reads it, as the type of a sum. Those in place read it as it is."""
        old_type = contents.old_dst_type(self._case)
        if not old_type or not self._case.options.fills:
            return
        if self._read(argument, buffer):
            self.old_dst = replace(buffer.layout, data_type=old_type).load(buffer.raw())
        else:
            self.old_dst = contents.values(self._case, argument, self.filling)
            buffer.store(self.old_dst, old_type)
        for arg in self._are_dst:
            self.values[arg] = buffer.load().reshape(argument.dims)

    def _read(self, argument: Argument, buffer: Buffer) -> bool:
        """Fill a buffer from its file of --buffer-prefix. False if there is none."""
        options = self._case.options
        if not options.buffer_prefix or not buffer.layout.size:
            return False
        path = files.path_of(options.buffer_prefix, argument.arg)
        raw = files.read(path, argument.role, buffer.layout.size)
        if options.verbose >= 2:
            self._result.lines.append(files.line(path, argument.role, raw is not None))
        if raw is None:
            return False
        buffer.write_raw(raw)
        self._keep(argument, buffer.load())
        self._result.has_files = True
        return True
