# SPDX-License-Identifier: Apache-2.0
"""zemm.warm(): builds kernels before they are needed, so that the first use need not wait for
them."""

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from zemm._library import check, library
from zemm.engine import Engine, default_engine
from zemm.errors import InvalidArgumentsError


class Warmed(NamedTuple):
    """The outcome of zemm.warm(). built: kernels that were not on disk before; refused: for each case
    line that cannot run the reason."""

    cases: int
    built: int
    seconds: float
    refused: dict[str, str]


def warm(
    cases: str | os.PathLike[str] | Iterable[str],
    engine: Engine | None = None,
    *,
    processes: int | None = None,
    echo: Callable[[str], None] | None = None,
) -> Warmed:
    """Build the kernels of matmuls into the kernel cache on disk. Other processes then load them in
    milliseconds. What is there already is not built again.

    cases: a file with case lines of zemm-benchdnn, or a log that a program has written with
    ZEMM_VERBOSE=profile (or oneDNN with ONEDNN_VERBOSE=1); or case lines themselves, such as
    ["--dt=s8:u8:f32 31x2560:2560x2560"]. Where the library chooses the layout of the weights
    (--wtag=any), their reorders from ab and ba are also built.

    engine: by default a GPU if there is one, else the CPU. processes: how many build, by default one
    for each core. echo: is called with a line for each case.

    ValueError: the cases cannot be read, or kernels are not kept (ZEMM_CACHE=0, or other users may
    write to the folder).
    """
    # This loads all of zemm-benchdnn, which `import zemm` does not need.
    from zemm.tune import warming

    folder = Path(library.cache_folder())
    engine = default_engine() if engine is None else check.instance(engine, Engine, "engine")
    count = len(os.sched_getaffinity(0))
    if processes is not None:
        count = check.integer(processes, "processes", 1)
    if echo is not None and not callable(echo):
        raise InvalidArgumentsError(f"echo is {check.shown(echo)}, not a function that takes a line")
    begin, before = time.perf_counter(), _entries(folder)
    jobs = warming.jobs(cases, engine)
    refused: dict[str, str] = {}
    needed = warming.needed(jobs, engine, refused)
    for number, (line, reason, seconds) in enumerate(warming.create(needed, count), 1):
        if reason:
            refused[line] = reason
        elif echo:
            echo(f"{number} of {len(needed)} {seconds:6.2f} s  {line}")
    if echo:
        for line, reason in refused.items():
            echo(f"refused  {line}: {reason}")
    built = len(_entries(folder) - before)
    return Warmed(len(jobs), built, time.perf_counter() - begin, refused)


def _entries(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("[!.]*")}
