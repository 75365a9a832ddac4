# SPDX-License-Identifier: Apache-2.0
"""Runs the contestants, each in a process of its own, in turns: A B A B."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

from zemm._programs.child import Child
from zemm.benchdnn.peers import PeerError
from zemm.models.contestant import Contestant, Entry, Loaded, Settings, Turn
from zemm.models.llama_bench import LlamaBench
from zemm.models.model import Model
from zemm.models.worker import REASON

Say = Callable[[str], None]
_REFERENCE = "torch-f32"


class Running(Protocol):
    """A runtime that is ready for turns."""

    version: str

    def turn(self, prompt: list[int], tokens: int) -> Turn:
        """Read the prompt and write tokens. PeerError: it cannot."""

    def peak(self) -> int:
        """The most bytes that its process has had in memory."""


class Remote:
    """A runtime of Transformers in a process of its own. cache: its folder of kernels."""

    def __init__(self, who: Contestant, model: Model, settings: Settings, cache: Path) -> None:
        env = {**os.environ, "ZEMM_CACHE_DIR": str(cache), "ZEMM_CACHE": "1"}
        env["TORCHINDUCTOR_CACHE_DIR"] = str(cache / "torch")
        if sys.stderr is None or not sys.stderr.isatty():
            env["TQDM_DISABLE"] = "1"  # the bars of Transformers
        self._child = Child("zemm.models.worker", env)
        self.version = ""
        self._ask("make", who, model, settings)

    def load(self) -> Loaded:
        loaded: Loaded = self._ask("load")
        self.version = loaded.version
        return loaded

    def turn(self, prompt: list[int], tokens: int) -> Turn:
        turn: Turn = self._ask("turn", prompt, tokens)
        return turn

    def peak(self) -> int:
        return int(self._ask("peak"))

    def agreement(self, ids: list[int], reference: Path, is_reference: bool) -> Any:
        return self._ask("agreement", ids, reference, is_reference)

    def close(self) -> None:
        self._child.kill()

    def _ask(self, *message: Any) -> Any:
        """The answer of the process. PeerError: there is none."""
        try:
            self._child.link.send(message)
            kind, value = self._child.link.recv()
        except (EOFError, OSError):
            raise PeerError(f"its process ended by {self._child.end()}") from None
        if kind == REASON:
            raise PeerError(value)
        return value


def contest(
    who: list[Contestant], model: Model, settings: Settings, prompt: list[int], text: list[int], say: Say
) -> list[Entry]:
    """Time the contestants, and compare their logits of the text. What one cannot do is a refusal in its
    entry, or has no figures. say: is told what runs now."""
    entries = [Entry(one) for one in who]
    with tempfile.TemporaryDirectory(prefix="zemm-models-") as folder, ExitStack() as stack:
        ready: list[tuple[Entry, Running]] = []
        for place, entry in enumerate(entries):
            with _left_out(entry):
                cache = Path(folder) / str(place)
                ready.append((entry, _started(entry, model, settings, prompt, cache, stack, say)))
        for number in range(settings.rounds):
            for entry, running in ready:
                if not entry.refusal:
                    say(f"round {number + 1} of {settings.rounds}: {entry.who.name}")
                    with _left_out(entry):
                        entry.turns.append(running.turn(prompt, settings.tokens))
                        entry.peak, entry.version = running.peak(), running.version
        if text:
            _agree(ready, text, Path(folder) / "logits.npy", say)
    return entries


@contextmanager
def _left_out(entry: Entry) -> Iterator[None]:
    try:
        yield
    except PeerError as error:
        entry.refusal = str(error)


def _started(
    entry: Entry, model: Model, settings: Settings, prompt: list[int], cache: Path, stack: ExitStack, say: Say
) -> Running:
    """The runtime of an entry, loaded and called once. PeerError: it cannot run."""
    who = entry.who
    if who.kind == "llama.cpp":
        return LlamaBench(model, settings)
    cache.mkdir(mode=0o700)
    if who.kind == "zemm":
        say(f"loading with no kernels yet: {who.name}")
        first = Remote(who, model, settings, cache)
        try:
            entry.cold = first.load(), first.turn(prompt, 0)
        finally:
            first.close()
    say(f"loading: {who.name}")
    running = Remote(who, model, settings, cache)
    stack.callback(running.close)
    loaded = running.load()
    entry.note, entry.version = loaded.note, loaded.version
    entry.warm = loaded, running.turn(prompt, 1)  # its new token builds kernels, too
    return running


def _agree(ready: list[tuple[Entry, Running]], text: list[int], logits: Path, say: Say) -> None:
    """Compare the runtimes that give logits, the float model first."""
    for entry, running in sorted(ready, key=lambda one: one[0].who.name != _REFERENCE):
        if isinstance(running, Remote) and not entry.refusal:
            say(f"agreement: {entry.who.name}")
            with _left_out(entry):
                entry.agreement = running.agreement(text, logits, entry.who.name == _REFERENCE)
