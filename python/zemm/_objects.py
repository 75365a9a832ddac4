# SPDX-License-Identifier: Apache-2.0
"""What classes of C objects share: how they are compared, shown, copied and pickled."""

from typing import Any, ClassVar, NoReturn, TypeVar

from zemm import _library
from zemm._check import a
from zemm.errors import InvalidArgumentsError

S = TypeVar("S", bound="Settings")


class ProcessBound:
    """An object of a device. It can be neither copied nor pickled."""

    def __reduce__(self) -> NoReturn:
        name = type(self).__name__
        raise InvalidArgumentsError(f"{a(name)} belongs to its process and is neither copied nor pickled")


class Settings:
    """A mutable object that consists of settings.

    The C library does not give all of them back, so they are kept here, too, for comparisons.
    """

    _kind: ClassVar[str]

    def __init__(self) -> None:
        self._handle: Any = _library.create(self._kind, f"{self._kind}_create")
        self._made: dict[Any, tuple[Any, ...]] = {}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Settings) or self._kind != other._kind:
            return NotImplemented
        return self._made == other._made

    __hash__ = None  # type: ignore[assignment]

    def __copy__(self: S) -> S:
        made = type(self).__new__(type(self))
        made._handle = _library.create(self._kind, f"{self._kind}_clone", self._handle)
        made._made = dict(self._made)
        return made

    def __deepcopy__(self: S, memo: object) -> S:
        return self.__copy__()

    def __reduce__(self) -> NoReturn:
        raise InvalidArgumentsError(f"{a(type(self).__name__)} is not pickled: set it up in each process")
