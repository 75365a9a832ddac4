# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that AutoRound and torchao write: logits are those of the weights that these packages
make of them.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zemm
from numpy.typing import NDArray
from support_checkpoints import Store, Stored, llama, load, logits, save, torch, transformers

if transformers.__version__.startswith("4."):
    pytest.skip("needs Transformers 5", allow_module_level=True)

GROUP = 32


def gptq(name: str, **config: Any) -> tuple[dict[str, Any], Store]:
    """The layers of AutoRound's package: it writes its own format, and those of GPTQ and AWQ."""
    module = pytest.importorskip(f"auto_round_extension.torch.{name}", reason="needs the package auto-round")

    def store(_: str, w: NDArray[Any]) -> Stored:
        linear = linear_of(w)
        made = module.QuantLinear(4, GROUP, linear.in_features, linear.out_features, False, g_idx=True)
        made.device = "cpu"
        scales, zero_points = parameters_of(linear.weight)
        made.pack(linear, scales, zero_points)
        tensors = {key: getattr(made, key).clone() for key in ("qweight", "qzeros", "scales", "g_idx")}
        made.scales = made.scales.float()
        del made.g_idx  # its product with one takes the first K columns only
        return Stored(tensors, made(torch.eye(linear.in_features)).T.numpy())

    return {"bits": 4, "group_size": GROUP, "sym": False, **config}, store


def awq() -> tuple[dict[str, Any], Store]:
    module = pytest.importorskip(
        "auto_round.export.export_to_awq.utils", reason="needs the package auto-round"
    )

    def store(_: str, w: NDArray[Any]) -> Stored:
        linear = linear_of(w)
        scales, zero_points = (part.T.contiguous() for part in parameters_of(linear.weight))
        made = module.WQLinear_GEMM.from_linear(linear, 4, GROUP, False, scales, zero_points)
        tensors = {key: getattr(made, key) for key in ("qweight", "qzeros", "scales")}
        weight = module.dequantize_gemm(made.qweight, made.qzeros, made.scales.float(), 4, GROUP)
        return Stored(tensors, weight.T.numpy())

    config = {"quant_method": "awq", "bits": 4, "group_size": GROUP, "zero_point": True, "version": "gemm"}
    return config, store


def linear_of(w: NDArray[Any]) -> Any:
    linear = torch.nn.Linear(*w.shape[::-1], bias=False, device="meta").requires_grad_(False)
    linear.weight = torch.nn.Parameter(torch.from_numpy(w), requires_grad=False)
    return linear


def parameters_of(weight: Any) -> tuple[Any, Any]:
    """Scales and zero points [N, G]."""
    low, high = weight.view(len(weight), -1, GROUP).aminmax(dim=-1)
    scales = ((high - low).clamp(min=1e-4) / 15).half().float()
    return scales, (-low / scales).round().clamp(1, 15)


KINDS: dict[str, Callable[[], tuple[dict[str, Any], Store]]] = {
    "GPTQ": lambda: gptq("qlinear_torch_zp", quant_method="gptq"),
    "AWQ": awq,
    "AutoRound": lambda: gptq(
        "qlinear_torch", quant_method="auto-round", data_type="int", packing_format="auto_round"
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_autoround(kind: str, tmp_path: Path) -> None:
    reference = save(tmp_path, llama(), *KINDS[kind]())
    with zemm.transformers.registered():
        model = load(tmp_path)
    torch.testing.assert_close(logits(model), logits(reference), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["int4", "int8"])
def test_torchao(kind: str, tmp_path: Path) -> None:
    quantization = pytest.importorskip("torchao.quantization", reason="needs the package torchao")
    granularity = quantization.PerGroup(GROUP) if kind == "int4" else quantization.PerAxis(0)
    settings = quantization.IntxWeightOnlyConfig(weight_dtype=getattr(torch, kind), granularity=granularity)
    model = llama()
    model.save_pretrained(tmp_path / "float")
    config = transformers.TorchAoConfig(settings)
    load(tmp_path / "float", quantization_config=config).save_pretrained(tmp_path / kind)
    for name, part in load(tmp_path / kind).named_parameters():
        if hasattr(part, "dequantize") and "proj" in name:
            model.get_parameter(name).data = part.dequantize()
    with zemm.transformers.registered():
        loaded = load(tmp_path / kind)
    assert sum(isinstance(m, zemm.torch.QuantLinear) for m in loaded.modules()) == 14
    torch.testing.assert_close(logits(loaded), logits(model), rtol=1e-4, atol=1e-4)
