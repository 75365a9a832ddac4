# SPDX-License-Identifier: Apache-2.0
"""The blocks at the end of a run: failed cases, implementations, times."""

from collections import Counter
from collections.abc import Mapping, Sequence

_MAX_FAILURES = 10
_FAILURES_TITLE = "= Failed cases summary (--summary=no-failures to disable) ="
_FAILURES_END = "=" * 28
_IMPLS_TITLE = "= Implementation statistics (--summary=no-impl to disable) ="
_WIDEST_SHARE = len(" (100%)")
_STAGES = ("create_pd", "create_prim", "fill", "execute", "compute_ref", "compare")
_STAGES_OF_MODES = {"L": _STAGES[:0], "I": _STAGES[:2], "C": _STAGES}
_EXECUTING = _STAGES[:4]  # of the other modes


def failures(lines: Sequence[str]) -> str:
    """The first repro lines of failed cases, and how many more there are."""
    bar = "=" * len(_FAILURES_TITLE)
    block = [bar, _FAILURES_TITLE, bar, *lines[:_MAX_FAILURES]]
    if len(lines) > _MAX_FAILURES:
        block.append(f"(... {len(lines) - _MAX_FAILURES} more cases ...)")
    return "\n".join([*block, _FAILURES_END])


def implementations(counts: Counter[str]) -> str:
    """A table of the implementations and how many cases each has run."""
    ranked, total = _ranked(counts), counts.total()
    names = max(len(name) for name, _ in ranked)
    numbers = max(len(str(count)) for _, count in ranked)
    width = max(len(_IMPLS_TITLE), names + numbers + _WIDEST_SHARE + len("|  :  |"))
    bar = "=" * width
    percent = {name: (200 * count + total) // (2 * total) for name, count in ranked}  # rounded half up
    rows = (f"{name:>{names}} : {count} ({percent[name]}%)" for name, count in ranked)
    title = f"{_IMPLS_TITLE[:-1]:<{width - 1}}="
    return "\n".join([bar, title, bar, *(f"| {row:<{width - 4}} |" for row in rows), bar])


def implementations_csv(counts: Counter[str]) -> str:
    """The summary in one line."""
    return ",".join(["benchdnn_summary", "impl_names", *(f"{name}:{n}" for name, n in _ranked(counts))])


def times(mode: str, stages: Mapping[str, float], seconds: float, tests: int) -> str:
    """The seconds of the run and of the stages that the mode has."""
    parts = [f"total: {seconds:.2f}s;"]
    for name in _STAGES_OF_MODES.get(mode, _EXECUTING) if tests else ():
        spent = stages.get(name, 0.0)
        parts.append(f"{name}: {spent:.2f}s ({100 * spent / max(seconds, 1e-9):.0f}%);")
    return " ".join(parts)


def _ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    """Names and counts, the most frequent first; those with the same count by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
