# SPDX-License-Identifier: Apache-2.0
"""The speed at which `python -m zemm.isa` says that a K loop for few rows takes weights."""

import json
from pathlib import Path

import pytest
from support_isa import OLDER
from zemm.isa import analysis, assembly, cli, memory, model, rows, weights
from zemm.isa.compiler import Compiled

BY_NAME = {problem.name: problem for problem in rows.PROBLEMS}
FEW = "matmul_int8_any_any_8x16x128_xe_int8"


def row(name: str) -> rows.Row:
    (found,) = rows.chosen(name)
    return found


def analysed(device: str, group: int = 0) -> analysis.Analysis:
    family = model.family_of(device)
    compiled = Compiled(assembly.parse(OLDER), 0, 1.0)  # its four DPAS are 128 of K of this tile
    return analysis.analyse(compiled, family, group, (8, 16))


def test_products_are_gpus_of_the_model() -> None:
    assert set(memory.PRODUCTS) <= set(model.DEVICES)


def test_bandwidth() -> None:
    """A Max 1550 has 1024 XVEs with 1.6 GHz and 3276.8 GB/s."""
    assert memory.bytes_a_cycle("pvc") == pytest.approx(2.0)
    assert memory.bytes_a_cycle("bmg") == pytest.approx(456e9 / (160 * 2.67e9))
    assert memory.bytes_a_cycle("tgllp") is None


def test_peaks_of_the_products() -> None:
    """The clocks and cores give the int8 TOPS that Intel publishes: 122 of Panther Lake's graphics,
    67 of Lunar Lake's."""
    for device, tops in (("ptl", 122), ("lnl-m", 67)):
        product, family = memory.PRODUCTS[device], model.family_of(device)
        operations = 2 * 32 * family.sub_group // family.dpas_row_cycles
        found = operations * family.xve * product.xe_cores * product.mhz / 1e6
        assert found == pytest.approx(tops, rel=0.01)


@pytest.mark.parametrize(
    ("name", "problem", "shape"),
    [
        (FEW, "s8:u8 groups", weights.Shape(16, 8)),
        (FEW, "s8:u4 groups", weights.Shape(16, 4)),
        ("matmul_int8_any_any_40x32x128_xe_int8", "s8:u8 groups", None),
        ("matmul_half_any_any_8x32x32_xe_hpg_half", "f16:u4 groups", weights.Shape(32, 4)),
        ("matmul_half_any_any_8x32x32_xe_hpg_half", "f32:f32 bf16", weights.Shape(32, 32)),
        ("matmul_half_any_any_8x32x32_xe_hpg_half", "f32:f32 tf32", weights.Shape(32, 32, 3)),
        ("matmul_half_any_any_8x32x32_xe_hpg_half", "f32:u8 groups tf32", weights.Shape(32, 8, 2)),
        ("matmul_tf32_any_any_8x16x32_xe_tf32", "f32:f32 tf32", weights.Shape(16, 32)),
    ],
)
def test_shape(name: str, problem: str, shape: weights.Shape | None) -> None:
    assert rows.weights_of(row(name), BY_NAME[problem]) == shape


def test_stream() -> None:
    """128 of K in 16 columns: 2048 bytes. The loop has 32 cycles of XMX, 2 of int and a branch."""
    a = analysed("pvc")
    stream = weights.Stream.of(a, weights.Shape(16, 8), "pvc")
    assert stream.taken == 2048
    assert stream.overlapped == pytest.approx(2048 / 32)
    assert stream.in_turn == pytest.approx(2048 / 35)
    assert stream.ratios() == pytest.approx((32.0, 2048 / 35 / 2))
    half = weights.Stream.of(a, weights.Shape(16, 8, 2), "pvc")
    assert half.taken == weights.Stream.of(a, weights.Shape(16, 4), "pvc").taken == 1024


def test_in_turn_is_never_faster() -> None:
    """Loads take longest here, and they run beside the other work."""
    a = analysed("bmg")
    assert a.prediction.bound == "L1"
    stream = weights.Stream.of(a, weights.Shape(16, 8), "bmg")
    assert stream.in_turn == stream.overlapped == pytest.approx(2048 / 96)


def test_stream_of_a_group() -> None:
    """The loop runs once in a group of 128 and twice in one of 256."""
    shape = weights.Shape(16, 8)
    one, two = (weights.Stream.of(analysed("pvc", group), shape, "pvc") for group in (128, 256))
    assert (one.taken, two.taken) == (2048, 4096)
    assert one.in_turn < two.in_turn < weights.Stream.of(analysed("pvc"), shape, "pvc").in_turn


def test_unknown_memory() -> None:
    stream = weights.Stream(1024, 8.0, 4.0, None)
    assert stream.ratios() is None
    assert weights.Line(("k", "p", "mtl"), stream).cells()[3:] == ["1024", "8.00", "4.00", "-", "-", "-"]
    assert "weights_to_memory" not in stream.json()


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The second table, and the figures in the JSON. A tile of many rows has neither.

    The loop of the dump is for groups of 128: the problems with groups of 32 are left out.
    """
    monkeypatch.setattr(rows, "PROBLEMS", [p for p in rows.PROBLEMS if p.group % 128 == 0])
    (tmp_path / "dump").write_text(OLDER)
    command = tmp_path / "compiler"
    command.write_text(f'#!/bin/bash\ncp "{tmp_path}/dump" "$3/k.asm"\n')
    command.chmod(0o755)
    out = tmp_path / "figures.json"
    arguments = ["--row", FEW, "--device", "pvc", "--ocloc", str(command), "--json", str(out)]
    assert cli.main([*arguments, "--markdown"]) == 0
    main, few = capsys.readouterr().out.strip().split("\n\n")
    lines = [line.split(" | ") for line in few.splitlines()]
    assert few.startswith(f"| {' | '.join(weights.HEADER)} |")
    assert len(lines) == len(main.splitlines())
    written = json.loads(out.read_text())["figures"]
    by_problem = {figures["problem"].split(" (")[0]: figures for figures in written}
    u8, u4 = by_problem["s8:u8 groups"], by_problem["s8:u4 groups"]
    assert (u8["weight_bytes"], u4["weight_bytes"]) == (2048, 1024)
    assert u8["weights_to_memory_in_turn"] == pytest.approx(2 * u4["weights_to_memory_in_turn"], rel=1e-3)
    assert u8["memory_bytes_a_cycle"] == pytest.approx(2.0)
