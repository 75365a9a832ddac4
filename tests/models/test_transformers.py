# SPDX-License-Identifier: Apache-2.0
"""zemm.transformers: from_pretrained() of quantised checkpoints gives models with zemm's layers, whose logits
are those of the float model that the checkpoint stands for."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zemm
from numpy.typing import NDArray
from support_checkpoints import (
    PROMPTS,
    Store,
    Stored,
    dequantised,
    edit,
    in_words,
    llama,
    load,
    logits,
    quantised,
    save,
    split,
    torch,
    transformers,
)
from support_tree import ROOT

FORMATS = zemm.transformers._formats.FORMATS

IS_VERSION_4 = transformers.__version__.startswith("4.")
GROUP = 32

PAGE = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with zemm.transformers.registered():
        yield


def layers_of(model: Any) -> list[str]:
    """The names of zemm's layers in a model."""
    return [name for name, module in model.named_modules() if isinstance(module, zemm.torch.QuantLinear)]


def gptq(
    bits: int = 4,
    group: int = GROUP,
    symmetric: bool = False,
    act_order: bool = False,
    version: str = "gptq",
    skip: str = "",
) -> tuple[dict[str, Any], Store]:
    """A quantization_config, and how it stores layers."""
    config = {
        "quant_method": "gptq",
        "bits": bits,
        "group_size": group,
        "sym": symmetric,
        "desc_act": act_order,
        "checkpoint_format": version,
    }

    def store(name: str, w: NDArray[np.float32]) -> Stored | None:
        if skip and skip in name:
            return None
        k = w.shape[1]
        g_idx = np.arange(k) // (k if group == -1 else group)
        if act_order:
            g_idx = np.random.default_rng(k).permutation(g_idx)
        codes, scales, zero_points = quantised(w, bits, g_idx, symmetric)
        tensors = {
            "qweight": in_words(codes, bits).T.copy(),
            "qzeros": in_words(zero_points.T - (version == "gptq"), bits),
            "scales": scales.T.copy(),
            "g_idx": g_idx.astype(np.int32),
        }
        return Stored(tensors, dequantised(codes, scales, zero_points, g_idx))

    return config, store


def awq(group: int = GROUP, symmetric: bool = False) -> tuple[dict[str, Any], Store]:
    config = {
        "quant_method": "awq",
        "bits": 4,
        "group_size": group,
        "zero_point": not symmetric,
        "version": "gemm",
        "modules_to_not_convert": None,
    }

    def store(name: str, w: NDArray[np.float32]) -> Stored:
        k = w.shape[1]
        groups = np.arange(k) // (k if group == -1 else group)
        codes, scales, zero_points = quantised(w, 4, groups, symmetric)
        order = [0, 2, 4, 6, 1, 3, 5, 7]
        tensors = {
            "qweight": in_words(codes.T, 4, order),
            "qzeros": in_words(zero_points.T, 4, order),
            "scales": scales.T.copy(),
        }
        return Stored(tensors, dequantised(codes, scales, zero_points, groups))

    return config, store


def auto_round(packing: str, **options: Any) -> tuple[dict[str, Any], Store]:
    """One layer has other bits, and others are not quantised."""
    if "awq" in packing:
        config, store = awq(**options)
        other = store
    else:
        version = "gptq" if "gptq" in packing and "model" not in packing else "gptq_v2"
        config, store = gptq(version=version, **options)
        other = gptq(version=version, **{**options, "bits": 8, "group": 16})[1]
    config = {
        "quant_method": "auto-round",
        "bits": 4,
        "group_size": config["group_size"],
        "sym": True,
        "data_type": "int",
        "packing_format": packing,
        "extra_config": {
            "model.layers.0.mlp.up_proj": {"bits": 8, "group_size": 16} if other is not store else {},
            ".*self_attn.*": {"bits": 16, "data_type": "float"},
        },
    }

    def choose(name: str, w: NDArray[np.float32]) -> Stored | None:
        if "self_attn" in name:
            return None
        stored = (other if name == "model.layers.0.mlp.up_proj" else store)(name, w)
        assert stored is not None
        stored.tensors.pop("g_idx", None)
        return stored

    return config, choose


