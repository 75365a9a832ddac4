# SPDX-License-Identifier: Apache-2.0
"""The installed peers compared with numpy. A peer that is missing or refuses is named."""

import builtins
import os
import re
import sys
from importlib import metadata
from typing import Any
from unittest.mock import MagicMock, patch

import numpy as np
import pytest
from zemm.benchdnn.data import cold_cache as copies
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.expand import expand
from zemm.benchdnn.peers import Peer, PeerError, load
from zemm.benchdnn.peers import cold as cold_cache
from zemm.benchdnn.peers.problem import peer_case
from zemm.benchdnn.peers.tensors import tensors
from zemm.benchdnn.peers.weight_only import matrices

PROBLEM = "31x256:256x64"


def case_of(options: str) -> Case:
    (job,), _ = expand(["--matmul", *options.split(), PROBLEM])
    return job.case


def loaded(name: str) -> Peer:
    """A peer. Skips if it is not installed."""
    try:
        return load(name)
    except PeerError as error:
        pytest.skip(str(error))


def close(name: str, options: str, problem: str, tolerance: float, **how: bool) -> None:
    """Compare a peer's result with numpy's. Skips if the peer is not installed."""
    error = error_of(loaded(name), options, problem, **how)
    assert error <= tolerance


def error_of(peer: Peer, options: str, problem: str, runs: int = 1, **how: bool) -> float:
    """The largest error of a peer's results, as a share of the largest expected one."""
    (job,), _ = expand(
        [
            "--mode=P",
            *(o for o in options.split() if o.startswith("--cold")),
            "--matmul",
            *(o for o in options.split() if not o.startswith("--cold")),
            problem,
        ]
    )
    case = peer_case(job.case, "")
    prepared: Any = peer.prepare(case, **how)
    expected = product(case)
    worst = 0.0
    for _ in range(runs):
        prepared.cool()
        prepared.run()
        worst = max(worst, float(np.abs(prepared.dst() - expected).max() / np.abs(expected).max()))
    return worst


