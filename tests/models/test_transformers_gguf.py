# SPDX-License-Identifier: Apache-2.0
"""GGUF files by from_pretrained(gguf_file=): zemm's layers in place of the dequantised ones that Transformers
makes, which are the reference here."""

from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import zemm
from support_checkpoints import torch, transformers
from support_gguf import finish, usual_blocks
from test_transformers_stand_in import OwnLlama
from zemm.models import random_gguf
from zemm.models.shapes import Shape
from zemm.torch._quant_experts import QuantExperts

if "gguf" not in transformers.quantizers.auto.AUTO_QUANTIZER_MAPPING:
    pytest.skip("GGUF files need Transformers 5.17 or later", allow_module_level=True)

K, LAYERS, VOCABULARY = 256, 2, 96
SHAPE = Shape(hidden=K, intermediate=K, layers=LAYERS, heads=8, kv=4, vocabulary=VOCABULARY)
MIXES = {
    "Q4_0": ["Q4_0"],
    "Q4_1": ["Q4_1"],
    "Q8_0": ["Q8_0"],
    "Q4_K_M": ["Q4_K", "Q6_K"],
    "small floats": ["MXFP4", "NVFP4"],
    "tables and ternary": ["IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0"],
    "all others": ["Q5_0", "Q5_1", "Q2_K", "Q3_K", "Q5_K"],
}
PROMPTS = torch.arange(24).reshape(3, 8) * 5 % VOCABULARY


def write(
    folder: Path,
    architecture: str,
    types: list[str],
    tied: bool = False,
    embedding: str | None = None,
    scale: float | None = None,
) -> Path:
    """A random model whose linear layers have these types, in turns. embedding: its type; None: f32. scale:
    that of all linear layers, in tensors of its own."""
    rng, path, kinds = np.random.default_rng(1), folder / "model.gguf", cycle(types)
    writer = gguf.GGUFWriter(path, architecture)
    random_gguf._describe(writer, SHAPE)
    for name, _, dims in random_gguf._tensors(SHAPE):
        if name == "output.weight" and tied:
            continue
        if len(dims) == 1:
            writer.add_tensor(name, rng.uniform(0.5, 1.5, dims).astype(np.float32))
            continue
        is_embedding = name == "token_embd.weight"
        if is_embedding and embedding is None:
            writer.add_tensor(name, rng.standard_normal(dims, dtype=np.float32))
            continue
        kind = embedding if is_embedding else next(kinds)
        writer.add_tensor(name, usual_blocks(kind, dims, rng), raw_dtype=gguf.GGMLQuantizationType[kind])
        stem = name.removesuffix(".weight")
        if scale is not None and not is_embedding:
            for more in ("scale", "input_scale"):
                writer.add_tensor(f"{stem}.{more}", np.array([scale], np.float32))
        if architecture == "qwen2" and stem.endswith(("attn_q", "attn_k", "attn_v")):
            writer.add_tensor(f"{stem}.bias", rng.uniform(0.5, 1.5, dims[:1]).astype(np.float32))
    finish(writer)
    return path


def load(path: Path, **options: Any) -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, **options)


def logits(model: Any) -> Any:
    with torch.no_grad():
        return model(PROMPTS).logits.float()


def packed(model: Any) -> list[str]:
    return [name for name, module in model.named_modules() if hasattr(module, "layer")]


def check(model: Any, expected: Any, most: float) -> None:
    """most: the error beside the largest logit."""
    assert (logits(model) - expected).abs().max() < most * expected.abs().max()


@pytest.mark.parametrize("mix", MIXES)
def test_logits(mix: str, tmp_path: Path) -> None:
    is_tied = mix == "Q8_0"
    path = write(tmp_path, "llama", MIXES[mix], is_tied)
    expected = logits(load(path))
    with zemm.transformers.registered():
        model = load(path)
    assert len(packed(model)) == 7 * LAYERS + (not is_tied)
    check(model, expected, 1e-5)


