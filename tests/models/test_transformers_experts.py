# SPDX-License-Identifier: Apache-2.0
"""zemm.transformers loads checkpoints of models with experts: one layer of zemm for the first products of all
experts, and one for the last."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zemm
from numpy.typing import NDArray
from support_checkpoints import PROMPTS, edit, load, logits, torch, write
from support_compressed import compressed
from support_experts import EXPERTS, MIXTURES, mixture, save
from support_process import captured
from support_tree import ROOT
from test_transformers import awq, gptq
from test_transformers_compressed import KINDS
from zemm.torch._quant_experts import QuantExperts
from zemm.transformers._formats.format import Quantized
from zemm.transformers._joined import joined


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with zemm.transformers.registered():
        yield


def experts_of(model: Any) -> list[QuantExperts]:
    return [module for module in model.modules() if isinstance(module, QuantExperts)]


FORMATS: dict[str, Any] = {
    "GPTQ": gptq(),
    "GPTQ in act-order": gptq(act_order=True),
    "AWQ": awq(),
    "int4": compressed(KINDS["int4 with zero points"][0]),
    "W8A8": compressed(KINDS["W8A8"][0]),
    "f8 with one scale": compressed(KINDS["f8 with a static scale"][0]),
    "f8 in smaller blocks": compressed(KINDS["f8 in blocks that are smaller at the end of K"][0]),
    "NVFP4": compressed(KINDS["NVFP4"][0]),
    "MXFP4": compressed(KINDS["MXFP4"][0]),
}
PAIRS = [
    ("Mixtral", "GPTQ"),
    ("Mixtral", "AWQ"),
    ("Mixtral", "W8A8"),
    ("Mixtral", "f8 with one scale"),
    ("Mixtral", "f8 in smaller blocks"),
    ("Qwen3Moe", "GPTQ in act-order"),
    ("Qwen3Moe", "int4"),
    ("Qwen3Moe", "NVFP4"),
    ("Qwen3Moe", "MXFP4"),
    ("Llama4Text", "GPTQ"),
    ("Llama4Text", "AWQ"),
    ("Llama4Text", "int4"),
    ("Llama4Text", "f8 with one scale"),
    ("Llama4Text", "MXFP4"),
]


@pytest.mark.parametrize(("kind", "form"), PAIRS)
def test_logits(kind: str, form: str, tmp_path: Path) -> None:
    expected = logits(save(tmp_path, mixture(kind), *FORMATS[form]))
    model = load(tmp_path)
    found = experts_of(model)
    assert len(found) == (1 if kind == "Qwen3Moe" else 2)
    assert {(e.up.layer.experts, e.down.layer.experts) for e in found} == {(EXPERTS, EXPERTS)}
    assert not [name for name, _ in model.named_parameters() if "experts" in name]
    error = (logits(model) - expected).abs().max() / expected.abs().max()
    assert error < (0.1 if form == "W8A8" else 1e-5)


def test_names_of_the_files_in_a_config(tmp_path: Path) -> None:
    """Mixtral's files say block_sparse_moe where the model says mlp."""
    config, store = compressed(KINDS["int4"][0])
    config["config_groups"]["group_0"]["targets"] = ["re:.*self_attn.*", "re:.*block_sparse_moe.experts.*"]
    expected = logits(save(tmp_path, mixture("Mixtral"), config, store))
    model = load(tmp_path)
    assert len(experts_of(model)) == 2
    torch.testing.assert_close(logits(model), expected, rtol=1e-5, atol=1e-4)


def mxfp4(w: NDArray[np.float32]) -> tuple[dict[str, Any], NDArray[np.float32]]:
    """Weights [E, K, N] as blocks and scales, and what these stand for."""
    steps = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
    rows = w.swapaxes(1, 2).reshape(EXPERTS, w.shape[2], -1, 32)
    exponents = np.floor(np.log2(np.abs(rows).max(-1, keepdims=True))) - 2
    scaled = rows / np.exp2(exponents)
    codes = np.abs(scaled[..., None] - steps).argmin(-1).astype(np.uint8)
    values = steps[codes] * np.exp2(exponents)
    tensors = {
        "blocks": codes[..., ::2] | codes[..., 1::2] << 4,
        "scales": (exponents[..., 0] + 127).astype("u1"),
    }
    return tensors, values.reshape(EXPERTS, w.shape[2], -1).swapaxes(1, 2).astype(np.float32)


