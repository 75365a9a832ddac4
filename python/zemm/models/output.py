# SPDX-License-Identifier: Apache-2.0
"""The files of --json and --html."""

import json
from dataclasses import asdict, fields
from html import escape

from zemm._programs import picture
from zemm._programs.page_parts import cell, charts, chip, page, section, table
from zemm.models.chart import svg
from zemm.models.record import Record, Run

_TITLES = {
    "who": "runtime",
    "load_s_cold": "load s, cold",
    "load_s": "load s",
    "first_s_cold": "first token s, cold",
    "first_s": "first token s",
    "prefill_best": "prefill tokens/s, best",
    "prefill_median": "median",
    "decode_best": "decode tokens/s, best",
    "decode_median": "median",
    "prefill_ratio": "ratio, prefill",
    "decode_ratio": "ratio, decode",
    "bytes_before": "bytes before",
    "bytes_loaded": "loaded",
    "bytes_load_peak": "peak of loading",
    "bytes_peak": "peak",
    "difference": "logits off by",
}
_NOTE = (
    "Cold: with an empty cache of kernels. Ratios: the best rate of the first zemm divided by that of the"
    " runtime. Bytes: of the process, with its packages. Logits are compared with those of torch-f32."
)


def as_json(run: Run) -> str:
    """{"run": facts, "rows": records}, as zemm-benchdnn writes."""
    content = {"run": run.facts(), "rows": [asdict(record) for record in run.records]}
    return json.dumps(content, indent=1) + "\n"


def as_html(run: Run) -> str:
    """A page with a chart and a table."""
    counts = dict.fromkeys(dict.fromkeys(record.status for record in run.records), 0)
    for record in run.records:
        counts[record.status] += 1
    chips = "".join(chip(f"{count} {status.lower()}", status) for status, count in counts.items())
    settings = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in run.settings.items())
    facts = {
        "Model": f"{run.model} ({run.method}), {run.model_bytes:,} bytes",
        "Processor": f"{run.processor}, {run.cores} cores",
        "Settings": settings,
        "Text": run.text or "none",
    }
    return page("zemm-models", run.date, chips, facts, run.command, [*_charts(run), _table(run)])


def _charts(run: Run) -> list[str]:
    if not picture.is_installed():
        return [section("Charts", f"They need {picture.PACKAGE}.", "")]
    drawn = svg(run)
    return [section("Charts", "Best of all rounds.", charts(drawn))] if drawn else []


def _table(run: Run) -> str:
    names = [field.name for field in fields(Record)]
    used = [name for name in names if any(getattr(r, name) not in (None, "") for r in run.records)]
    rows = ("".join(_cell(name, getattr(record, name)) for name in used) for record in run.records)
    return section("All results", _NOTE, table([escape(_TITLES.get(name, name)) for name in used], rows))


def _cell(name: str, value: object) -> str:
    return f"<td>{chip(str(value), str(value))}</td>" if name == "status" else cell(name, value)
