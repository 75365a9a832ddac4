# SPDX-License-Identifier: Apache-2.0
"""Perf templates: parses their `%tokens%`, fills them in, and writes the header line."""

import re
from typing import NamedTuple

from zemm._programs.usage import UsageError

_NAMED = {
    "def": "perf,%engine%,%impl%,%name%,%prb%,%Gops%,%+ctime%,%-time%,%-Gflops%,%0time%,%0Gflops%",
    "csv": (
        "perf,%engine%,%impl%,%name%,%sdt%,%bia_dt%,%stag%,%wtag%,%dtag%,%attr%,%desc%,"
        "%Gops%,%+ctime%,%-time%,%-Gflops%,%0time%,%0Gflops%"
    ),
}
COMPARED = (
    "%who%,%engine%,%impl%,%name%,%prb%,%Gops%,%-time%,%~time%,%-wall%,%~wall%,%-Gflops%,%~Gflops%,%-Gbw%,%~Gbw%,"
    "%-peak%,%~peak%,%bound%,%-ratio%,%~ratio%"
)
TEXT_TOKENS = (
    "prb", "desc", "engine", "name", "dt", "sdt", "bia_dt", "stag", "wtag", "dtag", "ddt", "attr", "ctx-init",
    "ctx-exe", "dir", "driver", "impl", "idx", "who", "bound",
)  # fmt: skip
_NUMBER_TOKENS = (
    "ops", "flops", "bw", "ibytes", "obytes", "iobytes", "freq", "clocks", "time", "ctime", "cptime",
    "cpdtime", "wall", "peak", "ratio",
)  # fmt: skip
_TOKEN = re.compile("%([^%]*)%")
_FORM = re.compile(f"([-0+~]?)([KMG]?)({'|'.join((*TEXT_TOKENS, *_NUMBER_TOKENS))})")
_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}
_WORDS = {"-": "min_", "0": "avg_", "+": "max_", "~": "med_"}


class Token(NamedTuple):
    """`%[-|0|+|~][K|M|G]NAME%`: the choice of runs (min, mean, max, median), the divisor, and the
    value."""

    choice: str
    unit: float
    name: str


def template_text(name: str) -> str:
    """The template named `def` or `csv`; other texts are templates themselves."""
    return _NAMED.get(name, name)


def parse_token(text: str, what: str) -> Token:
    """Parse the text between two `%`. UsageError if it is no known token."""
    match = _FORM.fullmatch(text)
    if not match:
        raise UsageError(f"{what}: unknown token '%{text}%'")
    return Token(match[1], _UNITS[match[2]], match[3])


def check_template(text: str, what: str) -> str:
    """`text`, after a check that all its tokens are known; else UsageError."""
    for token in _TOKEN.findall(template_text(text)):
        parse_token(token, what)
    return text


def substitute(text: str, value: "dict[str, str]") -> str:
    """`text` with each `%token%` replaced by `value[token]`."""
    return _TOKEN.sub(lambda match: value[match[1]], template_text(text))


def tokens(text: str) -> list[str]:
    """The texts of all tokens of a template, without `%`."""
    return _TOKEN.findall(template_text(text))


def header(text: str) -> str:
    """The line that names the columns: the template without `%`, and with min_, avg_, max_, med_
    for -, 0, +, ~."""
    return _TOKEN.sub(lambda m: _WORDS.get(m[1][:1], "") + m[1].lstrip("-0+~"), template_text(text))
