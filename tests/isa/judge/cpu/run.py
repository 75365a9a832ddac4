# SPDX-License-Identifier: Apache-2.0
"""The rows for CPUs: each is built by the OpenCL CPU runtime for a CPU, and llvm-mca counts the cycles of its
K loop."""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import zemm
from support_rows import constant_id, state
from support_spirv import specialised
from zemm._library import kernels

from judge.binary import sections_of
from judge.cpu.assembly import Function, parse
from judge.cpu.loops import TILE_SUMS, k_loops, of_one_row, spills
from judge.cpu.mca import CPUS, Cpu, estimate, estimate_tiles
from judge.cpu.tools import Tools
from judge.errors import IsaError
from judge.rows import GROUPED, MANY_ROWS, Problem, Row, module_of, weights_only

SECONDS = 300  # time limit of a build, which takes about one
_ELF = b"\x7fELF"
SUPPORT = Path(__file__).resolve().parents[3] / "support"
# A process of its own, because the OpenCL runtime reads the target CPU from its environment once, and
# ends the process when it cannot generate code.
_BUILD = """
import sys, pathlib, support_level_zero
module = pathlib.Path(sys.argv[1])
module.with_suffix(".bin").write_bytes(
    support_level_zero.Driver().module(module.read_bytes(), flags=sys.argv[2]).native())
"""

# Rows of src: one, as when a language model writes, and many, as when it reads.
COUNTS = {"1 row": 1, "many rows": MANY_ROWS}
_SHAPE = "{m}x4096:4096x14336"
_GROUPS_OF_32 = "--attr-scales=src:per_tensor:f32:1x32+wei:per_tensor:f16:32x1"  # as in Q8_0
PROBLEMS = [
    Problem("u8:s8", "any", f"--dt=u8:s8:f32 --wtag=any {_SHAPE}", 0),
    Problem("s8:u8 groups", "any", f"--dt=s8:u8:f16 --wtag=any {GROUPED} {_SHAPE}", 128),
    Problem("s8:u4 groups", "any", f"--dt=s8:u4:f16 --wtag=any {GROUPED} {_SHAPE}", 128),
    Problem("s8:s8 groups of 32", "any", f"--dt=s8:s8:f32 --wtag=any {_GROUPS_OF_32} {_SHAPE}", 32),
    Problem("f32:f32", "any", f"--dt=f32:f32:f32 --wtag=any {_SHAPE}", 0),
    Problem("bf16:bf16", "any", f"--dt=bf16:bf16:bf16 --wtag=any {_SHAPE}", 0),
    Problem("f32:u8 groups", "any", f"--dt=f32:u8:f32 --wtag=any {weights_only('strict')} {_SHAPE}", 128),
    Problem("f32:u4 groups", "any", f"--dt=f32:u4:f32 --wtag=any {weights_only('strict')} {_SHAPE}", 128),
]


def chosen(names: str) -> list[Row]:
    """The rows with these names; by default all in which a work-item owns a tile of several columns."""
    known = {row.name: row for row in kernels.rows() if not row.is_xe}
    if not names:
        return [row for row in known.values() if row.tile_n > 1]
    for name in names.split(","):
        if name not in known:
            raise IsaError(f"kernels.def has no such CPU row: {name}")
    return [known[name] for name in names.split(",")]


def is_for(row: Row, problem: Problem) -> bool:
    """Rows of f32 multiply bytes as well, but the dispatcher takes them for that only on CPUs for which no
    row of bytes is. Rows of tiles scale longer groups by a loop within the loop of products."""
    if row.has_tiles and problem.group > 32:
        return False
    return row.src != "any" or not problem.words.startswith(("--dt=u8", "--dt=s8"))


def object_of(native: bytes) -> bytes:
    """The object file in a native binary of libze_cpu.so: behind a header, the runtime's ELF file
    has it in its section .ocl.obj."""
    start = native.find(_ELF)
    found = sections_of(native[start:]).get(".ocl.obj", b"") if start >= 0 else b""
    start = found.find(_ELF)
    if start < 0:
        raise IsaError("the native binary has no object file in a section .ocl.obj")
    return found[start:]


