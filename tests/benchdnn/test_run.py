# SPDX-License-Identifier: Apache-2.0
"""Whole runs on the CPU device: every mode and state, and faults that the driver must detect."""

import os
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import zemm
from support_driver import Capture, output
from zemm.benchdnn.cli import main
from zemm.benchdnn.data import build
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.run import create

Execute = Callable[[zemm.Primitive, zemm.Stream, dict[int, zemm.Memory]], None]

SMALL = "3x20:20x6"


@pytest.mark.parametrize(
    "line",
    [
        "--dt=f32,f16,bf16 --bia-dt=undef,f32",
        pytest.param(
            "--dt=s8:s8:s32,u8:s8:u8,s8:u8:f16 --wtag=ab,ba --attr-zero-points=,src:common:1+wei:per_oc:s8",
            marks=pytest.mark.full,
        ),
        "--dt=s8:u4:f32 --wtag=ba --attr-scales=src:per_tensor:f16:1x20+wei:per_tensor:f16:20x1",
        "--dt=s8:u8:f16 --attr-scales=src:host_scalar:0.3:f16+wei:host_scalar:0.7:bf16",
        "--attr-post-ops=sum:0.5+relu,add:f32:per_oc+swish:1,select:f32.per_tensor,prelu:per_oc",
        "--dt=s8:s8:u8 --attr-post-ops=sum:1:0:s8",
        "--strides=40x1:7x1:9x1",
        "--dt=f32,s8:s8:s32 --wtag=BA16a64b4a",
        "--stag=ba --wtag=ba --dtag=ba --attr-scratchpad=user --attr-scales=dst:common:4",
    ],
)
def test_checked_cases_pass(capsys: Capture, line: str) -> None:
    lines = output(capsys, "--matmul", line, SMALL)
    assert all(":PASSED" in text for text in lines[:-2])
    assert lines[-2].startswith(f"tests:{len(lines) - 2} passed:{len(lines) - 2} ")


STATES = [
    *(f"--matmul {shape} PASSED" for shape in ("0x4:4x5", "3x4:4x0", "3x0:0x4", "2x0x3:1x3x4")),  # dst stays
    "--matmul --encoding=csr:csr: SMALL UNIMPLEMENTED",
    "--matmul --encoding=::coo SMALL UNIMPLEMENTED",
    "--matmul --attr-post-ops=dw:k3s1p1 SMALL UNIMPLEMENTED",
    "--matmul --encoding=:packed: SMALL SKIPPED (Case not supported)",
    "--matmul --encoding=csr:: --runtime_dims_masks=1:0 SMALL SKIPPED (Invalid case)",
    "--matmul --runtime_dims_masks=1:0 --stag=ab --wtag=ab --dtag=ab 5x20:21x6 INVALID_ARGUMENTS",
    "--mode=I --matmul SMALL INITIALIZED",
    "--mode=R --matmul SMALL EXECUTED",
    "--mode=B --matmul --attr-post-ops=sum:2 SMALL PASSED",  # it restores the old dst
    "--mode=L --start=1 --matmul SMALL SKIPPED (Skip-start option hit)",
    # The later filter counts.
    "--matmul --impl=no_such --skip-impl=other SMALL PASSED",
    "--matmul --skip-impl=other --impl=no_such SMALL SKIPPED (Skip-impl option hit)",
    *(
        f"--mode={mode} --ip --stag=axb --wtag=abx mb3ic4ih2iw3oc5 {state}"
        for mode, state in (("C", "PASSED"), ("B", "PASSED"), ("R", "EXECUTED"), ("I", "INITIALIZED"))
    ),
]


@pytest.mark.parametrize("line", STATES)
def test_states(capsys: Capture, line: str) -> None:
    """The state of a case, the last words of the line."""
    words, state = re.fullmatch(r"(.*?) ([A-Z_]+(?: \(.*\))?)", line.replace("SMALL", SMALL)).groups()  # type: ignore[union-attr]
    code = state in ("UNIMPLEMENTED", "INVALID_ARGUMENTS")
    assert output(capsys, "--summary=no-failures", words, code=code)[0].startswith(f"0:{state} (")


def test_unimplemented_and_invalid_say_why(capsys: Capture) -> None:
    lines = output(capsys, "--matmul --dt=f64:f64:f32", SMALL, "--dt=f32 3x4:5x6", code=1)
    assert lines[0].startswith("0:UNIMPLEMENTED (")
    assert lines[1].startswith("# reason: ")
    assert "f64" in lines[1]
    assert lines[2].startswith("1:INVALID_ARGUMENTS (")
    assert lines[3].startswith("# reason: ")
    assert lines[-2].startswith(
        "tests:2 passed:0 skipped:0 mistrusted:0 unimplemented:1 invalid_arguments:1 failed:2"
    )
    assert lines[4:7] == [
        "=" * 59, "= Failed cases summary (--summary=no-failures to disable) =", "=" * 59
    ]  # fmt: skip
    assert lines[7:10] == [lines[0], lines[2], "=" * 28]


