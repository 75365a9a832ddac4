# SPDX-License-Identifier: Apache-2.0
"""The results as a table."""

from statistics import median

from zemm.models.contestant import Entry
from zemm.models.model import Model

_HEADS = (
    "runtime", "load s", "first s cold", "first s warm", "prefill best/median", "decode best/median",
    "MB loaded", "MB peak", "perplexity", "logits off by", "",
)  # fmt: skip


def table(entries: list[Entry], model: Model) -> str:
    lines = [_HEADS, *(_line(entry) for entry in entries)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(_HEADS))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _line(entry: Entry) -> tuple[str, ...]:
    agreement = entry.agreement
    warm, cold = entry.warm, entry.cold
    return (
        entry.who.name,
        f"{warm[0].seconds:.2f}" if warm else "",
        f"{cold[1].first:.3f}" if cold else "",
        f"{warm[1].first:.3f}" if warm else "",
        _pair([turn.prefill for turn in entry.turns]),
        _pair([turn.decode for turn in entry.turns]),
        f"{warm[0].resident / 1e6:.0f}" if warm else "",
        f"{entry.peak / 1e6:.0f}" if entry.peak else "",
        f"{agreement.perplexity:.4g}" if agreement else "",
        f"{agreement.difference:.2g}" if agreement and agreement.difference is not None else "",
        entry.refusal or entry.note,
    )


def _pair(rates: list[float]) -> str:
    return f"{max(rates):.2f}/{median(rates):.2f}" if rates else ""
