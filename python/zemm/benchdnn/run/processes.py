# SPDX-License-Identifier: Apache-2.0
"""Divides jobs among several processes (`--jobs`). Their results come in the order of the jobs."""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait

from zemm._programs.child import Child
from zemm._programs.usage import UsageError
from zemm.benchdnn.grammar.expand import Job
from zemm.benchdnn.run import verdict
from zemm.benchdnn.run.footprint import needs_the_memory
from zemm.benchdnn.run.runner import Announce, Outcome
from zemm.benchdnn.run.verdict import Result
from zemm.benchdnn.run.worker import DONE, STAGE

# Neighbours often need the same kernel. A process that runs a block of them builds it once.
_BLOCK = 64
_BLOCKS_EACH = 4


@dataclass
class _Block:
    """Jobs for one process, with their places in the list of all. `alone`: no other block may run
    at the same time, because the job needs the memory of the machine."""

    jobs: deque[tuple[int, Job]]
    alone: bool = False


class Pool:
    """`count` processes that run jobs. A job whose process ends fails; the others go on."""

    def __init__(self, jobs: list[Job], count: int, announce: Announce) -> None:
        self._announce = announce
        self._places = range(len(jobs))
        self._outcomes: dict[int, Outcome] = {}
        self._stages: dict[int, list[str]] = {}
        self._blocks = deque(_blocks(jobs, count))
        self._workers = [_Worker() for _ in range(min(count, len(self._blocks)))]

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes."""
        for worker in self._workers:
            worker.kill()

    def in_order(self) -> Iterator[Outcome]:
        """Run the jobs. Outcomes come in their order, each after its stages are announced."""
        for place in self._places:
            while place not in self._outcomes:
                self._step()
            yield self._taken(place)

    def rest(self) -> Iterator[Outcome]:
        """After an interrupt: the outcomes that were waiting for those of earlier jobs."""
        for place in sorted(self._outcomes):
            yield self._taken(place)

    def _step(self) -> None:
        """Give blocks to idle processes, and take the next messages of all."""
        for worker in self._workers:
            if not worker.block.jobs and self._may_start():
                worker.take(self._blocks.popleft())
        ready = wait([worker.link for worker in self._workers])
        for worker in [w for w in self._workers if w.link in ready]:
            self._receive(worker)

    def _taken(self, place: int) -> Outcome:
        outcome = self._outcomes.pop(place)
        for word in self._stages.pop(place, []):
            self._announce(outcome.job, word)
        return outcome

    def _may_start(self) -> bool:
        """Whether the next block may run beside those that run now."""
        running = [worker.block for worker in self._workers if worker.block.jobs]
        if not self._blocks or any(block.alone for block in running):
            return False
        return not (running and self._blocks[0].alone)

    def _receive(self, worker: "_Worker") -> None:
        try:
            kind, *content = worker.link.recv()
        except (EOFError, OSError):
            self._replace(worker)
            return
        if kind == STAGE:
            self._stages.setdefault(worker.block.jobs[0][0], []).append(*content)
        elif kind == DONE:
            place, job = worker.finished()
            self._outcomes[place] = Outcome(job, *content)
        else:
            raise UsageError(*content)

    def _replace(self, worker: "_Worker") -> None:
        """A process has ended: the job that it ran fails, and a new process takes its place."""
        self._workers.remove(worker)
        sentence = f"its process ended by {worker.end()}"
        if worker.block.jobs:
            milliseconds = 1e3 * (time.perf_counter() - worker.began)
            place, job = worker.finished()
            if place in self._stages:
                sentence += f" in stage {self._stages[place][-1]}"
            self._outcomes[place] = Outcome(
                job, Result().end(verdict.FAILED, sentence=sentence), milliseconds
            )
        if worker.block.jobs:
            self._blocks.appendleft(worker.block)
        if self._blocks:
            self._workers.append(_Worker())


class _Worker(Child):
    """One process, with the jobs that it was given and has not finished."""

    def __init__(self) -> None:
        super().__init__("zemm.benchdnn.run.worker")
        self.block = _Block(deque())
        self.began = 0.0

    def take(self, block: _Block) -> None:
        """Send it the jobs of a block."""
        self.block, self.began = block, time.perf_counter()
        with suppress(OSError):  # If it has ended, receiving from it will tell.
            self.link.send([job for _, job in block.jobs])

    def finished(self) -> tuple[int, Job]:
        """The job that it ran, which is now none of its jobs any more, with its place."""
        self.began = time.perf_counter()
        return self.block.jobs.popleft()


def _blocks(jobs: list[Job], count: int) -> Iterator[_Block]:
    """The jobs in blocks for `count` processes."""
    size = min(_BLOCK, max(1, len(jobs) // (_BLOCKS_EACH * count)))
    block = _Block(deque())
    for place, job in enumerate(jobs):
        alone = needs_the_memory(job.case, count)
        if block.jobs and (alone or block.alone or len(block.jobs) == size):
            yield block
            block = _Block(deque())
        block.jobs.append((place, job))
        block.alone = alone
    if block.jobs:
        yield block
