# SPDX-License-Identifier: Apache-2.0
"""The results as a table on the terminal."""

from zemm._terminal.columns import aligned
from zemm.models.record import Record, Run

_HEADS = (
    "runtime", "prefill tok/s", "ratio", "decode tok/s", "ratio", "load s cold/warm", "first s cold/warm",
    "MB before/loaded/peak", "perplexity", "logits off by", "",
)  # fmt: skip


def table(run: Run) -> str:
    """A line about the model, and one for each runtime."""
    about = run.settings
    head = (
        f"# {run.model} ({run.method}, {run.model_bytes / 1e6:.0f} MB), {about['prompt']} tokens read,"
        f" {about['tokens']} written, {about['threads']} threads; tok/s are best/median of"
        f" {about['rounds']} rounds, ratios those of zemm's best to the peer's"
    )
    return f"{head}\n{aligned([_HEADS, *map(_line, run.records)])}"


def _line(record: Record) -> tuple[str, ...]:
    sizes = (record.bytes_before, record.bytes_loaded, record.bytes_peak)
    return (
        record.who,
        _several("{:.1f}", record.prefill_best, record.prefill_median),
        _several("{:.2f}x", record.prefill_ratio),
        _several("{:.2f}", record.decode_best, record.decode_median),
        _several("{:.2f}x", record.decode_ratio),
        _several("{:.2f}", record.load_s_cold, record.load_s),
        _several("{:.2f}", record.first_s_cold, record.first_s),
        _several("{:.0f}", *(size and size / 1e6 for size in sizes)),
        _several("{:.4g}", record.perplexity),
        _several("{:.2g}", record.difference),
        record.reason,
    )


def _several(pattern: str, *values: float | None) -> str:
    """The figures with / between them; - for one that is missing, nothing if all are."""
    if all(value is None for value in values):
        return ""
    return "/".join("-" if value is None else pattern.format(value) for value in values)
