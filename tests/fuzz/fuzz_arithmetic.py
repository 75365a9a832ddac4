# SPDX-License-Identifier: Apache-2.0
"""`fuzz.py arithmetic`: random matmuls beside the driver's numpy reference.

    python tests/fuzz/fuzz.py arithmetic [--seconds=60] [--seed=N] [--only=ROW] [--mask=FEATURES]
                                    [--failures=FILE]

Each category of forms (no groups, groups of rows or of K; integers of 8 or 4 bits or floats; few or many
rows) has its turn. A form (types, attributes, layouts, groups, a forced kernel with its cut) is planned
with many sizes. The library says in its log what it decides for each: the row, the constants of its
kernels, the cut. Of many forms of a category, that with the most new combinations of decisions is chosen.
Sizes of it on both sides of a change of the decision are run and compared, those first whose decision has
not run yet, and some of the other forms for which kernels are built already. A case that fails, or ends or
hangs its process, is a line of the file of failures, which a shell can run. Where sums stay exact, some
cases have any bytes instead of the driver's small values, in files that --buffer-prefix names. Lines of
tests/fuzz/seeds/arithmetic run first.
"""

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
SEEDS = FOLDER / "seeds" / "arithmetic"
WORKER = [sys.executable, str(FOLDER / "fuzz_arithmetic_worker.py")]
LONGEST = 120  # seconds of one step, the build of its kernels included


@dataclass
class Report:
    """The outcome of the cases so far. planned and executed: decisions."""

    failures: list[str] = field(default_factory=list)
    states: Counter[str] = field(default_factory=Counter)
    planned: set[tuple[str, ...]] = field(default_factory=set)
    executed: set[tuple[str, ...]] = field(default_factory=set)
    forms: int = 0

    def summary(self) -> str:
        rows, constants, cuts = (len({d[part] for d in self.executed}) for part in range(3))
        cases = ", ".join(f"{state} {count}" for state, count in self.states.most_common())
        return (
            f"arithmetic: {self.forms} forms, cases: {cases}\n"
            f"arithmetic: {len(self.executed)} decisions were executed ({rows} rows, {constants} lists of "
            f"constants, {cuts} kinds of cuts), {len(self.planned - self.executed)} others were planned only"
        )


class Watched:
    """A worker process, whose steps come one by one. given: what it reads from stdin."""

    def __init__(self, command: list[str], given: str = "", mask: str = "") -> None:
        environment = os.environ | {"ZEMM_DEVICE_MASK": mask} if mask else None
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, bufsize=0
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with self.process.stdin as stdin:
            stdin.write(given.encode())
        self.stdout = self.process.stdout
        self.rest = b""

    def step(self) -> dict[str, Any] | str:
        """The next step, or how the process ended; "" if it ended well."""
        while b"\n" not in self.rest:
            if not select.select([self.stdout], [], [], LONGEST)[0]:
                self.process.kill()
                self.process.wait()
                return f"takes more than {LONGEST} s"
            more = self.stdout.read(1 << 16)
            if not more:
                status = self.process.wait()
                return f"ends the process with status {status}" if status else ""
            self.rest += more
        line, _, self.rest = self.rest.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found


def fuzz(seconds: float, seed: int, only: str = "", mask: str = "", failures: Path | None = None) -> Report:
    """Run for so many seconds. failures: a file to which lines of failing cases are added at once."""
    report, end, round_ = Report(), time.monotonic() + seconds, 0
    folder = failures.parent if failures else Path(tempfile.mkdtemp(prefix="zemm-fuzz-"))
    files = [str(path) for path in sorted(SEEDS.glob("*"))]

    def fail(line: str, why: str) -> None:
        report.failures.append(f"{line}  # {why}")
        if failures:
            with failures.open("a") as file:
                file.write(f"{line}  # {why}\n")

    while files or time.monotonic() < end:
        wanted = {
            "seed": seed + 1_000_003 * round_, "only": only, "files": files,
            "seconds": max(0.0, end - time.monotonic()), "folder": str(folder),
        }  # fmt: skip
        watched = Watched([*WORKER, json.dumps(wanted)], json.dumps(sorted(report.executed)), mask)
        current, files, round_ = "", [], round_ + 1
        while isinstance(step := watched.step(), dict):
            if "start" in step:
                current = step["start"]
            elif "planned" in step:
                report.forms += 1
                report.planned.update(tuple(d) for d in step["planned"])
            elif "end" in step:
                report.states[step["end"]] += 1
                report.executed.update(tuple(d) for d in step["decisions"])
                if step["end"] == "FAILED":
                    wrong, total = step["errors"]
                    fail(current, f"{wrong} of {total} wrong; {step['why']}")
            if "end" in step:
                current = ""
        if step:
            fail(current or "(no case)", step)
            if not current and round_ > 3:
                break
    return report
