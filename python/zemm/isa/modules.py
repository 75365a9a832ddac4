# SPDX-License-Identifier: Apache-2.0
"""Asks zemm for the module that it would build for a row and a problem."""

import zemm
from zemm.benchdnn.data import build
from zemm.benchdnn.grammar.expand import expand
from zemm.isa.errors import IsaError
from zemm.isa.rows import Problem, Row, forced, words_of


def engine() -> zemm.Engine:
    try:
        return zemm.Engine("cpu")
    except (ValueError, RuntimeError, NotImplementedError) as error:
        raise IsaError(f"the CPU device, from which modules come here, cannot be opened: {error}") from None


def module_of(engine: zemm.Engine, row: Row, problem: Problem) -> tuple[zemm.Module | None, str]:
    """The row's module and '', or None and the reason why the row does not take the problem."""
    jobs, _ = expand(["--matmul", *words_of(row, problem).split()])
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
