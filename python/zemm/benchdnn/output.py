# SPDX-License-Identifier: Apache-2.0
"""The files of `--output` and `--plot`: which kinds there are, and how they are written."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import asdict, fields
from importlib import util
from pathlib import Path

from zemm.benchdnn import page
from zemm.benchdnn.atoms import UsageError
from zemm.benchdnn.records import Record, Run
from zemm.benchdnn.whole_file import check_writable, write_whole


def check(outputs: list[str], plots: list[str], is_timed: bool) -> None:
    """UsageError unless all files can be written. is_timed: the run has timed cases."""
    for option, names, kinds in (("--output", outputs, tuple(_WRITERS)), ("--plot", plots, (".png",))):
        for name in names:
            if Path(name).suffix.lower() not in kinds:
                raise UsageError(f"err: {option}={name}: the file's name must end with {' or '.join(kinds)}")
            check_writable(Path(name), option)
    if plots and not is_timed:
        raise UsageError(f"err: --plot={plots[0]} draws times, and no case is timed: give --mode=P, too")
    if plots and not util.find_spec("matplotlib"):
        raise UsageError(f"err: --plot={plots[0]} needs the package matplotlib: pip install matplotlib")


def write(run: Run, outputs: list[str], plots: list[str]) -> None:
    """Write all files. UsageError if one cannot be written."""
    for name in outputs:
        write_whole(Path(name), _WRITERS[Path(name).suffix.lower()](run).encode(), "--output")
    for name in plots:
        from zemm.benchdnn.plot import png

        write_whole(Path(name), png(run), "--plot")


def as_json(run: Run) -> str:
    """{"run": facts, "rows": records}."""
    content = {"run": run.facts(), "rows": [asdict(record) for record in run.records]}
    return json.dumps(content, indent=1) + "\n"


def as_csv(run: Run) -> str:
    """A line for each record, with the facts of the run in each line."""
    facts = {
        "date": run.date,
        "processor": run.processor,
        "cores": run.cores,
        "devices": "; ".join(f"{d['engine']} {d['name']}: {' '.join(d['features'])}" for d in run.devices),
        "zemm": run.zemm,
        "peers": "; ".join(f"{name} {version}" for name, version in run.peers.items()),
        "command": run.command,
    }
    text = io.StringIO(newline="")
    names = [field.name for field in fields(Record)]
    writer = csv.DictWriter(text, [*names, *facts], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(record) | facts for record in run.records)
    return text.getvalue()


_WRITERS: dict[str, Callable[[Run], str]] = {".json": as_json, ".csv": as_csv, ".html": page.html}
