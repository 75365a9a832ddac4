# SPDX-License-Identifier: Apache-2.0
"""The rows for Intel GPUs, each with the modules that zemm builds for its problems."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import zemm
from support_spirv import specialised

from judge.analysis import analyse
from judge.compiler import Compiler
from judge.errors import IsaError
from judge.model import family_of
from judge.rows import PROBLEMS, Problem, Row, chosen, is_for, module_of, names_of, why_not


class _Source(NamedTuple):
    spirv: bytes
    flags: str
    kernel: str
    group: int


class Rows:
    """Judged rows: of `jobs` each is (kernel, problem, device, figures from a folder)."""

    def __init__(self, devices: list[str], names: str, command: str = "") -> None:
        self.families = {name: family_of(name) for name in devices}
        self.jobs: list[tuple[str, str, str, Callable[[Path], dict[str, Any]]]] = []
        self.skipped: list[str] = []
        self.failures: list[str] = []
        rows = chosen(names)
        self.compiler = Compiler(command)
        self.version = self.compiler.version
        engine = zemm.Engine("cpu")
        for row in rows:
            self._add(row, self._sources(engine, row))

    def _sources(self, engine: zemm.Engine, row: Row) -> dict[_Source, list[Problem]]:
        """The problems by the module that zemm builds for them."""
        found: dict[_Source, list[Problem]] = {}
        reasons = []
        for problem in (p for p in PROBLEMS if is_for(row, p)):
            module, why = module_of(engine, row, problem)
            if module:
                spirv = specialised(module.spirv, module.constants)
                source = _Source(spirv, module.build_flags, module.kernel, problem.group)
                found.setdefault(source, []).append(problem)
            else:
                reasons.append(f"{problem.name} {problem.tag}: {why}")
        if not found:
            self.failures.append(f"{row.name} takes none of the problems: {'; '.join(reasons)}")
        return found

    def _add(self, row: Row, sources: dict[_Source, list[Problem]]) -> None:
        for device, family in self.families.items():
            if impossible := why_not(row, family):
                self.skipped.append(f"{row.name} on {device}: {impossible}")
                continue
            tile = (row.tile_m, row.tile_n) if row.is_xe else None
            for source, problems in sources.items():
                figures = partial(self._figures, source, device, tile)
                self.jobs.append((row.name, names_of(problems), device, figures))

    def _figures(
        self, source: _Source, device: str, tile: tuple[int, int] | None, folder: Path
    ) -> dict[str, Any]:
        path = folder / "module.spv"
        path.write_bytes(source.spirv)
        compiled = self.compiler.run(path, device, source.flags, folder, source.kernel)
        analysis = analyse(compiled, self.families[device], source.group, tile)
        if analysis.calls:
            raise IsaError(f"the loop calls {analysis.calls} functions, which the compiler does not know")
        return analysis.figures()
