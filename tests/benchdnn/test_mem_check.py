# SPDX-License-Identifier: Apache-2.0
"""`--mem-check`: estimates, limits, and which cases are skipped."""

from types import SimpleNamespace
from typing import Any

import pytest
from support_driver import Capture, output
from zemm.benchdnn.data.cold_cache import CACHE_BYTES
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.expand import expand
from zemm.benchdnn.run import footprint
from zemm.benchdnn.run.footprint import Capacity, Footprint, capacity, needs_the_memory, shortage, shown

PROBLEM = "10x20:20x30"
SIZES = {"src": 200, "wei": 600, "dst": 300}
ALL = sum(SIZES.values())


def case_of(*arguments: str) -> Case:
    (job,), _ = expand([*arguments, PROBLEM])
    return job.case


def test_tensors_of_a_case() -> None:
    assert footprint.footprint(case_of("--mode=R", "--matmul", "--dt=f16:s4:f32")) == Footprint(
        2 * 200 + 300 + 4 * 300, 4 * 300, 0
    )
    scaled = case_of(
        "--mode=R", "--matmul", "--bia-dt=f32", "--attr-scales=wei:per_oc", "--attr-post-ops=add:s8:3"
    )
    assert footprint.footprint(scaled, 5000) == Footprint(4 * (ALL + 30 + 30) + 300 + 5000, 5000, 0)
    sparse = case_of("--mode=R", "--matmul", "--encoding=:csr+0.9:")
    assert footprint.footprint(sparse).device == 4 * (200 + 300) + 60 * (4 + 8)


@pytest.mark.parametrize(
    ("mode", "host"),
    [("C", 4 * ALL + 8 * 600 + 12 * 300), ("B", 2 * 4 * 300), ("P", 4 * 600), ("R", 0), ("S", 0)],
)
def test_what_the_driver_keeps(mode: str, host: int) -> None:
    assert footprint.footprint(case_of(f"--mode={mode}", "--matmul")).host == host


def test_copies_of_timed_runs() -> None:
    case = case_of("--mode=P", "--num-streams=3", "--matmul")
    assert footprint.footprint(case).device == 3 * 4 * ALL
    cold = case_of("--mode=P", "--cold-cache=all", "--matmul")
    assert footprint.footprint(cold).device == 4 * ALL + CACHE_BYTES


@pytest.mark.parametrize(
    ("needed", "words"),
    [
        (Footprint(700, 1, 0), ""),
        (Footprint(701, 1, 0), "not enough memory of the device"),
        (Footprint(700, 300, 0), ""),
        (Footprint(700, 301, 0), "an allocation of 301 B is more than the device's limit"),
        (Footprint(700, 1, 700), ""),
        (Footprint(700, 1, 701), "not enough memory of the host"),
    ],
)
def test_limits(needed: Footprint, words: str) -> None:
    assert shortage(needed, Capacity(2000, 1000, 300)) == words


def test_memory_of_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footprint, "host_memory", lambda: 64)
    model: dict[str, Any] = {"memory_bytes": 16, "max_alloc_bytes": 4}
    assert capacity(SimpleNamespace(kind="gpu", model=model)) == Capacity(64, 16, 4)
    for engine in (SimpleNamespace(kind="gpu", model={}), SimpleNamespace(kind="cpu", model=model)):
        assert capacity(engine) == Capacity(64, 64, 2**64)


def test_several_cases_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of("--matmul")
    needed = footprint.footprint(case)
    monkeypatch.setattr(footprint, "host_memory", lambda: 5 * (needed.device + needed.host))
    assert not needs_the_memory(case, 3)
    assert needs_the_memory(case, 4)
    assert not needs_the_memory(case_of("--matmul", "--dt=undef"), 1)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KB"), (7 * 2**30, "7 GB"), (2**50, "1024 TB")],
)
def test_sizes_in_words(count: int, text: str) -> None:
    assert shown(count) == text


@pytest.fixture
def small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footprint, "host_memory", lambda: 9000)


@pytest.mark.usefixtures("small_machine")
@pytest.mark.parametrize(
    ("mode", "state"), [("C", "SKIPPED"), ("B", "SKIPPED"), ("I", "INITIALIZED"), ("L", "LISTED")]
)
def test_modes_that_execute_need_memory(capsys: Capture, mode: str, state: str) -> None:
    reason = " (Not enough RAM)" if state == "SKIPPED" else ""
    assert output(capsys, f"--mode={mode}", "--matmul --dt=f32", PROBLEM)[0].startswith(
        f"0:{state}{reason} ("
    )


@pytest.mark.usefixtures("small_machine")
def test_the_check_can_be_left_out(capsys: Capture) -> None:
    (line, *_) = output(capsys, "--mem-check=false --matmul", PROBLEM)
    assert line.startswith("0:PASSED (")
    assert "__REPRO: --mem-check=false --matmul " in line


def test_lines_about_memory(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any("CHECK_MEM" in line for line in output(capsys, "-v1 --matmul", PROBLEM))
    (found,) = (line for line in output(capsys, "-v6 --matmul", PROBLEM) if "CHECK_MEM" in line)
    assert found.startswith("[CHECK_MEM]: fits; requested: 4.297 KB (device), ")
    monkeypatch.setattr(footprint, "host_memory", lambda: 10000)
    (found,) = (line for line in output(capsys, "-v1 --matmul", PROBLEM) if "CHECK_MEM" in line)
    assert found.startswith("[CHECK_MEM]: not enough memory of the host; requested: 4.297 KB (device), ")
    assert found.endswith("memory: 9.766 KB (device), 9.766 KB (host);")
