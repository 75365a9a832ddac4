# SPDX-License-Identifier: Apache-2.0
"""Rows of timed runs with fake peers and limits: columns, refusals, missing peers."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import zemm
from support_driver import Capture, output
from test_peer_libraries import case_of
from zemm._library import kernels
from zemm._library.lists import UNITS
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import Floats
from zemm.benchdnn.grammar.expand import expand
from zemm.benchdnn.peers import PeerError
from zemm.benchdnn.peers.check import check
from zemm.benchdnn.peers.problem import peer_case
from zemm.benchdnn.peers.tensors import tensors
from zemm.benchdnn.run import rivals
from zemm.benchdnn.run.peaks import Peaks, measure
from zemm.benchdnn.run.verdict import is_reference

PROBLEM = "31x256:256x64"


class Fake:
    """A peer that counts what it is asked to do."""

    version = "1.2"
    impl = "fake, with a comma"

    def __init__(self, refused: str = "", quantises_src: bool = False) -> None:
        self.refused, self.quantises_src = refused, quantises_src
        self.cases: list[Case] = []
        self.quantised: list[bool] = []
        self.order = ""

    def prepare(self, case: Case, quantise_src: bool = False) -> "Fake":
        self.cases.append(case)
        self.quantised.append(quantise_src)
        if self.refused:
            raise PeerError(self.refused)
        return self

    def cool(self) -> None:
        self.order += "c"

    def run(self) -> None:
        self.order += "r"

    def dst(self) -> Floats:
        return np.zeros(self.cases[-1].problem.dst, np.float32)


COLUMNS = (
    "who,engine,impl,name,prb,Gops,min_time,med_time,min_wall,med_wall,min_Gflops,med_Gflops,min_Gbw,med_Gbw,"
    "min_peak,med_peak,bound,min_ratio,med_ratio"
)
RUN = ("--mode=P", "--fix-times-per-prb=7")


def no_check(case: Case, dst: Floats) -> None:
    assert dst.shape == case.problem.dst


def rows(
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    fakes: dict[str, Any],
    *arguments: str,
    check: Callable[[Case, Floats], None] = no_check,
) -> tuple[list[str], list[dict[str, str]]]:
    """All lines of a run, and its rows by column."""

    def fake_load(name: str) -> Any:
        if isinstance(fakes[name], PeerError):
            raise fakes[name]
        return fakes[name]

    def fake_measure(engine: Any, names: Sequence[str]) -> Peaks:
        return Peaks(dict.fromkeys([*UNITS, "read"], 1e9))

    monkeypatch.setattr(rivals.Rivals.__init__, "__defaults__", (fake_load, fake_measure, check))
    lines = output(capsys, *RUN, *arguments)
    found = [line.split(",") for line in lines if line.startswith(("perf,", "peer,"))]
    assert COLUMNS in lines
    return lines, [dict(zip(COLUMNS.split(","), row, strict=True)) for row in found]


def test_rows_of_zemm_and_a_peer(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake()
    lines, (own, peer) = rows(
        capsys, monkeypatch, {"onednn": fake}, "--peak", "--peer=onednn", "--matmul", "--peer-dt=f16", PROBLEM
    )
    assert fake.order == "r" + 7 * "cr"  # one run is not timed
    assert fake.cases[0].dt == ("f16", "f16", "f16")
    assert "# peer: onednn 1.2" in lines
    assert (own["who"], own["engine"], peer["who"], peer["engine"]) == ("perf", "cpu", "peer", "onednn")
    options = " ".join(RUN)
    assert own["prb"] == f"{options} --matmul --peer-dt=f16:f16:f16 {PROBLEM}"
    assert peer["prb"] == f"{options} --matmul --dt=f16 {PROBLEM}"
    assert peer["impl"] == "fake; with a comma"
    assert (own["min_ratio"], own["med_ratio"]) == ("1", "1")
    for kind in ("min", "med"):
        assert float(peer[f"{kind}_ratio"]) == pytest.approx(
            float(peer[f"{kind}_wall"]) / float(own[f"{kind}_wall"]), rel=1e-4
        )
        assert float(own[f"{kind}_time"]) <= float(own[f"{kind}_wall"])
        ops = 2 * 31 * 256 * 64
        # Rates are by the clock that zemm and its peers share.
        assert peer[f"{kind}_time"] == "n/a"
        assert float(own[f"{kind}_Gflops"]) == pytest.approx(ops / float(own[f"{kind}_wall"]) / 1e6, rel=1e-4)
        # Both fake limits are equal. The case has more operations than bytes, so operations are the
        # bound.
        bound_ms = ops / 1e9 * 1e3
        assert float(own[f"{kind}_peak"]) == pytest.approx(
            100 * bound_ms / float(own[f"{kind}_wall"]), rel=1e-4
        )
    assert own["bound"] == "f32"
    size = 4 * (31 * 256 + 256 * 64 + 31 * 64)
    assert float(own["min_Gbw"]) == pytest.approx(size / float(own["min_wall"]) / 1e6, rel=1e-4)
    assert float(peer["min_Gbw"]) == pytest.approx(size / 2 / float(peer["min_wall"]) / 1e6, rel=1e-4)


def test_the_table_at_the_end(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    peers = {"onednn": Fake(), "openvino": Fake("no such thing")}
    lines, _ = rows(
        capsys,
        monkeypatch,
        peers,
        "--peak",
        "--peer=onednn,openvino",
        "--matmul",
        f'{PROBLEM}_n"layer"',
        PROBLEM,
    )
    start = next(i for i, line in enumerate(lines) if line.startswith("problem "))
    table = lines[start + 1 : start + 7]
    assert [line[: len(PROBLEM)].strip() for line in table] == ["layer", "", "", PROBLEM, "", ""]
    assert table[0].split()[1] == "zemm"
    assert [line.split()[0] for line in table[1:3]] == ["onednn", "openvino"]
    assert table[2].endswith("refused: no such thing")
    assert table[1].endswith("fake; with a comma: defaults")


class Broken(Fake):
    def run(self) -> None:
        raise RuntimeError("went wrong")


def test_peers_without_a_ratio(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing peer is left out, with one line; others say in their rows why nothing is compared."""
    reference, wrong = Fake(), Fake()
    reference.impl = "ref_int8:any"
    peers = {
        "onednn": PeerError("peer onednn left out: gone"),
        "openvino": Fake("cannot do this, nor that"),
        "onnxruntime": Broken(),
        "ggml": reference,
        "torch": wrong,
    }

    def only_torch(case: Case, dst: Floats) -> None:
        if wrong.order:
            check(case, dst)

    lines, found = rows(
        capsys,
        monkeypatch,
        peers,
        f"--peer={','.join(peers)}",
        "--matmul",
        PROBLEM,
        PROBLEM,
        check=only_torch,
    )
    assert lines.count("# peer onednn left out: gone") == 1
    assert [row["engine"] for row in found] == ["cpu", *list(peers)[1:]] * 2
    own, *refused, compared, last = found[:5]
    assert own["min_peak"] == "n/a"  # there was no --peak
    assert [row["impl"] for row in refused] == ["refused: cannot do this; nor that", "refused: went wrong"]
    assert last["impl"].startswith("refused: its result is wrong: an element differs by")
    assert wrong.order == "rr"  # once for each case: it is not timed
    for row in (*refused, last):
        assert {row[name] for name in ("min_time", "med_wall", "min_Gflops", "min_ratio")} == {"n/a"}
    assert compared["impl"] == "ref_int8:any; reference; not comparable"
    assert float(compared["min_wall"]) > 0
    assert compared["min_ratio"] == compared["med_ratio"] == "n/a"
    assert any(line.endswith("ref_int8:any; reference; not comparable: defaults") for line in lines)
    names = ["ref:any", "gemm:ref", "brg_matmul:avx2", "prefetched", "matmul_ref8", "ref_any_f32"]
    assert [is_reference(name) for name in names] == [True, True, False, False, False, True]


