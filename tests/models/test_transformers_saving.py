# SPDX-License-Identifier: Apache-2.0
"""save_pretrained() of models with zemm's layers writes checkpoints of compressed-tensors: zemm loads the
same layers, and Transformers with that package alone the same weights."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zemm
from readme import block
from support_architectures import NAMES, tiny_model
from support_checkpoints import llama, load, load_file, logits, save, torch, transformers
from support_compressed import compressed
from support_experts import mixture, one_by_one
from test_transformers import awq, gptq
from test_transformers_compressed import KINDS as COMPRESSED

IS_VERSION_4 = transformers.__version__.startswith("4.")


def by_quantize(tied: bool = False, **options: Any) -> Callable[[Path], Any]:
    def make(folder: Path) -> Any:
        model = llama(tie_word_embeddings=tied, attention_bias=True)
        for layer in model.model.layers:
            torch.nn.init.normal_(layer.self_attn.q_proj.bias)
        zemm.torch.quantize_(model, **{"group": 32, **options})
        return model

    return make


def by_config(dtype: Any = torch.float32, **options: Any) -> Callable[[Path], Any]:
    def make(folder: Path) -> Any:
        llama(tie_word_embeddings=True).save_pretrained(folder)
        return load(folder, quantization_config=zemm.transformers.ZemmConfig(**options), dtype=dtype)

    return make


def by_checkpoint(config: Any, store: Any, **options: Any) -> Callable[[Path], Any]:
    def make(folder: Path) -> Any:
        save(folder, llama(), config, store)
        with zemm.transformers.registered():
            return load(folder, **options)

    return make


def other_bits(folder: Path) -> Any:
    """Four layers of 8 bits in columns among layers of 4 bits in groups."""
    model = llama()
    zemm.torch.quantize_(model, bits=8, group=None, symmetric=True, filter=lambda _, name: "k_proj" in name)
    zemm.torch.quantize_(model, bits=4, group=16, symmetric=True, filter=lambda _, name: "v_proj" not in name)
    return model


MODELS: dict[str, Callable[[Path], Any]] = {
    "4 bits": by_quantize(bits=4),
    "4 bits, symmetric": by_quantize(bits=4, symmetric=True, scale_dtype="bf16"),
    "8 bits": by_quantize(bits=8, group=None, scale_dtype="f16"),
    "8 bits, symmetric": by_quantize(bits=8, symmetric=True),
    "2 bits": by_quantize(bits=2),
    "4 bits by int8": by_quantize(bits=4, activation="int8"),
    "embeddings": by_quantize(bits=4, embeddings=True),
    "tied": by_quantize(bits=4, tied=True),
    "tied embeddings": by_quantize(bits=4, tied=True, embeddings=True),
    "several schemes": other_bits,
    "ZemmConfig": by_config(bits=4, group=32),
    "ZemmConfig, bf16": by_config(torch.bfloat16, bits=8, group=32, symmetric=True),
    "GPTQ": by_checkpoint(*gptq()),
    "AWQ": by_checkpoint(*awq(symmetric=True)),
    "compressed-tensors": by_checkpoint(*compressed(COMPRESSED["int8 with zero points"][0])),
}


def layers_of(model: Any) -> dict[str, str]:
    """The layers of zemm by their names."""
    return {name: repr(module.layer) for name, module in model.named_modules() if quantised(module)}


def quantised(module: Any) -> bool:
    return isinstance(module, zemm.torch.QuantLinear)


@pytest.mark.parametrize("kind", MODELS)
def test_what_is_saved_is_loaded(kind: str, tmp_path: Path) -> None:
    model, saved = MODELS[kind](tmp_path / "model"), tmp_path / "saved"
    expected, before = logits(model), vars(model.config) | {"hf_quantizer": vars(model).get("hf_quantizer")}
    model.save_pretrained(saved)
    after = vars(model.config) | {"hf_quantizer": vars(model).get("hf_quantizer")}
    assert {key for key in after if before[key] != after[key]} <= {"architectures", "dtype"}  # Transformers'
    layers = {name: text for name, text in layers_of(model).items() if not name.endswith(".table")}
    assert len(layers) > 12
    with zemm.transformers.registered(activation="int8" if "int8" in kind else None):
        again = load(saved, dtype=model.dtype)
    if IS_VERSION_4:  # it gives scales the type of the model
        assert (logits(again) - expected).abs().max() < 0.05 * expected.abs().max()
        return
    assert layers_of(again) == layers
    assert torch.equal(logits(again), expected)
    own = by_the_package(saved, dtype=model.dtype)
    for name, module in own.named_modules():
        if hasattr(module, "weight"):
            wanted = model.get_submodule(name).weight.clone()
            torch.testing.assert_close(module.weight, wanted, rtol=ROUNDING[scale_type(model)], atol=0)


# The package computes weights in the type of the scales.
ROUNDING = {"f32": 0, "f16": 1e-3, "bf16": 1e-2}


def scale_type(model: Any) -> str:
    types = [m.layer.weights.scales.parameter.data_type for m in model.modules() if quantised(m)]
    return "bf16" if model.dtype == torch.bfloat16 else types[0]


def by_the_package(folder: Path, **options: Any) -> Any:
    """The model that Transformers loads without zemm. Weights with zero points it dequantises at once, as
    compressed-tensors 0.20 expects others of a model that is loaded, the rest at the first call."""
    config = json.loads((folder / "config.json").read_text())["quantization_config"]
    if not config["config_groups"]["group_0"]["weights"]["symmetric"]:
        options["quantization_config"] = transformers.CompressedTensorsConfig(dequantize=True)
    model = load(folder, **options)
    logits(model)
    return model


@pytest.mark.parametrize(
    ("kind", "tied"), [("ZemmConfig", True), ("tied", False), ("tied embeddings", False)]
)
def test_ties(kind: str, tied: bool, tmp_path: Path) -> None:
    """A quantised head is no longer tied to an embedding of floats, which the files have both."""
    MODELS[kind](tmp_path / "model").save_pretrained(tmp_path / "saved")
    assert json.loads((tmp_path / "saved" / "config.json").read_text())["tie_word_embeddings"] == tied
    names = tensors_of(tmp_path / "saved").keys()
    assert "model.embed_tokens.weight" in names
    assert ("lm_head.weight_packed" in names) == (not tied)
    assert "lm_head.weight" not in names


def zamba() -> Any:
    """Two blocks have the same layers, which its config ties as it does the head."""
    model = tiny_model("causal-zamba")
    zemm.torch.quantize_(model, group=None, filter=lambda _, name: name != "lm_head")
    return model


def xvector() -> Any:
    """It has a layer whose name a part of its base model has, too."""
    kernels = {"conv_dim": (16,), "conv_kernel": (4,), "conv_stride": (2,), "num_conv_pos_embeddings": 4}
    kernels |= {"tdnn_dim": (32,), "tdnn_kernel": (1,), "tdnn_dilation": (1,), "xvector_output_dim": 32}
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.Wav2Vec2Config(**kernels, **sizes, num_conv_pos_embedding_groups=2)
    model = transformers.Wav2Vec2ForXVector(config).eval()
    zemm.torch.quantize_(model, group=None)
    assert quantised(model.feature_extractor)
    return model


@pytest.mark.skipif(IS_VERSION_4, reason="needs Transformers 5")
@pytest.mark.parametrize("make", [zamba, xvector])
def test_other_models(make: Callable[[], Any], tmp_path: Path) -> None:
    model = make()
    model.save_pretrained(tmp_path)
    with zemm.transformers.registered():
        again = type(model).from_pretrained(tmp_path)
    expected, found = model.state_dict(), again.state_dict()
    assert expected.keys() == found.keys()
    assert all(torch.equal(tensor, found[name]) for name, tensor in expected.items())


def test_config(tmp_path: Path) -> None:
    MODELS["several schemes"](tmp_path).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())["quantization_config"]
    groups = list(config["config_groups"].values())
    weights = {"type": "int", "dynamic": False}
    assert [group["targets"] for group in groups] == [
        [f"model.layers.{i}.self_attn.k_proj" for i in range(2)],
        ["lm_head", "Linear"],  # vLLM's class for heads is no Linear
    ]
    assert [group["weights"] for group in groups] == [
        {**weights, "num_bits": 8, "symmetric": True, "strategy": "channel", "group_size": None},
        {**weights, "num_bits": 4, "symmetric": True, "strategy": "group", "group_size": 16},
    ]
    assert config["ignore"] == [f"model.layers.{i}.self_attn.v_proj" for i in range(2)]
    assert config["quant_method"] == "compressed-tensors"


def test_several_files_and_again(tmp_path: Path) -> None:
    """The files are ready for a hub, and what was loaded from them is saved as it was."""
    model = MODELS["4 bits"](tmp_path)
    model.save_pretrained(tmp_path / "first", max_shard_size="20KB")
    files = sorted(path.name for path in (tmp_path / "first").iterdir())
    shards = [name for name in files if name.endswith(".safetensors")]
    assert files == ["config.json", "generation_config.json", *shards, "model.safetensors.index.json"]
    assert len(shards) > 2
    with zemm.transformers.registered():
        again = load(tmp_path / "first")
    assert torch.equal(logits(again), logits(model))
    again.save_pretrained(tmp_path / "second", max_shard_size="20KB")
    first, second = (tensors_of(tmp_path / folder) for folder in ("first", "second"))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def tensors_of(folder: Path) -> dict[str, Any]:
    return {name: t for path in folder.glob("*.safetensors") for name, t in load_file(path).items()}


@pytest.mark.skipif(IS_VERSION_4, reason="needs Transformers 5")
@pytest.mark.parametrize("kind", ["Mixtral", "Qwen3Moe", "Llama4Text"])
@pytest.mark.parametrize("bits", [4, 8])
def test_experts(kind: str, bits: int, tmp_path: Path) -> None:
    mixture(kind).save_pretrained(tmp_path / "floats")
    config = zemm.transformers.ZemmConfig(bits=bits, group=16, symmetric=True)
    model = load(tmp_path / "floats", quantization_config=config)
    model.save_pretrained(tmp_path / "saved")
    with zemm.transformers.registered():
        again = load(tmp_path / "saved")
    assert torch.equal(logits(again), logits(model))
    names = one_by_one(tensors_of(tmp_path / "floats")).keys()
    saved = {name.replace("weight_packed", "weight") for name in tensors_of(tmp_path / "saved")}
    assert names <= saved
    expected, found = logits(model), logits(by_the_package(tmp_path / "saved"))
    assert (found - expected).abs().max() < 1e-2 * expected.abs().max()


@pytest.mark.skipif(IS_VERSION_4, reason="there experts are layers")
def test_experts_that_were_quantised_in_place(tmp_path: Path) -> None:
    model = mixture("Mixtral")
    zemm.torch.quantize_(model, bits=4, group=32, symmetric=True)
    model.save_pretrained(tmp_path)
    with zemm.transformers.registered():
        again = load(tmp_path)
    assert torch.equal(logits(again), logits(model))


def with_layer(layer: zemm.Linear) -> Any:
    model = llama()
    model.model.layers[1].mlp.up_proj = zemm.torch.QuantLinear(layer)
    return model


def codes(dtype: Any = np.uint8) -> Any:
    return np.zeros((64, 96), dtype)


def experts(folder: Path, **options: Any) -> Any:
    mixture("Qwen3Moe").save_pretrained(folder)
    return load(folder, quantization_config=zemm.transformers.ZemmConfig(**options))


def cut(folder: Path) -> Any:
    model = MODELS["4 bits"](folder)
    model.model.layers[0].mlp.up_proj.is_part = True
    return model


def tied_forever(kind: str) -> Callable[[Path], Any]:
    """T5's config has a head that is tied, and SwitchTransformers scales what goes into such a head."""

    def make(folder: Path) -> Any:
        sizes = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 1, "num_heads": 4, "vocab_size": 64}
        config = getattr(transformers, f"{kind}Config")(**sizes, num_experts=2)
        model = getattr(transformers, f"{kind}ForConditionalGeneration")(config)
        zemm.torch.quantize_(model, group=16)
        return model

    return make