def product(case: Case) -> Any:
    """The result that a peer should have."""
    values = {argument.arg: v.astype(np.float64) for argument, v in tensors(case)}
    factors = {arg: values[arg] for arg in (args.SRC, args.WEI)}
    steps = (args.ZERO_POINTS, np.subtract), (args.SCALES, np.multiply), (args.OFFSETS, np.add)
    for flag, apply in steps:
        for arg, factor in factors.items():
            if flag | arg in values:
                parameter = values[flag | arg]
                factors[arg] = apply(factor, np.repeat(parameter, factor.shape[0] // parameter.shape[0], 0))
    return factors[args.SRC] @ factors[args.WEI]


GROUPED = (
    "--attr-scales=wei:per_tensor:f32:32x1 --attr-zero-points=wei:per_tensor:u8:32x1 "
    "--attr-fpmath=strict:true"
)


@pytest.mark.parametrize(
    ("options", "tolerance"),
    [
        ("--dt=f32", 1e-6),
        ("--dt=u8:s8:f32 --stag=ab --wtag=any", 1e-6),
        ("--dt=s8:s8:f32 --wtag=ba --attr-scales=wei:per_oc", 1e-6),
        (f"--dt=f32:u8:f32 {GROUPED}", 1e-5),
        (f"--dt=f32:u4:f32 {GROUPED}", 1e-5),
    ],
)
def test_onednn_computes_the_case(options: str, tolerance: float) -> None:
    close("onednn", options, "9x64:64x48", tolerance)


def test_onednn_names_what_it_refuses() -> None:
    """Its status says nothing: the options of the case follow."""
    peer = loaded("onednn")
    status = r"dnnl_matmul_primitive_desc_create returned (unimplemented|invalid_arguments), the case has "
    options = (
        "--dt=f32:f32:s4 (--peer-dt changes it) and --attr-fpmath=bf16 (--peer-attr-fpmath=none drops it)"
    )
    with pytest.raises(PeerError, match=status + re.escape(options)):
        peer.prepare(case_of("--dt=f32:f32:s4 --attr-fpmath=bf16"))


@pytest.mark.parametrize(
    ("option", "drop"),
    [
        ("--bia-dt=f32", "--peer-bia-dt=undef drops it"),
        ("--attr-post-ops=relu", "--peer-attr-post-ops=none drops it"),
        ("--attr-precomputed-reductions=src:per_tensor:s32:1x128", "--peer-attr-precomputed-reductions=none"),
        ("--attr-offsets=wei:common:1", "--peer-attr-offsets=none drops it"),
        ("--attr-src-dyn-quant=32", "--peer-attr-src-dyn-quant=none drops it"),
        ("--attr-dropout=0.5", "which no option drops"),
        ("--attr-rounding-mode=dst:stochastic", "which no option drops"),
    ],
)
def test_networks_name_what_a_case_has_and_what_drops_it(option: str, drop: str) -> None:
    with pytest.raises(PeerError) as caught:
        matrices(case_of(f"--dt=f32 {option}"), ("f32",), ("f32",), ("f32",))
    assert str(caught.value).startswith(f"it takes no {option} ({drop}")


@pytest.mark.parametrize("name", ["openvino", "onnxruntime"])
@pytest.mark.parametrize("dt", ["f32:f32:f32", "f32:u8:f32", "f32:u4:f32"])
def test_networks_compute_the_case(name: str, dt: str) -> None:
    """Weight-only, too, is as exact as f32."""
    options = f"--dt={dt}" if dt == "f32:f32:f32" else f"--dt={dt} {GROUPED}"
    close(name, options, "9x64:64x48", 1e-5)


@pytest.mark.parametrize("name", ["openvino", "onnxruntime"])
@pytest.mark.parametrize("dt", ["f32:u8:f32", "f32:u4:f32"])
def test_networks_quantise_src_if_told_to(name: str, dt: str) -> None:
    """The error is that of a src with 8 bits, far above that of f32."""
    peer = loaded(name)
    if not peer.quantises_src:
        pytest.skip(f"{name} does not quantise src on this CPU")
    assert 1e-4 < error_of(peer, f"--dt={dt} {GROUPED}", "9x64:64x48", quantise_src=True) < 0.02


@pytest.mark.parametrize(
    ("options", "tolerance"),
    [
        ("--dt=f32", 1e-5),
        ("--dt=f32 --stag=ba --wtag=ab --dtag=ab", 1e-5),
        ("--dt=bf16 --wtag=ba", 0.01),
        ("--dt=bf16 --wtag=ab", 0.01),
        ("--dt=f16 --wtag=any", 1e-3),
        ("--dt=s8:s8:s32", 0),
        ("--dt=s8:s8:s32 --stag=ba --wtag=ab", 0),
        ("--dt=u8:s8:f32", 1e-6),
        ("--dt=s8:s8:f32 --attr-scales=src:common:0.5+wei:per_oc --attr-zero-points=src:common:-3", 1e-6),
        ("--dt=u8:s8:bf16 --wtag=ba --attr-scales=src:host_scalar:4+wei:common:0.25", 0.01),
        ("--dt=bf16:s8:bf16 --attr-scales=wei:per_oc", 0.01),
        ("--dt=bf16:s8:bf16", 0.01),
        ("--dt=bf16:u4:bf16", 0.01),
        (f"--dt=bf16:u4:bf16 {GROUPED}", 0.01),
        (f"--dt=bf16:s4:bf16 --wtag=ab {GROUPED.replace(':u8', ':s8')}", 0.01),
    ],
)
def test_torch_computes_the_case(options: str, tolerance: float) -> None:
    close("torch", options, "9x64:64x48", tolerance)


TORCH_REFUSALS = [
    ("torch", "--dt=u8:s8:s32", "src is u8"),
    ("torch", "--dt=u8:s8:f32 --stag=ba", r"src as ab, .* not --stag=ba \(--peer-stag changes it"),
    ("torch", f"--dt=s8:s8:f32 {GROUPED}", r"no zero points of weights: .*\(--peer-attr-zero-points=none"),
    (
        "torch",
        "--dt=s8:s8:f32 --attr-scales=src:per_tensor:f32:1x128+wei:per_oc",
        r"in memory and one for src only, .* \(--peer-attr-scales=none drops it",
    ),
    (
        "torch",
        "--dt=bf16:s8:bf16 --attr-scales=wei:per_tensor:f32:128x1",
        r"no groups along K: .*\(--peer-attr-scales=none drops it",
    ),
    ("torch", "--dt=bf16:u4:bf16 --attr-scales=wei:per_tensor:f32:16x1", "groups of 32, .* groups of 16"),
]


@pytest.mark.parametrize(
    ("quantise_src", "mode", "group", "precision", "level"),
    [(False, "strict", 0, "f32", 1), (True, "strict", 32, "f32", 4), (False, "any", 0, "bf16", 1)],
)
def test_how_networks_are_told_not_to_quantise(
    quantise_src: bool, mode: str, group: int, precision: str, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The options and attributes that both libraries get, where they are not installed, too."""
    for module in ("openvino", "onnx", "onnxruntime"):
        monkeypatch.setitem(sys.modules, module, MagicMock(__version__="0"))
    case = case_of(f"--dt=f32:u8:f32 {GROUPED.replace('strict', mode)}")
    load("openvino").prepare(case, quantise_src)
    (_, device, config), _ = sys.modules["openvino"].Core().compile_model.call_args
    assert (device, config["DYNAMIC_QUANTIZATION_GROUP_SIZE"]) == ("CPU", group)
    assert config["INFERENCE_PRECISION_HINT"] == precision
    assert config["INFERENCE_NUM_THREADS"] == len(os.sched_getaffinity(0))
    load("onnxruntime").prepare(case, quantise_src)
    assert sys.modules["onnx"].helper.make_node.call_args.kwargs["accuracy_level"] == level


@pytest.mark.parametrize("cold", ["none", "wei", "all", "wei+tlb:1M"])
def test_caches_are_emptied_for_a_compiled_model(cold: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cold_cache, "CACHE_BYTES", 4096)
    read: list[str] = []
    with patch.object(cold_cache.np, "add", side_effect=np.add) as add:
        flush = cold_cache.flusher(cold, lambda: read.append("src"))
        flush()
        flush()
    assert read == (["src"] * 2 if cold.startswith("wei") else [])
    written = [call.kwargs["out"].size for call in add.call_args_list]
    assert written == ([] if cold == "none" else [4096] * 2)


@pytest.mark.parametrize("cold", ["wei", "all"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("onednn", "--dt=u8:s8:f32"),
        ("openvino", "--dt=f32"),
        ("onnxruntime", "--dt=f32"),
        ("torch", "--dt=s8:s8:s32"),
        ("torch", "--dt=u8:s8:f32"),
    ],
)
def test_each_run_with_cold_caches_computes_the_case(
    name: str, options: str, cold: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs with the given tensors, with each of their copies and with the given ones again."""
    size = 64 * 48 if cold == "wei" else 9 * 64 + 64 * 48 + 4 * 9 * 48
    monkeypatch.setattr(copies, "CACHE_BYTES", 2 * size)
    error = error_of(loaded(name), f"{options} --cold-cache={cold}", "9x64:64x48", runs=4)
    assert error <= 1e-5


@pytest.mark.parametrize(
    ("name", "options", "word"),
    [
        ("openvino", "--dt=s8:u8:f32", "src is s8"),
        (
            "openvino",
            "--dt=f32:u8:f32 --attr-scales=src:common:2",
            r"weights in memory only, not --attr-scales=src",
        ),
        (
            "onnxruntime",
            "--dt=f32:u8:f32 --attr-scales=wei:per_tensor:f32:8x1",
            "groups of .* not 8 as in --attr-sc",
        ),
        ("onnxruntime", "--dt=f32:u8:f32", "needs scales"),
        *TORCH_REFUSALS,
    ],
)
def test_networks_name_what_they_refuse(name: str, options: str, word: str) -> None:
    peer = loaded(name)
    with pytest.raises(PeerError, match=word):
        peer.prepare(case_of(options))


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("onednn", r"pip install 'zemm\[peers\]'"),
        ("openvino", r"pip install 'zemm\[peers\]'"),
        ("onnxruntime", r"pip install 'zemm\[peers\]'"),
        ("torch", "a build for CPUs is enough"),
        ("autoround", "pip install auto-round-lib"),
    ],
)
def test_what_to_install(name: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def no_import(module: str, *more: Any, **others: Any) -> Any:
        if module.split(".")[0] in ("openvino", "onnxruntime", "onnx", "torch", "auto_round_kernel"):
            raise ImportError(f"No module named '{module}'")
        return real(module, *more, **others)

    def no_files(package: str) -> Any:
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(builtins, "__import__", no_import)
    monkeypatch.setattr(metadata, "files", no_files)
    with pytest.raises(PeerError, match=rf"peer {name} left out: .*{how}"):
        load(name)


@pytest.mark.parametrize(
    ("mode", "precision"), [("strict", "highest"), ("bf16", "medium"), ("tf32", "high"), ("f16", "highest")]
)
def test_torch_is_told_the_fpmath_mode(mode: str, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is not installed, too."""
    monkeypatch.setitem(sys.modules, "torch", MagicMock(__version__="0"))
    load("torch").prepare(case_of(f"--dt=f32 --attr-fpmath={mode}"))
    sys.modules["torch"].set_float32_matmul_precision.assert_called_with(precision)
