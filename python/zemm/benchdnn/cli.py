# SPDX-License-Identifier: Apache-2.0
"""The program zemm-benchdnn: its command line, the loop over cases, and its exit code."""

import os
import shlex
import sys
import textwrap
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from zemm._library.lists import ATTRIBUTES
from zemm._programs.usage import UsageError
from zemm._terminal.console import program
from zemm.benchdnn.grammar import from_verbose
from zemm.benchdnn.grammar.case import PEER_OPTIONS
from zemm.benchdnn.grammar.expand import Job, Walker
from zemm.benchdnn.grammar.options import Options
from zemm.benchdnn.report.lines import Report
from zemm.benchdnn.report.output import check, write
from zemm.benchdnn.report.progress import Progress
from zemm.benchdnn.report.records import Records
from zemm.benchdnn.run.interrupts import Interrupts
from zemm.benchdnn.run.runner import Announce, InTurn, Outcome

if TYPE_CHECKING:
    from zemm.benchdnn.run.processes import Pool

_OPTIONS = " ".join(f"--{row.option}=" for row in ATTRIBUTES.values())
_PEER_OPTIONS = " ".join(f"--peer-{option}=" for option in PEER_OPTIONS)
_HELP = f"""usage: zemm-benchdnn [global options] --matmul [options] DESC [[options] DESC ...]
       zemm-benchdnn [global options] --ip [options] DESC [[options] DESC ...]

DESC is D0x..xMxK:D0x..xKxN[_nNAME], such as 31x2560:2560x2560; for --ip, inner products, it is
mbXicXidXihXiwXocX[_nNAME], such as mb16ic64ih7iw7oc100. Options are read from left to right; each
DESC expands the lists given so far. benchdnn's grammar holds; docs/driver.md explains all options.

global options: --mode=C|P|F|S|L|I|R|B --mode-modifier=P|M --engine=cpu|gpu[:N] -vN --max-ms-per-prb=
--fix-times-per-prb= --num-streams= --repeats-per-prb= --start= --cold-cache= --mem-check= --buffer-prefix=
--summary= --global-impl= --global-skip-impl= --canonical= --allow-enum-tags-only= --attr-same-pd-check=
--check-ref-impl=
options: --batch=FILE (zemm's own case files are found by name, such as test_matmul_quickstart) --dt=S:W:D
--stag= --wtag= --dtag= --strides= --bia-dt= --bia_mask= --runtime_dims_masks= --encoding=
--grouped=DIM:G:s0+s1+..[:MAX]|balanced|hot|decode --ctx-init= --ctx-exe= --impl= --skip-impl= --match=
--perf-template= --reset
{textwrap.fill(_OPTIONS, 110, break_on_hyphens=False)}
--ip has those of them that benchdnn's driver has, and --dir=FWD_B|FWD_D|FWD_I --mb=

--jobs=N runs the cases in N processes and prints their results in order.

--output=FILE.html|.json|.csv writes the results to a file, as a page with plots, or as data; it may be given
several times. --plot=FILE.png draws the plots of timed runs by matplotlib.
zemm-benchdnn from-verbose LOG turns the log of a program (ZEMM_VERBOSE=profile, ONEDNN_VERBOSE=1) into a case
file for --batch.

Timed runs (--mode=P): --peak measures the device's own limits and says percent of peak in each row;
--peer=onednn runs each problem on zemm and on the peer in turns and prints both times and their ratio. The
peer runs the case as it is, unless told otherwise (an attribute `none` or empty: without it; more values
after commas are for single peers, such as --peer-dt=u8:s8:f32,torch=s8:s8:s32):
{textwrap.fill(_PEER_OPTIONS, 110, break_on_hyphens=False)}

Exit code: 0 when no case failed, 1 when one did (unimplemented and invalid ones count) or the command line
is wrong, 2 for an unknown option or tag."""


INTERRUPTED = 130


@program
def main(argv: Sequence[str] | None = None) -> int:
    """Run the cases of a command line, by default the process's own. Returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if "--help" in arguments or "-h" in arguments:
        print(_HELP)
        return 0
    try:
        if arguments[:1] == ["from-verbose"]:
            return from_verbose.main(arguments[1:])
        walker = Walker()
        walker.run(arguments)
        if argv is None and walker.options.verbose >= 5:
            # Let the library log why kernels are skipped and what tiles are estimated to cost. Only
            # if this is the whole program, as the environment belongs to the process.
            os.environ.setdefault("ZEMM_VERBOSE", "dispatch")
        for warning in walker.warnings:
            print(warning, file=sys.stderr)
        for note in walker.notes:
            print(note)
        outputs, plots = walker.files["output"], walker.files["plot"]
        check(outputs, plots, any(job.case.options.is_perf for job in walker.jobs))
        records = Records(shlex.join(["zemm-benchdnn", *arguments])) if outputs or plots else None
        code = _run(walker.jobs, walker.options, records)
        if records:
            write(records.run(code == INTERRUPTED), outputs, plots)
        return code
    except UsageError as error:
        sentence = str(error)
        print(sentence if sentence.startswith(("err:", "ERROR")) else f"ERROR: {sentence}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(jobs: list[Job], options: Options, records: Records | None) -> int:
    started = time.perf_counter()
    # A list goes by faster than a bar can be drawn, or processes can be started.
    bar_length = sum(job.case.options.mode != "L" for job in jobs)
    processes = min(options.jobs, bar_length)
    if processes > 1 and any(job.case.options.is_perf for job in jobs):
        raise UsageError("err: --jobs: cases that are timed need the machine to themselves")
    with Progress(bar_length) as progress, Interrupts() as interrupts:
        report = Report(progress.emit)
        is_interrupted = False
        with _runs(jobs, processes, report.stage) as runs:
            try:
                for outcome in runs.in_order():
                    with interrupts.held():
                        _add(outcome, report, records)
                        progress.advance(report.counts)
            except KeyboardInterrupt:
                is_interrupted = True
                for outcome in runs.rest():
                    _add(outcome, report, records)
    report.finish(options, time.perf_counter() - started)
    if is_interrupted:
        print(f"interrupted: {report.tests} of {len(jobs)} cases have run", file=sys.stderr)
        return INTERRUPTED
    return 1 if report.failed else 0


def _add(outcome: Outcome, report: Report, records: Records | None) -> None:
    report.add(*outcome)
    if records:
        records.add(outcome.job, outcome.result)


def _runs(jobs: list[Job], processes: int, announce: Announce) -> "InTurn | Pool":
    """The runs of jobs in this process, or in several."""
    if processes < 2:
        return InTurn(jobs, announce)
    from zemm.benchdnn.run.processes import Pool

    return Pool(jobs, processes, announce)
