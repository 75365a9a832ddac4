# SPDX-License-Identifier: Apache-2.0
"""The charts of timed runs, the roofline and the bars of times, by matplotlib: as the picture of
`--plot=FILE.png`, and as SVG for the page."""

import textwrap
from html import escape
from typing import Any, NamedTuple

from zemm._programs.picture import COLOURS, as_element, colour, new_figure, number, saved, styled
from zemm._programs.results import REFUSED
from zemm._programs.usage import UsageError
from zemm.benchdnn.report.bars import CUT, Bar, Bars, bars
from zemm.benchdnn.report.records import Run
from zemm.benchdnn.report.roofline import BANDWIDTH, Point, Roofline, roofline
from zemm.benchdnn.run.verdict import REFERENCE

_MARKS = "os^DvPX*"
# As many as a device has limits, at most.
_LINES = ("-", "--", "-.", (0, (8, 2)), (0, (3, 1)), (0, (5, 1, 1, 1, 1, 1)))
_LETTERS = 130  # of a line


class Charts(NamedTuple):
    """The charts of a run."""

    run: Run
    line: Roofline
    bars: Bars


def charts(run: Run) -> Charts | None:
    """The charts of a run; None if no case was timed."""
    line, all_bars = roofline(run), bars(run)
    return Charts(run, line, all_bars) if line is not None and all_bars is not None else None


def png(run: Run) -> bytes:
    """The picture. UsageError if no case was timed."""
    drawn = charts(run)
    if drawn is None:
        raise UsageError("err: --plot: no case was timed")
    title = f"zemm {run.zemm} · {run.processor}, {run.cores} cores · {run.date[:10]}"
    command = textwrap.wrap(run.command, _LETTERS, break_on_hyphens=False, max_lines=12, placeholder=" …")
    return _saved(drawn, "\n".join([title, *command]), format="png")


def svg(drawn: Charts) -> str:
    """The charts as an SVG element. Marks have what the page shows beside them as `data-tip`."""
    tips = {f"point{place}": _tip(point, drawn.run) for place, point in enumerate(drawn.line.points)}

    def attributes(name: str) -> str:
        return f' class="point" tabindex="0" data-tip="{escape(tips[name])}"' if name in tips else ""

    return as_element(_saved(drawn, "", format="svg", transparent=True), "Roofline and times", attributes)


def _caption(drawn: Charts) -> str:
    """The caption of the charts."""
    run = drawn.run
    clock = "the host's clock around a synchronous call" if run.clock == "host" else "the device's clock"
    parts = [f"Best run of each case, by {clock}."]
    if run.clock == "host" and any(record.is_zemm and not run.best(record) for record in run.records):
        parts.append("Cases without a peer have no such time and are left out.")
    parts.append("Lines are limits of this machine." if run.peaks else "--peak draws the machine's limits.")
    if drawn.bars.is_relative:
        parts.append(f"Bars of more than {CUT:g} times zemm's end with an arrow.")
    return " ".join(parts)


def _saved(drawn: Charts, head: str, **how: Any) -> bytes:
    """The charts as a file, with `head` above them."""
    run, line, all_bars = drawn
    with styled():
        names = list(dict.fromkeys(record.who for record in run.records))
        rows = sum(len(case) + 1 for case in all_bars.cases)
        heights = [4.4, 0.8 + 0.17 * rows]
        figure = new_figure(sum(heights) + 0.3 + 0.12 * len(head.splitlines()))
        figure.suptitle(head, x=0, ha="left", fontsize=8, parse_math=False)
        figure.supxlabel(textwrap.fill(_caption(drawn), _LETTERS), x=0, ha="left", fontsize=8)
        above, below = figure.subplots(2, height_ratios=heights)
        _roofline(above, line, names)
        _bars(below, all_bars, names)
        for axes, title in ((above, "Roofline"), (below, "Times (shorter is better)")):
            axes.set_title(title, fontsize=10, fontweight="bold")
        above.legend(loc="upper left", bbox_to_anchor=(-0.02, -0.11), ncols=5)
        figure.draw_without_rendering()  # gives the charts their places, which they keep
        figure.set_layout_engine("none")
        _names(above, line)
        return saved(figure, **how)


