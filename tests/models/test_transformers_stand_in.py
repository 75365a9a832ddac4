# SPDX-License-Identifier: Apache-2.0
"""Models of Transformers that do more with linear layers than call them are right with zemm's layers, and
what these cannot be is refused or stays as it is."""

from pathlib import Path
from typing import Any

import pytest
import zemm
from support_checkpoints import llama, load, logits, save, torch, transformers
from test_transformers import gptq

BERT = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96}
IDS = torch.arange(3, 21).reshape(2, 9)


class Doubled(torch.nn.Linear):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        return 2 * super().forward(x)


class Named(torch.nn.Linear):  # type: ignore[misc]
    """A subclass that changes nothing."""


def with_class(model: Any, kind: type, name: str = "up_proj") -> Any:
    for layer in model.model.layers:
        getattr(layer.mlp, name).__class__ = kind
    return model


class OwnLlama(transformers.LlamaForCausalLM):  # type: ignore[misc]
    kind: type = Doubled

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        with_class(self, self.kind)


class NamedLlama(OwnLlama):
    kind = Named


def test_subclasses_in_float_checkpoints(tmp_path: Path) -> None:
    llama().save_pretrained(tmp_path)
    config = zemm.transformers.ZemmConfig(bits=8, group=32)
    for own, kind in ((OwnLlama, Doubled), (NamedLlama, zemm.torch.QuantLinear)):
        reference = own.from_pretrained(tmp_path, dtype=torch.float32)
        model = own.from_pretrained(tmp_path, quantization_config=config, dtype=torch.float32)
        assert {type(layer.mlp.up_proj) for layer in model.model.layers} == {kind}
        for name, module in model.named_modules():
            if isinstance(module, zemm.torch.QuantLinear):
                reference.get_submodule(name).weight.data = module.weight.clone()
        expected = logits(reference)
        assert (logits(model) - expected).abs().max() < 1e-5 * expected.abs().max()


def test_subclasses_in_quantised_checkpoints(tmp_path: Path) -> None:
    """With float weights they stay; others are refused."""
    config, store = gptq(bits=8, skip="up_proj")
    reference = with_class(save(tmp_path / "float", llama(), config, store), Doubled)
    config, store = gptq(bits=8)
    plain = save(tmp_path / "quantised", llama(), config, store)
    with zemm.transformers.registered():
        model = OwnLlama.from_pretrained(tmp_path / "float")
        torch.testing.assert_close(logits(model), logits(reference), rtol=1e-4, atol=1e-4)
        with pytest.raises(NotImplementedError, match=r"up_proj: this Doubled has a forward\(\) of its own"):
            OwnLlama.from_pretrained(tmp_path / "quantised")
        model = NamedLlama.from_pretrained(tmp_path / "quantised")
    torch.testing.assert_close(logits(model), logits(plain), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("act_order", [False, True])
def test_weights_of_a_quantised_checkpoint(act_order: bool, tmp_path: Path) -> None:
    """They are those that the checkpoint stands for, in the order of x, in the type of the model."""
    config, store = gptq(act_order=act_order)
    reference = save(tmp_path, llama(attention_bias=True), config, store)
    with zemm.transformers.registered(activation="int8"):
        model = load(tmp_path, dtype=torch.float16)
    for name in ("model.layers.0.self_attn.q_proj", "model.layers.1.mlp.down_proj"):
        own, plain = model.get_submodule(name), reference.get_submodule(name)
        assert isinstance(own, torch.nn.Linear)
        assert own.weight.dtype == torch.float16
        assert torch.equal(own.weight.clone(), plain.weight.to(torch.float16))
        assert (own.bias is None) == (plain.bias is None)
        if plain.bias is not None:
            assert torch.equal(own.bias.clone(), plain.bias.to(torch.float16))
        with pytest.raises(ValueError, match="cannot be written to"):
            own.weight.data.zero_()


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("embeddings", [False, True])
def test_resized_and_tied_again(tied: bool, embeddings: bool) -> None:
    model = llama(tie_word_embeddings=tied)
    zemm.torch.quantize_(model, group=32, embeddings=embeddings)
    expected = logits(model)
    assert model.dtype == model.get_input_embeddings().weight.dtype == torch.float32
    if tied and not embeddings and transformers.__version__.startswith("4."):
        with pytest.raises(ValueError, match="cannot be written to"):
            model.tie_weights()
        return
    model.tie_weights()
    model.init_weights()
    assert torch.equal(logits(model), expected)
    if embeddings:
        with pytest.raises(ValueError, match="resize modules and merge adapters before you quantise them"):
            model.resize_token_embeddings(160)
        assert torch.equal(logits(model), expected)
        return
    for count in (128, 160, 96):
        model.resize_token_embeddings(count, mean_resizing=False)
        assert model.get_output_embeddings().weight.shape == (count, 64)
        if count >= 128:
            torch.testing.assert_close(logits(model)[..., :128], expected, rtol=1e-4, atol=1e-4)


def test_a_model_without_other_parameters() -> None:
    """OLMo's norms have none, and Transformers asks a parameter for the type of the model."""
    sizes = {**BERT, "vocab_size": 128, "eos_token_id": 1, "pad_token_id": 0}
    model = transformers.OlmoForCausalLM(transformers.OlmoConfig(**sizes))
    report = zemm.torch.quantize_(model, group=32, embeddings=True)
    assert report["model.embed_tokens"].note.startswith("it stays: the model has no other parameter")
    assert model.dtype == torch.float32
    assert model.generate(IDS[:, :3], max_new_tokens=2).shape == (2, 5)
