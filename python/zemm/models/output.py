# SPDX-License-Identifier: Apache-2.0
"""The page of --html: bars of the rates and the memory of each runtime, and a table."""

from collections import Counter
from html import escape
from typing import Any

from zemm._programs import picture
from zemm._programs.page_parts import cell, charts, chip, page, section, small, table, wide_cell
from zemm._programs.picture import COLOURS, as_element, colour, new_figure, number, saved, styled
from zemm.models.record import Record, Run

_COLUMNS = {
    "prefill_best": "prefill tokens/s, best",
    "prefill_median": "median",
    "prefill_ratio": "ratio, prefill",
    "decode_best": "decode tokens/s, best",
    "decode_median": "median",
    "decode_ratio": "ratio, decode",
    "load_s_cold": "load\N{NO-BREAK SPACE}s, cold",
    "load_s": "warm",
    "first_s_cold": "first token\N{NO-BREAK SPACE}s, cold",
    "first_s": "warm",
    "bytes_before": "MB before",
    "bytes_loaded": "loaded",
    "bytes_load_peak": "peak of loading",
    "bytes_peak": "peak",
    "perplexity": "perplexity",
    "difference": "logits off by",
}
_CHARTS = (
    ("Prefill, tokens/s", "prefill_best", 1.0),
    ("Decode, tokens/s", "decode_best", 1.0),
    ("Memory at most, MB (shorter is better)", "bytes_peak", 1e-6),
)
_HEIGHTS = 0.6, 0.22  # inches of a chart, and of each bar
_NOTE = (
    "Cold: with an empty cache of kernels, warm: with a filled one. Ratios: the best rate of the first zemm"
    " divided by that of the runtime. MB: of the process, with its packages. Logits are compared with"
    " those of torch-f32."
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
    used = [name for name in _COLUMNS if any(getattr(record, name) is not None for record in run.records)]
    rows = (_row(record, used) for record in run.records)
    return section("All results", _NOTE, table(["runtime", *(_COLUMNS[name] for name in used)], rows))


def _row(record: Record, columns: list[str]) -> str:
    """The figures, or why there are none."""
    values = [getattr(record, name) for name in columns]
    who = f"{escape(record.who)}{small(record.version)}"
    if all(value is None for value in values):
        return f"<td>{who}</td>{wide_cell(f'refused: {record.reason}', len(columns))}"
    in_megabytes = (
        value / 1e6 if value and name.startswith("bytes") else value
        for name, value in zip(columns, values, strict=True)
    )
    return f"<td>{who}{small(record.reason)}</td>{''.join(map(cell, in_megabytes))}"


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
