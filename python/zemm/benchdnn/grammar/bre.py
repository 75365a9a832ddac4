# SPDX-License-Identifier: Apache-2.0
"""Translates POSIX basic regular expressions (with GNU's `\\+`, `\\?`, `\\|`) to those of Python's
re module: a backslash gives ( ) { } | + ? their meaning there and takes it from them here.
"""

import re

from zemm._programs.usage import UsageError

_CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z",
    "space": r" \t-\r", "blank": r" \t", "punct": r"!-/:-@\[-`{-~", "print": " -~", "graph": "!-~",
    "cntrl": r"\x00-\x1f\x7f", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_SAME = "wWsSbB123456789"  # behind a backslash
_PIECE = re.compile(
    r"(?P<start>(?:\A|\\\(|\\\|)\^?)(?P<star>\*?)"  # of an alternative, where a * is no repetition
    r"|\[(?P<no>\^?)(?P<set>\]?(?:\[:\w*:\]|[^]])*)\]"
    r"|(?P<end>\$(?=\Z|\\\)|\\\|))|\\\{(?P<count>\d+,?\d*|,\d+)\\\}|(?P<piece>\\?.)",
    re.DOTALL,
)


def compiled(text: str, what: str) -> re.Pattern[str]:
    """The compiled pattern. UsageError if `text` is not a basic regular expression."""
    try:
        return re.compile(_PIECE.sub(_translated, text), re.DOTALL | re.ASCII)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise UsageError(f"{what}={text}: not a regular expression: {error}") from None


def _translated(match: re.Match[str]) -> str:
    if match["start"] is not None:
        return match["start"].replace("\\", "").replace("^", r"\A") + "\\*" * len(match["star"])
    if match["set"] is not None:
        return f"[{match['no']}{_set(match['set'])}]"
    if match["end"]:
        return r"\Z"
    piece, count = match["piece"], match["count"]
    if piece in ("\\", "[", "\\{"):
        raise ValueError(f"unmatched {piece}")
    if count or piece in ("*", "\\+", "\\?"):
        if re.search(r"(\*|\\[+?}])\Z", match.string[: match.start()]):
            raise ValueError("multiple repeat")  # it would be lazy or possessive in Python
        return f"{{{count}}}" if count else piece[-1]
    if len(piece) == 2:
        return piece[1] if piece[1] in "()|" else piece if piece[1] in _SAME else re.escape(piece[1])
    return piece if piece == "." else re.escape(piece)


def _set(text: str) -> str:
    """The members of a set, of which only ranges and classes have a meaning."""

    def member(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0] if match[0] == "-" else re.escape(match[0])
        if match[1] not in _CLASSES:
            raise ValueError(f"unknown character class '{match[1]}'")
        return _CLASSES[match[1]]

    return re.sub(r"\[:(\w*):\]|.", member, text, flags=re.DOTALL)
