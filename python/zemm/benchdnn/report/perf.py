# SPDX-License-Identifier: Apache-2.0
"""The perf lines of a case: its template, with tokens replaced by numbers from the timed runs."""

from dataclasses import dataclass

import numpy as np

from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.expand import Job
from zemm.benchdnn.grammar.tags import normalized
from zemm.benchdnn.grammar.template import TEXT_TOKENS, Token, parse_token, substitute, tokens
from zemm.benchdnn.run.peaks import Peaks, unit_of
from zemm.benchdnn.run.verdict import PeerResult, Result

NONE = "n/a"


@dataclass
class Row:
    """The data of one perf line: runs of zemm or of a peer. `times_ms` are device times, which a
    peer has none of, `wall_ms` host times. Rates and percentages are those of `rated_ms`: host times
    for zemm and its peers, device times where there are no peers. `other_ms`: the host times that
    the ratio is computed to; empty: there is no ratio. `unit`: the limit of its operations.
    `spans`: seconds of the stages of its creations."""

    job: Job
    case: Case
    who: str
    engine: str
    impl: str
    times_ms: list[float]
    wall_ms: list[float]
    rated_ms: list[float]
    bytes_in: int
    bytes_out: int
    spans: dict[str, list[float]]
    unit: str
    peaks: Peaks | None = None
    other_ms: list[float] | None = None


def own_row(job: Job, result: Result) -> Row:
    """The row of zemm."""
    case = job.case
    rated_ms = result.wall_ms if result.peers else result.times_ms
    return Row(
        job, case, "perf", case.options.engine[0], result.impl, result.times_ms, result.wall_ms, rated_ms,
        result.bytes_in, result.bytes_out, result.spans, unit_of(case, result.impl), result.peaks,
        result.wall_ms,
    )  # fmt: skip


def peer_row(job: Job, result: Result, peer: PeerResult) -> Row:
    """The row of a peer. If it refused the case, the reason is in the place of the
    implementation."""
    impl = f"refused: {peer.refusal}" if peer.refusal else "; ".join(filter(None, (peer.impl, peer.note)))
    impl = " ".join(impl.replace(",", ";").split())  # else it would break up the columns of a line
    other_ms = [] if peer.is_reference else result.wall_ms
    unit = unit_of(job.case, result.impl)
    if peer.quantises_src:
        unit = (result.peaks and result.peaks.fastest("int8")) or "int8"
    return Row(
        job, peer.case, "peer", peer.name, impl, [], peer.times_ms, peer.times_ms, peer.bytes_moved, 0, {},
        unit, result.peaks, other_ms,
    )  # fmt: skip


def format_line(template: str, row: Row) -> str:
    """The template with its tokens replaced. Times are in ms, flops and bw per second; all are
    divided by the token's unit."""
    values = {text: _value(parse_token(text, "--perf-template"), row) for text in tokens(template)}
    return substitute(template, values)


def chosen(times: list[float], choice: str) -> float:
    """The mean (`0`), the largest (`+`), the median (`~`) or otherwise the smallest time."""
    if choice == "0":
        return sum(times) / len(times)
    if choice == "~":
        return float(np.median(times))
    return max(times) if choice == "+" else min(times)


def limit_of(row: Row) -> tuple[str, float]:
    """The limit that bounds a row, and its time in ms, or ('', 0). Operations are those of zemm's
    case, so that they are the same for all rows of a case but that of a peer which quantises src;
    bytes are those of the row."""
    if not row.peaks:
        return "", 0.0
    return row.peaks.bound(row.job.case, row.bytes_in + row.bytes_out, row.unit)


def percent_of_peak(row: Row, choice: str) -> float | None:
    """The speed of the chosen run in percent of the limit that bounds it; None if no limit is
    known."""
    if not row.peaks or not row.rated_ms:
        return None
    bound = limit_of(row)[1]
    return 100 * bound / chosen(row.rated_ms, choice) if bound else None


def ratio(row: Row, choice: str) -> float | None:
    """The host time of the row divided by that of zemm; None for a reference kernel."""
    if not row.wall_ms or not row.other_ms:
        return None
    return chosen(row.wall_ms, choice) / chosen(row.other_ms, choice)


def _value(token: Token, row: Row) -> str:
    if token.name in TEXT_TOKENS:
        return _text(token.name, row)
    number = _number(token, row)
    return NONE if number is None else f"{number / token.unit:g}"


def _text(name: str, row: Row) -> str:
    case = row.case
    dt = case.dt[0] if len(set(case.dt)) == 1 else ":".join(case.dt)
    ndims = (case.problem.ndims, case.problem.ndims, case.dst_ndims)
    stag, wtag, dtag = map(normalized, case.tags, ndims)
    texts = {
        "prb": case.full_repro(),
        "desc": case.descriptor,
        "engine": row.engine,
        "name": case.problem.name,
        "dt": dt,
        "sdt": dt,
        "ddt": case.dt[2],
        "bia_dt": case.bia_dt,
        "stag": stag,
        "wtag": wtag,
        "dtag": dtag,
        "attr": " ".join(case.shown_attributes()),
        "ctx-init": case.ctx_init,
        "ctx-exe": case.ctx_exe,
        "dir": case.direction or NONE,
        "driver": case.problem.driver,
        "impl": row.impl,
        "idx": str(row.job.index),
        "who": row.who,
        "bound": limit_of(row)[0] or NONE,
    }
    return texts[name]


def _number(token: Token, row: Row) -> float | None:
    case, moved = row.case, row.bytes_in + row.bytes_out
    sizes = {"ops": case.problem.ops, "ibytes": row.bytes_in, "obytes": row.bytes_out, "iobytes": moved}
    stages = {"ctime": ("create_pd", "create_prim"), "cpdtime": ("create_pd",), "cptime": ("create_prim",)}
    name = token.name
    if name in stages:
        # The first creation is the longest: the others find a primitive that exists.
        spans = (row.spans.get(stage) or [0.0] for stage in stages[name])
        return 1e3 * sum(chosen(seconds, token.choice or "+") for seconds in spans)
    if name in sizes:
        return float(sizes[name])
    if name == "ratio":
        return ratio(row, token.choice)
    if name == "peak":
        return percent_of_peak(row, token.choice)
    times = {"wall": row.wall_ms, "time": row.times_ms, "flops": row.rated_ms, "bw": row.rated_ms}
    if name in times:
        if not times[name]:
            return None
        time = chosen(times[name], token.choice)
        if name in ("wall", "time"):
            return time
        return 1e3 * (case.problem.ops if name == "flops" else moved) / time if time else 0.0
    return 0.0
