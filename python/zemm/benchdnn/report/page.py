# SPDX-License-Identifier: Apache-2.0
"""The page of `--output=FILE.html`: plots and a table."""

from collections import Counter
from html import escape

from zemm._programs import picture
from zemm._programs.page_parts import cell, charts, chip, page, section, small, table, wide_cell
from zemm.benchdnn.report import plot
from zemm.benchdnn.report.records import Record, Run

_COLUMNS: tuple[tuple[str, str], ...] = (
    ("device_ms_best", "device ms, best"),
    ("device_ms_median", "device ms, median"),
    ("host_ms_best", "host ms, best"),
    ("host_ms_median", "host ms, median"),
    ("gops", "GOPS"),
    ("gb_per_s", "GB/s"),
    ("percent_of_peak", "% of peak"),
    ("limit", "limit"),
    ("ratio_best", "ratio, best"),
    ("ratio_median", "ratio, median"),
    ("errors", "errors"),
)


def html(run: Run) -> str:
    """The page of a run."""
    return page(
        "zemm-benchdnn", run.date, _chips(run), _facts(run), run.command, [*_charts(run), _table(run)]
    )


def _chips(run: Run) -> str:
    counts = Counter(record.status for record in run.records if record.is_zemm)
    chips = [chip(f"{count} {status.lower()}", status) for status, count in counts.items()]
    if run.interrupted:
        chips.append(chip("interrupted: not all cases have run", "SKIPPED"))
    return "".join(chips) or chip("no case has run", "SKIPPED")


def _facts(run: Run) -> dict[str, str]:
    facts = {"Processor": f"{run.processor}, {run.cores} cores"}
    for device in run.devices:
        features = " ".join(device["features"])
        facts[f"Device {device['engine']}"] = f"{device['name']}{f' ({features})' if features else ''}"
    facts["Versions"] = ", ".join([f"zemm {run.zemm}", *(f"{n} {v}" for n, v in run.peers.items())])
    if run.left_out:
        facts["Peers"] = "; ".join(run.left_out)
    return facts


def _charts(run: Run) -> list[str]:
    drawn = plot.charts(run)
    if drawn is None:
        return []
    if not picture.is_installed():
        return [section("Charts", f"They need {picture.PACKAGE}.", "")]
    return [section("Charts", "", charts(plot.svg(drawn)))]


def _table(run: Run) -> str:
    columns = [
        (name, title)
        for name, title in _COLUMNS
        if any(getattr(record, name) not in (None, "", 0) for record in run.records)
    ]
    titles = ["case", "who", "status", *(title for _, title in columns), "kernel"]
    rows = (_row(record, [name for name, _ in columns]) for record in run.records)
    note = "A click on a head sorts. A click on a case shows the line that runs it again."
    if run.clock == "host":
        note += " Rates and ratios (a peer's time over zemm's) are by the host's clock."
    if any(record.exceeds_limit for record in run.records):
        note += " Above 100 % a limit is unreliable: tensors stayed in a cache, or it was measured too low."
    return section("All results", note, table(titles, rows))


def _row(record: Record, columns: list[str]) -> str:
    title = f"{record.index} {record.title}"
    case = f"<details><summary>{escape(title)}</summary><code>{escape(record.line)}</code></details>"
    cells = [
        f'<td data-value="{record.index}">{case}</td>',
        f"<td>{escape(record.who)}</td>",
        f"<td>{chip(record.status, record.status)}</td>",
    ]
    if not record.kernel:
        return "".join([*cells, wide_cell(record.reason, len(columns) + 1)])
    kernel = f'<td class="kernel">{escape(record.kernel)}{small(record.reason)}</td>'
    return "".join([*cells, *(cell(getattr(record, name)) for name in columns), kernel])
