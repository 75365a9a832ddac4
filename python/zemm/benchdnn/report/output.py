# SPDX-License-Identifier: Apache-2.0
"""The files of `--output` and `--plot`: which kinds there are, and how they are written."""

import csv
import io
import sys
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from zemm._programs import picture
from zemm._programs.usage import UsageError
from zemm._programs.whole_file import check_writable, write_whole
from zemm.benchdnn.report import page, plot
from zemm.benchdnn.report.records import Record, Run

_FORMULA = ("=", "+", "-", "@", "\t")
_CASE = ("--matmul ", "--ip ")  # what the line of a case begins with: no formula, and a shell can run it


def check(outputs: list[str], plots: list[str], is_timed: bool) -> None:
    """UsageError unless all files can be written. is_timed: the run has timed cases."""
    for option, names, kinds in (("--output", outputs, tuple(_WRITERS)), ("--plot", plots, (".png",))):
        for name in names:
            if Path(name).suffix.lower() not in kinds:
                raise UsageError(f"err: {option}={name}: the file's name must end with {' or '.join(kinds)}")
            check_writable(Path(name), option)
    if plots and not is_timed:
        raise UsageError(f"err: --plot={plots[0]} draws times, and no case is timed: give --mode=P, too")
    if is_timed and not picture.is_installed():
        if plots:
            raise UsageError(f"err: --plot={plots[0]} needs {picture.PACKAGE}")
        for name in outputs:
            if Path(name).suffix.lower() == ".html":
                print(
                    f"warning: --output={name}: the page has no charts without {picture.PACKAGE}",
                    file=sys.stderr,
                )


def write(run: Run, outputs: list[str], plots: list[str]) -> None:
    """Write all files. UsageError if one cannot be written; the others are."""
    failures = []
    for option, names in (("--output", outputs), ("--plot", plots)):
        for name in names:
            try:
                kind = Path(name).suffix.lower()
                content = plot.png(run) if kind == ".png" else _WRITERS[kind](run).encode()
                write_whole(Path(name), content, option)
            except UsageError as error:
                failures.append(str(error))
    if failures:
        raise UsageError("\n".join(failures))


def as_csv(run: Run) -> str:
    """A line for each record, with the facts of the run in each line. A text that begins as a formula does
    has a ' before it."""
    facts = {
        "date": run.date,
        "processor": run.processor,
        "cores": run.cores,
        "devices": "; ".join(f"{d['engine']} {d['name']}: {' '.join(d['features'])}" for d in run.devices),
        "zemm": run.zemm,
        "peers": "; ".join(f"{name} {version}" for name, version in run.peers.items()),
        "left_out": "; ".join(run.left_out),
        "command": run.command,
    }
    text = io.StringIO(newline="")
    names = [field.name for field in fields(Record)]
    writer = csv.DictWriter(text, [*names, *facts], lineterminator="\n")
    writer.writeheader()
    for record in run.records:
        writer.writerow({name: _cell(value) for name, value in (asdict(record) | facts).items()})
    return text.getvalue()


def _cell(value: Any) -> Any:
    """A value for a cell. A text that a spreadsheet would take for a formula gets a ' before it."""
    if not isinstance(value, str):
        return value
    text = value.replace("\r", "\\r")  # csv.writer does not quote it, and readers end the line there
    return f"'{text}" if text.startswith(_FORMULA) and not text.startswith(_CASE) else text


_WRITERS: dict[str, Callable[[Run], str]] = {".json": Run.as_json, ".csv": as_csv, ".html": page.html}
