# SPDX-License-Identifier: Apache-2.0
"""The program zemm-benchdnn: its command line, the loop over cases, and its exit code."""

import os
import sys
import time
from collections.abc import Sequence

from zemm.benchdnn.atoms import UsageError
from zemm.benchdnn.expand import Job, Walker
from zemm.benchdnn.progress import Progress
from zemm.benchdnn.report import Report
from zemm.benchdnn.run import Runner

_HELP = """usage: zemm-benchdnn [global options] --matmul [options] DESC [[options] DESC ...]

DESC is D0x..xMxK:D0x..xKxN[_nNAME], such as 31x2560:2560x2560. Options are read from left to right; each
DESC expands the lists given so far. benchdnn's grammar holds: --mode=C|P|L|I|R|F|S|B, --engine=cpu|gpu[:N],
--batch=FILE (zemm's own case files are found by name, such as test_matmul_quickstart), -vN, --dt=S:W:D,
--stag= --wtag= --dtag= --strides= --bia-dt= --bia_mask= --runtime_dims_masks= --attr-scales=
--attr-zero-points= --attr-precomputed-reductions= --attr-post-ops= --attr-scratchpad= --attr-fpmath=
--impl= --skip-impl= --match= --summary= --perf-template= --reset

Timed runs (--mode=P): --peak measures the device's own limits and says percent of peak in each row;
--peer=onednn runs each problem on zemm and on the peer in turns and prints both times and their ratio. The
peer runs the case as it is, unless told otherwise: --peer-dt= --peer-stag= --peer-wtag= --peer-dtag=
--peer-bia-dt= --peer-attr-scales= --peer-attr-zero-points= --peer-attr-precomputed-reductions=
--peer-attr-post-ops= --peer-attr-fpmath= (an attribute `none`: without it; empty: as the case has it).

Exit code: 0 when no case failed, 1 when one did (unimplemented and invalid ones count) or the command line
is wrong, 2 for an unknown option or tag."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the cases of a command line, by default the process's own. Returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if "--help" in arguments or "-h" in arguments:
        print(_HELP)
        return 0
    try:
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
        return _run(walker.jobs, walker.options.summary)
    except UsageError as error:
        sentence = str(error)
        print(sentence if sentence.startswith(("err:", "ERROR")) else f"ERROR: {sentence}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of stdout has gone. Python flushes stdout at exit, so point it to a sink.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(jobs: list[Job], summary: frozenset[str]) -> int:
    started = time.perf_counter()
    # A list goes by faster than a bar can be drawn.
    bar_length = sum(job.case.options.mode != "L" for job in jobs)
    with Progress(bar_length) as progress:
        report = Report(progress.emit)
        runner = Runner(report.stage)
        for job in jobs:
            begin = time.perf_counter()
            result = runner.run(job)
            report.add(job, result, 1e3 * (time.perf_counter() - begin))
            progress.advance(report.counts)
    report.finish(summary, time.perf_counter() - started)
    return 1 if report.failed else 0
