# SPDX-License-Identifier: Apache-2.0
"""Other libraries (`--peer=`) that run a problem beside zemm: a module each, imported when asked for."""

import importlib
from typing import Protocol

from zemm.benchdnn.case import Case


class PeerError(Exception):
    """A peer that is not there, or that cannot run a problem; the sentence says why."""


class Prepared(Protocol):
    """A problem that a peer is ready to run."""

    impl: str

    def run(self) -> None:
        """Run once and return when the result is there."""


class Peer(Protocol):
    """A loaded library."""

    version: str

    def prepare(self, case: Case) -> Prepared:
        """Everything before the first run: tensors, their layouts, the primitive or model. PeerError with the
        peer's own reason when it cannot run the case."""


def load(name: str) -> Peer:
    """The peer of that name; PeerError with what to install when it is missing."""
    module = importlib.import_module(f"zemm.benchdnn.peers.{name}")
    peer: Peer = module.load()
    return peer


def missing(name: str, package: str, error: object) -> PeerError:
    """The error of a peer whose package cannot be used."""
    return PeerError(f"peer {name} left out: {error} (its package is {package}: pip install 'zemm[peers]')")
