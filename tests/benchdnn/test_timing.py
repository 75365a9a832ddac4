# SPDX-License-Identifier: Apache-2.0
"""Timed runs: which count, on which streams, with which memories; and the perf templates."""

from collections import Counter
from typing import Any

import pytest
import zemm
from support_driver import Capture, output
from zemm._programs.usage import UsageError
from zemm.benchdnn.cli import main
from zemm.benchdnn.data import cold_cache
from zemm.benchdnn.data.cold_cache import sets_of, tlb_bytes
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.expand import expand
from zemm.benchdnn.report.perf import format_line, own_row
from zemm.benchdnn.run import create
from zemm.benchdnn.run.runner import Runner
from zemm.benchdnn.run.timing import kept
from zemm.benchdnn.run.verdict import EXECUTED, Result

SMALL = "3x20:20x6"
EARLY = [9.0] * 10


@pytest.mark.parametrize(
    ("late", "first"),
    [
        ([1.2, 1.0, 1.22, 1.05, 1.21, 1.2, 1.2, 1.2, 1.2, 1.2], 1.05),  # a step of 5 %
        ([1.0, 1.03, 1.06, 1.06, 1.06, 1.06, 1.06, 1.06, 1.06, 1.06], 1.0),  # steps of 3 %
        ([1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2, 2.4, 2.6, 2.8], 1.2),  # at most a tenth is dropped
        ([5.0], 5.0),
    ],
)
def test_runs_that_count(late: list[float], first: float) -> None:
    """The second half, without outliers at its fast end."""
    found = kept(EARLY[: len(late)] + late)
    assert found == [value for value in sorted(late) if value >= first]


def test_a_hundredth_of_many_runs_must_be_as_fast() -> None:
    late = [1.0, 1.001, 1.001, *([1.002] * 297)]
    assert kept([9.0] * 300 + late) == sorted(late)[3:]
    often = [1.0, 1.0, 1.0, *([1.002] * 297)]
    assert kept([9.0] * 300 + often) == often


class Recorded:
    """The executions of a run: for each stream the addresses of each argument."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.addresses: dict[int, list[dict[int, int]]] = {}
        execute: Any = zemm.Primitive.execute

        def recorded(primitive: Any, stream: Any, memories: dict[int, Any]) -> None:
            handles = {arg: memory.handle for arg, memory in memories.items() if memory.engine}
            self.addresses.setdefault(id(stream), []).append(handles)
            execute(primitive, stream, memories)

        monkeypatch.setattr(zemm.Primitive, "execute", recorded)


@pytest.mark.parametrize("streams", [1, 3])
def test_streams(capsys: Capture, monkeypatch: pytest.MonkeyPatch, streams: int) -> None:
    """Each stream has memories of its own, also a scratchpad, and runs as often as the others."""
    recorded = Recorded(monkeypatch)
    knobs = ["--mode=P", f"--num-streams={streams}", "--fix-times-per-prb=4", "-v1"]
    problem = ["--matmul", "--attr-scratchpad=user", "--dt=s8:u8:f32", "--attr-zero-points=wei:per_oc", SMALL]
    assert main([*knobs, *problem]) == 0
    assert [len(runs) for runs in recorded.addresses.values()] == streams * [1 + 4]
    for arg in recorded.addresses[next(iter(recorded.addresses))][0]:
        used = Counter(run[arg] for runs in recorded.addresses.values() for run in runs)
        assert list(used.values()) == streams * [1 + 4]
    source = "device clock" if streams == 1 else "host clock (3 streams at once)"
    assert f"# times: {source}, 4 runs kept" in capsys.readouterr().out


def test_simulation_runs_once(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mode S: no run before, no copies for cold caches, a perf line."""
    recorded = Recorded(monkeypatch)
    assert main(["--mode=S", "--cold-cache=all", "--matmul", "--perf-template=%prb%,%-time%", SMALL]) == 0
    assert [len(runs) for runs in recorded.addresses.values()] == [1]
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "prb,min_time"
    assert lines[2].startswith(f"--mode=S --cold-cache=all --matmul {SMALL},")
    assert lines[3].startswith("tests:1 passed:1 ")


