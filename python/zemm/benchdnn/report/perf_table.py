# SPDX-License-Identifier: Apache-2.0
"""The table at the end of a run with peers or peaks: for each case a line of zemm and one of each
peer."""

from zemm._terminal.columns import aligned
from zemm.benchdnn.report.perf import Row, chosen, limit_of, percent_of_peak, ratio

_HEADS = (
    "problem",
    "who",
    "ms best/median",
    "host ms best/median",
    "GOPS",
    "GB/s",
    "of peak",
    "ratio best/median",
    "",
)
Line = tuple[str, ...]


def table(rows: list[Row]) -> str:
    """The rows with aligned columns. The last field of a peer is the problem that it ran, or why it
    did not. The ratio is the peer's host time divided by zemm's."""
    return aligned([_HEADS, *map(_line, rows)])


def _line(row: Row) -> Line:
    case, is_own = row.case, row.who == "perf"
    problem = (case.problem.name.strip('"') or str(case.problem)) if is_own else ""
    who = "zemm" if is_own else row.engine
    if not row.rated_ms:
        return problem, who, "", "", "", "", "", "", row.impl
    best = chosen(row.rated_ms, "-")
    gops = case.problem.ops / best / 1e6
    bandwidth = (row.bytes_in + row.bytes_out) / best / 1e6
    percent = percent_of_peak(row, "-")
    limit = ""
    if percent is not None and row.peaks:
        name = limit_of(row)[0]
        limit = f"{percent:.0f} % of {row.peaks.value(name) / 1e9:.3g} {name}"
    ratios = [ratio(row, choice) for choice in "-~"]
    ratio_text = "" if is_own else "/".join(f"{r:.2f}" for r in ratios if r is not None)
    knobs = " ".join(case.repro().split(" ")[:-1]) or "defaults"
    run = row.impl if is_own else f"{row.impl}: {knobs}"
    return (
        problem,
        who,
        _pair(row.times_ms),
        _pair(row.wall_ms),
        f"{gops:.0f}",
        f"{bandwidth:.1f}",
        limit,
        ratio_text,
        run,
    )


def _pair(times: list[float]) -> str:
    return f"{chosen(times, '-'):.3f}/{chosen(times, '~'):.3f}" if times else ""
