# SPDX-License-Identifier: Apache-2.0
"""The roofline plot as SVG. Colours are classes, which the page's style sheet defines."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from zemm.benchdnn.roofline import BANDWIDTH, Point, Roofline, ticks

_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 14, 16, 46
_FEW = 14  # so many points of zemm get their name beside them
_LETTER = 6.4  # width of a letter of a label, about
_LINE = 13


@dataclass(frozen=True)
class _Canvas:
    """A plot of width x height units with logarithmic axes."""

    line: Roofline
    width: int
    height: int

    def x(self, value: float) -> float:
        return _LEFT + _share(value, self.line.low[0], self.line.high[0]) * (self.width - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        whole = self.height - _TOP - _BOTTOM
        return _TOP + (1 - _share(value, self.line.low[1], self.line.high[1])) * whole


def draw(line: Roofline, names: Sequence[str], width: int, height: int, kind: str) -> str:
    """An SVG element of the class `kind`. names: all that ran, zemm first; their places choose colour
    and mark."""
    canvas = _Canvas(line, width, height)
    parts = [*_axes(canvas), *_roofs(canvas), *_points(canvas, names), *_labels(canvas)]
    label = "Roofline: speed in GOPS over operations per byte"
    return (
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">'
        + "".join(parts)
        + "</svg>"
    )


def mark(name: int, x: float = 7, y: float = 7) -> str:
    """The mark of what ran at a place in the list of names, around a point."""
    if name == 0:
        return f'<circle class="c0" cx="{x:.1f}" cy="{y:.1f}" r="5.5"/>'
    shapes = (
        "m-4.5-4.5h9v9h-9z",
        "m0-6 5.5 10h-11z",
        "m0-6 6 6-6 6-6-6z",
        "m0 6 5.5-10h-11z",
        "m-6-2h12v4h-12z",
    )
    return f'<path class="c{min(name, 7)}" d="M{x:.1f} {y:.1f}{shapes[(name - 1) % len(shapes)]}"/>'


def number(value: float) -> str:
    """A number with three digits, or more if it is above 1000."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _share(value: float, low: float, high: float) -> float:
    return math.log(value / low) / math.log(high / low)


def _text(x: float, y: float, text: str, kind: str, more: str = "") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{more}>{escape(text)}</text>'


def _axes(canvas: _Canvas) -> list[str]:
    line, width, height = canvas.line, canvas.width, canvas.height
    bottom = height - _BOTTOM
    parts = []
    for value in ticks(line.low[0], line.high[0]):
        x = canvas.x(value)
        parts.append(f'<path class="grid" d="M{x:.1f} {_TOP}V{bottom}"/>')
        parts.append(_text(x, bottom + 16, number(value), "tick middle"))
    for value in ticks(line.low[1], line.high[1]):
        y = canvas.y(value)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{width - _RIGHT}"/>')
        parts.append(_text(_LEFT - 6, y + 4, number(value), "tick end"))
    parts.append(f'<path class="axis" d="M{_LEFT} {_TOP}V{bottom}H{width - _RIGHT}"/>')
    parts.append(_text((_LEFT + width - _RIGHT) / 2, height - 8, "operations per byte", "unit middle"))
    turned = f' transform="rotate(-90 12 {(_TOP + bottom) / 2:.1f})"'
    parts.append(_text(12, (_TOP + bottom) / 2, "GOPS", "unit middle", turned))
    return parts


def _roofs(canvas: _Canvas) -> list[str]:
    line = canvas.line
    parts = []
    right = canvas.width - _RIGHT
    for name, value in line.roofs.items():
        y = canvas.y(value)
        parts.append(f'<path class="roof" d="M{canvas.x(line.ridge(name)):.1f} {y:.1f}H{right}"/>')
        parts.append(_text(right - 4, y - 6, _roof_label(name, value), "rooflabel end"))
    slope = line.slope()
    if slope:
        (x0, y0), (x1, y1) = [(canvas.x(x), canvas.y(y)) for x, y in slope]
        parts.append(f'<path class="roof" d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}"/>')
        x, y = x0 + 0.3 * (x1 - x0), y0 + 0.3 * (y1 - y0)
        turned = f' transform="rotate({math.degrees(math.atan2(y1 - y0, x1 - x0)):.1f} {x:.1f} {y:.1f})"'
        parts.append(
            _text(x, y - 6, f"{BANDWIDTH} {number(line.bandwidth)} GB/s", "rooflabel middle", turned)
        )
    return parts


def _roof_label(name: str, value: float) -> str:
    return f"{name} {number(value)} GOPS"


def _points(canvas: _Canvas, names: Sequence[str]) -> list[str]:
    """The marks. Those of zemm are drawn last, above the others."""
    ordered = sorted(canvas.line.points, key=lambda point: point.record.is_zemm)
    return [
        f'<g class="point" tabindex="0" data-tip="{escape(_tip(point))}">'
        + mark(names.index(point.record.who), canvas.x(point.x), canvas.y(point.y))
        + "</g>"
        for point in ordered
    ]


def _tip(point: Point) -> str:
    record = point.record
    lines = [
        f"{record.title} · {record.who}",
        f"{number(point.y)} GOPS at {number(point.x)} operations per byte",
    ]
    if record.device_ms_best is not None:
        lines.append(f"{number(record.device_ms_best)} ms, {number(record.gb_per_s or 0)} GB/s")
    if record.percent_of_peak is not None:
        lines.append(f"{record.percent_of_peak:.0f} % of peak ({record.bound})")
    return "\n".join([*lines, record.kernel])


def _labels(canvas: _Canvas) -> list[str]:
    """Names beside the points of zemm, where there is room."""
    own = [point for point in canvas.line.points if point.record.is_zemm]
    if len(own) > _FEW:
        return []
    marks = [(canvas.x(p.x), canvas.y(p.y)) for p in canvas.line.points]
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in marks]
    right = canvas.width - _RIGHT
    for name, value in canvas.line.roofs.items():
        width, y = 1.15 * _LETTER * len(_roof_label(name, value)), canvas.y(value)
        taken.append((right - width, y - 6 - _LINE, right, y))
    parts = []
    for point in own:
        x, y, width = canvas.x(point.x), canvas.y(point.y), _LETTER * len(point.record.title)
        places = [(x + 10, y + 4), (x - 10 - width, y + 4), (x - width / 2, y - 11), (x - width / 2, y + 20)]
        for left, base in places:
            box = (left, base - _LINE + 2, left + width, base + 3)
            is_inside = left > _LEFT and left + width < canvas.width - _RIGHT
            if (
                is_inside
                and base < canvas.height - _BOTTOM
                and not any(_overlap(box, other) for other in taken)
            ):
                taken.append(box)
                parts.append(_text(left, base, point.record.title, "name"))
                break
    return parts


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
