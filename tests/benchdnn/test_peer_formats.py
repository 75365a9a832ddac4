# SPDX-License-Identifier: Apache-2.0
"""Peers whose weights have formats of their own: ggml's blocks, AutoRound's packed weights."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zemm
from support_planted import PLANTED, clean_environment, compile_c, compile_library
from test_peer_libraries import case_of, close, error_of, loaded, product
from zemm.benchdnn.data import cold_cache as copies
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.peers import PeerError, ggml_library, load
from zemm.benchdnn.peers.ggml_blocks import WEIGHT_TYPES, encoded
from zemm.benchdnn.peers.tensors import tensors
from zemm.benchdnn.peers.weight_only import Matrices, matrices
from zemm.gguf.formats import FORMATS

SCALES = "--attr-scales=wei:per_tensor:f16:32x1"
SCALES_OF_16 = "--attr-scales=wei:per_tensor:f32:16x1"
POWERS = "--attr-scales=wei:per_tensor:e8m0:32x1"
POINTS = "--attr-zero-points=wei:per_tensor:u8:32x1"
CASES = [
    ("Q8_0", f"--dt=f32:s8:f32 {SCALES}"),
    ("Q4_0", f"--dt=f32:s4:f32 {SCALES}"),
    ("Q4_1", f"--dt=f32:u4:f32 {SCALES} --attr-offsets=wei:per_tensor:f16:32x1"),
    ("Q4_K", f"--dt=f32:u4:f32 {SCALES} {POINTS}"),
    ("Q4_K", "--dt=f32:u4:f32 --attr-scales=wei:per_oc:f32 --attr-zero-points=wei:common:8:u8"),
    ("Q4_0", "--dt=f32:s4:f32 --attr-scales=wei:per_tensor:f32:128x1"),
    ("Q8_0", "--dt=f32:s8:f32"),
    ("Q6_K", f"--dt=f32:s8:f32 {SCALES_OF_16}"),
    ("Q6_K", "--dt=f32:s8:f32 --attr-scales=wei:per_tensor:f16:16x1"),
    ("MXFP4", f"--dt=f32:f4_e2m1:f32 {POWERS}"),
    ("MXFP4", "--dt=f32:f4_e2m1:f32 --attr-scales=wei:per_oc"),
]


def blocks_of(options: str) -> Any:
    case = case_of(options)
    return encoded(case, matrices(case, ("f32",), WEIGHT_TYPES, ("f32",), takes_offsets=True))


@pytest.mark.parametrize(("name", "options"), CASES)
def test_blocks_are_exactly_the_weights(name: str, options: str) -> None:
    """zemm's own reader of these formats gives the numbers of the case."""
    found = blocks_of(options)
    assert found.name == name
    parts = FORMATS[name].decode(found.blocks.reshape(-1))  # type: ignore[misc]
    codes = parts.codes
    if FORMATS[name].data_type == "f4_e2m1":
        codes = codes.view(zemm.numpy_dtype("f4_e2m1"))
    grouped = codes.reshape(*parts.scales.shape, FORMATS[name].group).astype(np.float32)
    groups = grouped * parts.real_scales[..., None]
    if (minimums := parts.real_minimums) is not None:
        groups = groups - minimums[..., None]
    case = case_of(options)
    src = next(values for argument, values in tensors(case) if argument.arg == args.SRC)
    weights = groups.reshape(found.blocks.shape[0], -1).T.astype(np.float64)
    np.testing.assert_array_equal(src.astype(np.float64) @ weights, product(case))


def test_parameters_of_6_bits() -> None:
    """All scales and minimums of the blocks, where the case uses few values."""
    rng = np.random.default_rng(1)
    multiples = np.concatenate([np.ones((1, 3)), rng.integers(0, 64, (7, 3))]).astype(np.float32)
    points = rng.integers(0, 2, (8, 3)).astype(np.uint8)
    codes = rng.integers(0, 16, (256, 3)).astype(np.uint8)
    found = Matrices(np.zeros((1, 256), np.float32), codes, 32, multiples / 4, points)
    blocks = encoded(case_of(CASES[3][1]), found).blocks.reshape(-1)
    parts = FORMATS["Q4_K"].decode(blocks)  # type: ignore[misc]
    minimums = parts.real_minimums
    assert minimums is not None
    np.testing.assert_array_equal(parts.codes, codes.T)
    np.testing.assert_array_equal(parts.real_scales, multiples.T / 4)
    np.testing.assert_array_equal(minimums, (multiples * points).T / 4)


def test_codes_and_scales_of_q6_k() -> None:
    """All of them, where the case uses few scales."""
    rng = np.random.default_rng(1)
    multiples = np.concatenate([np.ones((1, 3)), rng.integers(0, 128, (15, 3))]).astype(np.float32)
    codes = rng.integers(-32, 32, (256, 3)).astype(np.int8)
    case = case_of(f"--dt=f32:s8:f32 {SCALES_OF_16}")
    found = Matrices(np.zeros((1, 256), np.float32), codes, 16, multiples / 4)
    parts = FORMATS["Q6_K"].decode(encoded(case, found).blocks.reshape(-1))  # type: ignore[misc]
    np.testing.assert_array_equal(parts.codes, codes.T)
    np.testing.assert_array_equal(parts.real_scales, multiples.T / 4)
    codes[5, 1] = 32
    with pytest.raises(PeerError, match=r"Q6_K has codes of 6 bits, .* not in -32\.\.31: --attr-scales"):
        encoded(case, found)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (f"--dt=f32:s8:f32 {SCALES} {POINTS.replace('u8', 's8')}", "Q8_0 has no zero points: --attr-scales"),
        ("--dt=f32:s8:f32 --attr-scales=wei:per_tensor:f32:8x1", "Q8_0 .* groups of 8 .--attr-scales="),
        ("--dt=f32:u8:f32", "wei is u8, which it takes as s8 or s4 or u4 or f4_e2m1 only: --peer-dt"),
        ("--dt=f32:f4_e2m1:f32 --attr-scales=wei:common:0.75", "MXFP4 has powers of two as scales"),
        (
            "--dt=f32:s8:f32 --attr-scales=wei:common:0.1",
            "has f16 scales, .*--peer-attr-scales=none drops it",
        ),
        ("--dt=f32:u4:f32 --attr-scales=wei:common:0.1", "Q4_K has scales that are 0 to 63 times an f16"),
    ],
)
def test_what_blocks_cannot_express(options: str, words: str) -> None:
    with pytest.raises(PeerError, match=words):
        blocks_of(options)


