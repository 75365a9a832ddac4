# SPDX-License-Identifier: Apache-2.0
"""The program zemm-tune: its command line, and the file that it writes."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from zemm._programs.usage import UsageError
from zemm._programs.whole_file import check_writable, write_whole
from zemm._terminal.console import program
from zemm.benchdnn.grammar import atoms
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.expand import Walker
from zemm.benchdnn.grammar.verbose_log import matmuls, read
from zemm.benchdnn.run.runner import skip_reason
from zemm.tune.search import Found, search
from zemm.words import EngineKind

_HELP = """usage: zemm-tune [--out=FILE] [--budget=MS] [options of zemm-benchdnn] --matmul DESC ...
       zemm-tune [--out=FILE] [--budget=MS] [options of zemm-benchdnn] --log=LOG

Times the kernels, and the cuts, that take each problem on this machine, and writes those that are faster
than what the library chooses by itself to FILE (zemm.tuning). The library uses them where the environment
variable ZEMM_TUNING names the file.

Problems come from a command line or case files (--batch=), as for zemm-benchdnn (--engine=gpu,
--cold-cache=wei, ...), or from a log that a program has written with ZEMM_VERBOSE=profile, or with
ONEDNN_VERBOSE=1 on oneDNN.
A choice is written only if it was at least 3 % faster in each of five comparisons. --budget: about how
long each kernel is timed in a comparison (300 ms). Nothing else should run on the machine meanwhile.

Exit code: 0 when the file was written, 1 when a problem was refused or the command line is wrong, 2 for
an unknown option or tag."""


@program
def main(argv: Sequence[str] | None = None) -> int:
    """Tune the problems of a command line, by default the process's own. Returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if "--help" in arguments or "-h" in arguments:
        print(_HELP)
        return 0
    for name in ("ZEMM_KERNEL", "ZEMM_TUNING"):
        if os.environ.pop(name, None) is not None:
            print(f"# {name} is not used here: what the library chooses by itself is the measure")
    try:
        out = _taken(arguments, "--out", "zemm.tuning")
        budget = _taken(arguments, "--budget", "300")
        atoms.integer(budget, "err: --budget", 1, 10**9)
        check_writable(Path(out), "--out")
        return _tune(_cases(arguments), Path(out), float(budget))
    except UsageError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130


def _taken(arguments: list[str], name: str, default: str) -> str:
    """Removes an option from the arguments and returns its value."""
    for argument in [a for a in arguments if a.startswith(f"{name}=")]:
        arguments.remove(argument)
        default = argument.partition("=")[2]
    return default


def _cases(arguments: list[str]) -> list[Case]:
    log = _taken(arguments, "--log", "")
    walker = Walker()
    if log:
        plain = Walker()
        plain.run([*arguments, "--matmul", "1x1:1x1"])  # the options are those of all problems
        found = matmuls(read(Path(log), "--log="), plain.options.engine[0])
        arguments = [*arguments, "--matmul", *(word for case in found.executions for word in case)]
    walker.run(["--mode=P", *arguments])
    return list({job.case.full_repro(): job.case for job in walker.jobs}.values())


def _tune(cases: list[Case], out: Path, budget_ms: float) -> int:
    import zemm

    if not cases:
        raise UsageError("err: there is no problem to tune")
    kind, index = cases[0].options.engine
    if any(case.options.engine != (kind, index) for case in cases):
        raise UsageError("err: one file is for one --engine")
    try:
        engine = zemm.Engine(cast(EngineKind, kind), index)
    except zemm.ZemmError as error:
        raise UsageError(f"err: --engine={kind}:{index} cannot be used: {error}") from None
    header, choices, refused = _header(engine), [], 0
    for case in cases:
        line = case.repro()
        print(f"# {line}", flush=True)
        reason = skip_reason(case) or ("" if case.is_dense else "its tensors are not dense")
        if not reason and any(case.runtime_masks):
            reason = "runtime dimensions are known at execution only: tune the shapes that occur"
        try:
            if reason:
                raise NotImplementedError(reason)
            found = search(engine, case, budget_ms, print if case.options.verbose else lambda _: None)
        except (NotImplementedError, ValueError, MemoryError) as error:
            print(f"#   refused: {error}")
            refused += 1
            continue
        print(f"#   {_sentence(found)}", flush=True)
        if found.tuning:
            choices.append(f"# {line}: {_sentence(found)}")
            choices += _body(found.tuning)
    write_whole(out, "\n".join([*header, *choices, "end", ""]).encode("utf-8", "backslashreplace"), "--out")
    count = sum(choice.startswith("# ") for choice in choices)
    print(f"{out}: choices for {count} of {len(cases)} problems; ZEMM_TUNING={out.resolve()} uses them")
    return 1 if refused else 0


def _header(engine: object) -> list[str]:
    """The lines of a file before its choices."""
    import zemm

    md = zemm.MemoryDesc((1, 1), "f32", tag="ab")
    return zemm.MatmulPrimitiveDesc(engine, md, md, md).tuning().splitlines()[:3]  # type: ignore[arg-type]


def _body(tuning: str) -> list[str]:
    return tuning.splitlines()[3:-1]


def _sentence(found: Found) -> str:
    if not found.usual_ms:
        return f"{found.usual} stays"
    times = f"{found.choice_ms:.4g} ms, {found.usual_ms / found.choice_ms:.2f}x of {found.usual}"
    return f"{found.choice}: {times}" + ("" if found.tuning else ", not always faster: not used")