def _roofline(axes: Any, line: Roofline, names: list[str]) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    ridges = [(f"{name} {number(roof)} GOPS", roof) for name, roof in line.roofs.items()]
    for style, (label, roof) in zip(_LINES, ridges, strict=False):
        axes.plot(
            [line.ridge(roof), line.high[0]], [roof, roof], ls=style, color=COLOURS["roof"], label=label
        )
    if line.bandwidth:
        right = line.ridge(max(line.roofs.values(), default=line.high[1]))
        across = [line.low[0], right]
        label = f"{BANDWIDTH} {number(line.bandwidth)} GB/s"
        axes.plot(across, [x * line.bandwidth for x in across], ":", color=COLOURS["roof"], label=label)
    for place, point in enumerate(line.points):
        which = names.index(point.record.who)
        axes.plot(
            point.x, point.y, _MARKS[which % 8], color=colour(which), markeredgecolor=COLOURS["card"],
            zorder=4 if point.record.is_zemm else 3, gid=f"point{place}",
        )  # fmt: skip
    for which, name in enumerate(names):  # the keys of the legend
        axes.plot([], [], _MARKS[which % 8], color=colour(which), label=name)
    axes.set(
        xlabel="operations per byte", ylabel="GOPS", xscale="log", yscale="log",
        xlim=(line.low[0], line.high[0]), ylim=(line.low[1], line.high[1]),
    )  # fmt: skip
    for axis, low, high in zip((axes.xaxis, axes.yaxis), line.low, line.high, strict=True):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.grid()


def _names(axes: Any, line: Roofline) -> None:
    """Names of cases beside the marks of zemm, where there is room."""
    from matplotlib.transforms import Bbox

    places = axes.transData.transform([(point.x, point.y) for point in line.points])
    points = axes.figure.dpi / 72
    taken = [Bbox.from_bounds(x, y, 0, 0).padded(4 * points) for x, y in places]
    for point in (point for point in line.points if point.record.is_zemm):
        for ha, va, offset in (
            ("left", "center", (8, 0)), ("right", "center", (-8, 0)),
            ("center", "bottom", (0, 7)), ("center", "top", (0, -7)),
        ):  # fmt: skip
            text = _beside(axes, _name(point, 24), (point.x, point.y), offset, ha=ha, va=va, zorder=2.5)
            box = text.get_window_extent()
            if axes.bbox.containsx(box.x0) and axes.bbox.containsx(box.x1) and not box.count_overlaps(taken):
                taken.append(box)
                break
            text.remove()


def _bars(axes: Any, all_bars: Bars, names: list[str]) -> None:
    """Bars of each case, from its zemm down, with their times."""
    ticks: dict[float, str] = {}
    top = 0.0
    for case in all_bars.cases:
        ticks[top + (len(case) - 1) / 2] = _name(case[0], 24)
        for bar in case:
            length = min(all_bars.length(bar), all_bars.longest)
            label, ink = _label(bar, all_bars), COLOURS["ink"]
            if bar.time is None or bar.record.is_reference:
                length, label, ink = 0.0, f"{bar.record.who}: {label}", COLOURS["mild"]
            axes.barh(top, length, 0.9, color=colour(names.index(bar.record.who)))
            _beside(axes, _shortened(label, _LETTERS), (length, top), (3, 0), va="center", color=ink)
            top += 1
        top += 1
    axes.set_yticks(list(ticks), list(ticks.values()), parse_math=False)
    axes.set(ylim=(top - 0.9, -1), xlim=(0, 1.2 * all_bars.longest))
    axes.set_xlabel("times zemm's" if all_bars.is_relative else "ms")
    axes.set_xticks([tick for tick in axes.get_xticks() if tick <= all_bars.longest])
    axes.spines[["top", "right"]].set_visible(False)
    if all_bars.is_relative:
        axes.axvline(1, color=COLOURS["roof"], linestyle="--", linewidth=1, zorder=0)


def _beside(axes: Any, text: str, place: tuple[float, float], offset: tuple[int, int], **how: Any) -> Any:
    """A text so many points from a place of the chart, which hides the lines behind it."""
    return axes.annotate(
        text, place, offset, textcoords="offset points", fontsize=7, parse_math=False, in_layout=False,
        bbox={"facecolor": COLOURS["card"], "edgecolor": "none", "pad": 0.5}, **how,
    )  # fmt: skip


def _label(bar: Bar, all_bars: Bars) -> str:
    """The time and the ratio, or why there are none."""
    record = bar.record
    if bar.time is None:
        return f"refused: {record.reason}" if record.status == REFUSED else record.reason
    parts = [f"{number(bar.time)} ms"]
    if record.is_reference:
        parts.append(REFERENCE)
    elif record.ratio_best:
        parts.append(f"{record.ratio_best:.2f}×{' →' if all_bars.length(bar) > all_bars.longest else ''}")
    return " · ".join(parts)


def _name(of: Bar | Point, letters: int) -> str:
    """The case with its number, as in the table."""
    return _shortened(f"{of.record.index} {of.record.title}", letters)


def _shortened(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def _tip(point: Point, run: Run) -> str:
    record = point.record
    lines = [
        f"{record.title} · {record.who}",
        f"{number(point.y)} GOPS at {number(point.x)} operations per byte",
        f"{number(run.best(record) or 0)} ms, {number(record.gb_per_s or 0)} GB/s",
    ]
    if record.percent_of_peak is not None:
        lines.append(f"{record.percent_of_peak:.0f} % of peak ({record.limit})")
    return "\n".join([*lines, record.kernel])