@pytest.mark.parametrize("is_tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("kind", ["Q8_0", "Q4_1", "Q6_K", "MXFP4", "NVFP4", "TQ2_0"])
def test_embeddings(kind: str, is_tied: bool, tmp_path: Path) -> None:
    """They stay packed: rows are those of the file, and a tied head multiplies by the same bytes."""
    path = write(tmp_path, "llama", ["Q4_0"], is_tied, kind)
    reference = load(path)
    with zemm.transformers.registered():
        model, half = load(path), load(path, dtype=torch.bfloat16)
    embedding, head = model.get_input_embeddings(), model.get_output_embeddings()
    assert isinstance(embedding, zemm.torch.QuantEmbedding)
    assert isinstance(head, zemm.torch.QuantLinear)
    assert (embedding.table is head) == is_tied
    rows = reference.get_input_embeddings()(PROMPTS)
    assert (embedding(PROMPTS) - rows).abs().max() <= 2.0**-23 * rows.abs().max()
    assert half.get_input_embeddings()(PROMPTS).dtype == torch.bfloat16
    expected = logits(reference)
    check(model, expected, 1e-5)
    model.tie_weights()
    check(model, expected, 1e-5)
    ids = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0}
    assert torch.equal(model.generate(PROMPTS[:1], **ids), reference.generate(PROMPTS[:1], **ids))


def test_scales_of_tensors(tmp_path: Path) -> None:
    """llama.cpp multiplies products by them, and not by those of activations. Transformers knows neither."""
    reference = load(write(tmp_path, "llama", ["NVFP4"]))
    with zemm.transformers.registered():
        model = load(write(tmp_path, "llama", ["NVFP4"], scale=3))
    with torch.no_grad():
        for name in packed(model):
            reference.get_submodule(name).weight *= 3
    check(model, logits(reference), 1e-5)


@pytest.mark.parametrize("mix", ["Q4_K_M", "small floats"])
def test_biases_and_int8_activations(mix: str, tmp_path: Path) -> None:
    """Qwen2 has biases, and llama.cpp leaves its rows in their order."""
    path = write(tmp_path, "qwen2", MIXES[mix])
    expected = logits(load(path))
    with zemm.transformers.registered():
        check(load(path), expected, 1e-5)
    with zemm.transformers.registered(activation="int8"):
        model = load(path)
    reference = load(path)
    for name in packed(model):
        round_inputs(reference.get_submodule(name), model.get_submodule(name).layer.activation_group)
    rounded = logits(reference)
    assert (rounded - expected).norm() > 1e-3 * expected.norm()
    # An input that lies between two integers may become either, by the order of torch's sums: that changes
    # the logits of a token and of those after it, in one of the texts.
    errors = (logits(model) - rounded).abs().amax(-1) / rounded.abs().max()
    assert (errors < 1e-5).all(1).sum() >= len(PROMPTS) - 1
    assert errors.max() < 2e-2


