# SPDX-License-Identifier: Apache-2.0
"""Times a case in turns with its peers, and measures the device's limits around it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from typing import Any

import numpy as np

from zemm.benchdnn import peers
from zemm.benchdnn.data.cold_cache import tlb_bytes
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import BY_NAME, Floats
from zemm.benchdnn.peers import Peer, PeerError, Prepared
from zemm.benchdnn.peers.check import check
from zemm.benchdnn.peers.problem import peer_case
from zemm.benchdnn.run import peaks, timing
from zemm.benchdnn.run.contest import SLOW_MS, SLOW_ROUNDS, alternate
from zemm.benchdnn.run.peaks import Peaks
from zemm.benchdnn.run.verdict import REFERENCE, PeerResult, Result

_CLOCKS = """\
# zemm and its peers take turns, one run each. time: the device's own (event timestamps); a peer gives none.
# wall: the host's clock around one synchronous call. ratio: the peer's wall over zemm's (above 1 zemm is
# faster). peak: percent of the lower of two limits, the case's operations at the measured rate of the unit
# by which zemm's kernel multiplies and its bytes at the measured read bandwidth. flops, bw and peak are by
# wall beside peers, else by time."""


class Rivals:
    """The peers and limits of one run of zemm-benchdnn. They are loaded and measured at first
    use."""

    def __init__(
        self,
        load: Callable[[str], Peer] = peers.load,
        measure: Callable[[Any, Sequence[str]], Peaks] = peaks.measure,
        check: Callable[[Case, Floats], None] = check,
    ) -> None:
        self._load, self._measure, self._check = load, measure, check
        self._peers: dict[str, Peer | None] = {}
        self._peaks: dict[int, Peaks] = {}
        self._explained = False

    def contest(
        self, zemm: Any, engine: Any, case: Case, primitive: Any, sets: list[Any], result: Result
    ) -> None:
        """Time a primitive and the peers in turns. Runs of the primitive use the memories of `sets`
        one after the other. Times, limits and peers go to the result."""
        if not self._explained:
            result.lines += _CLOCKS.splitlines()
            self._explained = True
        if case.options.peak:
            result.peaks = self._peaks_before(engine, case, result)
        stream, profiled = timing.stream_of(zemm, engine)
        submits = cycle([primitive.bind(stream, memories) for memories in sets])

        def run() -> None:
            next(submits)()
            stream.wait()

        evict = np.zeros(tlb_bytes(case.options.cold_cache), np.uint8)
        run()
        if profiled:
            stream.reset_profiling()
        with self._prepared(case, result) as prepared:
            options = case.options
            runs = [run, *(p.run for _, p in prepared)]

            def before(index: int) -> None:
                if index:
                    prepared[index - 1][1].cool()
                np.add(evict, 1, out=evict)

            turns = alternate(runs, options.fix_times_per_prb, options.max_ms_per_prb, before)
        if result.peaks:
            result.peaks = self._peaks_after(engine, result.peaks)
        result.wall_ms = turns[0].times_ms
        device, missing = timing.device_times(stream, timing.steps_of(primitive), profiled)
        has_device = len(device) == len(result.wall_ms) and min(device) > 0
        result.times_ms = device if has_device else result.wall_ms
        if not has_device:
            result.lines.append(f"# times: host clock ({missing})")
        for (found, _), turn in zip(prepared, turns[1:], strict=True):
            found.times_ms = turn.times_ms
            slow = f"over {SLOW_MS:g} ms a run: {SLOW_ROUNDS} runs only"
            found.note = "; ".join([REFERENCE] * found.is_reference + [slow] * turn.is_slow)

    def _peaks_before(self, engine: Any, case: Case, result: Result) -> Peaks:
        """Limits for a case. The first case measures all of them. Later ones measure those that
        they need again, as other work on the machine lowers a measurement, too. For operations the
        best value of the run counts, for read bandwidth the value measured around the case."""
        is_first = id(engine) not in self._peaks
        known = self._peaks.setdefault(id(engine), Peaks())
        names = peaks.names_for(engine) if is_first else (peaks.unit_of(case, result.impl), "read")
        found = self._measure(engine, names)
        known.raise_to(found)
        if is_first:
            result.lines += known.lines()
        return known.at(found.value("read"))

    def _peaks_after(self, engine: Any, before: Peaks) -> Peaks:
        found = self._measure(engine, ("read",))
        self._peaks[id(engine)].raise_to(found)
        return before.at(max(before.read_now, found.value("read")))

    @contextmanager
    def _prepared(self, case: Case, result: Result) -> Iterator[list[tuple[PeerResult, Prepared]]]:
        """The peers that can run the case, after one run each, whose result was right. Refusals go to
        the result. The peers' memory is freed at the end."""
        ready = []
        for name in case.options.peers:
            peer = self._peer(name, result)
            if peer is None:
                continue
            wanted = peer_case(case, name)
            for quantises in ways(peer, case, wanted):
                found = PeerResult(
                    f"{name} (src quantised)" if quantises else name,
                    wanted.repro(),
                    peer.version,
                    case=wanted,
                    bytes_moved=_bytes(wanted),
                    quantises_src=quantises,
                )
                result.peers.append(found)
                try:
                    prepared = peer.prepare(wanted, quantises)
                    found.impl = prepared.impl
                    prepared.run()
                    self._check(wanted, prepared.dst())
                except (PeerError, ValueError, NotImplementedError, RuntimeError, MemoryError) as error:
                    found.refusal = str(error) or type(error).__name__
                    continue
                ready.append((found, prepared))
        yield ready

    def _peer(self, name: str, result: Result) -> Peer | None:
        if name not in self._peers:
            try:
                self._peers[name] = peer = self._load(name)
                result.lines.append(f"# peer: {name} {peer.version}")
            except PeerError as error:
                self._peers[name] = None
                result.lines.append(f"# {error}")
                result.left_out.append(str(error))
        return self._peers[name]


def ways(peer: Peer, case: Case, wanted: Case) -> list[bool]:
    """How a peer runs a case: whether it quantises src, for each of its rows. It does where zemm
    does, never where weights are the only quantised tensor and fpmath is strict, and both ways
    where fpmath is another mode."""
    is_weight_only = wanted.dt[0] == "f32" and BY_NAME[wanted.dt[1]].bits <= 8
    if not (peer.quantises_src and is_weight_only):
        return [False]
    if case.quantize or wanted.attributes.src_dyn_quant:
        return [True]
    return [False] if wanted.attributes.fpmath.mode == "strict" else [False, True]


def _bytes(case: Case) -> int:
    """The bytes of all tensors of a case."""
    tensors = [*args.matrices(case), *args.quantizations(case), *args.post_op_tensors(case)]
    return sum(BY_NAME[a.data_type].bits * a.count for a in tensors if not a.is_dst) // 8
