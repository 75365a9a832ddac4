# SPDX-License-Identifier: Apache-2.0
"""Regular expressions of a quantization_config, which comes from a file, matched in bounded time.

Python's re tries each way to match, and some patterns have 2 ** length of them. So a pattern with several
choices is matched by the set of places where each of its parts may end, of which there are few.
"""

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from zemm._library.check import shown
from zemm.errors import InvalidArgumentsError

try:
    from re import _constants as sre  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_constants as sre
    import sre_parse as parser

Ends = set[int]
_FEW_CHOICES, _DEEPEST = 2, 2
_CLASSES: dict[Any, Callable[[str], bool]] = {
    sre.CATEGORY_DIGIT: str.isdecimal,
    sre.CATEGORY_NOT_DIGIT: lambda c: not c.isdecimal(),
    sre.CATEGORY_SPACE: str.isspace,
    sre.CATEGORY_NOT_SPACE: lambda c: not c.isspace(),
    sre.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
    sre.CATEGORY_NOT_WORD: lambda c: not (c.isalnum() or c == "_"),
}


def pattern(text: str, where: str) -> Callable[[str], bool]:
    """Whether the beginning of a name matches, as re.match() says it. where: what has the pattern, for
    errors. ValueError: it is none, or has what zemm cannot match in bounded time."""
    try:
        compiled, parsed = re.compile(text), parser.parse(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidArgumentsError(
            f"{where} has {shown(text)}, which is no regular expression: {error}"
        ) from None
    if _choices(parsed) <= _FEW_CHOICES:
        return lambda name: compiled.match(name) is not None
    unknown = "a flag" if compiled.flags & ~re.UNICODE else _unknown(parsed)
    if unknown is not None:
        raise InvalidArgumentsError(
            f"{where} has {shown(text)}: zemm does not match a regular expression of several choices with"
            f" {unknown}"
        )
    return lambda name: bool(_ends(parsed, name, {0}))


def _choices(parts: Any, in_repeat: bool = False) -> float:
    """How many parts may match in several ways; infinity: one of them in a repeat, or re would repeat nothing
    as often as the pattern says."""
    found = 0.0
    for op, arguments in parts:
        is_repeat = op in _REPEATS
        if is_repeat or op is sre.BRANCH:
            repeats_nothing = is_repeat and arguments[0] > 1 and not arguments[2].getwidth()[0]
            found += float("inf") if in_repeat or repeats_nothing else 1
        found += sum(_choices(inner, in_repeat or is_repeat) for inner in _inner(op, arguments))
    return found


def _inner(op: Any, arguments: Any) -> list[Any]:
    """The patterns in a part."""
    if op is sre.BRANCH:
        return list(arguments[1])
    if op in _REPEATS or op is sre.SUBPATTERN or op in _ASSERTIONS:
        return [arguments[-1]]
    return []


def _unknown(parts: Any, depth: int = 0) -> str | None:
    """A part that _ends() does not match, in the words of Python's re."""
    for op, arguments in parts:
        own = depth + (op in _REPEATS)
        if op not in _STEPS or (op is sre.SUBPATTERN and (arguments[1] or arguments[2])):
            return str(op)
        if op is sre.AT and arguments not in _PLACES:
            return str(arguments)
        if own > _DEEPEST:
            return f"repeats {own} deep in each other"
        found = (_unknown(inner, own) for inner in _inner(op, arguments))
        if (first := next(filter(None, found), None)) is not None:
            return first
    return None


def _ends(parts: Any, name: str, starts: Ends) -> Ends:
    """Where matches of the parts, one after the other, end that begin at one of the starts."""
    for op, arguments in parts:
        if not starts:
            break
        starts = _STEPS[op](arguments, name, starts)
    return starts


def _one(is_right: Callable[[Any, str], bool], argument: Any, name: str, starts: Ends) -> Ends:
    return {i + 1 for i in starts if i < len(name) and is_right(argument, name[i])}


def _is_in(items: Iterable[tuple[Any, Any]], c: str) -> bool:
    items = list(items)
    is_negated = bool(items) and items[0][0] is sre.NEGATE
    found = any(
        (op is sre.LITERAL and ord(c) == value)
        or (op is sre.RANGE and value[0] <= ord(c) <= value[1])
        or (op is sre.CATEGORY and _CLASSES[value](c))
        for op, value in items
    )
    return found != is_negated


def _repeat(arguments: Any, name: str, starts: Ends) -> Ends:
    least, most, inner = arguments
    found: Ends = set() if least else set(starts)
    for count in range(1, most + 1 if most is not sre.MAXREPEAT else 1 << 62):
        after = _ends(inner, name, starts)
        if after <= found if count > least else after == starts:
            return found | after
        starts = after - found if count > least else after
        found |= after if count >= least else set()
    return found


def _assertion(arguments: Any, name: str, starts: Ends) -> Ends:
    direction, inner = arguments
    if direction > 0:
        return {i for i in starts if _ends(inner, name, {i})}
    width = inner.getwidth()[0]  # all matches have it
    return {i for i in starts if i >= width and i in _ends(inner, name, {i - width})}


_PLACES: dict[Any, Callable[[int, int], bool]] = {
    sre.AT_BEGINNING: lambda i, _: i == 0,
    sre.AT_BEGINNING_STRING: lambda i, _: i == 0,
    sre.AT_END: lambda i, length: i == length,
    sre.AT_END_STRING: lambda i, length: i == length,
}
_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT)
_ASSERTIONS = (sre.ASSERT, sre.ASSERT_NOT)
_STEPS: dict[Any, Callable[[Any, str, Ends], Ends]] = {
    sre.LITERAL: partial(_one, lambda value, c: ord(c) == value),
    sre.NOT_LITERAL: partial(_one, lambda value, c: ord(c) != value),
    sre.ANY: partial(_one, lambda _, c: c != "\n"),
    sre.IN: partial(_one, _is_in),
    sre.AT: lambda place, name, starts: {i for i in starts if _PLACES[place](i, len(name))},
    sre.BRANCH: lambda arguments, name, starts: set().union(
        *(_ends(inner, name, starts) for inner in arguments[1])
    ),
    sre.SUBPATTERN: lambda arguments, name, starts: _ends(arguments[3], name, starts),
    sre.MAX_REPEAT: _repeat,
    sre.MIN_REPEAT: _repeat,
    sre.ASSERT: _assertion,
    sre.ASSERT_NOT: lambda arguments, name, starts: starts - _assertion(arguments, name, starts),
}
