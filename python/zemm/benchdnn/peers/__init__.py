# SPDX-License-Identifier: Apache-2.0
"""Other libraries (`--peer=`) that run a problem beside zemm. Each is a module that is imported on
demand."""

import importlib
import os
from typing import Protocol

from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import Floats


class PeerError(Exception):
    """A peer is not installed or cannot run a problem; the message says why."""


class Prepared(Protocol):
    """A problem that a peer is ready to run."""

    impl: str

    def cool(self) -> None:
        """Called before each timed run, and not timed. With --cold-cache, afterwards the run's
        weights (or all of its tensors) are not in the caches."""

    def run(self) -> None:
        """Run once and return when the result is complete."""

    def dst(self) -> Floats:
        """The result of the last run."""


class InTurns:
    """A base of products whose runs take turns with copies of their tensors: none has to be cooled."""

    def cool(self) -> None:
        """Nothing to do."""


class Peer(Protocol):
    """A loaded library."""

    version: str
    quantises_src: bool
    """Whether it can quantise a floating-point src itself, to multiply integers."""

    def prepare(self, case: Case, quantise_src: bool = False) -> Prepared:
        """Make everything for the first run: tensors, their layouts, the primitive or model.
        PeerError, with the peer's own reason, if it cannot run the case."""


def load(name: str) -> Peer:
    """The peer with this name. PeerError, with the package to install, if it is missing."""
    module = importlib.import_module(f"zemm.benchdnn.peers.{name}")
    peer: Peer = module.load()
    return peer


def thread_count() -> int:
    """The threads of a peer: one for each processor that this process may use, as for zemm."""
    return len(os.sched_getaffinity(0))


def limit_spinning() -> None:
    """Let idle threads of GNU's OpenMP look for work only about 0.1 ms before they sleep. With the default,
    several ms, they would take the cores from the library that has the next turn. OpenMP reads this when it
    is loaded."""
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")


# Modules that peers need beside their own, and whose packages have the same names.
_OTHERS = ("onnx", "torch", "openvino")


def missing(name: str, package: str, error: object, how: str = "pip install 'zemm[peers]'") -> PeerError:
    """The error for a peer whose package, or another one that it needs, cannot be used, with how to install
    it."""
    module = ((isinstance(error, ModuleNotFoundError) and error.name) or "").partition(".")[0]
    needs = f"it needs the package {module}" if module in _OTHERS else f"its package is {package}"
    return PeerError(f"peer {name} left out: {error} ({needs}: {how})")
