# SPDX-License-Identifier: Apache-2.0
"""The first pass of a model: the line that numbers the kernels, and which kernels numbers of rows need."""

import logging
import os
import sys
import time
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
import pytest
import zemm
from support_process import captured
from zemm._layers import first_pass
from zemm._terminal import building

ROWS = (1, 5, 8, 16, 32, 64)  # of docs/layers.md
KINDS: list[dict[str, Any]] = [
    {"bits": 4, "group": 32},
    {"bits": 8, "activation": "bf16"},
    {"bits": 4, "group": 32, "activation": "int8"},
    {"bits": 8, "group": None, "activation": "int8"},
]


def layer(engine: zemm.Engine, k: int = 256, n: int = 192, **kind: Any) -> zemm.Linear:
    return zemm.Linear.from_float(np.ones((k, n), np.float32), engine=engine, **kind)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_few_numbers_of_rows_need_all_kernels(engine: zemm.Engine, kind: dict[str, Any]) -> None:
    """No other number of rows has a kernel that those of the page have not."""
    calls = layer(engine, **kind)._calls
    src = "bf16" if kind.get("activation") == "bf16" else "f32"

    def kernels(rows: int) -> set[Any]:
        return set().union(*map(first_pass.kernels_of, calls.descs(rows, src, "f32", None, False)))

    known = set().union(*map(kernels, ROWS))
    assert {rows for rows in (*range(1, 40), 100, 512, 4000) if not kernels(rows) <= known} == set()


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines of what is built, in a process without other layers."""
    lines: list[str] = []
    monkeypatch.setattr(building, "is_watched", lambda: True)
    monkeypatch.setattr(first_pass, "_layers", WeakSet())
    monkeypatch.setattr(first_pass, "_built", {})
    monkeypatch.setattr(first_pass, "build_one", lambda pd, text: lines.append(text.partition(":")[0]))
    return lines


def test_numbers(engine: zemm.Engine, said: list[str]) -> None:
    """The first call knows what the layers after it need. A second pass, with as many rows, needs nothing."""
    layers = [
        layer(engine, **KINDS[2]),
        layer(engine, 192, 64, **KINDS[0]),
        layer(engine, 64, 256, **KINDS[2]),
    ]
    for _ in range(2):
        x = np.ones((5, 256), np.float32)
        for one in layers:
            x = one(x)
    # The two layers of a kind share their kernels, which are of one primitive: one quantises, one multiplies.
    assert said == ["1 of 3", "3 of 3"]
    layers[1](np.ones((64, 192), np.float32))
    assert said[2:] == ["4 of 5"]


def test_numbers_of_experts(engine: zemm.Engine, said: list[str]) -> None:
    """A call in groups counts its kernels, and the layers after it."""
    w, bias = np.ones((2, 256, 192), np.float32), np.ones((2, 192), np.float32)
    experts = zemm.Linear.from_float(w, bias, engine=engine, **KINDS[2])
    after = layer(engine, 192, 64, **KINDS[0])
    for _ in range(2):
        after(experts(np.ones((5, 256), np.float32), group_sizes=[2, 3]))
    assert said == ["1 of 3", "2 of 3", "3 of 3"]


def test_nobody_looks(engine: zemm.Engine, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "is_watched", lambda: False)
    layer(engine, **KINDS[0])(np.ones((5, 256), np.float32))
    assert said == []


MODEL = """
import logging, sys, numpy as np, zemm
if "INFO" in sys.argv:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
engine, w = zemm.Engine("cpu"), np.ones((64, 32), np.float32)
layers = [zemm.Linear.from_float(w, group=32, engine=engine, activation=name) for name in ("f32", "int8")]
for layer in layers:
    layer(np.ones((5, 64), np.float32))
"""


@pytest.mark.full
def test_log_of_a_process(engine: zemm.Engine, tmp_path: Path) -> None:
    """With the log the same kernels are built, no others. Builds that take long have a line each."""
    kept, lines = {}, {}
    for level in ("INFO", "none"):
        folder = tmp_path / level
        env = {name: value for name, value in os.environ.items() if name != "ZEMM_VERBOSE"}
        done = captured(
            [sys.executable, "-c", MODEL, level], env=env | {"ZEMM_CACHE_DIR": str(folder)}, timeout=300
        )
        assert done.returncode == 0, done.stderr
        kept[level], lines[level] = {path.name for path in folder.iterdir()}, done.stderr.splitlines()
    assert kept["INFO"] == kept["none"]
    assert lines["none"] == []
    counted = [line.partition(":")[0] for line in lines["INFO"] if " of " in line]
    assert counted == [line for line in (f"building kernel {i} of 3" for i in (1, 2, 3)) if line in counted]


def test_log_has_the_line(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Without a terminal, and beside ZEMM_VERBOSE. An inner context says nothing of its own."""
    monkeypatch.setattr(building, "PATIENCE", 0.0)
    monkeypatch.setenv("ZEMM_VERBOSE", "error")
    with caplog.at_level(logging.INFO, "zemm"), building.watched(lambda: "outer"):
        with building.watched(lambda: "inner"):
            deadline = time.monotonic() + 30
            while not caplog.messages and time.monotonic() < deadline:
                time.sleep(0.05)
        time.sleep(0.3)
    assert caplog.messages == ["building kernel outer"]