def build(spirv: Path, target: str, options: str) -> bytes:
    """The native binary for a target of the runtime. IsaError if the runtime fails."""
    done = subprocess.run(
        [sys.executable, "-c", _BUILD, str(spirv), options],
        env=os.environ | {"CL_CONFIG_CPU_TARGET_ARCH": target, "PYTHONPATH": str(SUPPORT)},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS,
        check=False,
    )
    if done.returncode:
        said = " ".join((done.stdout + done.stderr).split())[-2000:]
        raise IsaError(f"the OpenCL CPU runtime does not build it for {target}; it said: {said}")
    return spirv.with_suffix(".bin").read_bytes()


def figures_of(functions: list[Function], cpu: Cpu, tools: Tools, row: Row, m: int) -> dict[str, Any]:
    """The figures of the K loop for as many rows as are multiplied at once, or for one."""
    found = k_loops(functions)
    if not found:
        raise IsaError("the machine code has no loop that multiplies")
    loop = of_one_row(found, row.tile_n) if m == 1 else found[0]
    if calls := sum(i.is_call for i in loop.instructions):
        raise IsaError(f"the K loop calls {calls} functions")
    if loop.has_tiles:
        sums = TILE_SUMS * len({i.operands.rpartition("%")[2] for i in loop.multiplies})
        judged = estimate_tiles(loop.instructions, cpu, tools)
    else:
        sums = row.tile_n * (row.rows if loop is found[0] else 1)
        judged = estimate(loop.instructions, cpu, tools)
    return {
        "k": 0 if loop.products % sums else loop.products // sums,
        "multiplies": len(loop.multiplies),
        "loads": judged.loads,
        "stores": judged.stores,
        "spills": spills(loop),
        "cycles": round(judged.cycles, 2),
        "limit": round(judged.limit, 2),
        "share": round(judged.limit / judged.cycles, 4),
        "bound": judged.bound,
    }


def _feature(row: Row) -> str | None:
    return row.policy if row.has_tiles else row.feature


def _can_run(row: Row, name: str) -> bool:
    feature = _feature(row)
    return not feature or feature in CPUS[name].features


class Rows:
    """Judged rows, as those of judge.gpu."""

    def __init__(self, devices: list[str], names: str) -> None:
        for name in devices:
            if name not in CPUS:
                raise IsaError(f"device {name!r} is none of the CPUs {', '.join(CPUS)}")
        self.jobs: list[tuple[str, str, str, Callable[[Path], dict[str, Any]]]] = []
        self.skipped: list[str] = []
        self.failures: list[str] = []
        rows = chosen(names)
        self.tools = Tools()
        engine = zemm.Engine("cpu")
        for row in rows:
            for name in devices:
                if not _can_run(row, name):
                    self.skipped.append(f"{row.name} on {name}: {name} has no {_feature(row)}")
            for problem in (p for p in PROBLEMS if is_for(row, p)):
                self._add(engine, row, problem, devices)

    def version(self) -> str:
        return f"llvm-mca {self.tools.llvm}"

    def _add(self, engine: zemm.Engine, row: Row, problem: Problem, devices: list[str]) -> None:
        for count, m in COUNTS.items():
            if row.has_tiles and m == 1:
                continue
            module, _ = module_of(engine, row, problem, m)
            for name in devices if module else []:
                if _can_run(row, name):
                    figures = partial(self._figures, module, CPUS[name], row, m)
                    self.jobs.append((row.name, f"{problem.name}, {count}", name, figures))

    def _figures(self, module: zemm.Module, cpu: Cpu, row: Row, m: int, folder: Path) -> dict[str, Any]:
        path = folder / "module.spv"
        constants = dict(module.constants)
        if row.has_tiles:  # here perhaps in software
            constants[constant_id("SPEC_TILES")] = state("TILES_IN_HARDWARE")
        path.write_bytes(specialised(module.spirv, constants))
        binary = folder / "module.o"
        binary.write_bytes(object_of(build(path, cpu.target, module.build_flags)))
        return figures_of(parse(self.tools.disassembly(binary)), cpu, self.tools, row, m)