def with_exceptions() -> tuple[dict[str, Any], Store]:
    """GPTQ whose config names a layer of other bits and layers that are not quantised."""
    config, store = gptq()
    other = gptq(bits=8, group=16)[1]
    config["dynamic"] = {
        r"-:model\.layers\.\d+\.self_attn": {},
        r"+:model\.layers\.0\.mlp\.up_proj": {"bits": 8, "group_size": 16},
    }

    def choose(name: str, w: NDArray[np.float32]) -> Stored | None:
        if "self_attn" in name:
            return None
        return (other if name == "model.layers.0.mlp.up_proj" else store)(name, w)

    return config, choose


KINDS: dict[str, tuple[dict[str, Any], Store]] = {
    "GPTQ": gptq(),
    "GPTQ, symmetric": gptq(symmetric=True),
    "GPTQ of 8 bits": gptq(bits=8),
    "GPTQ of 8 bits, symmetric, version 2": gptq(bits=8, symmetric=True, version="gptq_v2"),
    "GPTQ of 3 bits": gptq(bits=3),
    "GPTQ of 3 bits, act-order": gptq(bits=3, act_order=True),
    "GPTQ, act-order": gptq(act_order=True),
    "GPTQ of 8 bits, act-order": gptq(bits=8, act_order=True),
    "GPTQ, one group": gptq(group=-1),
    "GPTQ, a last group that is shorter": gptq(group=40),
    "GPTQ, some layers in float": gptq(skip="self_attn"),
    "GPTQ, exceptions in its config": with_exceptions(),
    "AWQ": awq(),
    "AWQ, symmetric": awq(symmetric=True),
    "AWQ, one group": awq(group=-1),
    "AWQ, a last group that is shorter": awq(group=40),
    "AutoRound, GPTQ": auto_round("auto_round:auto_gptq"),
    "AutoRound, GPTQ without minus one": auto_round("auto_round"),
    "AutoRound, AWQ": auto_round("auto_round:auto_awq"),
    "AutoRound, a last group that is shorter": auto_round("auto_round:auto_gptq", group=40),
}


@pytest.mark.parametrize("kind", KINDS)
def test_logits(kind: str, tmp_path: Path) -> None:
    config, store = KINDS[kind]
    reference = llama()
    stored = {
        name
        for name, module in reference.named_modules()
        if "proj" in name and store(name, module.weight.detach().numpy())
    }
    expected = logits(save(tmp_path, llama(), config, store))
    model = load(tmp_path)
    assert {name.removesuffix(".linear") for name in layers_of(model)} == stored
    assert not [name for name, _ in model.named_parameters() if name.removesuffix(".weight") in stored]
    torch.testing.assert_close(logits(model), expected, rtol=1e-4, atol=1e-4)