def llama4(folder: Path) -> Any:
    model = mixture("Llama4Text")
    zemm.torch.quantize_(model, group=32, filter=lambda _, name: not name.endswith("experts"))
    return model


def inkling2(folder: Path) -> Any:
    """Transformers renames some of its layers, and cuts its head."""
    name = "causal-inkling2_text"
    if name not in NAMES:
        pytest.skip("this version of Transformers has no such model")
    model = tiny_model(name)
    zemm.torch.quantize_(model, group=32, filter=lambda _, name: not name.endswith("experts"))
    return model


class Other(torch.Tensor):  # type: ignore[misc]
    """As torchao has for weights."""


def with_other_tensor(folder: Path) -> Any:
    model = MODELS["4 bits"](folder)
    model.model.norm.weight = torch.nn.Parameter(torch.ones(64).as_subclass(Other))
    return model


def only_embeddings(folder: Path) -> Any:
    model = llama()
    zemm.torch.quantize_(model, embeddings=True, filter=lambda _, name: "embed" in name)
    return model


def with_adapters(folder: Path) -> Any:
    peft = pytest.importorskip("peft", reason="needs the package peft")
    model = MODELS["4 bits"](folder)
    peft.get_peft_model(model, peft.LoraConfig(target_modules=["up_proj"]))
    return model


