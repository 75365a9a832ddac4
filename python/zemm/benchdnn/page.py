# SPDX-License-Identifier: Apache-2.0
"""The page of `--output=FILE.html`: one file with plots and a table, which needs no network."""

from collections import Counter
from html import escape
from pathlib import Path
from string import Template

from zemm.benchdnn.bars import CUT, Bar, Bars, bars
from zemm.benchdnn.records import Record, Run
from zemm.benchdnn.roofline import roofline
from zemm.benchdnn.svg import draw, mark, number

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
    names = list(dict.fromkeys(["zemm", *(record.who for record in run.records)]))
    sections = [*_roofline(run, names), *_bars(run, names), _table(run)]
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


def _legend(names: list[str], shown: set[str]) -> str:
    keys = ""
    for place, name in enumerate(names):
        image = f'<svg viewBox="0 0 14 14" aria-hidden="true">{mark(place)}</svg>'
        keys += f"<span class=key>{image}{escape(name)}</span>" if name in shown else ""
    return f"<p class=legend>{keys}</p>"


def _roofline(run: Run, names: list[str]) -> list[str]:
    line = roofline(run)
    if line is None:
        return []
    legend = _legend(names, {point.record.who for point in line.points})
    plots = draw(line, names, 960, 470, "wide") + draw(line, names, 380, 400, "narrow")
    note = "Each mark is the best run of a case. Lines are limits that were measured on this machine."
    if not line.roofs:
        note = "Each mark is the best run of a case. With --peak the limits of the machine are drawn, too."
    return [_section("Roofline", note, legend + plots)]


def _bars(run: Run, names: list[str]) -> list[str]:
    all_bars = bars(run)
    if all_bars is None:
        return []
    kind, style, note = "bars", "", "Best run of each case. Shorter is better."
    if all_bars.is_relative:
        kind, style = "bars relative", f' style="--zemm:{100 / all_bars.longest:.2f}%"'
        note = (
            "Host time of the best run, beside that of zemm (the line). Shorter is better. "
            f"Bars of more than {CUT:g} times zemm's end with an arrow."
        )
    groups = ""
    for case in all_bars.cases:
        rows = "".join(_bar(all_bars, bar, names.index(bar.record.who)) for bar in case)
        groups += f"<div class=group><h3>{_case(case[0].record)}</h3>{rows}</div>"
    return [_section("Times", note, f'<div class="{kind}"{style}>{groups}</div>')]


def _case(record: Record) -> str:
    dims = f" <small>{escape(record.problem)}</small>" if record.name else ""
    return f"{escape(record.title)}{dims}"


def _bar(all_bars: Bars, bar: Bar, place: int) -> str:
    record = bar.record
    who = f"<span class=who>{escape(record.who)}</span>"
    if bar.time is None:
        return f'<div class=row>{who}<span class="refusal">{escape(record.reason)}</span></div>'
    share = all_bars.length(bar) / all_bars.longest
    kind = f"c{min(place, 7)}{' cut' if share > 1 else ''}"
    label = f"{number(bar.time)} ms" + (f" · {record.ratio_best:.2f}×" if record.ratio_best else "")
    track = f'<span class="bar {kind}" style="width:{100 * min(share, 1):.2f}%"></span>'
    return f"<div class=row>{who}<span class=track>{track}</span><span class=value>{label}</span></div>"


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
    if any(record.ratio_best for record in run.records):
        note += " ratio: a peer's host time over zemm's."
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
    return f'<td class=num data-value="{value!r}">{number(value)}</td>'
