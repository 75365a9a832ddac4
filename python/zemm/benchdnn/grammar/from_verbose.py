# SPDX-License-Identifier: Apache-2.0
"""`zemm-benchdnn from-verbose LOG`: prints the matmuls of a program's log as a case file."""

import sys
from pathlib import Path

from zemm._programs.usage import UsageError
from zemm.benchdnn.grammar.expand import expand
from zemm.benchdnn.grammar.verbose_log import matmuls, read

_HELP = """usage: zemm-benchdnn from-verbose LOG > CASES

Prints a case file with the matmuls of LOG, each once, those that ran most often first:

  ZEMM_VERBOSE=profile PROGRAM > LOG        (or ONEDNN_VERBOSE=1 for a program that uses oneDNN)
  zemm-benchdnn from-verbose LOG > CASES
  zemm-benchdnn --mode=P --peak --matmul --batch=CASES"""


def main(arguments: list[str]) -> int:
    """Print the case file of a log. Returns the exit code."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        is_help = arguments in (["--help"], ["-h"])
        print(_HELP, file=sys.stdout if is_help else sys.stderr)
        return 0 if is_help else 1
    for line in case_file(Path(arguments[0])):
        print(line)
    return 0


def case_file(path: Path) -> list[str]:
    """The lines of the case file. UsageError if the log cannot be read or has no matmul."""
    found = matmuls(read(path, "from-verbose "))
    total = sum(found.executions.values())
    lines = [f"# {path.name}: {total} executions of {len(found.executions)} matmuls"]
    if found.damaged:
        lines.append(f"# {found.damaged} lines are damaged")
    for case, executions in sorted(found.executions.items(), key=lambda item: -item[1]):
        times = f"{executions} times" if executions else "created, not executed"
        problem = _problem_of(case)
        lines += ["", f"# {times}", f"{'# ' if problem else ''}{' '.join(case)}"]
        if problem:
            lines.append(f"# cannot be run: {problem}")
    return lines


def _problem_of(case: tuple[str, ...]) -> str:
    """Why zemm-benchdnn does not take a case; empty if it does."""
    try:
        expand(["--matmul", *case])
    except UsageError as error:
        return str(error).splitlines()[0]
    return ""
