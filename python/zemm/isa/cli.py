# SPDX-License-Identifier: Apache-2.0
"""Compile the kernels for GPUs with Intel's offline compiler (docs/xe.md), or for CPUs with the OpenCL
CPU runtime (docs/performance.md), and say what their K loops do."""

import argparse
import json
import os
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from zemm._terminal.console import program
from zemm.isa import report
from zemm.isa.analysis import Analysis, analyse
from zemm.isa.compiler import Compiled, Compiler
from zemm.isa.cpu.devices import CPUS, at_hand, vendor
from zemm.isa.errors import IsaError
from zemm.isa.model import DEVICES, Family, family_of
from zemm.isa.report import HEADER, Line
from zemm.isa.spirv import specialised
from zemm.isa.weights import HEADER as WEIGHTS_HEADER
from zemm.isa.weights import Line as WeightsLine
from zemm.isa.weights import Shape, Stream

if TYPE_CHECKING:
    from zemm.isa.cpu.run import CpuRun
    from zemm.isa.rows import Problem


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m zemm.isa", description=__doc__)
    parser.add_argument(
        "--device",
        default="",
        help=f"ocloc's names, or CPUs ({', '.join(CPUS)}), with commas (default: pvc,dg2,tgllp)",
    )
    parser.add_argument(
        "--row", default="", help="names in kernels.def, with commas (default: the rows for such devices)"
    )
    parser.add_argument("--ocloc", default="", help="compiler: COMMAND INPUT.spv DEVICE FOLDER OPTIONS")
    parser.add_argument(
        "--measure",
        action="store_true",
        help="time the CPU rows on this machine, beside the prediction (default device: the most alike)",
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures")
    parser.add_argument("--markdown", action="store_true", help="print the table for a document")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the modules and the compiler's dumps there")
    bare = parser.add_argument_group("a module for GPUs instead of zemm's rows")
    bare.add_argument("--spirv", metavar="FILE")
    bare.add_argument("--options", default="-ze-opt-large-register-file", help="build flags (%(default)s)")
    bare.add_argument("--kernel", default="", help="which one of several")
    bare.add_argument(
        "--group-k", type=int, default=0, help="elements of K of a group: counts the loop over groups, too"
    )
    bare.add_argument("--tile", default="", help="MxN sums of a thread (default: those that DPAS write)")
    return parser


def _tile(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    found = re.fullmatch(r"([1-9]\d{0,4})x([1-9]\d{0,4})", text)
    if not found:
        raise IsaError(f"--tile {text} is not of the form 32x64")
    return int(found[1]), int(found[2])


def _check(devices: list[str]) -> None:
    """IsaError for a name that is neither a GPU nor a CPU, and for both kinds at once."""
    for name in devices:
        if name not in DEVICES and name not in CPUS:
            near = get_close_matches(name, [*DEVICES, *CPUS], 2)
            hint = f" (did you mean {' or '.join(near)}?)" if near else ""
            raise IsaError(
                f"device {name!r} is not in the model{hint}; it has the GPUs {', '.join(DEVICES)}, and of "
                f"the CPUs for which the OpenCL CPU runtime can build {', '.join(CPUS)}"
            )
    if len({name in CPUS for name in devices}) > 1:
        raise IsaError("--device has GPUs and CPUs, whose tables differ: name one kind at a time")


class _Source(NamedTuple):
    spirv: bytes
    flags: str
    kernel: str
    group: int


class _Job(NamedTuple):
    source: _Source
    names: tuple[str, str, str]  # of the kernel, the problems and the device
    tile: tuple[int, int] | None
    weights: Shape | None = None  # for rows of kernels.def for few rows of src


class _Run:
    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.devices: dict[str, Family] = {name: family_of(name) for name in args.device.split(",")}
        self.lines: list[Line] = []
        self.skipped: list[str] = []
        self.failures: list[str] = []

    @cached_property
    def compiler(self) -> Compiler:
        """The compiler, searched at first use, so that errors of the input are found on machines
        without it, too."""
        return Compiler(self.args.ocloc)

    def modules(self, jobs: list[_Job]) -> None:
        """Compile and analyse modules, as many at once as there are cores. An IsaError is collected, so
        that the other modules are analysed, too."""
        _ = self.compiler  # if it is missing, fail here once, not for each module

        def outcome(job: _Job) -> Line | str:
            try:
                return self.line(job)
            except IsaError as error:
                return f"{', '.join(name for name in job.names if name)}: {error}"

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for result in pool.map(outcome, jobs):
                if isinstance(result, str):
                    self.failures.append(result)
                else:
                    self.lines.append(result)

    def line(self, job: _Job) -> Line:
        analysis = self.analysis(job)
        if not job.weights or not analysis.k:
            return Line(*job.names, analysis)
        return Line(*job.names, analysis, Stream.of(analysis, job.weights, job.names[2]))

    def analysis(self, job: _Job) -> Analysis:
        device = job.names[2]
        source = job.source
        compiled = self.compile(source.spirv, source.flags, source.kernel, device, job.names)
        analysis = analyse(compiled, self.devices[device], source.group, job.tile)
        if analysis.calls:
            raise IsaError(f"the loop calls {analysis.calls} functions, which the compiler does not know")
        return analysis

    def compile(
        self, module: bytes, options: str, kernel: str, device: str, names: tuple[str, str, str]
    ) -> Compiled:
        with tempfile.TemporaryDirectory(prefix="zemm-isa-") as temporary:
            folder = Path(temporary)
            if self.args.keep:
                plain = "_".join(re.sub(r"\W+", "-", name) for name in names if name)
                folder = Path(self.args.keep).resolve() / plain
                folder.mkdir(parents=True, exist_ok=True)
            spirv = folder / "module.spv"
            spirv.write_bytes(module)
            return self.compiler.run(spirv, device, options, folder, kernel)

    def bare(self) -> None:
        path = Path(self.args.spirv)
        if not path.is_file():
            raise IsaError(f"--spirv {path}: there is no such file")
        module = specialised(path.read_bytes(), {})  # IsaError if it is no SPIR-V
        tile = _tile(self.args.tile)
        source = _Source(module, self.args.options, self.args.kernel, self.args.group_k)
        self.modules([_Job(source, (path.stem, "", device), tile) for device in self.devices])

    def rows(self) -> None:
        from zemm.isa.modules import engine, module_of
        from zemm.isa.rows import PROBLEMS, chosen, is_for, names_of, weights_of, why_not

        rows = chosen(self.args.row)
        if not rows:
            raise IsaError("kernels.def has no Xe rows: name others with --row")
        _ = self.compiler  # if it is missing, fail before the modules of the rows are made
        cpu = engine()
        jobs = []
        for row in rows:
            reasons = []
            problems: dict[_Source, list[Problem]] = {}  # by the module that zemm builds for them
            for problem in (p for p in PROBLEMS if is_for(row, p)):
                module, why = module_of(cpu, row, problem)
                if module:
                    spirv = specialised(module.spirv, module.constants)
                    source = _Source(spirv, module.build_flags, module.kernel, problem.group)
                    problems.setdefault(source, []).append(problem)
                else:
                    reasons.append(f"{problem.name} {problem.tag}: {why}")
            if not problems:
                self.failures.append(
                    f"{row.name} takes none of the problems of python/zemm/isa/rows.py: {'; '.join(reasons)}"
                )
            for device, family in self.devices.items():
                impossible = why_not(row, family)
                if impossible:
                    self.skipped.append(f"{row.name} on {device}: {impossible}")
                    continue
                tile = (row.tile_m, row.tile_n) if row.is_xe else None
                for source, same in problems.items():
                    shape = weights_of(row, same[0]) if row.is_xe else None
                    jobs.append(_Job(source, (row.name, names_of(same), device), tile, shape))
        self.modules(jobs)

    def run(self) -> None:
        if self.args.spirv:
            self.bare()
        else:
            self.rows()

    def few(self) -> list[WeightsLine]:
        """The lines of the table of weights, which has the rows for few rows of src."""
        return [
            WeightsLine((line.kernel, line.problem, line.device), line.stream)
            for line in self.lines
            if line.stream
        ]

    def version(self) -> str:
        return self.compiler.version()


def _run_of(args: argparse.Namespace) -> tuple["_Run | CpuRun", list[str]]:
    """The run for the devices that are named, and the header of its table."""
    args.device = args.device or (_own() if args.measure else "pvc,dg2,tgllp")
    devices = args.device.split(",")
    _check(devices)
    if args.measure and (devices[0] not in CPUS or len(devices) > 1):
        raise IsaError(f"--measure is for one CPU, the machine's own, not for {args.device}")
    if devices[0] not in CPUS:
        return _Run(args), HEADER
    from zemm.isa.cpu import report as cpu_report
    from zemm.isa.cpu.run import CpuRun

    if args.spirv:
        raise IsaError(f"--spirv is for GPUs, {devices[0]} is a CPU")
    return CpuRun(devices, args.row, args.keep, args.measure), cpu_report.HEADER


def _own() -> str:
    """The device that is most like the machine's own CPU."""
    from zemm.isa.modules import engine

    name = at_hand(engine().features, vendor())
    if not name:
        raise IsaError(f"--measure: name the CPU that is most like this one: --device={'|'.join(CPUS)}")
    return name


def _json(run: "_Run | CpuRun") -> str:
    """The figures as JSON, with a line of text for each kernel, so that a diff names the kernels."""
    lists: dict[str, list[Any]] = {
        "skipped": run.skipped,
        "failures": run.failures,
        "figures": [line.json() for line in run.lines],
    }
    if not isinstance(run, _Run):
        lists["predictions"] = [line.json() for line in run.predictions]
    parts = [f'"compiler": {json.dumps(run.version())}']
    for name, items in lists.items():
        lines = ",".join(f"\n  {json.dumps(item)}" for item in items)
        parts.append(f'"{name}": [{lines}\n ]' if items else f'"{name}": []')
    return "{\n " + ",\n ".join(parts) + "\n}\n"


def _write(args: argparse.Namespace, run: "_Run | CpuRun", header: list[str]) -> None:
    if args.json:
        Path(args.json).write_text(_json(run), encoding="utf-8")
    for failure in run.failures:
        print(f"zemm.isa: {failure}", file=sys.stderr)
    if not run.lines:
        return
    table = report.markdown if args.markdown else report.text
    if not args.measure:
        print(table(header, run.lines))
    if isinstance(run, _Run):
        if few := run.few():
            print(f"\n{table(WEIGHTS_HEADER, few)}")
    elif run.predictions:
        from zemm.isa.cpu import prediction

        lines = [line for line in run.predictions if line.measured] if args.measure else run.predictions
        print("" if args.measure else "\n", end="")
        print(table(prediction.MEASURED_HEADER if args.measure else prediction.HEADER, lines))
    if not args.markdown:
        print("".join(f"skipped: {sentence}\n" for sentence in run.skipped), end="")


@program
def main(arguments: list[str] | None = None) -> int:
    args = _parser().parse_args(arguments)
    try:
        run, header = _run_of(args)
        run.run()
        _write(args, run, header)
        return 2 if run.failures else 0
    except IsaError as error:
        print(f"zemm.isa: {error}", file=sys.stderr)
    except BrokenPipeError:
        raise
    except OSError as error:
        print(f"zemm.isa: {error.filename}: {error.strerror}", file=sys.stderr)
    return 2
