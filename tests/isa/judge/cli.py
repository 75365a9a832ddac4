# SPDX-License-Identifier: Apache-2.0
"""Compile the Xe kernels with Intel's offline compiler, or CPU kernels with the OpenCL CPU runtime, and say
what their K loops do (docs/xe.md)."""

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zemm._terminal.columns import aligned
from zemm._terminal.console import program

from judge import gpu
from judge.cpu import run as cpu
from judge.errors import IsaError


@dataclass
class Job:
    """A row with a problem, which is compiled and judged for a device."""

    kernel: str
    problem: str
    device: str
    figures: Callable[[Path], dict[str, Any]]  # from a folder for what the compiler leaves

    def names(self) -> dict[str, str]:
        return {"kernel": self.kernel, "problem": self.problem, "device": self.device}


@dataclass
class Outcome:
    """failures: sentences about the jobs that could not be judged."""

    figures: list[dict[str, Any]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


@contextmanager
def _folder(keep: str, job: Job) -> Iterator[Path]:
    if keep:
        path = Path(keep).resolve() / "_".join(re.sub(r"\W+", "-", name) for name in job.names().values())
        path.mkdir(parents=True, exist_ok=True)
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="zemm-judge-") as temporary:
        yield Path(temporary)


def judge(jobs: list[Job], keep: str = "") -> Outcome:
    """Judge as many at once as there are cores. A job that fails leaves the others alone."""

    def one(job: Job) -> dict[str, Any] | str:
        try:
            with _folder(keep, job) as folder:
                return job.names() | job.figures(folder)
        except IsaError as error:
            return f"{', '.join(job.names().values())}: {error}"

    outcome = Outcome()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for result in pool.map(one, jobs):
            if isinstance(result, str):
                outcome.failures.append(result)
            else:
                outcome.figures.append(result)
    return outcome


def _cell(value: Any) -> str:
    if isinstance(value, dict):  # numbers of instructions by pipe
        return " ".join(f"{name} {number}" for name, number in value.items() if number)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _json(version: str, skipped: list[str], outcome: Outcome) -> str:
    """The figures as JSON, with a line of text for each kernel, so that a diff names the kernels."""
    lists = {"skipped": skipped, "failures": outcome.failures, "figures": outcome.figures}
    parts = [f'"compiler": {json.dumps(version)}']
    for name, items in lists.items():
        lines = ",".join(f"\n  {json.dumps(item)}" for item in items)
        parts.append(f'"{name}": [{lines}\n ]' if items else f'"{name}": []')
    return "{\n " + ",\n ".join(parts) + "\n}\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python tests/isa/judge", description=__doc__)
    names = f"ocloc's names of GPUs, or CPUs ({', '.join(cpu.CPUS)}), with commas"
    parser.add_argument("--device", default="pvc,dg2,tgllp", help=f"{names} (%(default)s)")
    parser.add_argument("--row", default="", help="names in kernels.def (default: the rows for such devices)")
    parser.add_argument("--ocloc", default="", help="compiler: COMMAND INPUT.spv DEVICE FOLDER OPTIONS")
    parser.add_argument("--json", metavar="FILE", help="write the figures")
    parser.add_argument("--keep", metavar="FOLDER", default="", help="keep the modules and dumps there")
    return parser


@program
def main(arguments: list[str] | None = None) -> int:
    args = _parser().parse_args(arguments)
    devices = args.device.split(",")
    try:
        for_cpus = devices[0] in cpu.CPUS
        judged = cpu.Rows(devices, args.row) if for_cpus else gpu.Rows(devices, args.row, args.ocloc)
        outcome = judge([Job(*job) for job in judged.jobs], args.keep)
    except IsaError as error:
        print(f"judge: {error}", file=sys.stderr)
        return 2
    if args.json:
        Path(args.json).write_text(_json(judged.version(), judged.skipped, outcome), encoding="utf-8")
    if outcome.figures:
        cells = [[_cell(value) for value in line.values()] for line in outcome.figures]
        print(aligned([list(outcome.figures[0]), *cells]))
    print("".join(f"skipped: {sentence}\n" for sentence in judged.skipped), end="")
    for failure in outcome.failures + judged.failures:
        print(f"judge: {failure}", file=sys.stderr)
    return 2 if outcome.failures or judged.failures else 0
