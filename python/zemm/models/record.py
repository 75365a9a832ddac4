# SPDX-License-Identifier: Apache-2.0
"""The results as plain data: a record for each runtime, and the facts of the run."""

from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from zemm._programs.results import REFUSED, Facts, encodable, facts_now
from zemm.benchdnn.run.verdict import EXECUTED
from zemm.models.contestant import Entry, Settings
from zemm.models.model import Model


@dataclass(frozen=True)
class Record:
    """One runtime. Times are in seconds, rates in tokens/s, sizes in bytes; None: there is no such figure.

    load_s: of loading and packing, with an empty cache of kernels (cold) and with a filled one. first_s: from
    the prompt to the first token, in the first call of a process. Ratios are the best rate of the first zemm
    in the run, divided by this one's: above 1 zemm is faster.

    bytes_before: in memory before the model is loaded, the packages themselves; bytes_loaded: after that;
    bytes_load_peak, bytes_peak: the most until then, and in the whole run. difference: the largest one of
    logits, divided by the largest logit of torch-f32.
    """

    who: str
    version: str
    status: str
    reason: str
    load_s_cold: float | None = None
    load_s: float | None = None
    first_s_cold: float | None = None
    first_s: float | None = None
    prefill_best: float | None = None
    prefill_median: float | None = None
    decode_best: float | None = None
    decode_median: float | None = None
    prefill_ratio: float | None = None
    decode_ratio: float | None = None
    bytes_before: int | None = None
    bytes_loaded: int | None = None
    bytes_load_peak: int | None = None
    bytes_peak: int | None = None
    perplexity: float | None = None
    difference: float | None = None


@dataclass(frozen=True)
class Run(Facts):
    """The facts of a run. text: where the text of the agreement comes from."""

    model: str
    method: str
    model_bytes: int
    text: str
    settings: dict[str, int]
    records: list[Record]


def run_of(command: str, model: Model, settings: Settings, text: str, entries: list[Entry]) -> Run:
    own = next((entry for entry in entries if entry.who.kind == "zemm" and entry.turns), None)
    return Run(
        **facts_now(command), model=encodable(model.name), method=model.method or "floats",
        model_bytes=model.nbytes, text=text, settings=_settings(settings, model),
        records=[_record(entry, own) for entry in entries],
    )  # fmt: skip


def _settings(settings: Settings, model: Model) -> dict[str, int]:
    """Those that count: only floats are quantised as they say."""
    unused = () if model.is_float else ("bits", "group")
    return {name: value for name, value in asdict(settings).items() if name not in unused}


def _record(entry: Entry, own: Entry | None) -> Record:
    figures: dict[str, Any] = {}
    if entry.cold:
        figures |= {"load_s_cold": entry.cold[0].seconds, "first_s_cold": entry.cold[1].first}
    if entry.warm:
        loaded, turn = entry.warm
        figures |= {
            "load_s": loaded.seconds, "first_s": turn.first, "bytes_before": loaded.base,
            "bytes_loaded": loaded.resident, "bytes_load_peak": loaded.peak,
        }  # fmt: skip
    if entry.turns:
        figures["bytes_peak"] = entry.peak
        for stage in ("prefill", "decode"):
            rates = [getattr(turn, stage) for turn in entry.turns]
            figures |= {f"{stage}_best": max(rates), f"{stage}_median": median(rates)}
            if own is not None and own is not entry:
                ours = max(getattr(turn, stage) for turn in own.turns)
                figures[f"{stage}_ratio"] = ours / max(rates)
    if entry.agreement:
        figures |= asdict(entry.agreement)
    status = REFUSED if entry.refusal else EXECUTED
    return Record(entry.who.name, entry.version, status, encodable(entry.refusal or entry.note), **figures)