@pytest.mark.parametrize("cold", ["none", "wei", "all+tlb:1M"])
def test_performance(capsys: Capture, cold: str) -> None:
    template = "--perf-template=%engine%,%desc%,%-time%,%0time%,%Gflops%,%iobytes%"
    knobs = f"--mode=P --cold-cache={cold} --fix-times-per-prb=5 -v1"
    lines = output(capsys, knobs, "--matmul", template, "64x64:64x64")
    assert lines[2].endswith("5 runs kept")
    assert lines[3] == "Template entries: %engine%,%desc%,%-time%,%0time%,%Gflops%,%iobytes%"
    assert lines[4] == "engine,desc,min_time,avg_time,Gflops,iobytes"
    engine, problem, least, mean, gflops, size = lines[5].split(",")
    assert (engine, problem, size) == ("cpu", "64x64:64x64", str(3 * 64 * 64 * 4))
    assert 0 < float(least) <= float(mean)
    assert float(gflops) == pytest.approx(2 * 64**3 / float(least) / 1e6, rel=1e-3)
    assert lines[7].startswith("total perf: min(ms):")


def test_host_clock_where_the_device_has_none(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_times(self: zemm.Stream) -> list[int]:
        raise zemm.DeviceError("no timestamps here")

    monkeypatch.setattr(zemm.Stream, "profiling_times", no_times)
    lines = output(capsys, "--mode=P --fix-times-per-prb=5 -v1 --matmul", SMALL)
    assert lines[2] == "# times: host clock (no timestamps here), 5 runs kept"


def patched(monkeypatch: pytest.MonkeyPatch, damage: Callable[[dict[int, zemm.Memory]], None]) -> None:
    execute: Execute = zemm.Primitive.execute

    def faulty(self: zemm.Primitive, stream: zemm.Stream, memories: dict[int, zemm.Memory]) -> None:
        execute(self, stream, memories)
        stream.wait()
        damage(memories)

    monkeypatch.setattr(zemm.Primitive, "execute", faulty)


def bytes_at(memory: zemm.Memory, offset: int, count: int) -> Any:
    """A view of `count` bytes in the memory of the process."""
    import ctypes

    return np.ctypeslib.as_array((ctypes.c_uint8 * count).from_address(memory.handle + offset))


def test_a_wrong_value_fails(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def damage(memories: dict[int, zemm.Memory]) -> None:
        bytes_at(memories[17], 4 * 7, 4).view(np.float32)[:] += 1

    patched(monkeypatch, damage)
    lines = output(capsys, "--matmul", SMALL, code=1)
    assert lines[0].startswith("[7][1:1] exp_f32:")
    assert lines[2].startswith("0:FAILED (errors:1 total:18) (")


@pytest.mark.parametrize("offset", [-1, 3 * 6 * 4])
def test_a_write_outside_of_the_tensor_fails(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, offset: int
) -> None:
    patched(monkeypatch, lambda memories: bytes_at(memories[17], offset, 1).fill(1))
    lines = output(capsys, "--matmul", SMALL, code=1)
    assert lines[0].startswith("0:FAILED")
    assert "memory before or behind a buffer of the tensor 'dst' (argument 17) was written" in lines[1]


def test_a_write_to_an_empty_problem_fails(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    patched(monkeypatch, lambda memories: bytes_at(memories[17], 0, 1).fill(1))
    assert output(capsys, "--matmul 3x0:0x4", code=1)[1].startswith("0:FAILED (errors:1 total:48)")


def test_runs_that_differ_fail_in_bitwise_mode(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = iter(range(2))
    patched(monkeypatch, lambda memories: bytes_at(memories[17], 0, 1).fill(next(runs)))
    lines = output(capsys, "--mode=B --matmul", SMALL, code=1)
    assert lines[0] == "[COMPARE_BITS][DST]: 1 of 72 bytes differ"
    assert "0:FAILED (errors:1 total:72)" in lines[1]


def test_bitwise_mode_compares_all_outputs(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = args.quantizations
    monkeypatch.setattr(
        args, "quantizations", lambda case: [replace(a, is_output=True) for a in inputs(case)]
    )
    runs = iter(range(2))
    patched(monkeypatch, lambda memories: bytes_at(memories[args.SCALES | args.WEI], 5, 1).fill(next(runs)))
    lines = output(capsys, "--mode=B --matmul --attr-scales=wei:per_oc", SMALL, code=1)
    assert lines[0] == "[COMPARE_BITS][SCALES]: 1 of 24 bytes differ"
    assert "0:FAILED (errors:1 total:96)" in lines[1]


def test_a_driver_error_is_a_failure_with_its_sentence(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damage(memories: dict[int, zemm.Memory]) -> None:
        raise zemm.DeviceError("the device is gone")

    patched(monkeypatch, damage)
    lines = output(capsys, "--matmul", SMALL, SMALL, code=1)
    assert lines[1] == "# reason: DeviceError: the device is gone"
    assert lines[2].startswith("1:FAILED")


def test_mostly_zeros_are_not_trusted(capsys: Capture) -> None:
    lines = output(capsys, "-v2 --matmul --attr-post-ops=mul:f32+clip:0:0", SMALL)
    assert any(text.startswith("[COMPARE_TRUST][DST]: z:100%") for text in lines)
    assert any(":MISTRUSTED" in text for text in lines)


def test_modifier_p_creates_together(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many at a time as there are processors; executions and lines keep their order."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2})
    barrier = threading.Barrier(3, timeout=60)
    threads: list[int] = []
    original: Any = create.primitive

    def together(case: Any, engine: Any, result: Any) -> Any:
        threads.append(threading.get_ident())
        barrier.wait()
        return original(case, engine, result)

    monkeypatch.setattr(create, "primitive", together)
    problems = [f"{m}x20:20x6" for m in range(1, 7)]
    lines = output(capsys, "--mode-modifier=P -v1 --matmul", *problems)
    assert [line.split(" ")[0] for line in lines if "__REPRO" in line] == [f"{i}:PASSED" for i in range(6)]
    assert threading.get_ident() not in threads
    # As in benchdnn creations are not announced.
    assert [line for line in lines if line.startswith(("create", "run"))] == [f"run: {p}" for p in problems]


def test_modifier_p_with_cases_that_end_early(capsys: Capture) -> None:
    problems = ["3x4:5x6", SMALL, "--runtime_dims_masks=1:0", SMALL, "--reset", "--impl=no_such", SMALL]
    lines = output(capsys, "--mode-modifier=P --summary=no-failures --matmul", *problems, code=1)
    states = [line.split(" (")[0] for line in lines if "__REPRO" in line]
    assert states == ["0:INVALID_ARGUMENTS", "1:PASSED", "2:SKIPPED", "3:SKIPPED"]
    assert "tests:4 passed:1 skipped:2 " in lines[-2]


def test_an_engine_that_is_missing_ends_the_run(capsys: Capture) -> None:
    assert main(["--mode-modifier=P", "--engine=cpu:99", "--matmul", SMALL, SMALL]) == 1
    assert capsys.readouterr().err.startswith("err: --engine=cpu:99 cannot be used: ")


def test_filters_say_what_they_skip(capsys: Capture) -> None:
    quiet = output(capsys, "-v1 --matmul --impl=no_such", SMALL)
    assert not any("IMPL_FILTER" in line for line in quiet)
    some = output(capsys, "-v2 --matmul --impl=no_such", SMALL)
    assert [line for line in some if "IMPL_FILTER" in line] == [
        "[IMPL_FILTER] All implementations were skipped!"
    ]
    found = output(capsys, "-v6 --matmul --impl=no_such", SMALL)
    skipped = [line for line in found if line.startswith("[IMPL_FILTER] Implementation skipped: ")]
    assert len(set(skipped)) == len(skipped) > 1


@pytest.mark.parametrize(
    ("options", "lacks", "state"),
    [
        ("--dt=f64", True, "0:SKIPPED (Data type not supported) ("),
        ("--bia-dt=f64", True, "0:SKIPPED (Data type not supported) ("),
        ("--bia-dt=f64", False, "0:UNIMPLEMENTED ("),
        ("--dt=s8:f16:f32", True, "0:UNIMPLEMENTED ("),
    ],
)
def test_types_that_an_engine_lacks(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, options: str, lacks: bool, state: str
) -> None:
    """A case of f64 is skipped if the engine has no f64 at all."""

    def refused(*_: object) -> None:
        raise zemm.UnimplementedError("not here")

    monkeypatch.setattr(build, "primitive_desc", refused)
    if lacks:
        monkeypatch.setattr(zemm, "MatmulPrimitiveDesc", refused)
    code = 0 if "SKIPPED" in state else 1
    lines = output(capsys, "--matmul", options, SMALL, code=code)
    assert lines[0].startswith(state)
    assert lines[1] == "# reason: not here"


def test_errors_of_the_driver_itself_are_failures(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a mistake")

    monkeypatch.setattr(create, "primitive", broken)
    for knobs in ([], ["--mode-modifier=P"]):
        lines = output(capsys, *knobs, "--summary=no-failures --matmul", SMALL, SMALL, code=1)
        assert [line.split(" ")[0] for line in lines[::2][:2]] == ["0:FAILED", "1:FAILED"]
        assert lines[1] == "# reason: KeyError: 'a mistake'"
