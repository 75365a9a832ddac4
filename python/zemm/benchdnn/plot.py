# SPDX-License-Identifier: Apache-2.0
"""The picture of `--plot=FILE.png`: roofline and time bars, by matplotlib."""

import io
from typing import Any

from zemm.benchdnn.atoms import UsageError
from zemm.benchdnn.bars import Bars, bars
from zemm.benchdnn.records import Run
from zemm.benchdnn.roofline import BANDWIDTH, Roofline, roofline

_MARKS = "os^DvPX*"
_COLOURS = ("#0b63ce", "#d1570f", "#12876a", "#b0408f", "#a77b00", "#6a55c9", "#7a4b2a", "#5c6b73")
_FEW = 14


def png(run: Run) -> bytes:
    """The picture. UsageError if no case was timed."""
    from matplotlib.figure import Figure

    line, all_bars = roofline(run), bars(run)
    if line is None or all_bars is None:
        raise UsageError("err: --plot: no case was timed")
    names = list(dict.fromkeys(point.record.who for point in line.points))
    rows = sum(bar.time is not None for case in all_bars.cases for bar in case) + len(all_bars.cases)
    heights = [5.0, 1.0 + 0.17 * rows]
    figure = Figure(figsize=(10, sum(heights)), layout="constrained")
    figure.suptitle(f"zemm {run.zemm} · {run.processor}, {run.cores} cores · {run.date[:10]}", fontsize=10)
    above, below = figure.subplots(2, height_ratios=heights)
    _roofline(above, line, names)
    _bars(below, all_bars, names)
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=150)
    return content.getvalue()


def _roofline(axes: Any, line: Roofline, names: list[str]) -> None:
    for name, value in line.roofs.items():
        axes.plot([line.ridge(name), line.high[0]], [value, value], color="#6b7689")
        axes.annotate(f"{name} {value:,.0f} GOPS", (line.high[0], value), (-4, 3), ha="right",
                      textcoords="offset points", fontsize=8, color="#6b7689")  # fmt: skip
    if slope := line.slope():
        axes.plot(*zip(*slope, strict=True), color="#6b7689", label=f"{BANDWIDTH} {line.bandwidth:.3g} GB/s")
    for place, name in enumerate(names):
        of_name = [point for point in line.points if point.record.who == name]
        axes.scatter(
            [point.x for point in of_name], [point.y for point in of_name], marker=_MARKS[place % 8],
            color=_COLOURS[place % 8], zorder=3 if place else 4, label=name, edgecolors="white",
        )  # fmt: skip
    own = [point for point in line.points if point.record.is_zemm]
    for point in own if len(own) <= _FEW else []:
        axes.annotate(point.record.title, (point.x, point.y), (6, 3), textcoords="offset points", fontsize=7)
    axes.set(
        title="Roofline", xlabel="operations per byte", ylabel="GOPS", xscale="log", yscale="log",
        xlim=(line.low[0], line.high[0]), ylim=(line.low[1], line.high[1]),
    )  # fmt: skip
    axes.grid(color="#e9ecf1")
    axes.legend(fontsize=8, loc="lower right")


def _bars(axes: Any, all_bars: Bars, names: list[str]) -> None:
    """Bars of each case, from its zemm down, with their times."""
    ticks, top = {}, 0.0
    for case in all_bars.cases:
        timed = [bar for bar in case if bar.time is not None]
        ticks[top + (len(timed) - 1) / 2] = timed[0].record.title
        for bar in timed:
            length = min(all_bars.length(bar), all_bars.longest)
            drawn = axes.barh(top, length, 0.9, color=_COLOURS[names.index(bar.record.who) % 8])
            cut = " →" if all_bars.length(bar) > length else ""
            axes.bar_label(drawn, [f"{bar.time:.3g} ms{cut}"], fontsize=7, padding=3)
            top += 1
        top += 1
    axes.set_yticks(list(ticks), list(ticks.values()), fontsize=8)
    axes.set_ylim(top - 0.9, -1)
    axes.margins(x=0.13)
    unit = "times zemm's" if all_bars.is_relative else "ms"
    axes.set(title="Time of the best run (shorter is better)", xlabel=unit)
    if all_bars.is_relative:
        axes.axvline(1, color="#6b7689", linestyle="--", linewidth=1, zorder=0)
