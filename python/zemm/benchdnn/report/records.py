# SPDX-License-Identifier: Apache-2.0
"""The results of a run as plain data: a record for each case and peer, and the facts of the run."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from zemm._library.lists import own_and_emulated
from zemm._programs.results import REFUSED, Facts, encodable, facts_now
from zemm.benchdnn.grammar.expand import Job
from zemm.benchdnn.report.perf import Row, chosen, limit_of, own_row, peer_row, percent_of_peak, ratio
from zemm.benchdnn.run import verdict
from zemm.benchdnn.run.verdict import PeerResult, Result


@dataclass(frozen=True)
class Record:
    """One case on zemm or on a peer. Times are in ms: `device_ms` by the device's clock, where it
    keeps times (a peer has none), `host_ms` around a synchronous call, which is timed with --peer or
    --peak. `gops`, `gb_per_s` and `percent_of_peak` are those of the best run, by the host's clock
    where the case has peers; `bytes` the bytes of all tensors. `bound` names the limit that
    `percent_of_peak` refers to. Ratios are the host time of a peer divided by that of zemm. None:
    there is no such number."""

    index: int
    problem: str
    name: str
    who: str
    version: str
    line: str
    status: str
    reason: str
    kernel: str
    device_ms_best: float | None = None
    device_ms_median: float | None = None
    host_ms_best: float | None = None
    host_ms_median: float | None = None
    gops: float | None = None
    gb_per_s: float | None = None
    percent_of_peak: float | None = None
    bound: str = ""
    ratio_best: float | None = None
    ratio_median: float | None = None
    operations: int = 0
    bytes: int = 0
    errors: int = 0

    @property
    def is_zemm(self) -> bool:
        return self.who == "zemm"

    @property
    def title(self) -> str:
        """The name of the problem, or its dimensions if it has no name."""
        return self.name or self.problem

    @property
    def exceeds_limit(self) -> bool:
        return self.percent_of_peak is not None and self.percent_of_peak > 100

    @property
    def limit(self) -> str:
        """`bound`, and whether it is none."""
        return f"{self.bound}, unreliable" if self.exceeds_limit else self.bound

    @property
    def is_reference(self) -> bool:
        return not self.is_zemm and verdict.is_reference(self.kernel)


@dataclass(frozen=True)
class Run(Facts):
    """The facts of a run. `devices`: engine, name and features of each device that was used, and those of
    GPUs that a CPU device has in software;
    `left_out`: sentences about peers that could not be loaded; `peaks`: measured limits in GOPS or GB/s."""

    zemm: str
    peers: dict[str, str]
    left_out: list[str]
    devices: list[dict[str, Any]]
    peaks: dict[str, float]
    interrupted: bool
    records: list[Record]

    @property
    def clock(self) -> str:
        """The clock by which all records can be compared: "device", or "host" if there are peers."""
        return "device" if all(record.is_zemm for record in self.records) else "host"

    def best(self, record: Record) -> float | None:
        """The time of its best run in ms by this clock."""
        return record.host_ms_best if self.clock == "host" else record.device_ms_best


class Records:
    """Collects the records of a run."""

    def __init__(self, command: str) -> None:
        self._facts = facts_now(command)
        self._records: list[Record] = []
        self._engines: dict[tuple[str, int], None] = {}
        self._peers: dict[str, str] = {}
        self._left_out: list[str] = []
        self._peaks: dict[str, float] = {}

    def add(self, job: Job, result: Result) -> None:
        """Add a case and its peers."""
        import zemm

        reason = ": ".join(filter(None, (result.reason, result.sentence)))
        own = own_row(job, result)
        line = job.case.full_repro()
        self._keep(_record(own, "zemm", zemm.__version__, line, result.state, reason, result.errors))
        for peer in result.peers:
            self._keep(_peer_record(job, result, peer))
            self._peers[peer.name.split(" ")[0]] = peer.version
        self._left_out += result.left_out
        if result.impl:
            self._engines[job.case.options.engine] = None
        if result.peaks:
            self._peaks |= {name: value / 1e9 for name, value in result.peaks.values.items()}

    def _keep(self, record: Record) -> None:
        texts: dict[str, Any] = {
            name: encodable(value) for name, value in asdict(record).items() if isinstance(value, str)
        }
        self._records.append(replace(record, **texts))

    def run(self, interrupted: bool) -> Run:
        """The run with the records so far."""
        import zemm

        return Run(
            **self._facts, zemm=zemm.__version__, peers=self._peers, left_out=self._left_out,
            devices=[_device(*engine) for engine in self._engines], peaks=self._peaks,
            interrupted=interrupted, records=self._records,
        )  # fmt: skip


def _peer_record(job: Job, result: Result, peer: PeerResult) -> Record:
    row = peer_row(job, result, peer)
    row.impl = peer.impl
    status = REFUSED if peer.refusal else verdict.EXECUTED
    return _record(row, peer.name, peer.version, peer.line, status, peer.refusal or peer.note, 0)


def _record(row: Row, who: str, version: str, line: str, status: str, reason: str, errors: int) -> Record:
    problem = row.case.problem
    moved = row.bytes_in + row.bytes_out
    common = (row.job.index, str(problem), problem.name.strip('"'), who, version, line, status, reason)
    if not row.rated_ms:
        return Record(*common, row.impl, operations=problem.ops, bytes=moved, errors=errors)
    best = chosen(row.rated_ms, "-")
    is_peer = who != "zemm"
    return Record(
        *common, row.impl, *_best_median(row.times_ms), *_best_median(row.wall_ms),
        problem.ops / best / 1e6 if best else None,
        moved / best / 1e6 if best else None,
        percent_of_peak(row, "-"), limit_of(row)[0],
        ratio(row, "-") if is_peer else None, ratio(row, "~") if is_peer else None,
        problem.ops, moved, errors,
    )  # fmt: skip


def _best_median(times: list[float]) -> tuple[float | None, float | None]:
    return (chosen(times, "-"), chosen(times, "~")) if times else (None, None)


def _device(kind: str, index: int) -> dict[str, Any]:
    import zemm

    engine = zemm.Engine("gpu" if kind == "gpu" else "cpu", index)
    own, emulated = own_and_emulated(engine.kind, engine.features)
    return {"engine": f"{kind}:{index}", "name": engine.name, "features": own, "in_software": emulated}