MXFP4 = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}


def save_gpt_oss(folder: Path) -> Any:
    model = mixture("GptOss")
    tensors = dict(model.state_dict())
    for name in [name for name in tensors if name.endswith("_proj") and "experts" in name]:
        stored, values = mxfp4(tensors.pop(name).numpy())
        tensors |= {f"{name}_{key}": torch.from_numpy(array) for key, array in stored.items()}
        model.get_parameter(name).data.copy_(torch.from_numpy(values.copy()))
    write(folder, model, tensors, MXFP4)
    return model


def test_mxfp4_of_gpt_oss(tmp_path: Path) -> None:
    """One tensor has all experts, with biases, and columns of gates beside those that they are applied to."""
    expected = logits(save_gpt_oss(tmp_path))
    model = load(tmp_path)
    assert [e.up.layer.weights.data_type for e in experts_of(model)] == ["f4_e2m1"] * 2
    torch.testing.assert_close(logits(model), expected, rtol=1e-5, atol=1e-4)
    edit(tmp_path, lambda t: t.pop("model.layers.1.mlp.experts.down_proj_scales"))
    with pytest.raises(
        ValueError,
        match=r"no tensor model.layers.1.mlp.experts.down_proj_scales, float8_e8m0fnu or uint8 \(4, 64, 3\)",
    ):
        load(tmp_path)


@pytest.mark.parametrize("kind", ["Mixtral", "Qwen3Moe", "Llama4Text"])
def test_experts_in_float_stay_float(kind: str, tmp_path: Path) -> None:
    config, store = compressed(KINDS["W8A8"][0])
    config["ignore"].append("re:.*experts.*")
    only = r"(self_attn|mlp|shared_expert)\.\w+_proj"
    expected = logits(save(tmp_path, mixture(kind), config, store, only))
    model = load(tmp_path)
    assert not experts_of(model)
    assert [m for m in model.modules() if isinstance(m, zemm.torch.QuantLinear)]
    assert (logits(model) - expected).abs().max() < 0.1 * expected.abs().max()


def round_weights(model: Any) -> None:
    """Make the weights those that ZemmConfig(bits=8, group=32) stands for."""
    for name, parameter in model.named_parameters():
        if "proj" not in name or "bias" in name:
            continue
        is_transposed = model.config.model_type in ("gpt_oss", "llama4_text") and "experts" in name
        round_weight(parameter.data if is_transposed else parameter.data.mT, "f16")


def round_weight(w: Any, scale_dtype: str = "f32") -> None:
    """w: [.., K, N]. To 8 bits in groups of 32."""
    values, scales, zero_points = zemm.quantize_weights(w.numpy(), 8, 32, scale_dtype)
    assert zero_points is not None
    k, parts = w.shape[-2], (scales, zero_points)
    scales, zero_points = (np.repeat(part.astype(np.float32), 32, -2)[..., :k, :] for part in parts)
    w.copy_(torch.from_numpy((values - zero_points) * scales))


