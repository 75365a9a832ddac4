# SPDX-License-Identifier: Apache-2.0
"""The matmul rows for CPUs, and typical problems with which they are analysed."""

from zemm import Module
from zemm.isa.cpu.devices import Cpu
from zemm.isa.errors import IsaError
from zemm.isa.rows import GROUPED, MANY_ROWS, Problem, Row, rows, weights_only

# Rows of src: one, as when a language model writes, and many, as when it reads.
COUNTS = {"1 row": 1, "many rows": MANY_ROWS}

# src/kernels/args/matmul_args.h: a machine without AMX gets modules with tiles in software, which are
# not judged.
SPEC_TILES, TILES_IN_HARDWARE = 15, 1

K = 4096
COLUMNS = 14336
# With which rows are timed: for one row of src so many that the weights stay in no cache.
TIMED = {1: (1, COLUMNS), MANY_ROWS: (512, 4096)}

_SHAPE = f"{{m}}x{K}:{K}x{{n}}"
PROBLEMS = [
    Problem("u8:s8", "any", f"--dt=u8:s8:f32 --wtag=any {_SHAPE}", 0),
    Problem("s8:u8 groups", "any", f"--dt=s8:u8:f16 --wtag=any {GROUPED} {_SHAPE}", 128),
    Problem("s8:u4 groups", "any", f"--dt=s8:u4:f16 --wtag=any {GROUPED} {_SHAPE}", 128),
    Problem("f32:f32", "any", f"--dt=f32:f32:f32 --wtag=any {_SHAPE}", 0),
    Problem("bf16:bf16", "any", f"--dt=bf16:bf16:bf16 --wtag=any {_SHAPE}", 0),
    Problem("f16:f16", "any", f"--dt=f16:f16:f16 --wtag=any {_SHAPE}", 0),
    Problem("f32:u8 groups", "any", f"--dt=f32:u8:f32 --wtag=any {weights_only('strict')} {_SHAPE}", 128),
    Problem("f32:u4 groups", "any", f"--dt=f32:u4:f32 --wtag=any {weights_only('strict')} {_SHAPE}", 128),
]


def is_for(row: Row, problem: Problem) -> bool:
    """Whether the row is analysed with the problem. Rows of f32 multiply bytes, too, but the dispatcher
    takes them for that only on CPUs for which no row of bytes is. f16 becomes f32 in all but the rows
    with tiles, as the figures of f32 say. The row with tiles of bf16 multiplies it four times."""
    if problem.types[0] == "f16" and row.src != "f16":
        return False
    return row.src != "any" or not problem.words.startswith(("--dt=u8", "--dt=s8"))


def counts_of(row: Row) -> dict[str, int]:
    """The numbers of rows of src with which the row is analysed. Rows of AMX refuse one."""
    return {name: m for name, m in COUNTS.items() if not row.has_tiles or m > 1}


def _wanted(row: Row) -> str:
    """The feature of the device that the row is for; '' if it is for any. Rows of AMX run everywhere,
    with tiles in software."""
    return row.policy if row.has_tiles else row.feature or ""


def why_not(row: Row, name: str, cpu: Cpu) -> str:
    """The reason why the row cannot run on the CPU; '' if it can."""
    wanted = _wanted(row)
    return f"{name} has no {wanted}" if wanted and wanted not in cpu.features else ""


def constants_of(row: Row, module: Module) -> dict[int, int]:
    """The values of the module's specialisation constants on a CPU that has the row's features."""
    return {**module.constants, SPEC_TILES: TILES_IN_HARDWARE} if row.has_tiles else module.constants


def chosen(names: str) -> list[Row]:
    """The rows with the names in a comma-separated list; by default all in which a work-item owns a
    tile of several columns."""
    known = {row.name: row for row in rows() if not row.is_xe}
    if not names:
        return [row for row in known.values() if row.tile_n > 1]
    for name in names.split(","):
        if name not in known:
            raise IsaError(f"kernels.def has no CPU row {name!r}; they are {', '.join(known)}")
    return [known[name] for name in names.split(",")]
