# SPDX-License-Identifier: Apache-2.0
"""`--quantize`: the matmul takes activations that are quantised before it within the same timed run."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import zemm
from support_driver import output
from zemm.benchdnn.cli import main
from zemm.benchdnn.data import build, contents
from zemm.benchdnn.data.ranges import filling
from zemm.benchdnn.data.reference import expected
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.expand import expand
from zemm.benchdnn.run import execution
from zemm.benchdnn.run.buffers import Buffer
from zemm.benchdnn.run.quantizing import Quantized

PROBLEM = "5x256:256x32"
OPTIONS = (
    "--dt=s8:u8:f32 --stag=ab --wtag=ab --dtag=ab --quantize=f32 "
    "--attr-scales=src:per_tensor:f32:1x64+wei:per_tensor:f32:64x1 "
    "--attr-zero-points=wei:per_tensor:u8:64x1 --attr-precomputed-reductions=src:per_tensor:s32:1x64"
)


def case_of(options: str) -> Case:
    (job,), _ = expand(["--mode=P", "--matmul", *options.split(), PROBLEM])
    return job.case


def weights_of(case: Case, buffers: dict[int, Buffer]) -> np.ndarray:
    """Fill the weights and their parameters, and return the real values that they represent."""
    found = {a.arg: a for a in [*args.matrices(case), *args.quantizations(case)]}
    parts = []
    for arg in (args.WEI, args.ZERO_POINTS | args.WEI, args.SCALES | args.WEI):
        argument = found[arg]
        values = (
            contents.real_values(argument, 3)
            if arg == args.WEI
            else contents.values(case, argument, filling(case), None)
        )
        buffers[arg].store(values.reshape(buffers[arg].layout.dims))
        parts.append(np.repeat(values, 256 // values.shape[0], axis=0).astype(np.float64))
    return (parts[0] - parts[1]) * parts[2]


@pytest.mark.parametrize("bound", [False, True])
def test_what_is_quantised_is_multiplied(engine: zemm.Engine, stream: zemm.Stream, bound: bool) -> None:
    case = case_of(OPTIONS)
    matmul = zemm.Primitive(build.primitive_desc(zemm, engine, case))
    found = [*args.matrices(case), *args.quantizations(case)]
    buffers = {a.arg: Buffer(zemm, engine, build.memory_desc(zemm, a)) for a in found}
    weights = weights_of(case, buffers)
    memories: dict[int, Any] = {arg: buffer.memory for arg, buffer in buffers.items()}
    both = Quantized(zemm, engine, case, matmul)
    if bound:
        both.bind(stream, memories)()
    else:
        both.execute(stream, memories)
    stream.wait()
    x = both.source.load()
    assert np.abs(x).max() > 100  # src was filled, not left as allocated
    values, scales, sums = zemm.quantize_activations(x, 64)
    np.testing.assert_array_equal(buffers[args.SRC].load(), values)
    np.testing.assert_array_equal(buffers[args.SCALES | args.SRC].load(), scales)
    np.testing.assert_array_equal(buffers[args.REDUCTIONS | args.SRC].load(), sums)
    expected = values * np.repeat(scales, 64, axis=1).astype(np.float64) @ weights
    got = buffers[args.DST].load()
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(
    "more", ["", "--peak", "--dt=u8:u8:f32 --attr-zero-points=src:per_tensor:s32:1x64+wei:common:3:u8"]
)
def test_timed_runs(capsys: pytest.CaptureFixture[str], more: str) -> None:
    template = "--perf-template=T;%ibytes%;%-time%;%0time%"
    peak = ["--peak"] if more == "--peak" else []
    knobs = [*OPTIONS.split(), *([] if peak else more.split())]
    lines = output(capsys, "--mode=P --fix-times-per-prb=5", *peak, "--matmul", template, *knobs, PROBLEM)
    line = next(line for line in lines if line.startswith("T;") and "%" not in line and "bytes" not in line)
    size, best, mean = (float(field) for field in line.split(";")[1:])
    floats = 4 * 5 * 256  # bytes of src before it is quantised
    groups = 4 * (5 * 4) * 2 + 256 * 32 + 4 * 32 * (4 + 1)
    if "src:" not in more:
        assert size == floats + groups
    assert 0 < best <= mean


@pytest.mark.parametrize(
    "change", [{}, {"src_dyn_quant": 256}, {"reduced_range": "src"}, {"src_dyn_quant": 0}]
)
def test_another_quantisation_by_the_matmul_is_noticed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    """The comparison fails if the reference has other groups or bits than the matmul, or does nothing."""

    def changed(case: Case, *more: Any) -> Any:
        return expected(replace(case, attributes=replace(case.attributes, **change)), *more)

    monkeypatch.setattr(execution, "expected", changed)
    code = main(["--engine=cpu", "--matmul", "--dt=f32:u4:f32", "--attr-src-dyn-quant=32", PROBLEM])
    assert code == bool(change)
    assert ("PASSED" in capsys.readouterr().out) != bool(change)
