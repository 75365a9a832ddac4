# SPDX-License-Identifier: Apache-2.0
"""The matmul rows of kernels.json, and typical problems with which they are analysed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import zemm
from zemm._library import kernels
from zemm._library.kernels import Row
from zemm._library.lists import FLOAT_SCALINGS
from zemm.benchdnn.data import build
from zemm.benchdnn.grammar.expand import expand

from judge.errors import IsaError
from judge.model import Family


@dataclass(frozen=True)
class Problem:
    """A problem. words: arguments of zemm-benchdnn --matmul, with {m} for the number of rows. tag:
    of weights.

    group: elements of K in a group; 0: no groups.
    """

    name: str
    tag: str
    words: str
    group: int


GROUPED = (
    "--attr-scales=src:per_tensor:f16:1x128+wei:per_tensor:f16:128x1 "
    "--attr-zero-points=wei:per_tensor:u8:128x1 --attr-precomputed-reductions=src:per_tensor:s32:1x128"
)
_SHAPE = "{m}x4096:4096x14336"


def weights_only(fpmath: str) -> str:
    return (
        "--attr-scales=wei:per_tensor:f16:128x1 --attr-zero-points=wei:per_tensor:u8:128x1 "
        f"--attr-fpmath={fpmath}:true"
    )


def weights_mx() -> str:
    rule = FLOAT_SCALINGS["mx"]
    return f"--attr-scales=wei:per_tensor:{rule.type}:{rule.group}x1"


def both_scaled(scaling: str) -> str:
    """Scales of src and weights as in MX or NVFP4."""
    rule = FLOAT_SCALINGS[scaling]
    sides = ("src", f"1x{rule.group}"), ("wei", f"{rule.group}x1")
    return "--attr-scales=" + "+".join(f"{side}:per_tensor:{rule.type}:{group}" for side, group in sides)


PROBLEMS = [
    *(
        Problem("s8:u8 groups", tag, f"--dt=s8:u8:f16 --wtag={tag} {GROUPED} {_SHAPE}", 128)
        for tag in ("any", "ab", "ba")
    ),
    *(
        Problem(f"s8:{wei} groups", "any", f"--dt=s8:{wei}:f16 --wtag=any {GROUPED} {_SHAPE}", 128)
        for wei in ("u4", "u2")
    ),
    Problem("u8:s8", "any", f"--dt=u8:s8:f16 --wtag=any --attr-scales=wei:per_oc:f32 {_SHAPE}", 0),
    *(Problem("f16:f16", tag, f"--dt=f16:f16:f16 --wtag={tag} {_SHAPE}", 0) for tag in ("any", "ab", "ba")),
    Problem("bf16:bf16", "any", f"--dt=bf16:bf16:bf16 --wtag=any {_SHAPE}", 0),
    *(
        Problem(
            f"f16:{wei} groups", "any", f"--dt=f16:{wei}:f16 --wtag=any {weights_only('f16')} {_SHAPE}", 128
        )
        for wei in ("u8", "u4", "u2")
    ),
    *(
        Problem("f32:f32 tf32", tag, f"--dt=f32:f32:f32 --wtag={tag} --attr-fpmath=tf32 {_SHAPE}", 0)
        for tag in ("any", "ab", "ba")
    ),
    Problem("f32:f32 strict", "any", f"--dt=f32:f32:f32 --wtag=any {_SHAPE}", 0),
    Problem(
        "f32:u8 groups strict", "any", f"--dt=f32:u8:f32 --wtag=any {weights_only('strict')} {_SHAPE}", 128
    ),
    Problem("f32:f32 bf16", "any", f"--dt=f32:f32:f32 --wtag=any --attr-fpmath=bf16 {_SHAPE}", 0),
    Problem("f32:u8 groups bf16", "any", f"--dt=f32:u8:f32 --wtag=any {weights_only('bf16')} {_SHAPE}", 128),
    Problem("f32:u8 groups tf32", "any", f"--dt=f32:u8:f32 --wtag=any {weights_only('tf32')} {_SHAPE}", 128),
    Problem("f32:u4 groups tf32", "any", f"--dt=f32:u4:f32 --wtag=any {weights_only('tf32')} {_SHAPE}", 128),
    *(
        Problem(f"{src}:{wei}", "any", f"--dt={src}:{wei}:f16 --wtag=any {_SHAPE}", 0)
        for src, wei in (("f16", "f8_e5m2"), ("f16", "f8_e4m3"), ("f8_e4m3", "f8_e4m3"), ("bf16", "f8_e4m3"))
    ),
    *(
        Problem(f"{src}:{wei} mx", "any", f"--dt={src}:{wei}:f16 --wtag=any {scales} {_SHAPE}", 32)
        for src, wei, scales in (
            ("f16", "f4_e2m1", weights_mx()),
            ("bf16", "f4_e2m1", weights_mx()),
            ("f16", "s4", f"{weights_mx()} --attr-fpmath=f16:true"),
            ("f8_e4m3", "f8_e4m3", both_scaled("mx")),
            ("f4_e2m1", "f4_e2m1", both_scaled("mx")),
            ("s8", "s4", both_scaled("mx")),
        )
    ),
    Problem(
        "f4_e2m1:f4_e2m1 nvfp4",
        "any",
        f"--dt=f4_e2m1:f4_e2m1:f16 --wtag=any {both_scaled('nvfp4')} {_SHAPE}",
        16,
    ),
]

FEW_ROWS = 16  # a row with a tile of at most this height is analysed with as many rows of src
MANY_ROWS = 2172  # rows of src for higher tiles


def why_not(row: Row, family: Family) -> str:
    """The reason why the row cannot run on the family; '' if it can."""
    if row.is_dp4a and family.dpas_row_cycles:
        return f"{family.name} has XMX, the row is for GPUs without"
    if row.is_xe and not row.is_dp4a and not family.dpas_row_cycles:
        return f"{family.name} has no XMX"
    if row.block2d and not family.block2d:
        return f"{family.name} has no 2-D block loads"
    if row.is_xe and row.work_items != family.sub_group:
        return f"a DPAS of {family.name} has {family.sub_group} lanes, the row is for {row.work_items}"
    return ""


def is_for(row: Row, problem: Problem) -> bool:
    """Whether the row is analysed with the problem.

    Wide tiles leave no registers for scales along K, so the dispatcher chooses a narrower one
    for groups. Rows without 2-D block loads have plain weights packed first, so their loop is
    that of packed weights.
    """
    if row.is_xe and not row.block2d and problem.tag != "any":
        return False
    return not (row.is_xe and row.tile_n >= 64 and problem.group)


def chosen(names: str) -> list[Row]:
    """The rows with the names in a comma-separated list; by default all Xe rows with DPAS or
    DP4A."""
    known = kernels.rows()
    if not names:
        return [row for row in known if row.is_xe and row.has_dots]
    by_name = {row.name: row for row in known}
    result = []
    for name in names.split(","):
        if name not in by_name:
            raise IsaError(f"kernels.def has no row {name!r}; its matmul rows are {', '.join(by_name)}")
        result.append(by_name[name])
    return result


def words_of(row: Row, problem: Problem, m: int = 0) -> str:
    """m: rows of src; 0: as many as the row is judged with."""
    return problem.words.format(m=m or (row.tile_m if row.tile_m <= FEW_ROWS else MANY_ROWS))


def names_of(problems: list[Problem]) -> str:
    """The names of problems in one text, such as "s8:u8 groups (any, ab)"."""
    tags: dict[str, list[str]] = {}
    for problem in problems:
        tags.setdefault(problem.name, []).append(problem.tag)
    return "; ".join(f"{name} ({', '.join(found)})" for name, found in tags.items())


@contextmanager
def forced(row: Row) -> Iterator[None]:
    """ZEMM_KERNEL forces the row meanwhile. The library reads it for each primitive descriptor."""
    before = os.environ.get("ZEMM_KERNEL")
    os.environ["ZEMM_KERNEL"] = row.name
    try:
        yield
    finally:
        if before is None:
            del os.environ["ZEMM_KERNEL"]
        else:
            os.environ["ZEMM_KERNEL"] = before


def module_of(engine: zemm.Engine, row: Row, problem: Problem, m: int = 0) -> tuple[zemm.Module | None, str]:
    """The row's module and '', or None and the reason why the row does not take the problem."""
    jobs, _ = expand(["--matmul", *words_of(row, problem, m).split()])
    (job,) = jobs
    with forced(row):
        try:
            pd = build.primitive_desc(zemm, engine, job.case)
        except NotImplementedError as error:
            return None, _reason(row, str(error))
        return pd.modules()[0], ""


def _reason(row: Row, sentence: str) -> str:
    """The part about this row in the library's sentence about all rows."""
    for part in sentence.split("; "):
        if part.startswith(f"{row.name}: "):
            return part.removeprefix(f"{row.name}: ")
    return sentence