ONES = np.ones(96, np.float32)
LAYER = "model.layers.1.mlp.up_proj"
REFUSED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "act-order": (by_checkpoint(*gptq(act_order=True)), "q_proj: its inputs are in another order"),
    "f8": (by_checkpoint(*compressed(COMPRESSED["f8"][0])), "q_proj: its weights are f8_e4m3, not integers"),
    "a shorter group": (
        by_quantize(group=40),
        "q_proj: its 64 inputs are in groups of 40, of which the last one is shorter, and the package"
        " compressed-tensors loads whole groups: quantise with a group that divides 64",
    ),
    "offsets": (
        lambda _: with_layer(zemm.Linear.from_quantized(codes(), ONES, offsets=ONES)),
        f"{LAYER}: it has offsets, as types of GGUF have",
    ),
    "no scales": (
        lambda _: with_layer(zemm.Linear.from_quantized(codes())),
        f"{LAYER}: its scales are None, none of f32, f16, bf16",
    ),
    "zero points of floats": (
        lambda _: with_layer(zemm.Linear.from_quantized(codes(), ONES, ONES / 2)),
        f"{LAYER}: it has zero points that are no u8",
    ),
    "a part": (cut, "model.layers.0.mlp.up_proj: this process has a part of it"),
    "no plain tensor": (with_other_tensor, "model.norm.weight: it is a Other, not a plain tensor"),
    "T5": (tied_forever("T5"), "a T5ForConditionalGeneration computes something else if they are not tied"),
    "SwitchTransformers": (
        tied_forever("SwitchTransformers"),
        "a SwitchTransformersForConditionalGeneration computes something else if they are not tied: quantise",
    ),
    "Llama 4 with floats": (
        llama4,
        "experts: Transformers replaces each Llama4TextExperts when it loads compressed-tensors",
    ),
    "Inkling 2": (inkling2, "weight_packed: Transformers loads it under another name, or changes it"),
    "only embeddings": (only_embeddings, "the model has nothing else that is quantised"),
    "adapters": (with_adapters, "a model that has adapters of peft"),
    "experts with zero points": (
        lambda folder: experts(folder, bits=8, group=16),
        "model.layers.1.mlp.experts: it has zero points, and Transformers loads no experts with zero points",
    ),
    "experts of two kinds": (
        lambda folder: experts(folder, bits=8, group=32, symmetric=True),
        "model.layers.1.mlp.experts: other experts have other bits or groups",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused(kind: str, tmp_path: Path) -> None:
    make, sentence = REFUSED[kind]
    if "experts" in kind and IS_VERSION_4:
        pytest.skip("needs Transformers 5")
    with pytest.raises(NotImplementedError, match=re.escape(sentence)):
        make(tmp_path / "model").save_pretrained(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


@pytest.fixture
def sentences(tmp_path: Path) -> Any:
    """A model of sentence-transformers that ends with a layer of its own."""
    package = pytest.importorskip("sentence_transformers", reason="needs the package sentence-transformers")
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1, "a": 2, "cat": 3, "sits": 4}, "[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]")
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 1, "num_attention_heads": 2}
    transformers.BertModel(transformers.BertConfig(vocab_size=5, **sizes)).save_pretrained(
        tmp_path / "floats"
    )
    fast.save_pretrained(tmp_path / "floats")
    first = Transformer(str(tmp_path / "floats"))
    return package.SentenceTransformer(modules=[first, Pooling(64), Dense(64, 32)], device="cpu")