def test_where_ggml_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file by its absolute path, with the other library beside it, never one of the current folder."""
    name = "libggml-cpu.so"
    monkeypatch.chdir(tmp_path)

    def reason(value: str) -> str:
        monkeypatch.setenv(ggml_library.VARIABLE, value)
        with pytest.raises(PeerError) as caught:
            load("ggml")
        assert "docs/performance.md has the commands that build them" in str(caught.value)
        return str(caught.value)

    assert "ZEMM_GGML_LIBRARY is not set" in reason("")
    assert f"there is no file {tmp_path / name}" in reason(str(tmp_path / name))
    tmp_path.chmod(0o777)
    assert f"{tmp_path} is writable by all users" in reason(str(tmp_path / name))
    tmp_path.chmod(0o700)
    (tmp_path / name).write_bytes(b"no library")
    assert f"ZEMM_GGML_LIBRARY={name} is not an absolute path" in reason(name)
    assert f"there is no file {tmp_path / 'libggml-base.so'}" in reason(str(tmp_path / name))
    (tmp_path / "libggml-base.so").write_bytes(b"no library")
    assert "cannot load library" in reason(str(tmp_path / name))


def test_nothing_of_the_current_directory_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ggml's builds may have a run path with an empty element, which means that directory."""
    here, marker = tmp_path / "here", tmp_path / "marker"
    here.mkdir()
    planted = compile_library(PLANTED, here / "libgomp.so.1", "libgomp.so.1")
    shutil.copy(planted, here / "libggml-base.so.0")
    base = compile_library("int ggml_nothing;", tmp_path / "libggml-base.so", "libggml-base.so.0")
    library, needed = tmp_path / "libggml-cpu.so", ("-Wl,--no-as-needed", str(base), str(planted))
    compile_c("int ggml_none;", library, "-shared", "-fPIC", "-Wl,-rpath,/none:", *needed)
    code = "from zemm.benchdnn.peers import load\ntry: load('ggml')\nexcept Exception as error: print(error)"
    variables = clean_environment(MARKER=str(marker), ZEMM_GGML_LIBRARY=str(library))
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=variables, cwd=here, capture_output=True, text=True, timeout=100)
    assert "ggml_version" in done.stdout, done.stderr
    assert not marker.exists()


needs_ggml = pytest.mark.skipif(
    not os.environ.get(ggml_library.VARIABLE), reason=f"{ggml_library.VARIABLE} names no library"
)


@needs_ggml
@pytest.mark.parametrize(("name", "options"), CASES)
@pytest.mark.parametrize("problem", ["9x256:256x64", "1x512:512x40", "5x256:256x3"])
def test_ggml_computes_the_case(name: str, options: str, problem: str) -> None:
    """The error is that of a src with 8 bits, with repacked weights and, for odd N, plain ones."""
    peer = loaded("ggml")
    assert 1e-4 < error_of(peer, options, problem, quantise_src=True) < 0.02


@pytest.mark.parametrize(
    ("options", "tolerance"),
    [
        (f"--dt=f32:s8:f32 {SCALES}", 1e-5),
        (f"--dt=f32:u8:f32 {SCALES} {POINTS} --cold-cache=wei", 1e-5),
        (f"--dt=f32:u4:f32 {SCALES} --cold-cache=all", 1e-5),
        (f"--dt=f32:s4:f32 {SCALES} {POINTS.replace('u8', 's8')}", 1e-5),
        ("--dt=f32:s4:f32 --attr-scales=wei:per_oc", 1e-5),
        (f"--dt=bf16:u4:bf16 {SCALES} {POINTS}", 0.01),
    ],
)
def test_autoround_computes_the_case(options: str, tolerance: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "CACHE_BYTES", 9 * 64 + 64 * 48)
    close("autoround", options, "9x64:64x48", tolerance)


@pytest.mark.parametrize("dt", ["f32:s4:f32", "f32:u4:f32", "f32:s8:f32"])
def test_autoround_quantises_src_if_told_to(dt: str) -> None:
    peer = loaded("autoround")
    if not peer.quantises_src:
        pytest.skip("AutoRound does not quantise src on this CPU")
    assert 1e-4 < error_of(peer, f"--dt={dt} {SCALES}", "9x64:64x48", quantise_src=True) < 0.02


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--dt=f16:u4:f16", "src is f16, which it takes as f32 or bf16 only"),
        ("--dt=f32:u4:bf16", "dst is bf16, which it takes as f32 only"),
        (f"--dt=f32:u4:f32 --bia-dt=f32 {SCALES}", r"no --bia-dt=f32 \(--peer-bia-dt=undef drops it"),
    ],
)
def test_autoround_names_what_it_refuses(options: str, words: str) -> None:
    with pytest.raises(PeerError, match=words):
        loaded("autoround").prepare(case_of(options))