def test_parts_of_a_checkpoint(tmp_path: Path) -> None:
    """The model without its head, and with another one, which begins anew; tensors that the caller has read;
    several files."""
    reference = save(tmp_path, llama(), *gptq())
    with torch.no_grad():
        expected = reference.model(PROMPTS).last_hidden_state
    base = transformers.AutoModel.from_pretrained(tmp_path)
    with torch.no_grad():
        torch.testing.assert_close(base(PROMPTS).last_hidden_state, expected, rtol=1e-4, atol=1e-4)
    other = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path, num_labels=3)
    assert type(other.score) is torch.nn.Linear
    assert len(layers_of(other)) == 14
    split(tmp_path)
    torch.testing.assert_close(logits(load(tmp_path)), logits(reference), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_models_of_short_floats(dtype: str, tmp_path: Path) -> None:
    """The layers multiply in the type of the model, with the scales as they are stored."""
    config, store = gptq()
    expected = logits(save(tmp_path, llama(), config, store))
    model = load(tmp_path, dtype=dtype)
    y = logits(model)
    error = {"float16": 0.01, "bfloat16": 0.05}[dtype]
    assert (y - expected).abs().max() < error * expected.abs().max()
    layer = model.model.layers[0].mlp.up_proj.layer
    assert layer.activation == {"float16": "f16", "bfloat16": "bf16"}[dtype]
    assert layer.weights.scales.parameter.data_type == (layer.activation if IS_VERSION_4 else "f16")


LAYER = "model.layers.1.mlp.down_proj"


def with_tensor(name: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    """A change of one tensor of a layer, or of all that change() returns by their names."""

    def apply(tensors: dict[str, Any]) -> None:
        tensors[f"{LAYER}.{name}"] = change(tensors[f"{LAYER}.{name}"])

    return apply


def without(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda tensors: tensors.pop(f"{LAYER}.{name}")


TENSORS: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "no zero points": (
        without("qzeros"),
        f"the checkpoint has no tensor {LAYER}.qzeros, int32 (3, 8), which GPTQ of 4 bits and group_size 32",
    ),
    "other groups": (
        with_tensor("scales", lambda t: t[:2].clone()),
        " (2, 64), not float16 or bfloat16 or float32 (3, 64), as GPTQ of 4 bits and group_size 32 needs",
    ),
    "a group that is none": (
        with_tensor("g_idx", lambda t: t + 1),
        f"tensor {LAYER}.g_idx has groups 1 to 3, but {LAYER}.scales has 3 groups",
    ),
    "a group without rows": (
        with_tensor("g_idx", lambda t: t * 2 // 2 % 2),
        f"tensor {LAYER}.g_idx has no row of group 2 of 3",
    ),
    "groups of odd sizes": (
        with_tensor("g_idx", lambda t: torch.tensor([1, *t.tolist()[1:]], dtype=torch.int32)),
        f"{LAYER} has groups of 31, 32, 33 elements, which zemm cannot divide into groups of one size",
    ),
}


@pytest.mark.parametrize("kind", TENSORS)
def test_tensors_that_are_refused(kind: str, tmp_path: Path) -> None:
    change, sentence = TENSORS[kind]
    config, store = gptq()
    save(tmp_path, llama(), config, store)
    edit(tmp_path, change)
    with pytest.raises(ValueError, match=re.escape(sentence)):
        load(tmp_path)


def test_devices_that_are_refused() -> None:
    from transformers.quantizers.auto import AutoHfQuantizer

    quantizer = AutoHfQuantizer.from_config(gptq()[0])
    for device_map in (None, "cpu", {"": torch.device("cpu")}):
        assert quantizer.update_device_map(device_map) is None
    with pytest.raises(ValueError, match="device_map has 'cuda:0': the layers of zemm take tensors"):
        quantizer.update_device_map({"model": "cpu", "lm_head": torch.device("cuda:0")})


@pytest.mark.parametrize("device_map", ["auto", "sequential"])
def test_max_memory(device_map: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It changes nothing, and a warning says so. Models without zemm's layers get none."""
    pytest.importorskip("accelerate", reason="needs the package accelerate")
    reference = save(tmp_path / "gptq", llama(), *gptq())
    options = {"device_map": device_map, "max_memory": {"cpu": "1KB"}}
    loaded = load(tmp_path / "gptq", **options)
    assert caplog.text.count("max_memory has no effect") == 1
    torch.testing.assert_close(logits(loaded), logits(reference), rtol=1e-4, atol=1e-4)
    load(tmp_path / "gptq", device_map=device_map)
    if not IS_VERSION_4:  # which refuses that
        reference.save_pretrained(tmp_path / "float")
        load(tmp_path / "float", **options)
    assert caplog.text.count("max_memory has no effect") == 1


def test_transformers_gets_its_quantizers_back() -> None:
    from transformers.quantizers.auto import AUTO_QUANTIZATION_CONFIG_MAPPING, AUTO_QUANTIZER_MAPPING

    ours = AUTO_QUANTIZER_MAPPING["gptq"]
    zemm.transformers.unregister()
    theirs = AUTO_QUANTIZER_MAPPING["gptq"], AUTO_QUANTIZATION_CONFIG_MAPPING["gptq"]
    assert theirs == (
        transformers.quantizers.quantizer_gptq.GptqHfQuantizer,
        transformers.utils.quantization_config.GPTQConfig,
    )
    zemm.transformers.register("gptq")
    zemm.transformers.register(["gptq"], activation="int8")
    assert AUTO_QUANTIZER_MAPPING["gptq"].activation == "int8" != ours.activation
    zemm.transformers.unregister()
    zemm.transformers.unregister()
    assert theirs == (AUTO_QUANTIZER_MAPPING["gptq"], AUTO_QUANTIZATION_CONFIG_MAPPING["gptq"])
    with pytest.raises(ValueError, match="methods has 'gpt', none of gptq, awq, auto-round"):
        zemm.transformers.register(["gpt"])
    with pytest.raises(ValueError, match="activation is 'int4', none of: f32"):
        zemm.transformers.register(activation="int4")  # type: ignore[arg-type]


def rounded(w: Any, bits: int, group: int, symmetric: bool) -> Any:
    """The weights [N, K] that zemm.quantize_weights() makes of these."""
    q = zemm.quantize_weights(w.T.numpy(), bits, group, "f16", symmetric=symmetric)
    values = q.values
    if bits == 4:
        values = zemm.unpack_int4(values, w.numel(), signed=symmetric).reshape(w.T.shape)
    groups = np.arange(w.shape[1]) // group
    values = values.astype(np.float32)
    if q.zero_points is not None:
        values -= q.zero_points[groups].astype(np.float32)
    return torch.from_numpy((values * q.scales[groups].astype(np.float32)).T.copy())


@pytest.mark.parametrize(
    "options",
    [{}, {"bits": 8, "symmetric": True}, {"group": 24, "modules_to_not_convert": ["q_proj"]}, {"bias": True}],
    ids=["4 bits", "8 bits", "a group that does not divide", "biases"],
)
def test_float_checkpoints_are_quantised(options: dict[str, Any], tmp_path: Path) -> None:
    zemm.transformers.unregister()  # an explicit config needs no register()
    reference = llama(attention_bias=options.pop("bias", False))
    reference.save_pretrained(tmp_path)
    options = {"bits": 4, "group": 32, "symmetric": False, **options}
    kept = options.get("modules_to_not_convert", ["lm_head"])
    for name, module in reference.named_modules():
        if isinstance(module, torch.nn.Linear) and not any(word in name for word in kept):
            weight = rounded(module.weight.detach(), options["bits"], options["group"], options["symmetric"])
            module.weight.data = weight
    config = zemm.transformers.ZemmConfig(**options)
    model = load(tmp_path, quantization_config=config)
    assert len(layers_of(model)) == (13 if kept == ["q_proj"] else 14)
    torch.testing.assert_close(logits(model), logits(reference), rtol=1e-4, atol=1e-4)


def test_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The first snippet of docs/models.md runs, and the page has a row for each format."""
    snippet = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE)[0]
    monkeypatch.chdir(tmp_path)
    exec(snippet, {})
    assert "QuantLinear(<Linear [.., 64] -> [.., 128]: f32 x u4 in groups of 32" in capsys.readouterr().out
    for method in FORMATS:
        assert f"\n| {method} " in PAGE


@pytest.mark.parametrize(
    "options",
    [
        {"do_sample": True, "temperature": 0.7, "top_p": 0.9},
        {"num_beams": 3, "num_return_sequences": 2},
        {"attention_mask": torch.tensor([[0] * n + [1] * (8 - n) for n in (0, 3, 6)])},
        {"assistant_model": 2},
    ],
    ids=["sampling", "beams", "padding", "assisted"],
)
def test_generation(options: dict[str, Any], tmp_path: Path) -> None:
    """The tokens are those of the float model. An assistant is a model of so many blocks."""
    config, store = gptq()
    twin = save(tmp_path, llama(), config, store)
    options = {"do_sample": False, "max_new_tokens": 8, "pad_token_id": 0, **options}
    if layers := options.get("assistant_model"):
        options["assistant_model"] = llama(num_hidden_layers=layers, initializer_range=0.1)
    ids = PROMPTS[:1] if layers else PROMPTS
    torch.manual_seed(2)
    expected = twin.generate(ids, **options)
    torch.manual_seed(2)
    assert torch.equal(load(tmp_path).generate(ids, **options), expected)
    assert expected.shape[1] > ids.shape[1] + 1
