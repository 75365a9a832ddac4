# SPDX-License-Identifier: Apache-2.0
"""The pages of the package's programs: one file each, which needs no network. Texts are escaped."""

from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from string import Template

from zemm._programs.picture import number


def page(
    program: str, date: str, chips: str, facts: Mapping[str, str], command: str, sections: Iterable[str]
) -> str:
    """A page. date: as isoformat() has it. chips, sections: made by chip() and section()."""
    template = Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        program=escape(program),
        date=escape(date.replace("T", " ").replace("+00:00", " UTC")),
        chips=chips,
        facts="".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items()),
        command=escape(command),
        sections="\n".join(sections),
    )


def chip(text: str, status: str) -> str:
    """A word about the run in the colour of a status."""
    return f'<span class="chip {status.lower()}">{escape(text.replace("_", " "))}</span>'


def section(title: str, note: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2><p class=note>{escape(note)}</p>{body}</section>"


def charts(svg: str) -> str:
    """The body of a section with a picture."""
    return f'<div class="charts" tabindex="0">{svg}</div>'


def table(titles: Iterable[str], rows: Iterable[str]) -> str:
    """The body of a section with a table, which a click on a head sorts. rows: of cells."""
    heads = "".join(f'<th scope="col"><button type="button">{title}</button></th>' for title in titles)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return (
        '<div class="scroll" tabindex="0">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def cell(value: object) -> str:
    """A cell with a text or a number; None: an empty one."""
    if value is None or isinstance(value, str):
        return f"<td>{escape(value or '')}</td>"
    assert isinstance(value, (int, float))
    return f'<td class=num data-value="{value!r}">{number(value)}</td>'


def wide_cell(text: str, columns: int) -> str:
    """A text in place of so many columns, which sorts as empty ones do."""
    return f'<td colspan="{columns}" data-value="">{escape(text)}</td>'


def small(text: str) -> str:
    """A line below the text of a cell."""
    return f"<small>{escape(text)}</small>" if text else ""
