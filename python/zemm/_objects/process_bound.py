# SPDX-License-Identifier: Apache-2.0
"""Objects that cannot leave their process."""

from typing import NoReturn

from zemm._library.check import a
from zemm.errors import InvalidArgumentsError


class ProcessBound:
    """An object of a device. It can be neither copied nor pickled."""

    def __reduce__(self) -> NoReturn:
        name = type(self).__name__
        raise InvalidArgumentsError(f"{a(name)} belongs to its process and is neither copied nor pickled")