def test_sentence_transformers(sentences: Any, tmp_path: Path) -> None:
    """The model of Transformers is saved, quantised layers of other modules are refused."""
    folder = str(tmp_path / "saved")
    zemm.torch.quantize_(sentences[0], group=32)
    expected = sentences.encode(["a cat sits", "a cat"])
    sentences.save_pretrained(folder)
    with zemm.transformers.registered():
        again = type(sentences)(folder, device="cpu")
    assert (again.encode(["a cat sits", "a cat"]) == expected).all()
    assert sum(map(quantised, again.modules())) == 7
    zemm.torch.quantize_(sentences, group=32)
    with pytest.raises(
        NotImplementedError, match=r"cannot save 2\.linear: sentence-transformers loads floats"
    ):
        sentences.save_pretrained(f"{folder} again")
    assert not Path(f"{folder} again").exists()


def test_arguments_that_are_refused(tmp_path: Path) -> None:
    model = MODELS["4 bits"](tmp_path)
    with pytest.raises(ValueError, match="state_dict is given"):
        model.save_pretrained(tmp_path / "saved", state_dict=model.state_dict())
    model.model.layers[0].mlp.up_proj = zemm.torch.QuantLinear(64, 96)
    with pytest.raises(ValueError, match="this QuantLinear of 64 to 96 features is empty"):
        model.save_pretrained(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def test_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        exec(block("Saving", "python", "docs/models.md"), {})
    finally:
        zemm.transformers.unregister()


def test_others_save_as_before(tmp_path: Path) -> None:
    zemm.torch.quantize_(llama(), group=32)
    model = llama()
    model.save_pretrained(tmp_path)
    assert torch.equal(logits(load(tmp_path)), logits(model))
