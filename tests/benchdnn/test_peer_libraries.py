# SPDX-License-Identifier: Apache-2.0
"""The installed peers compared with numpy. A peer that is missing or refuses is named."""

import builtins
from importlib import metadata
from typing import Any

import numpy as np
import pytest
from zemm.benchdnn import arguments as args
from zemm.benchdnn.case import Case
from zemm.benchdnn.expand import expand
from zemm.benchdnn.peers import PeerError, load
from zemm.benchdnn.peers.problem import peer_case
from zemm.benchdnn.peers.tensors import tensors

PROBLEM = "31x256:256x64"


def case_of(options: str) -> Case:
    (job,), _ = expand(["--matmul", *options.split(), PROBLEM])
    return job.case


def close(name: str, options: str, problem: str, tolerance: float) -> None:
    """Compare a peer's result with numpy's. Skips if the peer is not installed."""
    try:
        peer = load(name)
    except PeerError as error:
        pytest.skip(str(error))
    (job,), _ = expand(["--mode=P", "--matmul", *options.split(), problem])
    case = peer_case(job.case)
    prepared: Any = peer.prepare(case)
    prepared.run()
    values = {argument.arg: v.astype(np.float64) for argument, v in tensors(case)}
    src, wei = values[args.SRC], values[args.WEI]
    for flag, apply in ((args.ZERO_POINTS, np.subtract), (args.SCALES, np.multiply)):
        if flag | args.WEI in values:
            parameter = values[flag | args.WEI]
            wei = apply(wei, np.repeat(parameter, wei.shape[0] // parameter.shape[0], 0))
    expected = src @ wei
    np.testing.assert_allclose(prepared.dst(), expected, rtol=0, atol=tolerance * np.abs(expected).max())


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
    try:
        peer = load("onednn")
    except PeerError as error:
        pytest.skip(str(error))
    with pytest.raises(
        PeerError, match=r"dnnl_matmul_primitive_desc_create returned (unimplemented|invalid)"
    ):
        peer.prepare(case_of("--dt=f32:f32:s4"))


@pytest.mark.parametrize("name", ["openvino", "onnxruntime"])
@pytest.mark.parametrize(
    ("dt", "tolerance"), [("f32:f32:f32", 1e-5), ("f32:u8:f32", 0.02), ("f32:u4:f32", 0.02)]
)
def test_networks_compute_the_case(name: str, dt: str, tolerance: float) -> None:
    options = f"--dt={dt}" if dt == "f32:f32:f32" else f"--dt={dt} {GROUPED}"
    close(name, options, "9x64:64x48", tolerance)


def test_onnxruntime_multiplies_integers() -> None:
    close("onnxruntime", "--dt=u8:s8:s32", "9x64:64x48", 0)


@pytest.mark.parametrize(
    ("name", "options", "word"),
    [
        ("openvino", "--dt=s8:u8:f32", "src is s8"),
        ("openvino", "--dt=f32 --bia-dt=f32", "bias"),
        ("openvino", "--dt=f32:u8:f32 --attr-scales=src:common:2", "weights only"),
        ("onnxruntime", "--dt=f32:u8:f32 --attr-scales=wei:per_tensor:f32:8x1", "powers of two"),
        ("onnxruntime", "--dt=f32:u8:f32", "needs scales"),
        ("onnxruntime", "--dt=s8:s8:f16", "dst is f16"),
    ],
)
def test_networks_name_what_they_refuse(name: str, options: str, word: str) -> None:
    try:
        peer = load(name)
    except PeerError as error:
        pytest.skip(str(error))
    with pytest.raises(PeerError, match=word):
        peer.prepare(case_of(options))


@pytest.mark.parametrize("name", ["onednn", "openvino", "onnxruntime"])
def test_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def no_import(module: str, *more: Any, **others: Any) -> Any:
        if module.split(".")[0] in ("openvino", "onnxruntime", "onnx"):
            raise ImportError(f"No module named '{module}'")
        return real(module, *more, **others)

    def no_files(package: str) -> Any:
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(builtins, "__import__", no_import)
    monkeypatch.setattr(metadata, "files", no_files)
    with pytest.raises(PeerError, match=rf"peer {name} left out: .*pip install 'zemm\[peers\]'"):
        load(name)
