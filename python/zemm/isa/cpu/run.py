# SPDX-License-Identifier: Apache-2.0
"""Analyses the rows of kernels.def for CPUs."""

import os
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from zemm.isa.cpu.analysis import Shape, analyse
from zemm.isa.cpu.assembly import Function
from zemm.isa.cpu.clock import Clock
from zemm.isa.cpu.compiler import compiled
from zemm.isa.cpu.devices import CPUS
from zemm.isa.cpu.prediction import Prediction, predict
from zemm.isa.cpu.report import Line
from zemm.isa.cpu.rows import (
    COLUMNS,
    COUNTS,
    PROBLEMS,
    TIMED,
    chosen,
    constants_of,
    counts_of,
    is_for,
    why_not,
)
from zemm.isa.cpu.tools import Tools
from zemm.isa.errors import IsaError
from zemm.isa.modules import engine, module_of
from zemm.isa.rows import Problem, Row
from zemm.isa.spirv import specialised


class _Source(NamedTuple):
    spirv: bytes
    flags: str


class _Case(NamedTuple):
    row: Row
    problem: Problem  # with its dimensions
    src_rows: str  # one of COUNTS
    source: _Source

    @property
    def label(self) -> str:
        return f"{self.problem.name}, {self.src_rows}"


class _Build(NamedTuple):
    source: _Source
    target: str
    name: str  # of a folder for what the build leaves


class CpuRun:
    def __init__(self, devices: list[str], row_names: str, keep: str | None, measure: bool = False) -> None:
        """measure: time the rows beside the prediction, too. The device is then the machine's own CPU, for
        which the code is built as zemm builds it; its name says how cycles are counted."""
        self.engine = engine()
        self.clock = Clock(self.engine) if measure else None
        self.devices = {name: CPUS[name] for name in devices}
        if self.clock:
            own = frozenset(self.engine.features)
            self.devices = {name: replace(cpu, target="", features=own) for name, cpu in self.devices.items()}
        self.rows = chosen(row_names)
        self.keep = keep
        self.tools = Tools()
        self.lines: list[Line] = []
        self.predictions: list[Prediction] = []
        self.skipped: list[str] = []
        self.failures: list[str] = []

    def version(self) -> str:
        return self.tools.version()

    def run(self) -> None:
        """Build and analyse all rows, as many at once as there are cores. An IsaError is collected, so
        that the other rows are analysed, too."""
        cases = [(case, device) for case in self._cases() for device in self._devices_of(case.row)]
        builds: dict[tuple[_Source, str], _Build] = {}
        for case, device in cases:
            target = self.devices[device].target
            name = re.sub(r"\W+", "-", f"{case.row.name} {case.problem.name} {case.src_rows} {target}")
            builds.setdefault((case.source, target), _Build(case.source, target, name))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            built = dict(zip(builds, pool.map(self._build, builds.values()), strict=True))
            functions = [built[case.source, self.devices[device].target] for case, device in cases]
            for result in pool.map(self._line, *zip(*cases, strict=True), functions):
                if isinstance(result, str):
                    self.failures.append(result)
                else:
                    self.lines.append(result[0])
                    self.predictions += [result[1]] if result[1] else []
        if self.clock:
            self._time({(case.row.name, case.label): case for case, _ in cases})

    def _time(self, cases: dict[tuple[str, str], _Case]) -> None:
        """Time the problems with a prediction, one after the other."""
        assert self.clock
        for prediction in self.predictions:
            case = cases[prediction.kernel, prediction.problem]
            try:
                prediction.measured = self.clock.run(case.row, case.problem)
            except IsaError as error:
                self.failures.append(str(error))
        for prediction in self.predictions:
            if prediction.measured:
                limit = self.clock.limit(prediction.measured.unit)
                prediction.measured = replace(prediction.measured, limit=limit)

    def _cases(self) -> list[_Case]:
        cases = []
        for row in self.rows:
            reasons = []
            taken = False
            for problem in (p for p in PROBLEMS if is_for(row, p)):
                for count, m in counts_of(row).items():
                    m, n = TIMED[m] if self.clock else (m, COLUMNS)
                    asked = replace(problem, words=problem.words.format(m=m, n=n))
                    module, why = module_of(self.engine, row, asked)
                    if module:
                        source = _Source(
                            specialised(module.spirv, constants_of(row, module)), module.build_flags
                        )
                        cases.append(_Case(row, asked, count, source))
                        taken = True
                    else:
                        reasons.append(f"{problem.name}, {count}: {why}")
            if not taken:
                self.failures.append(
                    f"{row.name} takes none of the problems of python/zemm/isa/cpu/rows.py: "
                    f"{'; '.join(reasons)}"
                )
        return cases

    def _devices_of(self, row: Row) -> list[str]:
        result = []
        for name, cpu in self.devices.items():
            impossible = why_not(row, name, cpu)
            if not impossible:
                result.append(name)
            elif (sentence := f"{row.name} on {name}: {impossible}") not in self.skipped:
                self.skipped.append(sentence)
        return result

    def _build(self, build: _Build) -> list[Function] | IsaError:
        with tempfile.TemporaryDirectory(prefix="zemm-isa-") as temporary:
            folder = Path(temporary)
            if self.keep:
                folder = Path(self.keep).resolve() / build.name
                folder.mkdir(parents=True, exist_ok=True)
            spirv = folder / "module.spv"
            spirv.write_bytes(build.source.spirv)
            try:
                return compiled(spirv, build.target, build.source.flags, folder, self.tools)
            except IsaError as error:
                return error

    def _line(
        self, case: _Case, device: str, functions: list[Function] | IsaError
    ) -> tuple[Line, Prediction | None] | str:
        problem, row, cpu = case.label, case.row, self.devices[device]
        try:
            if isinstance(functions, IsaError):
                raise functions
            shape = Shape(row.rows, row.tile_n, min(case.problem.group or row.tile_k, row.tile_k))
            one_row = COUNTS[case.src_rows] == 1
            analysis = analyse(functions, cpu, self.tools, shape, one_row)
        except IsaError as error:
            return f"{row.name}, {problem}, {device}: {error}"
        line = Line(row.name, problem, device, analysis)
        return line, predict(line, analysis, row, case.problem, COUNTS[case.src_rows], cpu.level1)
