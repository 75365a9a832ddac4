# SPDX-License-Identifier: Apache-2.0
"""The style of pictures by matplotlib, and how they become a part of a page."""

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import util
from typing import Any

PACKAGE = "the package matplotlib: pip install matplotlib"
WIDTH = 10  # inches
# By their names in the page's style sheet, which has others for dark pages.
COLOURS = {
    "c0": "#0b63ce", "c1": "#d1570f", "c2": "#12876a", "c3": "#b0408f", "c4": "#a77b00", "c5": "#6a55c9",
    "c6": "#7a4b2a", "c7": "#5c6b73", "ink": "#1c2330", "soft": "#5b6677", "roof": "#6b7689",
    "grid": "#e9ecf1", "mild": "#86600a", "card": "#ffffff",
}  # fmt: skip
_STYLE = {
    "svg.fonttype": "none", "font.size": 8, "text.color": COLOURS["ink"], "axes.labelcolor": COLOURS["ink"],
    "axes.edgecolor": COLOURS["roof"], "xtick.color": COLOURS["soft"], "ytick.color": COLOURS["soft"],
    "axes.titlelocation": "left", "grid.color": COLOURS["grid"], "legend.frameon": False,
}  # fmt: skip
_MOST_PIXELS = 60_000  # of a picture's height


def is_installed() -> bool:
    """Whether matplotlib is."""
    return util.find_spec("matplotlib") is not None


def colour(place: int) -> str:
    """The colour of the contestant with this place."""
    return COLOURS[f"c{place % 8}"]


def number(value: float) -> str:
    """A number with three digits, or more if it is above 1000."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


@contextmanager
def styled() -> Iterator[None]:
    """A context in which figures have the style."""
    from matplotlib import rc_context

    with rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # names may have any letters
        yield


def new_figure(height: float) -> Any:
    """A figure of this height in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure((WIDTH, height), min(150, _MOST_PIXELS / height), layout="constrained")
    FigureCanvasAgg(figure)  # measures texts
    return figure


def saved(figure: Any, **how: Any) -> bytes:
    """The figure as a file. how: arguments of savefig()."""
    content = io.BytesIO()
    figure.savefig(content, dpi="figure", **how)
    return content.getvalue()


def as_element(file: bytes, label: str, attributes: Callable[[str], str] = lambda name: "") -> str:
    """An SVG file as an element of a page. Its colours are variables of the style sheet. label: what it is
    for those who do not see it. attributes: those of the mark with a name."""
    text = file.decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg ") :], flags=re.DOTALL)
    text = text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
    for name, value in COLOURS.items():
        text = text.replace(value, f"var(--{name})")
    return re.sub(r'<g id="([\w.]+)">', lambda match: f"<g{attributes(match[1])}>", text)
