# SPDX-License-Identifier: Apache-2.0
"""A progress bar under the lines of the cases, if there are many cases and stderr is a terminal."""

import sys
from types import TracebackType
from typing import Any

from zemm._terminal import building
from zemm._terminal.bar import make_bar

_FEW = 10


class Progress:
    """Prints lines by `emit`, with a progress bar of `total` cases below them on a terminal."""

    def __init__(self, total: int) -> None:
        self._bar: Any = None
        if total > _FEW and sys.stderr.isatty():
            self._bar = make_bar(stderr=not sys.stdout.isatty())
            self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> "Progress":
        if self._bar:
            self._was_quiet, building.is_quiet = building.is_quiet, True
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()
            building.is_quiet = self._was_quiet

    def emit(self, line: str) -> None:
        """Print one or more lines to stdout, above the bar."""
        if self._bar and sys.stdout.isatty():
            self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            print(line, flush=True)

    def advance(self, counts: str) -> None:
        """Count one more case. `counts` is shown beside the bar."""
        if self._bar:
            self._bar.update(self._task, advance=1, description=counts)
