# SPDX-License-Identifier: Apache-2.0
"""Adapters of the package peft on models with zemm's layers: results are those of the same adapters on the
float model that the layers stand for."""

import copy
from pathlib import Path
from typing import Any

import pytest
import zemm
from support_checkpoints import PROMPTS, llama, load, load_file, logits, save, torch
from test_transformers import gptq

peft = pytest.importorskip("peft", reason="needs the package peft")

TARGETS = ["q_proj", "v_proj", "down_proj"]


@pytest.fixture(autouse=True)
def any_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transformers may ask for a newer peft than there is."""
    monkeypatch.setattr("transformers.integrations.peft.check_peft_version", lambda **_: None)


def lora(**options: Any) -> Any:
    return peft.LoraConfig(**{"r": 4, "target_modules": TARGETS, "init_lora_weights": False, **options})


def adapted(model: Any, config: Any = None, seed: int = 3) -> Any:
    torch.manual_seed(seed)
    return peft.get_peft_model(model, config or lora()).eval()


def floats_of(model: Any) -> Any:
    """The float model that a quantised one stands for."""
    floats = llama()
    for name, module in model.named_modules():
        if isinstance(module, zemm.torch.QuantLinear):
            floats.get_submodule(name).weight.data = module.weight.clone()
    return floats


def pair() -> tuple[Any, Any]:
    model = llama()
    zemm.torch.quantize_(model, group=32)
    return model, floats_of(model)


def check(model: Any, floats: Any) -> None:
    torch.testing.assert_close(logits(model), logits(floats), rtol=1e-4, atol=1e-4)


@pytest.fixture
def adapters(tmp_path: Path) -> list[Path]:
    """Two adapters in files."""
    for seed in (3, 4):
        adapted(llama(), seed=seed).save_pretrained(tmp_path / str(seed))
    return [tmp_path / "3", tmp_path / "4"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"use_dora": True},
        {"lora_bias": True},
        {"target_modules": "all-linear"},
        {"target_modules": ["lm_head"]},
    ],
    ids=str,
)
def test_quantised_then_adapted(options: dict[str, Any], tmp_path: Path) -> None:
    model, floats = (adapted(each, lora(**options)) for each in pair())
    check(model, floats)
    with model.disable_adapter():
        without = logits(model)
    assert (without - logits(model)).abs().max() > 0.1
    # Adapters alone are saved.
    model.save_pretrained(tmp_path)
    check(peft.PeftModel.from_pretrained(pair()[1], tmp_path).eval(), model)


def test_base_and_adapter_are_saved(tmp_path: Path) -> None:
    model = pair()[0]
    model.save_pretrained(tmp_path / "model")
    model = adapted(model)
    model.save_pretrained(tmp_path / "adapter")
    with zemm.transformers.registered():
        again = peft.PeftModel.from_pretrained(load(tmp_path / "model"), tmp_path / "adapter").eval()
    assert torch.equal(logits(again), logits(model))
    model.unload().save_pretrained(tmp_path / "without")
    files = [load_file(tmp_path / folder / "model.safetensors") for folder in ("model", "without")]
    assert files[0].keys() == files[1].keys()
    assert all(torch.equal(tensor, files[1][name]) for name, tensor in files[0].items())


def test_adapted_then_quantised() -> None:
    model = adapted(llama())
    report = zemm.torch.quantize_(model, group=32)
    stayed = list(report.skipped)
    assert len(stayed) == 2 * 2 * len(TARGETS)
    assert {row.name.split(".")[-2] for row in stayed} == {"lora_A", "lora_B"}
    assert {row.note for row in stayed} == {"it is part of an adapter (Linear of peft)"}
    assert type(model.base_model.model.model.layers[0].mlp.down_proj.lora_A.default) is torch.nn.Linear
    check(model, adapted(pair()[1]))


def test_several_adapters(adapters: list[Path]) -> None:
    models = pair()
    without = logits(models[1])
    model, floats = (peft.PeftModel.from_pretrained(each, adapters[0]).eval() for each in models)
    check(model, floats)
    for each in (model, floats):
        each.load_adapter(adapters[1], "second")
        each.set_adapter("second")
    check(model, floats)
    for each in (model, floats):
        each.add_weighted_adapter(["default", "second"], [1.0, 0.5], "both", combination_type="linear")
        each.set_adapter("both")
    check(model, floats)
    torch.testing.assert_close(logits(model.unload()), without, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("safe", [False, True])
def test_merging_is_refused(safe: bool, adapters: list[Path]) -> None:
    model, floats = (peft.PeftModel.from_pretrained(each, adapters[0]).eval() for each in pair())
    for merge in (model.merge_adapter, model.merge_and_unload):
        with pytest.raises(ValueError, match="merge adapters before you quantise them"):
            merge(safe_merge=safe)
    check(model, floats)


def test_gradients_are_refused() -> None:
    model = adapted(pair()[0]).train()
    with pytest.raises(ValueError, match="requires a gradient, which zemm does not compute"):
        model(PROMPTS, labels=PROMPTS)


@pytest.mark.parametrize("way", ["quantize_", "ZemmConfig", "GPTQ, act-order"])
def test_adapters_by_transformers(way: str, adapters: list[Path], tmp_path: Path) -> None:
    if way == "quantize_":
        model, floats = pair()
    elif way == "ZemmConfig":
        llama().save_pretrained(tmp_path / "model")
        model = load(tmp_path / "model", quantization_config=zemm.transformers.ZemmConfig(bits=8, group=32))
        floats = floats_of(model)
    else:
        floats = save(tmp_path / "model", llama(), *gptq(act_order=True))
        with zemm.transformers.registered():
            model = load(tmp_path / "model")
    without = logits(floats)
    for each in (model, floats):
        each.load_adapter(adapters[0])
        each.eval()
    check(model, floats)
    model.disable_adapters()
    torch.testing.assert_close(logits(model), without, rtol=1e-4, atol=1e-4)
    model.enable_adapters()
    for each in (model, floats):
        torch.manual_seed(5)
        each.add_adapter(lora(), "new")
        each.eval()
    check(model, floats)
    model.save_pretrained(tmp_path / "saved")  # the adapter
    other = copy.deepcopy(floats)
    other.load_adapter(tmp_path / "saved", "again")
    check(other.eval(), model)
