# SPDX-License-Identifier: Apache-2.0
"""The cases of zemm.warm(), and their creation in several processes. (In threads of one process the
compiler of the OpenCL CPU runtime builds little more than one kernel at a time.)"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import zemm
from zemm._layers.first_pass import kernels_of
from zemm._library import check
from zemm._programs.usage import UsageError
from zemm.benchdnn.data import build
from zemm.benchdnn.grammar import batch
from zemm.benchdnn.grammar.expand import Job, Walker
from zemm.benchdnn.grammar.verbose_log import matmuls, read
from zemm.benchdnn.run import verdict
from zemm.benchdnn.run.processes import Pool
from zemm.primitive import PrimitiveDesc


def jobs(cases: str | os.PathLike[str] | Iterable[str], engine: zemm.Engine) -> list[Job]:
    """The different cases, to be created only, on this engine. InvalidArgumentsError if they cannot
    be read."""
    walker = Walker()
    try:
        walker.run(["--matmul", *_arguments(cases, engine.kind)])
    except UsageError as error:
        raise zemm.InvalidArgumentsError(f"cases: {str(error).removeprefix('err: ')}") from None
    if not walker.jobs:
        raise zemm.InvalidArgumentsError("cases: there is none, such as --dt=s8:u8:f32 31x2560:2560x2560")
    found: dict[str, Job] = {}
    for job in walker.jobs:
        options = replace(job.case.options, engine=(engine.kind, engine.index), mode="I", mem_check=False)
        case = replace(job.case, options=options)
        found.setdefault(case.repro(), Job(len(found), case, ""))
    return list(found.values())


def _arguments(cases: str | os.PathLike[str] | Iterable[str], kind: str) -> list[str]:
    """The cases as arguments of zemm-benchdnn."""
    is_single = getattr(cases, "shape", None) == ()  # of numpy, which cannot be iterated
    if is_single or isinstance(cases, bytes) or not isinstance(cases, str | os.PathLike | Iterable):
        raise zemm.InvalidArgumentsError(f"cases is {check.shown(cases)}, neither a file nor case lines")
    if not isinstance(cases, str | os.PathLike):
        return [word for line in cases for word in check.instance(line, str, "a line of cases").split()]
    path = batch.find(check.path(cases, "cases"), [])
    lines = read(path, "")
    if any("_verbose," in line for line in lines):
        return [word for case in matmuls(lines, kind).executions for word in case]
    return [f"--batch={path}"]


def create(cases: list[Job], processes: int) -> Iterator[tuple[str, str, float]]:
    """Create the primitive of each case. Gives its line, why it was refused or "", and seconds."""
    if not cases:
        return
    with Pool(cases, max(1, min(processes, len(cases))), lambda job, stage: None) as pool:
        for job, result, milliseconds in pool.in_order():
            is_created = result.state == verdict.INITIALIZED
            reason = "" if is_created else result.sentence or result.reason
            yield job.case.repro(), reason, milliseconds / 1e3


def needed(jobs: list[Job], engine: zemm.Engine, refused: dict[str, str]) -> list[Job]:
    """The first case for each set of kernels. Kernels of reorders are built here, as they are few."""
    seen: set[Any] = set()
    wanted = []
    for job in jobs:
        try:
            pd = build.primitive_desc(zemm, engine, job.case)
            for reorder in _packing(pd, job):
                if _is_new(reorder, seen):
                    zemm.Primitive(reorder)
        except zemm.ZemmError as error:
            refused[job.case.repro()] = str(error)
            continue
        if _is_new(pd, seen):
            wanted.append(job)
    return wanted


def _is_new(pd: PrimitiveDesc, seen: set[Any]) -> bool:
    """Whether the descriptor has kernels that were not seen before."""
    new = kernels_of(pd) - seen
    seen |= new
    return bool(new)


def _packing(pd: PrimitiveDesc, job: Job) -> list[PrimitiveDesc]:
    """The reorders of dense weights into the layout that the library chose for tag any."""
    weights = pd.query_md("weights_md")
    if job.case.tags[1] != "any" or job.case.strides[1] or any(job.case.runtime_masks):
        return []
    letters = "abcdefghijkl"[: weights.ndims]
    plain = [letters, letters[:-2] + letters[:-3:-1]]
    sources = [zemm.MemoryDesc(weights.dims, weights.data_type, tag=tag) for tag in plain]
    return [zemm.ReorderPrimitiveDesc(pd.engine, source, weights) for source in sources]
