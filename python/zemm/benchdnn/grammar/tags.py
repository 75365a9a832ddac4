# SPDX-License-Identifier: Apache-2.0
"""Format tags: which names are valid, and what meta tags (`abx`, `xba`, `aBx16b`) and tags with the
letters of other primitives (`nchw`, `OI16i16o`) stand for."""

import re

from zemm._library.library import names_of
from zemm._programs.usage import UsageError
from zemm.benchdnn.grammar.atoms import unknown

_LETTERS = "abcdefghijkl"
_ENUM = frozenset(names_of("format_tag")) - {"last"}
_META_NAMES = ("abx", "axb", "xab", "xba")
_LAYOUT = re.compile("([a-lA-L]+)((?:[1-9][0-9]*[a-l])*)")
_META = re.compile("([a-lA-L]*)x([a-lA-L]*)((?:[1-9][0-9]*[a-l])*)")
_BLOCK = re.compile("[0-9]+[a-l]")
# Names of the dimensions of tensors, in their logical order. Those in lower case may be missing.
_DOMAINS = ("GOIdhw", "OIdhw", "NCdhw", "TNc", "LDNC", "LDigO")


def parse_tag(text: str, what: str, enum_only: bool, exit_code: int = 2) -> str:
    """`text` if it is a format tag, else UsageError. enum_only: the tag must be in the public
    enum."""
    tag = normalized(text)
    if tag in _ENUM:
        return text
    if not _is_layout(tag):
        known = (*_META_NAMES, *sorted(_ENUM, key=len))
        raise UsageError(f"{what}: {unknown('format tag', text, known)}", exit_code)
    if enum_only:
        raise UsageError(
            f"{what}: tag '{text}' is not in the public enum; --allow-enum-tags-only=0 before it takes it",
            exit_code,
        )
    return text


def normalized(tag: str, ndims: int = 0) -> str:
    """The tag with the letters a, b, c, ... of `ndims` dims: `abx` becomes `abcd` for four. ndims 0: the
    least number of dims that x can stand for."""
    if tag == "x":
        return "a"
    meta = _META.fullmatch(tag)
    if not meta:
        return _with_plain_letters(tag)
    before, after, blocks = meta.groups()
    first = max([_LETTERS.index(c) + 1 for c in (before + after).lower() if c != "a"], default=2)
    parts = [*before, *_LETTERS[first:], *after, *_BLOCK.findall(blocks)]
    return "".join(part for part in parts if part[-1].lower() in _LETTERS[: ndims or first + 1])


def _with_plain_letters(tag: str) -> str:
    """The tag with the letters of its domain replaced; unchanged if it has none."""
    letters = {c for c in tag.lower() if c.isalpha()}
    for domain in _DOMAINS:
        if {c.lower() for c in domain if c.isupper()} <= letters <= set(domain.lower()):
            plain = dict(zip([c for c in domain.lower() if c in letters], _LETTERS, strict=False))
            plain |= {letter.upper(): own.upper() for letter, own in plain.items()}
            return "".join(plain.get(c, c) for c in tag)
    return tag


def _is_layout(tag: str) -> bool:
    """Whether the tag has each dimension once, and blocks of the dimensions in upper case only."""
    match = _LAYOUT.fullmatch(tag)
    if not match:
        return False
    outer, blocks = match[1], {c for c in match[2] if c.isalpha()}
    return sorted(outer.lower()) == list(_LETTERS[: len(outer)]) and blocks == {
        c.lower() for c in outer if c.isupper()
    }
