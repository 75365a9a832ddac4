# SPDX-License-Identifier: Apache-2.0
"""The process on the other side of processes.py: runs the cases that it receives, one by one."""

from multiprocessing.connection import Connection
from typing import Any

from zemm._programs.usage import UsageError
from zemm._terminal import building
from zemm.benchdnn.grammar.expand import Job
from zemm.benchdnn.run.runner import Runner

# Messages: a stage of the case has begun (its word); the case is done (result, milliseconds); the
# run must end (the sentence and exit code of a UsageError).
STAGE, DONE, USAGE = "stage", "done", "usage"


def serve(descriptor: int) -> None:
    """Run blocks of jobs until the other side closes the connection, a file descriptor. Each result
    is sent at once."""
    link = Connection(descriptor)
    building.is_quiet = True

    def announce(job: Job, word: str) -> None:
        link.send((STAGE, word))

    runner = Runner(announce)
    try:
        while True:
            for job in link.recv():
                link.send(_run(runner, job))
    except (EOFError, OSError):
        pass  # The other side has gone.


def _run(runner: Runner, job: Job) -> tuple[Any, ...]:
    try:
        _, result, milliseconds = runner.timed(job)
        return DONE, result, milliseconds
    except UsageError as error:
        return USAGE, str(error), error.exit_code
