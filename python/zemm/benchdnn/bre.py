# SPDX-License-Identifier: Apache-2.0
"""Translates POSIX basic regular expressions (with GNU's `\\+`, `\\?`, `\\|`) to those of Python's
re module."""

import re

from zemm.benchdnn.atoms import UsageError

_CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z",
    "space": r" \t-\r", "blank": r" \t", "punct": r"!-/:-@\[-`{-~", "print": " -~", "graph": "!-~",
    "cntrl": r"\x00-\x1f\x7f", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_NAMED = re.compile(r"\[([:.=])(.+?)\1\]")
_PIECE = re.compile(r"\\.|.", re.DOTALL)
_COUNT = re.compile(r"(\d+(?:,\d*)?|,\d+)\\\}")


def compiled(text: str, what: str) -> re.Pattern[str]:
    """The compiled pattern. UsageError if `text` is not a basic regular expression."""
    try:
        return re.compile(_translated(text), re.DOTALL | re.ASCII)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise UsageError(f"{what}={text}: not a regular expression: {error}") from None


def _translated(text: str) -> str:
    """The pattern in Python's syntax. Each atom stays a list entry of its own until the end, so
    that a repetition can be put around it."""
    groups: list[list[str]] = [[]]
    at, is_start = 0, True
    while at < len(text):
        match = _PIECE.match(text, at)
        assert match
        piece, at = match[0], match.end()
        atoms, starts_next = groups[-1], False
        if piece == "\\":
            raise ValueError("trailing backslash")
        if piece == "[":
            atom, at = _bracket(text, at)
            atoms.append(atom)
        elif piece == "\\(":
            groups.append([])
            starts_next = True
        elif piece == "\\)":
            if len(groups) == 1:
                raise ValueError("unmatched \\)")
            groups.pop()
            groups[-1].append(f"({''.join(atoms)})")
        elif piece == "\\|":
            atoms.append("|")
            starts_next = True
        elif piece == "^" and is_start:
            atoms.append(r"\A")
            starts_next = True
        elif piece == "$" and (at == len(text) or text.startswith(("\\)", "\\|"), at)):
            atoms.append(r"\Z")
        elif piece == "\\{":
            count = _COUNT.match(text, at)
            if is_start or not count:
                raise ValueError("misplaced or malformed \\{")
            at = count.end()
            _repeat(atoms, "{" + count[1] + "}")
        elif piece in ("*", "\\+", "\\?") and not is_start:
            _repeat(atoms, piece[-1])
        else:
            atoms.append(_single(piece))
        is_start = starts_next
    if len(groups) > 1:
        raise ValueError("unmatched \\(")
    return "".join(groups[0])


def _repeat(atoms: list[str], count: str) -> None:
    """Repeat the last atom. A second `*` is dropped: it changes nothing, and Python refuses it."""
    if count != "*" or not atoms[-1].endswith("*)"):
        atoms[-1] = f"(?:{atoms[-1]}{count})"


def _single(piece: str) -> str:
    if piece == ".":
        return piece
    if len(piece) == 2 and piece[1] in "wWsSbB":
        return piece
    return f"(?:{piece})" if len(piece) == 2 and piece[1] in "123456789" else re.escape(piece[-1])


def _bracket(text: str, at: int) -> tuple[str, int]:
    """The set whose text begins at `at`, after its `[`, and the index after its end."""
    negated = text.startswith("^", at)
    at = first = at + negated
    found: list[str] = []
    while at < len(text) and (text[at] != "]" or at == first):
        named = _NAMED.match(text, at)
        if named and named[1] == ":":
            if named[2] not in _CLASSES:
                raise ValueError(f"unknown character class '{named[2]}'")
            found.append(_CLASSES[named[2]])
            at = named.end()
            continue
        low, at = _endpoint(text, at)
        if text.startswith("-", at) and at + 1 < len(text) and text[at + 1] != "]":
            high, at = _endpoint(text, at + 1)
            found.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            found.append(re.escape(low))
    if at >= len(text):
        raise ValueError("unmatched [")
    return f"[{'^' * negated}{''.join(found)}]", at + 1


def _endpoint(text: str, at: int) -> tuple[str, int]:
    named = _NAMED.match(text, at)
    if not named:
        return text[at], at + 1
    if named[1] == ":" or len(named[2]) != 1:
        raise ValueError(f"'{named[0]}' is not one character")
    return named[2], named.end()
