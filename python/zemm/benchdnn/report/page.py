# SPDX-License-Identifier: Apache-2.0
"""The page of `--output=FILE.html`: plots and a table."""

from collections import Counter
from html import escape

from zemm._programs import picture
from zemm._programs.page_parts import cell, charts, chip, page, section, table
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
    ("bound", "limit"),
    ("ratio_best", "ratio, best"),
    ("ratio_median", "ratio, median"),
    ("errors", "errors"),
    ("reason", "reason"),
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
    titles = ["#", "case", "who", "status", "kernel", *(title for _, title in columns)]
    rows = (_row(record, [name for name, _ in columns]) for record in run.records)
    note = "A click on a head sorts. A click on a case shows the line that runs it again."
    if run.clock == "host":
        note += " Rates and ratios (a peer's time over zemm's) are by the host's clock."
    return section("All results", note, table(titles, rows))


def _row(record: Record, columns: list[str]) -> str:
    case = f"<details><summary>{escape(record.title)}</summary><code>{escape(record.line)}</code></details>"
    cells = [
        f'<td class=num data-value="{record.index}">{record.index}</td>',
        f'<td data-value="{escape(record.title)}">{case}</td>',
        f"<td>{escape(record.who)}</td>",
        f"<td>{chip(record.status, record.status)}</td>",
        f'<td class="kernel">{escape(record.kernel)}</td>',
    ]
    return "".join([*cells, *(cell(name, getattr(record, name)) for name in columns)])
