# SPDX-License-Identifier: Apache-2.0
"""The page of `--output=FILE.html`: one file with plots and a table, which needs no network."""

from collections import Counter
from html import escape
from pathlib import Path
from string import Template

from zemm.benchdnn import plot
from zemm.benchdnn.records import Record, Run

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
    """The page of a run. Texts of the run are escaped."""
    template = Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))
    sections = [*_charts(run), _table(run)]
    return template.substitute(
        date=escape(run.date.replace("T", " ").replace("+00:00", " UTC")),
        chips=_chips(run),
        facts=_facts(run),
        command=escape(run.command),
        sections="\n".join(sections),
    )


def _chips(run: Run) -> str:
    counts = Counter(record.status for record in run.records if record.is_zemm)
    chips = [_chip(f"{count} {status.lower()}", status) for status, count in counts.items()]
    if run.interrupted:
        chips.append(_chip("interrupted: not all cases have run", "SKIPPED"))
    return "".join(chips) or _chip("no case has run", "SKIPPED")


def _chip(text: str, status: str) -> str:
    return f'<span class="chip {status.lower()}">{escape(text.replace("_", " "))}</span>'


def _facts(run: Run) -> str:
    facts = {"Processor": f"{run.processor}, {run.cores} cores"}
    for device in run.devices:
        features = " ".join(device["features"])
        facts[f"Device {device['engine']}"] = f"{device['name']}{f' ({features})' if features else ''}"
    facts["Versions"] = ", ".join([f"zemm {run.zemm}", *(f"{n} {v}" for n, v in run.peers.items())])
    return "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items())


def _section(title: str, note: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2><p class=note>{escape(note)}</p>{body}</section>"


def _charts(run: Run) -> list[str]:
    charts = plot.charts(run)
    if charts is None:
        return []
    if not plot.is_installed():
        return [_section("Charts", f"They need {plot.PACKAGE}.", "")]
    return [_section("Charts", "", f'<div class="charts" tabindex="0">{plot.svg(charts)}</div>')]


def _table(run: Run) -> str:
    columns = [
        (name, title)
        for name, title in _COLUMNS
        if any(getattr(record, name) not in (None, "", 0) for record in run.records)
    ]
    titles = ["#", "case", "who", "status", "kernel", *(title for _, title in columns)]
    heads = "".join(f'<th scope="col"><button type="button">{title}</button></th>' for title in titles)
    body = "".join(_row(record, [name for name, _ in columns]) for record in run.records)
    note = "A click on a head sorts. A click on a case shows the line that runs it again."
    if run.clock == "host":
        note += " Rates and ratios (a peer's time over zemm's) are by the host's clock."
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    return _section("All results", note, f'<div class="scroll" tabindex="0">{table}</div>')


def _row(record: Record, columns: list[str]) -> str:
    case = f"<details><summary>{escape(record.title)}</summary><code>{escape(record.line)}</code></details>"
    cells = [
        f'<td class=num data-value="{record.index}">{record.index}</td>',
        f'<td data-value="{escape(record.title)}">{case}</td>',
        f"<td>{escape(record.who)}</td>",
        f"<td>{_chip(record.status, record.status)}</td>",
        f'<td class="kernel">{escape(record.kernel)}</td>',
    ]
    return f"<tr>{''.join([*cells, *(_cell(name, getattr(record, name)) for name in columns)])}</tr>"


def _cell(name: str, value: object) -> str:
    if value is None or isinstance(value, str):
        return f'<td class="{name}">{escape(value or "")}</td>'
    assert isinstance(value, (int, float))
    return f'<td class=num data-value="{value!r}">{plot.number(value)}</td>'
