# SPDX-License-Identifier: Apache-2.0
"""Parsers of the smallest pieces of benchdnn's grammar: numbers, booleans, dims and lists.

Every parser raises UsageError for text that it cannot read. Its parameter `what` names the option
in that error, such as `--bia_mask`.
"""

import math
from collections.abc import Sequence

import numpy as np

from zemm._programs.usage import UsageError

_FEW = 20


def verification(driver: str) -> str:
    """The beginning of a sentence about a case that a driver refuses before it runs."""
    return f"ERROR: {driver} driver: "


VERIFICATION = verification("matmul")


def integer(text: str, what: str, low: int = -(2**63), high: int = 2**63 - 1) -> int:
    """`text` as an integer in [low, high]. It must be written as it is printed: `007` is an
    error."""
    value = None
    if text.isascii() and text.removeprefix("-").isdigit() and len(text) < 24:
        value = int(text)
    if value is None or str(value) != text:
        raise UsageError(f"{what}: '{text}' is not an integer")
    if not low <= value <= high:
        raise UsageError(f"{what}: {text} is outside of [{low}, {high}]")
    return value


def number(text: str, what: str) -> float:
    """`text` as a finite number, rounded to f32, the type in which the library takes it."""
    try:
        with np.errstate(over="ignore"):
            value = float(np.float32(text)) if "_" not in text else math.nan
    except (ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"{what}: '{text}' is not a number")
    return value


def show_number(value: float) -> str:
    """The shortest text that `number` reads back as the same f32 value. It has no `+`, as that
    separates the entries of `--attr-scales` and similar options."""
    return str(np.float32(value)).removesuffix(".0").replace("e+", "e")


def edit_distance(a: str, b: str) -> int:
    """How many letters to add, remove or replace to make b of a: the Levenshtein distance."""
    distances = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        before, distances[0] = distances[0], i
        for j, other in enumerate(b, 1):
            change = before + (letter != other)
            before = distances[j]
            distances[j] = min(change, distances[j] + 1, distances[j - 1] + 1)
    return distances[-1]


def boolean(text: str, what: str) -> bool:
    """`true`, `1`, `false` or `0`, in any case."""
    try:
        return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
    except KeyError:
        raise UsageError(f"{what}: '{text}' is not a boolean (true, 1, false, 0)") from None


def show_boolean(value: bool) -> str:
    """The text of a boolean, as `boolean` reads it."""
    return "true" if value else "false"


def choice(text: str, what: str, choices: Sequence[str], kind: str = "value") -> str:
    """`text` in lower case, which must be one of `choices`. `kind` names in an error what they
    are."""
    lowered = text.lower()
    if lowered not in choices:
        raise UsageError(f"{what}: {unknown(kind, text, choices)}")
    return lowered


def unknown(kind: str, text: str, known: Sequence[str]) -> str:
    """The sentence for a name that is none of `known`. It ends with the nearest of them, or with
    all if none is near and they are few."""
    import difflib

    near = difflib.get_close_matches(text.lower(), known, 1)
    if near:
        return f"unknown {kind} '{text}'; did you mean {near[0]}?"
    return f"unknown {kind} '{text}'" + (f" (known: {', '.join(known)})" if len(known) <= _FEW else "")


def dims(text: str, what: str, low: int = 0) -> tuple[int, ...]:
    """`AxBx..` as integers >= `low`."""
    return tuple(integer(part, what, low) for part in text.split("x"))


def show_dims(values: Sequence[int]) -> str:
    """The text of dims, as `dims` reads it."""
    return "x".join(map(str, values))


def split(text: str, separator: str, what: str) -> list[str]:
    """The parts of `text`. A separator at its end is an error, benchdnn's "dangling symbol"."""
    if text.endswith(separator):
        raise UsageError(f"{what}: dangling symbol '{separator}' at the end of '{text}'")
    return text.split(separator)


def at_most(parts: Sequence[str], count: int, what: str) -> None:
    """Raise UsageError if there are more than `count` parts."""
    if len(parts) > count:
        raise UsageError(f"{what}: '{':'.join(parts)}' has {len(parts)} fields, at most {count} are known")
