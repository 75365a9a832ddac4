# SPDX-License-Identifier: Apache-2.0
"""`--match`: POSIX basic regular expressions."""

import pytest
from zemm._programs.usage import UsageError
from zemm.benchdnn.grammar.bre import compiled


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("[[:digit:]]x", "a2x", True),
        ("[^[:digit:]]x", "2x", False),
        ("*x", "2*x", True),
        ("*x", "2x", False),
        (r"\(*\)x", "*x", True),
        ("^*x", "*x", True),
        ("a+", "aa", False),
        ("a?|b{2}(c)", "a?|b{2}(c)", True),
        (r"^\(ab\)\{2\}$", "abab", True),
        (r"\(a\|b\)\1", "bb", True),
        (r"\(a\|b\)\1", "ab", False),
        (r"a\+b\?$", "caa", True),
        ("a^b$c", "a^b$c", True),
        ("[]a]", "]", True),
        (r"[\.]", "\\", True),
        ("[a-c-]x", "-x", True),
    ],
)
def test_matches(pattern: str, text: str, found: bool) -> None:
    assert bool(compiled(pattern, "--match").search(text)) == found


@pytest.mark.parametrize(
    "pattern", [r"\(", r"\)", "[a", r"a\{2", r"\{2\}", "[[:digits:]]", "[b-a]", "a\\", r"\1"]
)
def test_what_is_no_regular_expression(pattern: str) -> None:
    with pytest.raises(UsageError, match=r"--match=.*: not a regular expression") as error:
        compiled(pattern, "--match")
    assert error.value.exit_code == 1
