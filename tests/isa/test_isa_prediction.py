# SPDX-License-Identifier: Apache-2.0
"""What `python -m zemm.isa` adds to llvm-mca's cycles for CPU rows, and the table beside measured times."""

from dataclasses import replace

import pytest
import zemm
from test_isa_command import fails
from test_isa_cpu import newest_llvm
from zemm._library.lists import UNITS
from zemm.isa.cpu import clock, run
from zemm.isa.cpu.analysis import Analysis, Block
from zemm.isa.cpu.assembly import Instruction
from zemm.isa.cpu.caches import Blocks, Level1, conflicts, extra
from zemm.isa.cpu.clock import Clock
from zemm.isa.cpu.devices import CPUS, at_hand, vendor
from zemm.isa.cpu.mca import Estimate
from zemm.isa.cpu.prediction import MEASURED_HEADER, Measured, Prediction, predict
from zemm.isa.cpu.rows import chosen
from zemm.isa.report import Named
from zemm.isa.rows import Problem

ZEN_4, SAPPHIRE_RAPIDS = CPUS["znver4"].level1, CPUS["sapphirerapids"].level1
# Four rows by 64 columns of bytes and 256 elements of K, as the row of AVX512-VNNI multiplies.
VNNI = Blocks(4, 120, 64, 256, 1, 1, 4096, has_tiles=False)
TILES = Blocks(32, 32, 64, 128, 1, 1, 4096, has_tiles=True)


def test_sets_that_a_distance_hits() -> None:
    """Rows of src 4096 bytes apart are in one set of 64; 64 bytes more spread them."""
    assert (ZEN_4.sets, SAPPHIRE_RAPIDS.sets) == (64, 64)
    assert conflicts(32, 4096, SAPPHIRE_RAPIDS)
    assert conflicts(32, 2048, SAPPHIRE_RAPIDS)  # 16 rows in each of two sets, which have 12 lines
    assert not conflicts(32, 1024, SAPPHIRE_RAPIDS)
    assert not conflicts(32, 4160, SAPPHIRE_RAPIDS)
    assert not conflicts(4, 4096, ZEN_4)
    assert not conflicts(32, 4100, ZEN_4)


def test_lines_of_vectors() -> None:
    """The panel of 16 KB stays in a first level of 32 KB. The sums of 120 rows, 30 KB, do not."""
    sums = 4 * 64 * 4
    found = extra(VNNI, sums, 0, ZEN_4)
    assert found.lines == 4 * 256 / 64 + 2 * sums / 64
    assert found.cycles == 2 * found.lines
    few = replace(VNNI, tile_rows=8)
    assert extra(few, sums, 0, ZEN_4).lines == 4 * 256 / 64
    assert extra(few, sums, 0, Level1(8 << 10, 8)).lines == 48 + 256 * 64 / 64
    one = replace(VNNI, rows=1, tile_rows=1)  # takes the weights once
    assert extra(one, 256, 0, ZEN_4).lines == 256 / 64 + 256 * 64 / 64


def test_lines_of_tiles() -> None:
    """Results and sums of 32 rows stay over short segments, whose weights come for each group of rows. Of a
    long one src comes for each half of the columns. Rows in one set are copied before."""
    sums = 32 * 64 * 4
    src, wei = 32 * 128 / 64, 64 * 128 / 64
    short = extra(TILES, 2 * sums, 16, SAPPHIRE_RAPIDS)
    assert (short.lines, short.conflicts) == (src + wei, False)
    assert short.cycles == 2 * short.lines + 8 * 16
    long = extra(replace(TILES, k=1024), sums, 128, SAPPHIRE_RAPIDS)
    assert long.lines == 8 * (2 * src + wei) + 2 * sums / 64


@pytest.mark.parametrize(
    ("op", "operands", "size"),
    [
        ("vmovups", "%zmm3, 0x40(%rax,%rdx)", 64),
        ("vmovdqu", "%ymm3, (%rax)", 32),
        ("vmovups", "(%rax), %zmm3", 0),
        ("vmovups", "%zmm3, 0x40(%rsp)", 0),
        ("vmovaps", "%zmm3, %zmm4", 0),
        ("vaddps", "%zmm3, %zmm4, %zmm5", 0),
        ("movq", "%rax, (%rdx)", 0),
    ],
)
def test_stored_vectors(op: str, operands: str, size: int) -> None:
    assert Instruction(0, op, operands).stored_vector == size


