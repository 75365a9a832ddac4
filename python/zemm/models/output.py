# SPDX-License-Identifier: Apache-2.0
"""The page of --html: bars of the rates and the memory of each runtime, and a table."""

from collections import Counter
from dataclasses import fields
from html import escape
from typing import Any

from zemm._programs import picture
from zemm._programs.page_parts import cell, charts, chip, page, section, table
from zemm._programs.picture import COLOURS, as_element, colour, new_figure, number, saved, styled
from zemm.models.record import Record, Run

_TITLES = {
    "who": "runtime",
    "load_s_cold": "load s, cold",
    "load_s": "load s",
    "first_s_cold": "first token s, cold",
    "first_s": "first token s",
    "prefill_best": "prefill tokens/s, best",
    "prefill_median": "median",
    "decode_best": "decode tokens/s, best",
    "decode_median": "median",
    "prefill_ratio": "ratio, prefill",
    "decode_ratio": "ratio, decode",
    "bytes_before": "bytes before",
    "bytes_loaded": "loaded",
    "bytes_load_peak": "peak of loading",
    "bytes_peak": "peak",
    "difference": "logits off by",
}
_CHARTS = (
    ("Prefill, tokens/s", "prefill_best", 1.0),
    ("Decode, tokens/s", "decode_best", 1.0),
    ("Memory at most, MB (shorter is better)", "bytes_peak", 1e-6),
)
_HEIGHTS = 0.6, 0.22  # inches of a chart, and of each bar
_NOTE = (
    "Cold: with an empty cache of kernels. Ratios: the best rate of the first zemm divided by that of the"
    " runtime. Bytes: of the process, with its packages. Logits are compared with those of torch-f32."
)


def as_html(run: Run) -> str:
    """A page with a chart and a table."""
    counts = Counter(record.status for record in run.records)
    chips = "".join(chip(f"{count} {status.lower()}", status) for status, count in counts.items())
    settings = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in run.settings.items())
    facts = {
        "Model": f"{run.model} ({run.method}), {run.model_bytes:,} bytes",
        "Processor": f"{run.processor}, {run.cores} cores",
        "Settings": settings,
        "Text": run.text or "none",
    }
    return page("zemm-models", run.date, chips, facts, run.command, [*_charts(run), _table(run)])


def _charts(run: Run) -> list[str]:
    if not picture.is_installed():
        return [section("Charts", f"They need {picture.PACKAGE}.", "")]
    drawn = _svg(run)
    return [section("Charts", "Best of all rounds.", charts(drawn))] if drawn else []


def _table(run: Run) -> str:
    names = [field.name for field in fields(Record)]
    used = [name for name in names if any(getattr(r, name) not in (None, "") for r in run.records)]
    rows = ("".join(_cell(name, getattr(record, name)) for name in used) for record in run.records)
    return section("All results", _NOTE, table([escape(_TITLES.get(name, name)) for name in used], rows))


def _cell(name: str, value: object) -> str:
    return f"<td>{chip(str(value), str(value))}</td>" if name == "status" else cell(name, value)


def _svg(run: Run) -> str:
    """The chart as an element of a page; "": no runtime was timed."""
    names = [record.who for record in run.records if record.prefill_best is not None]
    if not names:
        return ""
    with styled():
        figure = new_figure(len(_CHARTS) * (_HEIGHTS[0] + _HEIGHTS[1] * len(names)))
        for axes, (title, field, factor) in zip(figure.subplots(len(_CHARTS)), _CHARTS, strict=True):
            values = {record.who: getattr(record, field) for record in run.records}
            _bars(axes, title, {name: (values[name] or 0) * factor for name in names})
        return as_element(saved(figure, format="svg", transparent=True), "Rates and memory")


def _bars(axes: Any, title: str, values: dict[str, float]) -> None:
    axes.set_title(title, fontsize=10, fontweight="bold")
    for place, (name, value) in enumerate(values.items()):
        axes.barh(name, value, 0.8, color=colour(place))
        axes.annotate(
            number(value), (value, place), (3, 0), textcoords="offset points", fontsize=7, va="center",
            color=COLOURS["ink"],
        )  # fmt: skip
    axes.invert_yaxis()
    axes.margins(x=0.1)
    axes.spines[["top", "right"]].set_visible(False)
