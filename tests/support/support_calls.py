# SPDX-License-Identifier: Apache-2.0
"""Executions of problems: the driver's descriptors and buffers. dst's whole buffer is compared with the
bounds of its values.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
import support_bounds as bounds
import zemm
from support_cases import PER_BYTE, Problem
from support_engine import the_engine, the_stream
from support_fill import arguments, fill
from zemm._library.codes import join, split
from zemm.benchdnn.data import build
from zemm.benchdnn.data.layout import Bytes, Layout
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.arguments import Argument
from zemm.benchdnn.grammar.dtypes import BY_NAME
from zemm.benchdnn.run.buffers import Buffer

# Buffers begin where vectors do not: kernels must not count on more than the type's own alignment.
BEHIND = 16


def make_pd(p: Problem, engine: zemm.Engine | None = None) -> zemm.MatmulPrimitiveDesc:
    engine, tensors = engine or the_engine(), args.matrices(p.case)
    if not any(p.begin(argument) for argument in tensors):
        return build.primitive_desc(zemm, engine, p.case)
    mds = {argument.arg: _part(p, argument) for argument in tensors}
    src, wei, dst, bias = (mds.get(arg) for arg in (args.SRC, args.WEI, args.DST, args.BIAS))
    return zemm.MatmulPrimitiveDesc(engine, src, wei, dst, bias, build.attributes(zemm, p.case))


def refusal(p: Problem) -> str:
    """Why the device, or the row that ZEMM_KERNEL names, does not take a problem; "" if it does."""
    try:
        make_pd(p)
    except NotImplementedError as error:
        return str(error)
    return ""


def _part(p: Problem, argument: Argument) -> zemm.MemoryDesc:
    """The descriptor of a tensor, which may be a part of a larger one."""
    if not (begin := p.begin(argument)):
        return build.memory_desc(zemm, argument)
    layout = {"tag": argument.tag} if not argument.tag.islower() else {"strides": p.strides(argument)}
    return zemm.MemoryDesc(p.whole(argument), argument.data_type, **layout).submemory(argument.dims, begin)


class Call:
    """Everything that an execution needs. `args` are its memories; `buffers` have those that are no host
    scalars. given: values of some or all tensors in place of random ones."""

    def __init__(self, p: Problem, given: Mapping[int, object] | None = None) -> None:
        self.problem, self.values, self.pd = p, fill(p, given), make_pd(p)
        self.args: dict[int, zemm.Memory] = {}
        self.buffers: dict[int, Buffer] = {}
        self.is_exact = False  # whether the last dst had to equal the bounds bit by bit
        self._rng = np.random.default_rng(p.number("seed") + 1)
        for argument in arguments(p):
            self.args[argument.arg] = self._memory(argument)
        if p.case.attributes.scratchpad == "user" and (scratchpad := self.pd.query_md("scratchpad_md")).ndims:
            self.args[args.SCRATCHPAD] = self._buffer(args.SCRATCHPAD, scratchpad).memory
        self.before = self._dst.raw().copy()

    def _memory(self, argument: Argument) -> zemm.Memory:
        values = self.values[argument.arg]
        if argument.on_host:
            return zemm.Memory.host_scalar(build.memory_desc(zemm, argument), values.reshape(()))
        if argument.is_dst:
            return self.args[args.DST]
        buffer = self._buffer(argument.arg, self._descriptor(argument))
        around = self._rng.integers(0, 256, buffer.layout.size).astype(np.uint8)
        if self.problem.begin(argument) and not BY_NAME[argument.data_type].integral:
            around[:] = 0xFF  # NaN, also where padding would be
        buffer.write_raw(around)
        with np.errstate(invalid="ignore"):  # NaN that signals
            buffer.store(values)
        return buffer.memory

    def _descriptor(self, argument: Argument) -> zemm.MemoryDesc:
        if argument.role in args.KINDS:  # rows that end inside a byte are one dimension
            ends_inside = argument.dims[-1] % PER_BYTE.get(argument.data_type, 1)
            return zemm.MemoryDesc((argument.count,) if ends_inside else argument.dims, argument.data_type)
        if argument.tag == "any" or self.problem.begin(argument):
            return self.pd.query_md("exec_arg_md", argument.arg)
        return build.memory_desc(zemm, argument)

    def _buffer(self, arg: int, md: zemm.MemoryDesc) -> Buffer:
        self.buffers[arg] = Buffer(zemm, self.pd.engine, md, behind=BEHIND)
        return self.buffers[arg]

    @property
    def _dst(self) -> Buffer:
        return self.buffers[args.DST]

    def execute(self) -> None:
        stream = the_stream()
        zemm.Primitive(self.pd).execute(stream, self.args)
        stream.wait()

    @property
    def dst(self) -> np.ndarray:
        """The codes of dst's elements."""
        layout = self._dst.layout
        assert isinstance(layout, Layout)
        return layout.codes(self._dst.raw())

    @property
    def raw(self) -> Bytes:
        """The bytes of dst: its memory."""
        return self._dst.raw()

    def assert_untouched(self) -> None:
        """No byte of dst was written, and none around the buffers."""
        assert np.array_equal(self.raw, self.before)
        assert not [found for buffer in self.buffers.values() if (found := buffer.damage())]

    def check(self) -> None:
        """dst has the expected values, and all other bytes are unchanged."""
        changed = (self.raw ^ self.before) & ~own_bits(self._dst)
        assert not changed.any(), f"{self.problem.line}: bytes that are not dst's were written"
        damaged = [arg for arg, buffer in self.buffers.items() if buffer.damage()]
        assert not damaged, f"{self.problem.line}: bytes around arguments were written"
        low, high = bounds.matmul(self.problem, self.values)
        try:
            compare(self.dst, low, high)
        except AssertionError as error:
            raise AssertionError(f"{self.problem.line}: {error}") from error
        self.is_exact = bool((low == high).all())