def test_rates_without_peers_are_by_the_device_s_clock(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, (own,) = rows(capsys, monkeypatch, {}, "--peak", "--matmul", PROBLEM)
    assert float(own["min_Gflops"]) == pytest.approx(
        float(own["Gops"]) / float(own["min_time"]) * 1e3, rel=1e-3
    )


WEIGHT_ONLY = "--dt=f32:u8:f32 --attr-scales=wei:per_tensor:f32:128x1"
QUANTISED = (
    "--dt=s8:u8:f32 --quantize=f32 --attr-scales=src:per_tensor:f32:1x128+wei:per_tensor:f32:128x1 "
    "--peer-attr-fpmath=strict:true"
)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (f"{WEIGHT_ONLY} --attr-fpmath=strict:true", [False]),
        (f"{WEIGHT_ONLY} --attr-fpmath=any:true", [False, True]),
        (f"{WEIGHT_ONLY} --attr-fpmath=any:true --peer-attr-fpmath=strict:true", [False]),
        (QUANTISED, [True]),
        (f"{WEIGHT_ONLY} --attr-src-dyn-quant=128", [True]),
        (f"{WEIGHT_ONLY} --attr-src-dyn-quant=128 --peer-attr-src-dyn-quant=none", [False]),
        (f"{WEIGHT_ONLY} --attr-src-dyn-quant=128 --peer-dt=bf16:u8:bf16", [False]),
        (f"{QUANTISED} --peer-dt=f32:f4_e2m1:f32", [True]),
        (f"{QUANTISED} --peer-dt=f32", [False]),
        ("--dt=f32", [False]),
    ],
)
def test_whether_peers_quantise_src(options: str, expected: list[bool]) -> None:
    (job,), _ = expand(["--matmul", *options.split(), PROBLEM])
    wanted = peer_case(job.case, "openvino")
    assert rivals.ways(Fake(quantises_src=True), job.case, wanted) == expected
    assert rivals.ways(Fake(), job.case, wanted) == [False]