def round_inputs(module: Any, group: int) -> None:
    """Let a layer of floats multiply what int8 activations stand for."""

    def hook(module: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        x = args[0].numpy()
        values, scales, _ = zemm.quantize_activations(x.reshape(-1, x.shape[-1]), group=group)
        return (
            torch.from_numpy((values * np.repeat(scales, group, -1)).reshape(x.shape).astype(np.float32)),
        )

    module.register_forward_pre_hook(hook)


def test_dequantised_on_demand(tmp_path: Path) -> None:
    path = write(tmp_path, "llama", ["Q4_0"])
    with zemm.transformers.registered():
        model = load(path, quantization_config=transformers.GgufConfig(dequantize=True))
    assert not packed(model)


def test_a_file_that_does_not_fit(tmp_path: Path) -> None:
    path = write(tmp_path, "llama", ["Q4_0"])
    config = transformers.AutoConfig.from_pretrained(tmp_path, gguf_file=path.name)
    config.intermediate_size = 2 * K
    sentence = r"tensor 'blk.0.ffn_gate.weight' of the file has shape \(256, 256\), but .* needs \(256, 512\)"
    with zemm.transformers.registered(), pytest.raises(ValueError, match=sentence):
        load(path, config=config)


def test_scales_that_are_not_finite(tmp_path: Path) -> None:
    """A block of Q4_0 begins with its scale in f16."""
    path = write(tmp_path, "llama", ["Q4_0"])
    name = "blk.1.ffn_down.weight"
    tensor = next(t for t in gguf.GGUFReader(path).tensors if t.name == name)
    data = bytearray(path.read_bytes())
    data[tensor.data_offset : tensor.data_offset + 2] = np.float16(np.nan).tobytes()
    path.write_bytes(data)
    with (
        zemm.transformers.registered(),
        pytest.raises(ValueError, match=f"tensor '{name}' of the file .* not finite"),
    ):
        load(path)


def test_saved(tmp_path: Path) -> None:
    """Types without offsets and factors become a checkpoint of compressed-tensors, with an embedding of
    floats."""
    path, saved = write(tmp_path, "llama", ["Q4_0"], True, "Q8_0"), tmp_path / "saved"
    with zemm.transformers.registered():
        model = load(path)
        model.save_pretrained(saved)
        again = transformers.AutoModelForCausalLM.from_pretrained(saved)
    assert packed(again) == packed(model)
    assert torch.equal(logits(again), logits(model))
    with zemm.transformers.registered():
        other = load(write(tmp_path, "llama", ["Q4_K"]))
    sentence = r"q_proj: it has offsets, as types of GGUF have, and pack-quantized has none: keep the .* file"
    with pytest.raises(NotImplementedError, match=sentence):
        other.save_pretrained(tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_subclasses_stay(tmp_path: Path) -> None:
    """Layers with a forward() of their own are dequantised."""
    path = write(tmp_path, "llama", ["Q8_0"])
    reference = OwnLlama.from_pretrained(path.parent, gguf_file=path.name)
    with zemm.transformers.registered():
        model = OwnLlama.from_pretrained(path.parent, gguf_file=path.name)
    assert len(packed(model)) == 6 * LAYERS + 1
    check(model, logits(reference), 1e-5)


def test_damaged_files(tmp_path: Path) -> None:
    path = write(tmp_path, "llama", ["Q4_0"])
    data = path.read_bytes()
    for size in (0, 5, 100, len(data) - 10):
        path.write_bytes(data[:size])
        with (
            zemm.transformers.registered(),
            pytest.raises(ValueError, match=f"{path.name} cannot be read: ."),
        ):
            load(path)


# Transformers takes this width of experts for all files.
MIXTURE = replace(SHAPE, intermediate=768, experts=4, used=2)


def write_mixture(folder: Path, gate: str, up: str, down: str) -> Path:
    """A random Qwen3 with experts, whose layers have these types."""
    rng, path = np.random.default_rng(1), folder / "model.gguf"
    writer = gguf.GGUFWriter(path, random_gguf.architecture(MIXTURE))
    random_gguf._describe(writer, MIXTURE)
    kinds = {"ffn_gate_exps": gate, "ffn_up_exps": up, "ffn_down_exps": down}
    kinds |= dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output"), "Q8_0")
    for name, _, dims in random_gguf._tensors(MIXTURE):
        if kind := kinds.get(name.split(".")[-2]):
            writer.add_tensor(name, usual_blocks(kind, dims, rng), raw_dtype=gguf.GGMLQuantizationType[kind])
        else:
            low = 0.5 if len(dims) == 1 else -0.5
            writer.add_tensor(name, rng.uniform(low, low + 1, dims).astype(np.float32))
    finish(writer)
    return path


@pytest.mark.parametrize(
    ("gate", "up", "down"),
    [
        ("Q4_K", "Q4_K", "Q6_K"),
        ("Q4_0", "Q4_0", "Q4_0"),
        ("MXFP4", "MXFP4", "Q8_0"),
        ("Q8_0", "Q4_0", "Q8_0"),
        ("Q8_0", "Q8_0", ""),
    ],
)
def test_experts(gate: str, up: str, down: str, tmp_path: Path) -> None:
    """They stay packed, unless gates have another type than what they are applied to, or one has floats."""
    path = write_mixture(tmp_path, gate, up, down)
    expected = logits(load(path))
    with zemm.transformers.registered():
        model = load(path)
    mixtures = [module for module in model.modules() if isinstance(module, QuantExperts)]
    assert len(mixtures) == (LAYERS if gate == up and down else 0)
    check(model, expected, 1e-5)


def test_experts_of_another_width(tmp_path: Path) -> None:
    path = write_mixture(tmp_path, "Q4_0", "Q4_0", "Q4_0")
    config = transformers.AutoConfig.from_pretrained(tmp_path, gguf_file=path.name)
    config.moe_intermediate_size = 512
    with zemm.transformers.registered(), pytest.raises(ValueError, match=r"gate_up_proj of the model needs"):
        load(path, config=config)
