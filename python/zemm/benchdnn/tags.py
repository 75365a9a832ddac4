# SPDX-License-Identifier: Apache-2.0
"""Format tags: which names are valid, and the expansion of benchdnn's meta tags (`abx`, `xba`)."""

import re

from zemm.benchdnn.atoms import UsageError, unknown

_LETTERS = "abcdefghijkl"
# The permutations in oneDNN's public enum, without the identities a .. abcdefghijkl.
_PERMUTATIONS = (
    "ba", "acb", "bac", "bca", "cab", "cba", "abdc", "acbd", "acdb", "adbc", "adcb", "bacd", "bcda", "cdab",
    "cdba", "dcab", "abced", "abdec", "acbde", "acdeb", "adecb", "bacde", "bcdea", "cdeab", "cdeba",
    "decab", "abcdfe", "abdefc", "abdfce", "acbdef", "adefcb", "defcab", "abcdegf", "abcdefhg", "abcdefgih",
    "abcdefghji", "abcdefghikj", "abcdefghijlk", "bcad", "cabd", "dabc",
)  # fmt: skip
# The blocked layouts in zemm's public enum.
_BLOCKED_NAMES = (
    "AB16b16a",
    *(f"BA16a{n}b{inner}" for inner in ("", "2a", "4a") for n in (16, 32, 48, 64)),
    *(f"aCB16b{n}c{inner}" for inner in ("", "2b", "4b") for n in (16, 32, 48, 64)),
)
_ALIASES = {
    "x": "a", "nc": "ab", "oi": "ab", "tn": "ab", "cn": "ba", "io": "ba", "nt": "ba", "ncw": "abc",
    "oiw": "abc", "tnc": "abc", "nwc": "acb", "owi": "acb", "ntc": "bac", "nchw": "abcd", "oihw": "abcd",
    "ldnc": "abcd", "nhwc": "acdb", "ohwi": "acdb", "ncdhw": "abcde", "ndhwc": "acdeb",
}  # fmt: skip
_IDENTITIES = tuple(_LETTERS[:count] for count in range(1, len(_LETTERS) + 1))
_KNOWN = (
    "any", "undef", *_IDENTITIES, "abx", "axb", "xab", "xba", *_PERMUTATIONS, *_BLOCKED_NAMES, *_ALIASES
)  # fmt: skip
_BLOCKED = re.compile(r"(?=.*[A-L])[a-lA-L]+([1-9][0-9]*[a-l])+")
_META = re.compile(r"[a-l]*x[a-l]*")


def parse_tag(text: str, what: str, enum_only: bool) -> str:
    """`text` if it is a format tag, else UsageError. enum_only: the tag must be in the public
    enum."""
    if text in ("any", "undef") or text in _ALIASES:
        return text
    letters = text.replace("x", "")
    if _META.fullmatch(text) and len(set(letters)) == len(letters):
        return text
    if not _is_permutation(text) and not _BLOCKED.fullmatch(text):
        raise UsageError(f"{what}: {unknown('format tag', text, _KNOWN)}", 2)
    if enum_only and text != _LETTERS[: len(text)] and text not in _PERMUTATIONS + _BLOCKED_NAMES:
        raise UsageError(
            f"{what}: tag '{text}' is not in the public enum; --allow-enum-tags-only=0 before it takes it", 2
        )
    return text


def normalized(tag: str, ndims: int) -> str:
    """The tag with aliases and meta letters resolved for `ndims` dims: `abx` becomes `abcd` for
    four."""
    if tag in _ALIASES and tag != "x":
        return _ALIASES[tag]
    if "x" not in tag:
        return tag
    first = max([_LETTERS.index(c) + 1 for c in tag if c in _LETTERS[1:]], default=2)
    expanded = tag.replace("x", _LETTERS[first:])
    return "".join(c for c in expanded if c in _LETTERS[:ndims])


def _is_permutation(tag: str) -> bool:
    return bool(tag) and sorted(tag) == list(_LETTERS[: len(tag)])