def test_the_machine_s_own_cpu() -> None:
    vnni = ("avx2", "avx_vnni", "avx512", "avx512_vnni", "avx512_bf16")
    assert at_hand(vnni, "AuthenticAMD") == "znver4"
    assert at_hand(vnni, "GenuineIntel") == "icelake-server"
    assert at_hand((*vnni, "amx_int8", "amx_bf16"), "GenuineIntel") == "sapphirerapids"
    assert at_hand(("avx2",), "AuthenticAMD") == "core-avx2"
    assert at_hand((), "") == ""


def test_memory_bounds_a_prediction() -> None:
    found = Prediction("row", "problem", "znver4", 100, 80, extra(VNNI, 0, 0, ZEN_4))
    assert found.share == pytest.approx(80 / (100 + 2 * 16))
    assert found.cells()[-2:] == ["132", "61 %"]
    found.measured = Measured(operations=4e9, seconds=0.08, unit="int8", limit=1e12, read=1e10, moved=10**9)
    assert found.share == pytest.approx(0.04)  # 4 ms of operations, 100 ms of reading
    assert found.cells()[-3:] == ["4 %", "1000 int8", "5 %"]
    assert found.json()["measured"] == 0.05


@pytest.mark.parametrize("has_block", [True, False])
def test_without_a_block_the_loop_counts(has_block: bool) -> None:
    """16 trips of four elements of K in a block of 64."""
    row = next(row for row in chosen("") if row.family == "avx512" and row.tile_n == 64)
    problem = Problem("f32", "any", "--dt=f32:f32:f32 512x4096:4096x4096", 0)
    loop = Estimate(cycles=8, limit=6, bound="", loads=0, stores=0)
    block = Block(64, 16, Estimate(150, 96, "", 0, 0), stored=row.rows * 256) if has_block else None
    analysis = Analysis(instructions=9, multiplies=4, spills=0, k=4, loop=loop, block=block)
    found = predict(Named("k", "p", "d"), analysis, row, problem, 512, ZEN_4)
    assert found
    assert found.block_cycles == (150 if has_block else 128)
    assert found.multiply_cycles == 96
    assert found.extra.lines == 3 * row.rows * 256 / 64
    assert found.cells()[3] == ("150" if has_block else "128 (loop)")
    amx = next(row for row in chosen("") if row.has_tiles)
    assert (predict(found, analysis, amx, problem, 512, ZEN_4) is None) != has_block


def test_the_clock(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits of the device take seconds: test_peak.c measures them."""
    monkeypatch.setattr(clock, "_MILLISECONDS", 20)
    monkeypatch.setattr(zemm.Engine, "measure_peak", lambda self, unit: 1e10 if unit == "read" else 1e15)
    row = next(row for row in chosen("") if row.policy == "generic")
    problem = Problem("small", "any", "--dt=f32 --wtag=any 8x64:64x32", 0)
    assert problem.k == 64
    found = Clock(engine).run(row, problem)
    assert found.unit in UNITS
    assert found.operations == 2 * 8 * 64 * 32
    assert 0 < found.share < 1
    assert found.memory_share > 0


@pytest.mark.full
@pytest.mark.llvm_mca
@pytest.mark.skipif(newest_llvm() < 16, reason="there is no llvm-mca of version 16 or newer")
def test_prediction_and_measurement(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code that is judged is the one that runs: built for the CPU at hand."""
    row = next(row for row in chosen("") if row.policy == "avx2_fma" and row.tile_m > row.rows)
    own = at_hand(engine.features, vendor())
    if row.feature not in engine.features or not own:
        pytest.skip("the CPU has no AVX2")
    monkeypatch.setattr(run, "PROBLEMS", [p for p in run.PROBLEMS if p.name == "f32:f32"])
    monkeypatch.setattr(run, "TIMED", {m: (min(m, 64), 256) for m in run.TIMED})
    found = run.CpuRun([own], row.name, None, measure=True)
    found.run()
    assert found.failures == []
    assert [p.problem for p in found.predictions] == ["f32:f32, 1 row", "f32:f32, many rows"]
    for prediction in found.predictions:
        assert prediction.measured
        assert prediction.measured.unit == "f32"
        assert 0 < prediction.share < 1
        assert prediction.measured.share > 0
        assert len(prediction.cells()) == len(MEASURED_HEADER)


def test_measure_is_for_one_cpu() -> None:
    fails("--measure is for one CPU", "--measure", "--device=pvc")
    fails("--measure is for one CPU", "--measure", "--device=znver4,skx")
