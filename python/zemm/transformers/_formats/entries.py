# SPDX-License-Identifier: Apache-2.0
"""Entries of a quantization_config, which comes from a file: checked before they are used."""

from collections.abc import Mapping
from typing import Any

from zemm._library.check import shown
from zemm.errors import InvalidArgumentsError

CONFIG = "the quantization_config"
_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "an integer",
    str: "a string",
    list: "a list of names",
    Mapping: "an object",
}


def entry(config: Mapping[str, Any], key: str, kind: type, default: Any = None, where: str = CONFIG) -> Any:
    """An entry; `default` where it is missing or null. kind: one of _KINDS. where: what has it, for errors.
    ValueError: it is of another kind."""
    found = config.get(key)
    if found is None:
        return default
    is_right = isinstance(found, (list, tuple, set) if kind is list else kind)
    if not is_right or isinstance(found, bool) != (kind is bool):
        raise InvalidArgumentsError(f"{where} has {key} {shown(found)}, not {_KINDS[kind]}")
    if kind is list and (wrong := [name for name in found if not isinstance(name, str)]):
        raise InvalidArgumentsError(f"{where} has {key} with {shown(wrong[0])}, which is no name")
    return list(found) if kind is list else found


def objects(config: Mapping[str, Any], key: str) -> dict[str, Mapping[str, Any]]:
    """An entry that has objects by names."""
    found = entry(config, key, Mapping, {})
    return {str(name): entry(found, name, Mapping, {}, f"{key} of {CONFIG}") for name in found}


def setting(
    config: Mapping[str, Any],
    name: str,
    choices: tuple[Any, ...],
    default: Any,
    what: str,
    where: str = CONFIG,
) -> Any:
    """An entry that is one of the choices. what: the format, for errors."""
    found = config.get(name)
    if found is None:
        found = default
    if type(found) is not type(choices[0]) or found not in choices:
        raise InvalidArgumentsError(
            f"{where} has {name} {shown(found)}: zemm reads {what} with {' or '.join(map(str, choices))}"
        )
    return found


def group_setting(config: Mapping[str, Any], default: int = 128, where: str = CONFIG) -> int:
    """group_size, the elements of K that share a scale; -1: all."""
    found: int = entry(config, "group_size", int, default, where)
    if found < 1 and found != -1:
        raise InvalidArgumentsError(f"{where} has group_size {found!r}, neither a positive integer nor -1")
    return found
