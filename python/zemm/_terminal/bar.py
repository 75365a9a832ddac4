# SPDX-License-Identifier: Apache-2.0
"""A progress bar on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from zemm._terminal import building


def make_bar(stderr: bool = True) -> Any:
    """A bar of the package rich, with a text beside it, which removes itself. Its output does not mix with
    that of programs."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    return Progress(*columns, console=Console(stderr=stderr), transient=True, redirect_stdout=False)


@contextmanager
def steps(total: int, is_wanted: bool = True) -> Iterator[Callable[[str], None]]:
    """A context in which total steps are done, with a bar if stderr is a terminal. Its function is called
    with the name of each step when that begins."""
    if not is_wanted or total < 2 or sys.stderr is None or not sys.stderr.isatty():
        yield lambda name: None
        return
    bar = make_bar()
    task = bar.add_task("", total=total)
    begun = 0

    def begin(name: str) -> None:
        nonlocal begun
        bar.update(task, completed=begun, description=name)
        begun += 1

    was_quiet, building.is_quiet = building.is_quiet, True
    try:
        with bar:
            yield begin
    finally:
        building.is_quiet = was_quiet
