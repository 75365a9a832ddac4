# SPDX-License-Identifier: Apache-2.0
"""Dynamic caches of zemm's models, which have room for more tokens, give what those of Transformers give."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import zemm
from support_checkpoints import torch, transformers
from transformers.cache_utils import DynamicCache, DynamicLayer
from zemm.transformers._growing_cache import GrowingLayer

VOCABULARY = 96
SIZES = {
    "vocab_size": VOCABULARY, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 2048,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 95,
}  # fmt: skip
BATCH, HEADS, WIDTH = 2, 3, 8


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("model")
    torch.manual_seed(0)
    transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES)).save_pretrained(folder)
    config = zemm.transformers.ZemmConfig(bits=8, group=32)
    return transformers.AutoModelForCausalLM.from_pretrained(folder, quantization_config=config).eval()


def usual(model: Any) -> Any:
    """The model without the hook."""
    found = copy.deepcopy(model)
    found._forward_pre_hooks.clear()
    return found


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"num_beams": 3},
        {"do_sample": True, "num_return_sequences": 2},
        {"prompt_lookup_num_tokens": 3},
    ],
    ids=["greedy", "beams", "sampling", "prompt_lookup"],
)
def test_generate(model: Any, how: dict[str, Any]) -> None:
    rows = 1 if "prompt_lookup_num_tokens" in how else 2
    ids = torch.randint(2, 9, (rows, 12), generator=torch.Generator().manual_seed(rows))
    mask = torch.ones_like(ids)
    mask[0, : rows - 1] = 0
    found = []
    for one in (usual(model), model):
        torch.manual_seed(1)
        found.append(one.generate(ids, attention_mask=mask, max_new_tokens=300, **how))
    assert torch.equal(*found)


def test_layers_of_a_call(model: Any) -> None:
    """The model's own caches and those of a user grow, also in a loop without generate()."""
    ids = torch.arange(2, 9)[None]
    with torch.no_grad():
        expected = usual(model)(torch.cat([ids, ids], 1)).logits[:, -1]
        step = model(ids, use_cache=True)
        later = model(ids, past_key_values=step.past_key_values)
    torch.testing.assert_close(later.logits[:, -1], expected)
    assert {type(layer) for layer in later.past_key_values.layers} == {GrowingLayer}


def test_a_copy_of_the_model(model: Any) -> None:
    ids = torch.arange(2, 9)[None]
    twin = copy.deepcopy(model)
    assert torch.equal(*(one.generate(ids, max_new_tokens=4) for one in (model, twin)))


def tokens(count: int, seed: int, dtype: Any = torch.float32, batch: int = BATCH) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, HEADS, count, WIDTH, generator=generator).to(dtype)


CHANGES: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda layer: None,
    "cropped": lambda layer: layer.crop(-3),
    "reordered": lambda layer: layer.reorder_cache(torch.tensor([1, 0])),
    "reset": lambda layer: layer.reset(),
    "repeated": lambda layer: (
        layer.batch_repeat_interleave(2),
        layer.batch_select_indices(torch.tensor([0, 3])),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("count", [1, 7, 300])
def test_layer(change: str, count: int) -> None:
    """Tokens come, the layer changes, tokens come: keys and values are those of DynamicLayer."""
    layers = GrowingLayer(), DynamicLayer()
    seed = 0
    for _ in range(3):
        for each in (5, count, 1):
            found = [layer.update(tokens(each, seed), tokens(each, seed + 1)) for layer in layers]
            assert all(torch.equal(*pair) for pair in zip(*found, strict=True))
            seed += 2
        for layer in layers:
            CHANGES[change](layer)
        assert layers[0].get_seq_length() == layers[1].get_seq_length()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_do_not_share(copied: Callable[[Any], Any]) -> None:
    layer = GrowingLayer()
    layer.update(tokens(4, 0), tokens(4, 1))
    other = copied(layer)
    first = layer.update(tokens(2, 2), tokens(2, 3))[0].clone()
    second = other.update(tokens(2, 4), tokens(2, 5))[0]
    assert torch.equal(layer.keys, first)
    assert torch.equal(second[:, :, 4:], tokens(2, 4))
    kept = second.clone()
    layer.update(tokens(2, 6), tokens(2, 7))
    assert torch.equal(other.keys, kept)


def test_what_torch_refuses_is_refused() -> None:
    """Another number of sequences is an error, and no broadcast."""
    layer = GrowingLayer()
    layer.update(tokens(4, 0, batch=1), tokens(4, 1, batch=1))
    with pytest.raises(RuntimeError, match="Sizes of tensors must match"):
        layer.update(tokens(1, 2), tokens(1, 3))


def test_types_and_gradients() -> None:
    """What is more than a copy is left to torch.cat: it promotes types and keeps gradients."""
    layer = GrowingLayer()
    layer.update(tokens(4, 0), tokens(4, 1))
    assert layer.update(tokens(1, 2, torch.bfloat16), tokens(1, 3, torch.bfloat16))[0].dtype is torch.float32
    keys = tokens(1, 4).requires_grad_()
    layer.update(keys, tokens(1, 5))[0].sum().backward()
    assert torch.equal(keys.grad, torch.ones_like(keys))


def test_inference_mode_ends() -> None:
    layer = GrowingLayer()
    with torch.inference_mode():
        layer.update(tokens(4, 0), tokens(4, 1))
        layer.update(tokens(1, 2), tokens(1, 3))
    assert layer.update(tokens(1, 2), tokens(1, 3))[0].shape[2] == 6


def test_old_tensors_stay() -> None:
    """More tokens do not change those that a caller has got: with room, without, and behind a cropped end."""
    layer = GrowingLayer()
    kept = [layer.update(tokens(4, seed), tokens(4, seed))[0] for seed in range(90)]
    layer.crop(-100)
    layer.update(tokens(4, 90), tokens(4, 90))
    everything = torch.cat([tokens(4, seed) for seed in range(90)], 2)
    assert all(torch.equal(one, everything[:, :, : one.shape[2]]) for one in kept)


def test_other_caches_stay(model: Any) -> None:
    class Own(DynamicCache):  # type: ignore[misc]
        pass

    cache = Own(config=model.config)
    model(torch.arange(2, 9)[None], past_key_values=cache)
    assert {type(layer) for layer in cache.layers} == {DynamicLayer}
