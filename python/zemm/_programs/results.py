# SPDX-License-Identifier: Apache-2.0
"""Results of a program as plain data: the facts of a run, and a record for each thing that it timed."""

import json
import os
import platform
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

REFUSED = "REFUSED"


@dataclass(frozen=True)
class Facts:
    """The facts of every run. A program adds its own, and `records`."""

    date: str
    command: str
    processor: str
    cores: int

    def facts(self) -> dict[str, Any]:
        """All but the records."""
        return {name: value for name, value in asdict(self).items() if name != "records"}

    def as_json(self) -> str:
        """{"run": facts, "rows": records}."""
        content = {"run": self.facts(), "rows": asdict(self)["records"]}
        return json.dumps(content, indent=1) + "\n"


def facts_now(command: str) -> dict[str, Any]:
    """The facts of a run that begins."""
    date = datetime.now(timezone.utc).isoformat(timespec="seconds")
    cores = len(os.sched_getaffinity(0))
    return {"date": date, "command": encodable(command), "processor": _processor(), "cores": cores}


def encodable(text: str) -> str:
    """The text with escapes for what UTF-8 cannot encode. Arguments that are no UTF-8 have such
    characters."""
    return text.encode("utf-8", "backslashreplace").decode()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