def test_a_row_says_that_its_peer_quantises_src(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    peer = Fake(quantises_src=True)
    case = (*WEIGHT_ONLY.split(), "--attr-fpmath=any:true", PROBLEM)
    _, found = rows(capsys, monkeypatch, {"openvino": peer}, "--peak", "--peer=openvino", "--matmul", *case)
    assert [row["engine"] for row in found] == ["cpu", "openvino", "openvino (src quantised)"]
    unit = next(row.unit for row in kernels.rows() if row.name == found[0]["impl"])
    assert UNITS[unit]["multiplies"] in ("f32", "bf16")  # as the device can
    assert [row["bound"] for row in found] == [unit, unit, "int8"]
    assert peer.quantised == [False, True]


def test_a_template_of_ones_own_serves_both(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rivals.Rivals.__init__, "__defaults__", (lambda name: Fake(), measure, no_check))
    template = "--perf-template=%who%;%engine%;%~ratio%;%~time%"
    lines = output(capsys, *RUN, "--peer=onednn --matmul", template, PROBLEM)
    assert "who;engine;med_ratio;med_time" in lines
    assert any(line.startswith("perf;cpu;1;") for line in lines)
    assert any(line.startswith("peer;onednn;") for line in lines)


def test_peaks_of_the_cpu(engine: zemm.Engine) -> None:
    """Checks the units: at least an f32 multiply-add each nanosecond, and no rate beyond that of
    any machine.
    """
    assert 1e9 < engine.measure_peak("f32") < 1e15
    assert 1e8 < engine.measure_peak("read") < 1e14
    assert 1e8 < engine.measure_peak("copy") < 1e14
    with pytest.raises(ValueError, match="what is 'int4'"):
        engine.measure_peak("int4")


@pytest.mark.full
def test_a_device_without_the_feature_that_a_limit_is_measured_with() -> None:
    """The sentence comes once, the run goes on, and rows that need this limit show no percentage."""
    command = [sys.executable, "-m", "zemm.benchdnn", *RUN, "--peak", "--matmul", "--dt=s8,f32", "3x64:64x8"]
    environment = os.environ | {"ZEMM_DEVICE_MASK": "avx2"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    reasons = [line for line in lines if line.startswith("# peak: int8 n/a: device ")]
    assert len(set(reasons)) == 1
    assert "does not report avx2" in reasons[0]
    columns = COLUMNS.split(",")
    first, second = (
        dict(zip(columns, line.split(","), strict=True)) for line in lines if line.startswith("perf,")
    )
    assert first["bound"] in ("f32", "read")  # without AVX2 bytes are multiplied as f32
    assert second["bound"] in ("f32", "read")
    assert float(second["med_peak"]) > 0


SCALED = "--dt=s8:u4:f32 --attr-scales=src:per_tensor:f32:1x128+wei:per_tensor:f32:128x1"


def right(case: Case) -> Floats:
    """What a case gives, by plain numpy."""
    values = {argument.arg: tensor for argument, tensor in tensors(case)}
    src, wei = values[args.SRC], values[args.WEI]
    if args.SCALES | args.SRC in values:
        src = src * np.repeat(values[args.SCALES | args.SRC], 128, 1)
        wei = wei * np.repeat(values[args.SCALES | args.WEI], 128, 0)
    result: Floats = src @ wei + values.get(args.BIAS, np.float32(0))
    return result


@pytest.mark.parametrize("options", ["--dt=f32", SCALED, "--dt=bf16", "--dt=f32 --bia-dt=f32"])
def test_a_wrong_row_is_found(options: str) -> None:
    case = case_of(options)
    dst = right(case)
    check(case, dst)
    check(case, dst * np.float32(1.01))  # as far as a src with 8 bits
    for row in (0, 30):
        wrong = dst.copy()
        wrong[row] += np.abs(dst).max() / 10
        with pytest.raises(PeerError, match="its result is wrong: an element differs by"):
            check(case, wrong)
    wrong[0, 0] = np.nan
    with pytest.raises(PeerError, match="differs by nan"):
        check(case, wrong)


@pytest.mark.parametrize("options", ["--attr-post-ops=relu", "--attr-scales=dst:common:2"])
def test_what_is_not_checked(options: str) -> None:
    case = case_of(f"--dt=f32 {options}")
    check(case, np.zeros(case.problem.dst, np.float32))
