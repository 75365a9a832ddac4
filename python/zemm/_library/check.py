# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments. Each error is a sentence with the argument's name, what it is, and what it
must be."""

import operator
import os
import sys
from collections.abc import Mapping, Set
from typing import Any, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from zemm.errors import InvalidArgumentsError

T = TypeVar("T")

INT32 = (-(2**31), 2**31 - 1)
INT64 = (-(2**63), 2**63 - 1)
_LONGEST = 60  # characters of a value in an error

_HOW = {
    "Engine": "zemm.Engine('cpu') makes one",
    "Stream": "zemm.Stream(engine) makes one",
    "MemoryDesc": "zemm.MemoryDesc(dims, data_type) makes one",
    "Memory": "zemm.Memory(md, engine, array) makes one of an array",
    "Attr": "zemm.Attr() makes one",
    "PostOps": "zemm.PostOps() makes one",
    "str": "it is a string such as 'layer.'",
    "Linear": "zemm.Linear.from_float(w) makes one",
    "Mapping": "a dict is one",
    "PrimitiveDesc": "zemm.MatmulPrimitiveDesc(...) or zemm.ReorderPrimitiveDesc(...) makes one",
}


def a(kind: str) -> str:
    """The name of a type with its article."""
    return f"{'an' if kind[:1].lower() in set('aeiou') else 'a'} {kind}"


def shown(value: Any) -> str:
    """A value for an error: as Python writes it if that is short, else its type."""
    plain = value is None or isinstance(value, (bool, float, complex, str, bytes))
    if plain or (isinstance(value, int) and value.bit_length() < 200):
        text = repr(value)
        if len(text) <= _LONGEST:
            return text
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    if isinstance(value, np.dtype):
        return f"the dtype {value}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return a(type(value).__name__)


def instance(value: Any, kind: type[T], name: str) -> T:
    """The value, which must be an object of the class `kind`."""
    if not isinstance(value, kind):
        class_name = kind.__name__
        raise InvalidArgumentsError(f"{name} is {shown(value)}, not {a(class_name)}: {_HOW[class_name]}")
    return value


def handle(value: Any, kind: type[Any], name: str) -> Any:
    """The C object of a value, which must be an object of the class `kind`."""
    try:
        return instance(value, kind, name)._handle
    except AttributeError:
        raise InvalidArgumentsError(
            f"{name} is {a(type(value).__name__)} without contents: __init__() must call super().__init__()"
        ) from None


def integer(value: Any, name: str, least: int = INT32[0], most: int = INT32[1]) -> int:
    """The value as an int. ValueError if it is none, or outside of least..most."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidArgumentsError(f"{name} is {shown(value)}, not an integer") from None
    if not least <= number <= most:
        raise InvalidArgumentsError(f"{name} is {shown(number)}, which is not in {least}..{most}")
    return number


def integers(values: Any, name: str, most: int) -> list[int]:
    """The entries of a sequence of at most `most` integers."""
    if not isinstance(values, (tuple, list)):
        _check_sequence(values, name)
    if len(values) > most:
        entries = f"{tuple(values)} " if len(values) < 20 else ""
        raise InvalidArgumentsError(f"{name} {entries}has {len(values)} entries, more than {most}")
    try:
        return [operator.index(value) for value in values]
    except TypeError:
        entries = ", ".join(shown(value) for value in values)
        raise InvalidArgumentsError(f"{name} ({entries}) has an entry that is no integer") from None


def _check_sequence(values: Any, name: str) -> None:
    is_sized = hasattr(type(values), "__len__") and hasattr(type(values), "__iter__")
    if not is_sized or isinstance(values, (str, bytes, Mapping, Set)):
        raise InvalidArgumentsError(f"{name} is {shown(values)}, not a sequence of integers such as (2, 3)")
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise InvalidArgumentsError(f"{name} is an array of shape {values.shape}, not a sequence of integers")


def flag(value: Any, name: str) -> int:
    """A truth value as 0 or 1."""
    if not isinstance(value, (bool, np.bool_)) and not (isinstance(value, int) and value in (0, 1)):
        raise InvalidArgumentsError(f"{name} is {shown(value)}, neither True nor False")
    return int(value)


def path(value: Any, name: str) -> str:
    """The path of a file as a string."""
    if not isinstance(value, (str, os.PathLike)):
        raise InvalidArgumentsError(f"{name} is {shown(value)}, not a path (a str or an os.PathLike)")
    found = os.fspath(value)
    if not isinstance(found, str) or not found or "\0" in found:
        raise InvalidArgumentsError(f"{name} is {shown(value)}, not the path of a file")
    return found


def choice(value: Any, words: Any, name: str) -> str:
    """One word of a Literal of zemm.words, or of a tuple."""
    choices = words if isinstance(words, tuple) else get_args(words)
    if not isinstance(value, str) or value not in choices:
        raise InvalidArgumentsError(f"{name} is {shown(value)}, none of: {', '.join(choices)}")
    return value


def text(value: Any, name: str) -> bytes:
    """An ASCII string as bytes, for C."""
    if not isinstance(value, str) or not value.isascii() or "\0" in value:
        raise InvalidArgumentsError(f"{name} is {shown(value)}, not a string of ASCII characters")
    return value.encode()


def array(value: Any, name: str) -> NDArray[Any]:
    """An array of the value: of an array, a number or nested lists of numbers."""
    if type(value) is not np.ndarray and isinstance(value, getattr(sys.modules.get("torch"), "Tensor", ())):
        from zemm._library.torch_derivatives import refuse_tangent

        refuse_tangent(value, name)
    try:
        made = np.asarray(value)
    except Exception as error:  # numpy calls methods of the value, which may raise anything
        raise InvalidArgumentsError(f"{name} is {shown(value)}, which makes no array: {error}") from None
    if made.dtype == object:
        raise InvalidArgumentsError(f"{name} is {shown(value)}, not an array or nested lists of numbers")
    return made