@pytest.mark.parametrize(("knobs", "runs"), [(["--max-ms-per-prb=10"], 5), (["--fix-times-per-prb=2"], 2)])
def test_number_of_runs(monkeypatch: pytest.MonkeyPatch, knobs: list[str], runs: int) -> None:
    """At least five, or just as many as asked for, after one that does not count."""
    recorded = Recorded(monkeypatch)
    assert main(["--mode=P", *knobs, "--matmul", "256x256:256x256"]) == 0
    (found,) = recorded.addresses.values()
    assert len(found) == runs + 1 if runs < 5 else len(found) > 5


def gpu_result(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    """The result of a case on an engine that says that it is a GPU."""
    engine = zemm.Engine()
    monkeypatch.setattr(engine, "kind", "gpu")
    (job,), _ = expand(["--engine=gpu", *arguments])
    runner = Runner(lambda job, word: None)
    monkeypatch.setattr(runner, "_engine", lambda wanted: engine)
    return runner.run(job)


def test_runs_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """One run for an estimate; the first half of the others does not count. Nothing is filled."""
    recorded = Recorded(monkeypatch)
    result = gpu_result(monkeypatch, "--mode=P", "--num-streams=2", "--max-ms-per-prb=10", "--matmul", SMALL)
    assert (result.state, result.sentence) == (EXECUTED, "")
    first, second = (len(runs) for runs in recorded.addresses.values())
    assert first == second + 1
    assert second >= 1 + 5
    assert 1 <= len(result.times_ms) <= second - 1


@pytest.mark.parametrize("mode", ["C", "B"])
def test_checks_on_a_gpu(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    """Memories of the library are filled and read by copies."""
    for line in ("--dt=s8:u8:f32 --wtag=ab", "--encoding=csr+0.5::", "--attr-post-ops=sum"):
        result = gpu_result(monkeypatch, f"--mode={mode}", "--matmul", *line.split(), SMALL)
        assert (result.state, result.sentence) == ("PASSED", "")


def test_copies_for_cold_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cold_cache, "CACHE_BYTES", 100)
    tensors = {args.SRC: 10, args.WEI: 30, args.DST: 10, args.SCRATCHPAD: 50}
    sets = {name: sets_of(name, tensors, int, lambda size: -size) for name in ("none", "wei", "all+tlb:1M")}
    assert sets["none"] == [tensors]
    assert sets["wei"] == [tensors, *4 * [tensors | {args.WEI: -30}]]
    cold = {args.SRC: -10, args.WEI: -30, args.DST: -10, args.SCRATCHPAD: 50}
    assert sets["all+tlb:1M"] == [tensors, *2 * [cold]]
    assert [tlb_bytes(name) for name in ("all", "all+tlb", "wei+tlb:3M", "all+tlb:0.5g")] == [
        0, 2**30, 3 * 2**20, 2**29
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("knob", "words"),
    [
        ("--cold-cache=custom", "--cold-cache=custom: no arguments are chosen for it"),
        ("--num-streams=2", "--num-streams=2: runs beside peers and limits use one stream"),
    ],
)
def test_timed_runs_that_are_refused(knob: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        expand(["--mode=P", "--peak", knob, "--matmul", SMALL])
    assert expand([knob, "--matmul", SMALL])[0]


NUMBERS = {"time": 2.0, "flops": 720 / 2e-3, "bw": 3000 / 2e-3, "ops": 720.0, "ibytes": 1000.0,
           "obytes": 2000.0, "iobytes": 3000.0, "ctime": 12.0, "cpdtime": 4.0, "cptime": 8.0, "freq": 0.0,
           "clocks": 0.0}  # fmt: skip


def row(*arguments: str) -> Any:
    (job,), _ = expand(["--mode=P", "--engine=gpu:1", "--matmul", *arguments])
    result = Result(impl="some:impl", times_ms=[3.0, 2.0, 7.0], bytes_in=1000, bytes_out=2000)
    result.spans = {"create_pd": [0.004, 0.001], "create_prim": [0.008, 0.003]}
    return own_row(job, result)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_templates(name: str) -> None:
    for unit, divisor in (("", 1), ("K", 1e3), ("M", 1e6), ("G", 1e9)):
        assert format_line(f"%{unit}{name}%", row(SMALL)) == f"{NUMBERS[name] / divisor:g}"


def test_the_choice_of_runs() -> None:
    template = "%-time%,%0time%,%+time%,%~time%|%-ctime%,%0ctime%,%+ctime%,%ctime%|%+flops%"
    assert format_line(template, row(SMALL)) == f"2,4,7,3|4,8,12,12|{720 / 7e-3:g}"


def test_texts_of_templates() -> None:
    case = row(
        "--dt=f16:f16:f32", "--stag=abx", "--wtag=xba", "--bia-dt=f32", "--attr-scales=wei:per_oc",
        "--attr-fpmath=f16", "--ctx-exe=2", "2x3x20:2x20x6_nsome:name",
    )  # fmt: skip
    texts = {
        "desc": "2x3x20:2x20x6_nsome:name", "name": "some:name", "engine": "gpu", "impl": "some:impl",
        "dt": "f16:f16:f32", "sdt": "f16:f16:f32", "ddt": "f32", "bia_dt": "f32", "stag": "abc",
        "wtag": "cba",
        "dtag": "any", "attr": "--attr-scales=wei:per_oc --attr-fpmath=f16", "ctx-init": "auto:auto:auto",
        "ctx-exe": "2:auto:auto", "driver": "matmul", "idx": "0",
        "prb": "--mode=P --mode-modifier=M --engine=gpu:1 --matmul --dt=f16:f16:f32 --stag=abx --wtag=xba "
        "--bia-dt=f32 --attr-scales=wei:per_oc --attr-fpmath=f16 --ctx-exe=2:auto:auto "
        "2x3x20:2x20x6_nsome:name",
    }  # fmt: skip
    for name, text in texts.items():
        assert format_line(f"<%{name}%>", case) == f"<{text}>"
    assert format_line("<%attr%>", row(SMALL)) == "<>"


@pytest.mark.parametrize("token", ["%Xtime%", "%G-time%", "%tme%", "%-Gprbs%", "%%", "%alg%"])
def test_unknown_tokens(token: str, capsys: Capture) -> None:
    assert main(["--mode=P", "--matmul", f"--perf-template=a,{token}", SMALL]) == 1
    assert f"--perf-template: unknown token '{token}'" in capsys.readouterr().err


def test_the_header_is_printed_once(capsys: Capture) -> None:
    """As in benchdnn also if a later template has other columns."""
    knobs = ["--mode=P", "--fix-times-per-prb=1", "--matmul"]
    problems = ["--perf-template=%desc%", SMALL, "--perf-template=csv", SMALL, "--perf-template=", SMALL]
    lines = output(capsys, *knobs, *problems)
    assert lines[:2] == ["Template entries: %desc%", "desc"]
    assert lines[2] == SMALL
    assert lines[3].startswith("perf,cpu,")
    assert f",f32,undef,any,any,any,,{SMALL}," in lines[3]
    assert f",,--mode=P --fix-times-per-prb=1 --matmul {SMALL}," in lines[4]
    assert lines[5].startswith("tests:3 ")


def test_a_second_creation_is_the_shortest(engine: zemm.Engine) -> None:
    (job,), _ = expand(["--mode=P", "--matmul", SMALL])
    result = Result()
    create.primitive(job.case, engine, result)
    assert {stage: len(spans) for stage, spans in result.spans.items()} == {"create_pd": 2, "create_prim": 2}
    (job,), _ = expand(["--matmul", SMALL])
    result = Result()
    create.primitive(job.case, engine, result)
    assert len(result.spans["create_prim"]) == 1
