# SPDX-License-Identifier: Apache-2.0
"""The process that runs the cases of `fuzz.py arithmetic`. It writes a line of JSON for each step, so that
the other side knows which case ends or hangs it.
"""

import json
import os
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "support"))
from fuzz_decisions import Decision, Group, Log, groups_of
from fuzz_forms import Form, Forms, Sizes, line_of
from fuzz_sizes import SizeDrawer
from support_rows import BY_NAME

FORMS, FEW_SIZES = 100, 4  # forms that are planned, of which one runs; sizes of each
SIZES = 20  # more that are planned for the form that runs
BUILDS = 2  # lists of constants, for which kernels are built
LATER = 3  # cases of a list that run though their decision is not new
OTHERS = 8  # cases of other forms that run, for whose decisions kernels are built already
ENDS = (0, 0x7F, 0x80, 0x81, 0xFF)  # bytes of the largest and smallest values
MANY_ENDS = bytes(ENDS[byte % 7 % 5] if byte % 5 == 0 else byte for byte in range(256))


Drawn = tuple[Form, SizeDrawer, list[tuple[Sizes, Decision]]]  # a form, and decisions for sizes of it


class Worker:
    """The steps are {"start": line}, then {"end": state, ...}, and {"planned": decisions} of a form. Others
    are in Report of fuzz_arithmetic.py.
    """

    def __init__(self, seed: int, only: str, seen: set[Decision], folder: Path) -> None:
        self.out = os.fdopen(os.dup(1), "w")
        self.log = Log()  # before zemm reads the environment
        import zemm
        from zemm._terminal import building
        from zemm.benchdnn.run.runner import Runner

        building.is_quiet = True
        self.zemm, self.rng, self.seen = zemm, random.Random(seed), seen
        self.engine = zemm.Engine("cpu")
        self.forms = Forms(self.rng, tuple(self.engine.features), only)
        self.runner = Runner(lambda job, word: None)
        self.tested: set[Group] = set()  # of features of decisions that have run
        for decision in seen:
            self.tested |= groups_of(decision.features())
        self.base: tuple[Form | None, Any] = None, None  # the last form that was planned, and a case of it
        self.folder, self.files = folder, 0  # for bytes of tensors; how many cases have had them
        self.executed: list[Decision] = []  # by the last case

    def say(self, **step: Any) -> None:
        self.out.write(json.dumps(step) + "\n")
        self.out.flush()

    # ---- one case

    def case(self, form: Form, sizes: Sizes) -> Any:
        return self.case_of(form.kernel, form.tokens(sizes))

    def case_of(self, kernel: str, tokens: list[str]) -> Any:
        """The driver's job of a case. None: the driver does not take the line."""
        from zemm._programs.usage import UsageError
        from zemm.benchdnn.grammar.expand import expand

        os.environ["ZEMM_KERNEL"] = kernel
        try:
            return expand(tokens)[0][0]
        except UsageError:
            return None

    def plan(self, form: Form, sizes: Sizes) -> Decision | None:
        """The planner's decision. None: no kernel takes the case."""
        from zemm.benchdnn.grammar.encodings import Grouped

        static = replace(form, options=tuple(o for o in form.options if "runtime" not in o))
        has_sizes = any(form.strides) or "{k}" in "".join(form.options)
        if has_sizes or static != self.base[0]:
            job = self.case(static, sizes)
            self.base = static, job.case if job else None
        case = self.base[1]
        if case and not has_sizes:  # reading the line takes longer than planning
            os.environ["ZEMM_KERNEL"] = form.kernel
            case = replace(case, problem=type(case.problem)(*form.shapes(sizes)))
            if case.grouped:
                case = replace(case, layout=Grouped(case.grouped.dim, sizes.groups))
        return self.plan_of(case) if case else None

    def plan_of(self, case: Any) -> Decision | None:
        from zemm.benchdnn.data import build

        try:
            build.primitive_desc(self.zemm, self.engine, case)
        except (NotImplementedError, ValueError):
            return None
        finally:
            plans = self.log.plans()
        return plans[-1].decision if plans else None

    def case_with_bytes(self, form: Form, sizes: Sizes) -> tuple[str, Any]:
        """The line and the job of a case. If the form wants that, files are written with any bytes for its
        tensors, and named by the line. They stay if the case fails.
        """
        from zemm.benchdnn.data import build
        from zemm.benchdnn.grammar import arguments

        tokens = form.tokens(sizes)
        if form.has_bytes and sizes.k <= form.longest_k:
            self.files += 1
            prefix = self.folder / f"bytes-{os.getpid()}-{self.files}"
            job = self.case_of(form.kernel, tokens)
            for argument in (*arguments.matrices(job.case), *arguments.quantizations(job.case)):
                is_read = argument.role in ("src", "wei", "zero_points") and not argument.on_host
                if is_read and argument.data_type != "s32":
                    size = build.memory_desc(self.zemm, argument).part_size(0)
                    data = self.rng.randbytes(size).translate(MANY_ENDS)
                    Path(f"{prefix}.{argument.arg}.bin").write_bytes(data)
            tokens.insert(0, f"--buffer-prefix={prefix}")
        return line_of(form.kernel, tokens), self.case_of(form.kernel, tokens)

    def remove_bytes(self) -> None:
        """Remove the files of the last case."""
        for path in self.folder.glob(f"bytes-{os.getpid()}-{self.files}.*"):
            path.unlink()

    def run(self, line: str, job: Any) -> bool:
        """Run a case, and say what came of it. True: it failed."""
        self.say(start=line)
        begin = time.monotonic()
        self.log.plans()
        result = self.runner.run(job)
        decisions = [planned.decision for planned in self.log.plans() if planned.event == "exec"]
        self.seen.update(decisions)
        self.executed = decisions
        self.say(
            end=result.state, decisions=decisions, seconds=time.monotonic() - begin,
            errors=[result.errors, result.total], why=result.sentence or "; ".join(result.lines[:2]),
        )  # fmt: skip
        return bool(result.state == "FAILED")

    # ---- forms

    def form(self) -> None:
        """Of several forms, run that whose decisions have the most groups of features that have not run yet.
        Planning takes less time than the build of a kernel.
        """
        category = self.forms.category()
        drawn = [self.planned(self.forms.draw(category), FEW_SIZES) for _ in range(FORMS)]
        form, draw, planned = max(drawn, key=lambda of: self.worth(of[0], of[2]))
        if not planned:
            return
        drawn = [of for of in drawn if of[0] is not form]
        planned += self.planned(form, SIZES)[2]
        planned = [(s, decision) for s, decision in planned if s.k <= form.longest_k] or planned
        start = self.rng.choice(planned)[0]
        for name in self.rng.sample("mnk", 2):
            for s in draw.thresholds(start, name, lambda s: self.plan(form, s)):
                if decision := self.plan(form, s):
                    planned.append((s, decision))
        self.say(planned=sorted({decision for _, decision in planned}))
        failures = 0
        for s, decision in self.chosen(form, planned):
            failures += self.run_uneven(form, draw, s, decision)
            if failures == 2:
                break
        for form, draw, s, decision in islice(self.without_builds(drawn), OTHERS):
            self.run_uneven(form, draw, s, decision)

    def run_uneven(self, form: Form, draw: SizeDrawer, s: Sizes, decision: Decision) -> bool:
        """Run a case with uneven groups. If an execution for these decides otherwise than the descriptor, run
        the even ones, too. True: a case failed.
        """
        for sizes in dict.fromkeys((draw.uneven(s), s)):
            if self.case(form, sizes) is None:
                continue
            line, job = self.case_with_bytes(form, sizes)
            failed = self.run(line, job)
            for tested in (decision, *self.executed):
                self.tested |= groups_of(self.features(form, tested))
            if failed:
                return True
            if "--buffer-prefix" in line:
                self.remove_bytes()
            if decision in self.executed:
                break
        return False

    def without_builds(self, drawn: list[Drawn]) -> Iterator[tuple[Form, SizeDrawer, Sizes, Decision]]:
        """Cases of forms whose decisions have not run yet, but have kernels that did."""
        built = {decision[:2] for decision in self.seen}
        cases = [(form, draw, s, decision) for form, draw, planned in drawn for s, decision in planned]
        self.rng.shuffle(cases)
        for form, draw, s, decision in cases:
            if decision[:2] in built and decision not in self.seen and s.k <= form.longest_k:
                yield form, draw, s, decision

    def planned(self, form: Form, count: int) -> Drawn:
        """The decisions for so many random sizes of a form."""
        draw = SizeDrawer(self.rng, form)
        sizes = [draw.size() for _ in range(count)]
        return form, draw, [(s, decision) for s in sizes if (decision := self.plan(form, s))]

    def features(self, form: Form, decision: Decision) -> frozenset[str]:
        return decision.features() | {f"dst {form.dt[2]}", f"batch {len(form.batch)}"}

    def new_groups(self, form: Form, planned: list[tuple[Sizes, Decision]]) -> set[Group]:
        found = {decision: None for _, decision in planned}
        return set().union(*(groups_of(self.features(form, decision)) for decision in found)) - self.tested

    def worth(self, form: Form, planned: list[tuple[Sizes, Decision]]) -> float:
        """How much a form tells. Kernels for GPUs, and tiles of AMX in software, take long to build."""
        is_slow = any(
            BY_NAME[decision.row].is_xe or BY_NAME[decision.row].has_tiles for _, decision in planned
        )
        return len(self.new_groups(form, planned)) / (4 if is_slow else 1)

    def chosen(self, form: Form, planned: list[tuple[Sizes, Decision]]) -> Iterator[tuple[Sizes, Decision]]:
        """Sizes of which few kernels have to be built: those of some lists of constants, which have the
        most new groups of features. Of each list several, those first whose decision has not run yet.
        """
        self.rng.shuffle(planned)
        lists: dict[tuple[str, str], list[tuple[Sizes, Decision]]] = {}
        for s, decision in planned:
            lists.setdefault(decision[:2], []).append((s, decision))
        built = {decision[:2] for decision in self.seen}
        new = 0
        for constants, cases in sorted(lists.items(), key=lambda of: -len(self.new_groups(form, of[1]))):
            new += constants not in built
            if constants not in built and new > BUILDS:
                continue
            times: dict[Decision, int] = {}
            later = []
            for s, decision in cases:
                times[decision] = times.get(decision, 0) + 1
                if decision in self.seen or times[decision] > 2:
                    later.append((s, decision))
                else:
                    yield s, decision
            yield from later[:LATER]


def lines_of(path: Path) -> list[tuple[str, list[str]]]:
    """The kernel and the arguments of each line of a file of failures."""
    found = []
    for line in path.read_text().splitlines():
        words = line.split("#")[0].split()
        if "zemm-benchdnn" in words:
            at = words.index("zemm-benchdnn")
            kernel = [word.partition("=")[2] for word in words[:at] if word.startswith("ZEMM_KERNEL=")]
            found.append(("".join(kernel), words[at + 1 :]))
    return found


def main() -> None:
    wanted = json.loads(sys.argv[1])
    seen = {Decision(*decision) for decision in json.loads(sys.stdin.read() or "[]")}
    worker = Worker(wanted["seed"], wanted["only"], seen, Path(wanted["folder"]))
    end = time.monotonic() + wanted["seconds"]
    for path in wanted["files"]:
        for kernel, tokens in lines_of(Path(path)):
            if job := worker.case_of(kernel, tokens):
                worker.run(line_of(kernel, tokens), job)
    while time.monotonic() < end:
        worker.form()


if __name__ == "__main__":
    main()