def own_bits(buffer: Buffer) -> Bytes:
    """The bits of a buffer that belong to its tensor."""
    layout = buffer.layout
    assert isinstance(layout, Layout)
    bits, width = np.zeros(layout.size, np.uint8), BY_NAME[layout.data_type].bits
    if width < 8:
        codes = split(bits, width)
        codes[layout.offsets()] = 2**width - 1
        return join(codes, width)[: layout.size]
    bits.reshape(-1, width // 8)[layout.offsets()] = 0xFF
    return bits


def compare(got: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    wide = [ordered(a) for a in (got, low, high)]
    good = (wide[0] >= wide[1]) & (wide[0] <= wide[2])
    nan = [np.isnan(a.astype(np.float32)) for a in (got, low, high)]
    good |= nan[0] & nan[1] & nan[2]
    if not good.all():
        i = tuple(int(v) for v in np.argwhere(~good)[0])
        raise AssertionError(
            f"{(~good).sum()} of {good.size} wrong, first {i}: {got[i]!r}, not in [{low[i]!r}, {high[i]!r}]"
        )


def ordered(a: np.ndarray) -> np.ndarray:
    """The values as f64. f8_e4m3 has NaN, with a sign, for what is too large; this becomes infinity."""
    wide = a.astype(np.float64)
    if a.dtype == BY_NAME["f8_e4m3"].code:
        overflows = a.view(np.uint8) & 0x7F == 0x7F
        wide = np.where(overflows, np.where(a.view(np.uint8) >> 7, -np.inf, np.inf), wide)
    return wide


def run(p: Problem, given: Mapping[int, object] | None = None) -> Call:
    """Execute the problem and check dst."""
    call = Call(p, given)
    call.execute()
    call.check()
    return call


def run_exact(p: Problem, given: Mapping[int, object] | None = None) -> Call:
    """Execute a problem whose every sum is exact, and check dst."""
    call = run(p, given)
    assert call.is_exact, f"{p.line}: the values are not small enough for exact sums"
    return call


def result(p: Problem, given: Mapping[int, object] | None = None) -> np.ndarray:
    """dst of an execution, which is not compared."""
    call = Call(p, given)
    call.execute()
    return call.dst


def check_same_bits(problem: Problem, rows: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The results of the problem on rows of the list, each of which takes it."""
    bits = set()
    for row in rows:
        monkeypatch.setenv("ZEMM_KERNEL", row)
        assert make_pd(problem).impl_info.endswith(row)
        bits.add(run(problem).raw.tobytes())
    assert len(bits) == 1