@pytest.mark.parametrize("kind", ["Mixtral", "Qwen3Moe", "GptOss", "Llama4Text"])
def test_float_experts_are_quantised_while_they_load(kind: str, tmp_path: Path) -> None:
    model = mixture(kind)
    model.save_pretrained(tmp_path)
    round_weights(model)
    expected = logits(model)
    model = load(tmp_path, quantization_config=zemm.transformers.ZemmConfig(bits=8, group=32))
    found = experts_of(model)
    assert [e.up.layer.weights.data_type for e in found] == ["u8"] * (1 if kind == "Qwen3Moe" else 2)
    assert not [name for name, _ in model.named_parameters() if "experts" in name]
    torch.testing.assert_close(logits(model), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("kind", MIXTURES)
def test_float_experts_are_quantised_in_place(kind: str) -> None:
    """As if all weights had the values that they are quantised to. Routers stay."""
    model, rounded = mixture(kind), mixture(kind)
    report = zemm.torch.quantize_(model, bits=8, group=32)
    parameters = dict(rounded.named_parameters())
    for layer in report.replaced:
        is_one = f"{layer.name}.weight" in parameters
        weight = parameters[f"{layer.name}.weight" if is_one else layer.name].data
        owner = rounded.get_submodule(layer.name.rpartition(".")[0])
        round_weight(weight if not is_one and getattr(owner, "is_transposed", True) else weight.mT)
    torch.testing.assert_close(logits(model), logits(rounded), rtol=1e-4, atol=1e-4)
    experts = [layer for layer in report if layer.kind.startswith(f"{EXPERTS} x ")]
    assert len(experts) == 2 * len(experts_of(model)) > 0
    assert all(layer.nbytes_after < layer.nbytes_before for layer in experts)
    assert not [name for name, _ in model.named_parameters() if "experts" in name]


def test_experts_that_quantize_leaves() -> None:
    model = mixture("GptOss")
    report = zemm.torch.quantize_(model, filter=lambda _, name: "experts" not in name)
    assert {layer.note for layer in report.skipped} == {"filter refuses it"}
    with torch.device("meta"):
        model = mixture("Mixtral")
    report = zemm.torch.quantize_(model)
    assert {layer.note for layer in report.skipped} == {"it stays: experts on the device meta have no values"}
    model = mixture("Mixtral")
    for layer in model.model.layers:
        layer.mlp.experts.has_post_expert_norm = True
    report = zemm.torch.quantize_(model)
    experts = [layer for layer in report.skipped if "zemm knows experts" in layer.note]
    assert [(layer.k, layer.n) for layer in experts] == 2 * [(64, 192), (96, 64)]
    model = mixture("Mixtral")
    model.model.layers[1].mlp.experts.down_proj.data[0, 0, 0] = torch.nan
    with pytest.raises(ValueError, match=r"layers.1.mlp.experts: .*; no layer was replaced"):
        zemm.torch.quantize_(model)
    assert not experts_of(model)


def test_float_experts_that_stay(tmp_path: Path) -> None:
    mixture("Qwen3Moe").save_pretrained(tmp_path)
    config = zemm.transformers.ZemmConfig(bits=8, group=32, modules_to_not_convert=["experts"])
    assert not experts_of(load(tmp_path, quantization_config=config))


def test_short_floats_and_generation(tmp_path: Path) -> None:
    expected = logits(save(tmp_path, mixture("Mixtral"), *gptq()))
    model = load(tmp_path, dtype=torch.bfloat16)
    assert experts_of(model)[0].up.layer.activation == "bf16"
    assert (logits(model) - expected).abs().max() < 0.2 * expected.abs().max()
    tokens = model.generate(PROMPTS, max_new_tokens=4, do_sample=False)
    assert tokens.shape == (3, 12)


def test_program_that_times_experts() -> None:
    program = ROOT / "examples" / "speed.py"
    done = captured([sys.executable, str(program), "experts", "--rounds=1"], timeout=300)
    line = r"(?m)^512 tokens: torch [\d. ]+; int8, groups of 32 [\d. ]+; .*; bf16, groups of 128 [\d. ]+$"
    assert len(re.findall(line, done.stdout)) == 2, done.stderr


def test_layers_of_experts_that_differ() -> None:
    """Signed values beside unsigned ones with zero points, and one scale beside several."""
    rng = np.random.default_rng(0)
    signed = Quantized(rng.integers(-8, 8, (6, 32), np.int8), np.float32([0.5]))
    unsigned = Quantized(
        rng.integers(0, 16, (4, 32), np.uint8),
        rng.random((4, 2), np.float32),
        rng.integers(0, 16, (4, 2), np.uint8),
    )
    layer = joined([[signed, unsigned], [signed, unsigned]], "m").pack(None).layer
    y = layer(np.eye(32, dtype=np.float32), expert=1).T
    np.testing.assert_array_equal(y[:6], signed.values * np.float32(0.5))
    zero_points, scales = (np.repeat(part, 16, axis=1) for part in (unsigned.zero_points, unsigned.scales))
    np.testing.assert_array_equal(y[6:], (unsigned.values.astype(np.float32) - zero_points) * scales)
    with pytest.raises(NotImplementedError, match="the experts m have weights of different types"):
        joined([[signed], [Quantized(np.zeros((6, 16), np.uint8), np.float32([1]), None, "f4_e2m1")]], "m")
    order = Quantized(signed.values, signed.scales, columns=np.arange(32)[::-1])
    with pytest.raises(NotImplementedError, match="expert 0 of m takes its inputs in two orders"):
        joined([[signed, order]], "m")
