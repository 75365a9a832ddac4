# SPDX-License-Identifier: Apache-2.0
"""zemm.transformers loads checkpoints of compressed-tensors."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zemm
from support_checkpoints import edit, llama, load, logits, save, torch
from support_compressed import compressed, linear_of, scheme_of, stored_of
from zemm.torch._expert_places import Place
from zemm.transformers._formats import FORMATS
from zemm.transformers._formats.compressed_schemes import Schemes


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with zemm.transformers.registered():
        yield


def weights(bits: int = 8, strategy: str = "channel", **more: Any) -> dict[str, Any]:
    return {"weights": {"num_bits": bits, "strategy": strategy, **more}}


def inputs(strategy: str = "token", **more: Any) -> dict[str, Any]:
    return {
        "input_activations": {"num_bits": 8, "strategy": strategy, "dynamic": strategy != "tensor", **more}
    }


F8: dict[str, Any] = {"type": "float"}
UNSIGNED: dict[str, Any] = {"symmetric": False}
BY_32: dict[str, Any] = {"strategy": "group", "group_size": 32}
# The settings of a group, the type that zemm multiplies, and by which.
KINDS: dict[str, tuple[Any, str, str]] = {
    "int4": (weights(4, **BY_32), "s4", "f32"),
    "int4 with zero points": (weights(4, **BY_32, **UNSIGNED), "u4", "f32"),
    "int4 by channel": (weights(4), "s4", "f32"),
    "int4 by channel with zero points": (weights(4, **UNSIGNED), "u4", "f32"),
    "int4 by tensor with a zero point": (weights(4, "tensor", **UNSIGNED), "u4", "f32"),
    "int8": (weights(), "s8", "f32"),
    "int8 with zero points": (weights(**BY_32, **UNSIGNED), "u8", "f32"),
    "3 bits": (weights(3, **BY_32), "s4", "f32"),
    "5 bits with zero points": (weights(5, **BY_32, **UNSIGNED), "u8", "f32"),
    "W4A8": (weights(4, **BY_32) | inputs(), "s8", "int8"),
    "W8A8": (weights() | inputs(), "s8", "int8"),
    "W8A8 with zero points": (weights(**UNSIGNED) | inputs(), "s8", "int8"),
    "W8A8 with a static scale": (weights(strategy="tensor") | inputs("tensor"), "s8", "int8"),
    "W8A8 with zero points of inputs": (weights() | inputs(**UNSIGNED), "s8", "f32"),
    "f8": (weights(**F8) | inputs(**F8), "f8_e4m3", "f32"),
    "f8 with a static scale": (weights(strategy="tensor", **F8) | inputs("tensor", **F8), "f8_e4m3", "f32"),
    "f8 in blocks": (
        weights(strategy="block", block_structure=[32, 32], **F8) | inputs("group", group_size=32, **F8),
        "f8_e4m3",
        "f32",
    ),
    "f8 in blocks that are smaller at the end of K": (
        weights(strategy="block", block_structure=[32, 24], **F8) | inputs("group", group_size=32, **F8),
        "f8_e4m3",
        "f32",
    ),
    "int8 in blocks larger than K": (
        weights(strategy="block", block_structure=[16, 96]) | inputs(),
        "s8",
        "int8",
    ),
    "NVFP4": ("NVFP4", "f4_e2m1", "f32"),
    "MXFP4": ("MXFP4A16", "f4_e2m1", "f32"),
    "MXFP8": ("MXFP8", "f8_e4m3", "f32"),
}


@pytest.mark.parametrize(("kind", "n"), [*((kind, 50) for kind in KINDS), ("int8 with zero points", 2)])
def test_weights_are_those_of_the_package(kind: str, n: int) -> None:
    """Neither packed zero points nor blocks divide 50 rows. Zero points of two are in one word, which the
    package can unpack of 8 bits only."""
    settings, data_type, activation = KINDS[kind]
    w = np.random.default_rng(0).standard_normal((n, 64), np.float32)
    config, store = compressed(settings)
    stored = store("", w)
    assert stored is not None
    form, place = FORMATS["compressed-tensors"](config), Place("model.layer", 64, n, False)
    for name, want in form.tensors(place).items():
        if name in stored.tensors or not want.optional:
            want.check(name, stored.tensors[name], form.reason(place))
    weights = form.weights(place, dict(stored.tensors))
    layer = weights.pack(None, activation="f32").layer
    assert (layer.weights.data_type, layer.activation) == (data_type, activation)
    exact = replace(weights, options={}).pack(None, activation="f32").layer
    np.testing.assert_array_equal(exact(np.eye(64, dtype=np.float32)).T, stored.weight)


SHORTER = ["int4", "int4 with zero points", "int8 with zero points", "3 bits", "W4A8"]


@pytest.mark.parametrize("kind", SHORTER)
@pytest.mark.parametrize(("k", "group"), [(100, 32), (344, 128), (24, 32)])
def test_a_shorter_last_group(kind: str, k: int, group: int) -> None:
    """The package has such shapes in its layers, but quantises whole groups only: those with zeros at the end
    of K, which are cut off."""
    settings = KINDS[kind][0]
    settings = {**settings, "weights": {**settings["weights"], "group_size": group}}
    groups, bits = -(-k // group), settings["weights"]["num_bits"]
    w = np.random.default_rng(0).standard_normal((50, k), np.float32)
    config, store = compressed(settings)
    whole = store("", np.pad(w, ((0, 0), (0, groups * group - k))))
    assert whole is not None
    tensors = dict(whole.tensors)
    if "weight_packed" in tensors:
        tensors["weight_packed"] = tensors["weight_packed"][:, : -(-k * bits // 32)]
        tensors["weight_shape"] = torch.tensor([50, k])
    else:
        tensors["weight"] = tensors["weight"][:, :k]
    assert tensors["weight_scale"].shape == (50, groups)
    form, place = FORMATS["compressed-tensors"](config), Place("model.layer", k, 50, False)
    for name, want in form.tensors(place).items():
        want.check(name, tensors[name], form.reason(place))
    weights = replace(form.weights(place, tensors), options={})
    got = weights.pack(None, activation="f32").layer(np.eye(k, dtype=np.float32)).T
    np.testing.assert_array_equal(got, whole.weight[:, :k])


@pytest.mark.parametrize(("kind", "k", "unit"), [("NVFP4", 72, 16), ("MXFP4", 4304, 32), ("MXFP8", 100, 32)])
def test_inputs_that_the_package_cannot_store(kind: str, k: int, unit: int) -> None:
    settings = KINDS[kind][0]
    with pytest.raises(ValueError, match="must be divisble by the given group_size"):
        stored_of(linear_of(np.ones((32, k), np.float32), scheme_of(settings)))
    form = FORMATS["compressed-tensors"](compressed(settings)[0])
    sentence = f"model.layer has {k} inputs, not a multiple of {unit}: compressed-tensors cannot store it as"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        form.tensors(Place("model.layer", k, 32, False))


IN_MODELS = ["int4 with zero points", "W8A8", "f8", "NVFP4"]


@pytest.mark.parametrize("kind", IN_MODELS)
def test_logits(kind: str, tmp_path: Path) -> None:
    settings, _, activation = KINDS[kind]
    expected = logits(save(tmp_path, llama(), *compressed(settings)))
    model = load(tmp_path)
    layers = [module for module in model.modules() if isinstance(module, zemm.torch.QuantLinear)]
    assert len(layers) == 14
    assert {module.layer.activation for module in layers} == {activation}
    error = (logits(model) - expected).abs().max() / expected.abs().max()
    assert error < (0.05 if activation == "int8" else 1e-5)


@pytest.mark.parametrize("kind", ["int4", "int8 with zero points"])
def test_act_order(kind: str, tmp_path: Path) -> None:
    expected = logits(save(tmp_path, llama(), *compressed(KINDS[kind][0], act_order=True)))
    assert (logits(load(tmp_path)) - expected).abs().max() < 1e-5 * expected.abs().max()


def test_which_modules_are_quantised() -> None:
    group = compressed(weights(4, **BY_32))[0]["config_groups"]["group_0"]
    eight = {**group, "weights": {**group["weights"], "num_bits": 8}}
    schemes = Schemes(
        {
            "format": "pack-quantized",
            "config_groups": {
                "all": {**group, "targets": ["Linear"]},
                "some": {**eight, "targets": ["re:.*down_proj", "model.layers.0.mlp.up_proj"]},
                "of inputs": {"targets": ["LlamaAttention"], "weights": None},
            },
            "ignore": ["lm_head", r"re:.*self_attn\.[qk]_proj"],
        }
    )

    def bits(name: str) -> int | None:
        scheme = schemes.of({name})
        return scheme.bits if scheme is not None else None

    assert bits("model.layers.0.mlp.up_proj") == bits("model.layers.1.mlp.down_proj") == 8
    assert bits("model.layers.1.mlp.up_proj") == bits("model.layers.1.self_attn.v_proj") == 4
    assert bits("lm_head") is bits("model.layers.1.self_attn.q_proj") is None


LAYER = "model.layers.1.mlp.down_proj"
REASON = "as pack-quantized of asymmetric 4 bits and group_size 32 needs"
TENSORS: dict[str, tuple[Any, str]] = {
    "no scales": (
        lambda t: t.pop(f"{LAYER}.weight_scale"),
        f"the checkpoint has no tensor {LAYER}.weight_scale, float16 or bfloat16 or float32 (64, 3), which",
    ),
    "packed zero points of another layout": (
        lambda t: t.update({f"{LAYER}.weight_zero_point": torch.zeros(64, 3, dtype=torch.int8)}),
        f"tensor {LAYER}.weight_zero_point is int8 (64, 3), not int32 (8, 3), {REASON}",
    ),
    "another shape": (
        lambda t: t.update({f"{LAYER}.weight_shape": torch.tensor([64, 95])}),
        f"tensor {LAYER}.weight_shape is [64, 95], but the layer of the model is [64, 96]",
    ),
    "not compressed": (
        lambda t: t.update({f"{LAYER}.weight": t.pop(f"{LAYER}.weight_packed").float()}),
        f"the checkpoint has no tensor {LAYER}.weight_packed, int32 (64, 12), which pack-quantized",
    ),
}


@pytest.mark.parametrize("kind", TENSORS)
def test_tensors_that_are_refused(kind: str, tmp_path: Path) -> None:
    change, sentence = TENSORS[kind]
    save(tmp_path, llama(), *compressed(KINDS["int4 with zero points"][0]))
    edit(tmp_path, change)
    with pytest.raises(ValueError, match=re.escape(sentence)):
        load(tmp_path)


def test_quantised_modules_that_are_no_layers(tmp_path: Path) -> None:
    """Transformers would make up weights for them, and only warn."""
    config, store = compressed(KINDS["int4"][0])
    save(tmp_path, llama(), config, store)
    name = "model.embed_tokens.weight"
    edit(tmp_path, lambda t: t.update({f"{name}_packed": t.pop(name)}))
    sentence = f"the checkpoint has the tensor {name}_packed, but zemm has no layer for model.embed_tokens"
    with pytest.raises(NotImplementedError, match=re.escape(sentence)):
        load(tmp_path)
