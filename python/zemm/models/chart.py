# SPDX-License-Identifier: Apache-2.0
"""The chart of a run: bars of the rates and the memory of each runtime."""

from typing import Any

from zemm._programs.picture import COLOURS, as_element, colour, new_figure, number, saved, styled
from zemm.models.record import Run

_CHARTS = (
    ("Prefill, tokens/s", "prefill_best", 1.0),
    ("Decode, tokens/s", "decode_best", 1.0),
    ("Memory at most, MB (shorter is better)", "bytes_peak", 1e-6),
)
_HEIGHTS = 0.6, 0.22  # inches of a chart, and of each bar


def svg(run: Run) -> str:
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
