# SPDX-License-Identifier: Apache-2.0
"""Compile the Xe kernels with Intel's offline compiler and say what their K loops do (docs/xe.md)."""

import argparse
import json
import re
import sys
import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from zemm.isa import report
from zemm.isa.analysis import Analysis, analyse
from zemm.isa.compiler import Compiled, Compiler
from zemm.isa.errors import IsaError
from zemm.isa.model import Family, family_of
from zemm.isa.report import Line
from zemm.isa.spirv import specialised

if TYPE_CHECKING:
    from zemm.isa.rows import Problem


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m zemm.isa", description=__doc__)
    parser.add_argument(
        "--device", default="pvc,dg2,tgllp", help="ocloc's names, with commas (default: %(default)s)"
    )
    parser.add_argument("--row", default="", help="names in kernels.def, with commas (default: the Xe rows)")
    parser.add_argument("--ocloc", default="", help="compiler: COMMAND INPUT.spv DEVICE FOLDER OPTIONS")
    parser.add_argument("--json", metavar="FILE", help="write the figures")
    parser.add_argument("--markdown", action="store_true", help="print the table for a document")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the modules and the compiler's dumps there")
    bare = parser.add_argument_group("a module instead of zemm's rows")
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


class _Source(NamedTuple):
    spirv: bytes
    flags: str
    kernel: str
    group: int


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

    def module(
        self,
        module: bytes,
        options: str,
        kernel: str,
        names: tuple[str, str, str],
        group: int,
        tile: tuple[int, int] | None,
    ) -> None:
        """Compile and analyse a module. An IsaError is collected, so that the other modules are
        analysed, too."""
        try:
            self.lines.append(Line(*names, self.analysis(module, options, kernel, names, group, tile)))
        except IsaError as error:
            self.failures.append(f"{', '.join(name for name in names if name)}: {error}")

    def analysis(
        self,
        module: bytes,
        options: str,
        kernel: str,
        names: tuple[str, str, str],
        group: int,
        tile: tuple[int, int] | None,
    ) -> Analysis:
        device = names[2]
        compiled = self.compile(module, options, kernel, device, names)
        analysis = analyse(compiled, self.devices[device], group, tile)
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
        _ = self.compiler  # if it is missing, fail here once, not for each device
        for device in self.devices:
            names = (path.stem, "", device)
            self.module(module, self.args.options, self.args.kernel, names, self.args.group_k, tile)

    def rows(self) -> None:
        from zemm.isa.modules import engine, module_of
        from zemm.isa.rows import PROBLEMS, chosen, names_of

        rows = chosen(self.args.row)
        if not rows:
            raise IsaError("kernels.def has no Xe rows: name others with --row")
        _ = self.compiler  # if it is missing, fail before the modules of the rows are made
        cpu = engine()
        for row in rows:
            reasons = []
            problems: dict[_Source, list[Problem]] = {}  # by the module that zemm builds for them
            for problem in filter(row.is_for, PROBLEMS):
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
                impossible = row.why_not(family)
                if impossible:
                    self.skipped.append(f"{row.name} on {device}: {impossible}")
                    continue
                tile = (row.tile_m, row.tile_n) if row.is_xe else None
                for source, same in problems.items():
                    names = (row.name, names_of(same), device)
                    self.module(source.spirv, source.flags, source.kernel, names, source.group, tile)

    def write(self) -> None:
        if self.args.json:
            figures = {
                "compiler": self.compiler.version(),
                "skipped": self.skipped,
                "failures": self.failures,
                "figures": [line.json() for line in self.lines],
            }
            Path(self.args.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        for failure in self.failures:
            print(f"zemm.isa: {failure}", file=sys.stderr)
        if not self.lines:
            return
        print(report.markdown(self.lines) if self.args.markdown else report.text(self.lines))
        if not self.args.markdown:
            print("".join(f"skipped: {sentence}\n" for sentence in self.skipped), end="")


def main(arguments: list[str] | None = None) -> int:
    args = _parser().parse_args(arguments)
    try:
        run = _Run(args)
        if args.spirv:
            run.bare()
        else:
            run.rows()
        run.write()
        return 2 if run.failures else 0
    except IsaError as error:
        print(f"zemm.isa: {error}", file=sys.stderr)
    except OSError as error:
        print(f"zemm.isa: {error.filename}: {error.strerror}", file=sys.stderr)
    return 2
