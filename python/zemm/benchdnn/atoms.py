# SPDX-License-Identifier: Apache-2.0
"""The smallest pieces of benchdnn's grammar: numbers, booleans, dims, lists, and the error for a bad one.

Every parser takes `what`, the words that name the argument in the error sentence (such as `--bia_mask`).
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")
VERIFICATION = "ERROR: matmul driver: "


class UsageError(Exception):
    """A command line or case file that cannot be taken; `exit_code` is benchdnn's for that mistake."""

    def __init__(self, sentence: str, exit_code: int = 1) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


def integer(text: str, what: str, low: int = -(2**63), high: int = 2**63 - 1) -> int:
    """`text` as an integer in [low, high]. It must print back as it was written: `007` is an error."""
    value = None
    if text.isascii() and text.removeprefix("-").isdigit() and len(text) < 24:
        value = int(text)
    if value is None or str(value) != text:
        raise UsageError(f"{what}: '{text}' is not an integer")
    if not low <= value <= high:
        raise UsageError(f"{what}: {text} is outside of [{low}, {high}]")
    return value


def number(text: str, what: str) -> float:
    """`text` as a finite number, rounded to f32 as the library takes it."""
    try:
        with np.errstate(over="ignore"):
            value = float(np.float32(text)) if "_" not in text else math.nan
    except (ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"{what}: '{text}' is not a number")
    return value


def show_number(value: float) -> str:
    """The shortest text that `number` reads back as the same f32 value, without a `+`: that separates the
    parts of `--attr-scales` and its like."""
    return str(np.float32(value)).removesuffix(".0").replace("e+", "e")


def boolean(text: str, what: str) -> bool:
    """`true`, `1`, `false` or `0`, in any case."""
    try:
        return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
    except KeyError:
        raise UsageError(f"{what}: '{text}' is not a boolean (true, 1, false, 0)") from None


def show_boolean(value: bool) -> str:
    """A boolean as `boolean` reads it."""
    return "true" if value else "false"


def choice(text: str, what: str, choices: Sequence[str]) -> str:
    """`text` in lower case, which must be one of `choices`."""
    lowered = text.lower()
    if lowered not in choices:
        raise UsageError(f"{what}: '{text}' is none of {', '.join(choices)}")
    return lowered


def dims(text: str, what: str, low: int = 0) -> tuple[int, ...]:
    """`AxBx..` as integers >= `low`."""
    return tuple(integer(part, what, low) for part in text.split("x"))


def show_dims(values: Sequence[int]) -> str:
    """Dims as `dims` reads them."""
    return "x".join(map(str, values))


def split(text: str, separator: str, what: str) -> list[str]:
    """The parts of `text`; a separator with nothing behind it is benchdnn's dangling symbol."""
    if text.endswith(separator):
        raise UsageError(f"{what}: dangling symbol '{separator}' at the end of '{text}'")
    return text.split(separator)


def at_most(parts: Sequence[str], count: int, what: str) -> None:
    """An error when `parts` holds more than `count` fields."""
    if len(parts) > count:
        raise UsageError(f"{what}: '{':'.join(parts)}' has {len(parts)} fields, at most {count} are known")


def elements(text: str, default: T, parse: Callable[[str], T]) -> list[T]:
    """A comma separated list; an empty element stands for `default`."""
    return [parse(part) if part else default for part in text.split(",")]
