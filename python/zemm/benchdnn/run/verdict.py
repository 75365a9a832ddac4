# SPDX-License-Identifier: Apache-2.0
"""The result of a case: its state, the reason, and the numbers that the report prints."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from zemm.benchdnn.run.peaks import Peaks

PASSED = "PASSED"
SKIPPED = "SKIPPED"
MISTRUSTED = "MISTRUSTED"
FAILED = "FAILED"
UNIMPLEMENTED = "UNIMPLEMENTED"
INVALID_ARGUMENTS = "INVALID_ARGUMENTS"
LISTED = "LISTED"
EXECUTED = "EXECUTED"
INITIALIZED = "INITIALIZED"

INVALID_CASE = "Invalid case"
REF_IMPL = "Ref Impl Not Expected"
NOT_ENOUGH_RAM = "Not enough RAM"
SKIP_IMPL = "Skip-impl option hit"
NOT_SUPPORTED = "Case not supported"
TYPE_NOT_SUPPORTED = "Data type not supported"
SKIP_START = "Skip-start option hit"
EXECUTION_MODE = "Execution mode not supported"


REFERENCE = "reference, not comparable"


def is_reference(impl: str) -> bool:
    """Whether a peer's implementation is its reference, which is there to be right and not to be
    fast: `ref` is a word of its name, as in oneDNN's "ref_int8:any"."""
    return "ref" in re.split("[^a-z0-9]", impl.lower())


@dataclass
class PeerResult:
    """The result of a peer. `line`: the problem that it ran; `refusal`: why it did not run it.
    `quantises_src`: it quantised a floating-point src itself."""

    name: str
    line: str
    version: str = ""
    impl: str = ""
    case: Any = None
    times_ms: list[float] = field(default_factory=list)
    bytes_moved: int = 0
    refusal: str = ""
    note: str = ""
    quantises_src: bool = False

    @property
    def is_reference(self) -> bool:
        return is_reference(self.impl)


@dataclass
class Result:
    """The result of a case. `reason` is one of benchdnn's, which it prints in parentheses;
    `sentence` is an explanation from the library or from zemm-benchdnn. `spans` are the seconds of
    each time that a stage ran. `left_out`: sentences about peers that were found missing now. `has_files`: a
    tensor was read from a file."""

    state: str = ""
    reason: str = ""
    sentence: str = ""
    errors: int = 0
    total: int = 0
    impl: str = ""
    lines: list[str] = field(default_factory=list)
    spans: dict[str, list[float]] = field(default_factory=dict)
    times_ms: list[float] = field(default_factory=list)
    wall_ms: list[float] = field(default_factory=list)
    peaks: Peaks | None = None
    peers: list[PeerResult] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    bytes_in: int = 0
    bytes_out: int = 0
    has_files: bool = False

    @property
    def stages(self) -> dict[str, float]:
        """The seconds of each stage."""
        return {stage: sum(spans) for stage, spans in self.spans.items()}

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """A context whose seconds are a span of the stage."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.spans.setdefault(stage, []).append(time.perf_counter() - begin)

    def end(self, state: str, reason: str = "", sentence: str = "") -> "Result":
        """Set the state and its explanation."""
        self.state, self.reason, self.sentence = state, reason, sentence
        return self
