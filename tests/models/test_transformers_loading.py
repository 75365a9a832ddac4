# SPDX-License-Identifier: Apache-2.0
"""What happens while a model loads: Transformers initialises what is missing, cuts fused tensors, keeps
modules in f32; and files are damaged."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zemm
from support_checkpoints import edit, llama, load, load_file, save, torch, transformers
from support_compressed import compressed
from test_transformers import LAYER, gptq, layers_of
from test_transformers_compressed import F8, weights
from zemm.transformers import ZemmConfig
from zemm.transformers._quantizer import FloatQuantizer

if transformers.__version__.startswith("4."):
    pytest.skip("for Transformers 5", allow_module_level=True)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with zemm.transformers.registered():
        yield


class OwnConfig(transformers.PretrainedConfig):
    model_type = "own"
    tie_word_embeddings = False


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64, bias=False)
        self.new = torch.nn.Parameter(torch.zeros(64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(self.up(x).float() * self.config_scale) + self.new

    config_scale = 1.0


class Own(transformers.PreTrainedModel):
    """Its _init_weights() does all that one may do with the layers of a module."""

    config_class = OwnConfig

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.block = Block()
        self.post_init()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.block(x)

    def _init_weights(self, module: Any) -> None:
        if not isinstance(module, Block):
            return
        n, k = module.down.weight.shape
        assert (module.up.in_features, module.up.out_features, module.down.bias) == (k, n, None)
        torch.nn.init.normal_(module.up.weight, std=100)
        transformers.initialization.zeros_(module.up.bias)
        transformers.initialization.copy_(module.up.weight, torch.ones(n, k))
        module.down.weight.data.normal_(0, 100)
        module.down.weight.data = torch.zeros(n, k)
        module.down.weight.data[1:3].fill_(7)
        with torch.no_grad():
            module.down.weight /= 3.0
            module.up.bias.add_(1)
        module.down.weight = torch.nn.Parameter(torch.zeros(n, k))
        module.up.bias = None
        torch.nn.init.constant_(module.new, 5.0)


def own() -> Any:
    torch.manual_seed(0)
    model = Own(OwnConfig())
    for parameter in model.parameters():
        parameter.data = torch.randn(parameter.shape) / 8
    model.block.up.bias = torch.nn.Parameter(torch.randn(64))
    return model.eval()


FORMATS: dict[str, Any] = {
    "GPTQ": gptq(),
    "int8 weights of the name weight": compressed(weights() | {"format": "int-quantized"}),
    "f8 weights of the name weight": compressed(weights(**F8)),
    "none": None,
}


@pytest.mark.parametrize("form", FORMATS)
def test_initialisation_changes_no_layer(form: str, tmp_path: Path) -> None:
    """new, which the checkpoint lacks, gets its value."""
    model, options = own(), {}
    if FORMATS[form] is None:
        model.save_pretrained(tmp_path)
        options["quantization_config"] = ZemmConfig(bits=8, group=32)
    else:
        model = save(tmp_path, model, *FORMATS[form])
    edit(tmp_path, lambda tensors: tensors.pop("block.new"))
    model.block.new.data[:] = 5
    loaded = Own.from_pretrained(tmp_path, dtype=torch.float32, **options)
    assert layers_of(loaded) == ["block.up", "block.down"]
    x = torch.randn(3, 64)
    with torch.no_grad():
        expected, y = model(x), loaded(x)
    assert (y - expected).abs().max() < (0.02 if form == "none" else 1e-5) * expected.abs().max()


@pytest.mark.parametrize("kept", ["_keep_in_fp32_modules", "_keep_in_fp32_modules_strict"])
@pytest.mark.parametrize("activation", [None, "f16", "int8"])
def test_modules_kept_in_f32(
    kept: str, activation: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """f16 does not hold what is between the layers."""
    monkeypatch.setattr(Own, kept, ["down"])
    monkeypatch.setattr(Block, "config_scale", 1e6)
    model = own()
    x = torch.randn(3, 64, dtype=torch.float16)
    for name, store in (("floats", None), ("gptq", gptq())):
        folder, options = tmp_path / name, {}
        if store is None:
            own().save_pretrained(folder)
            options["quantization_config"] = ZemmConfig(bits=8, group=32, activation=activation)
        else:
            model = save(folder, own(), *store)
            zemm.transformers.register(activation=activation)
        loaded = Own.from_pretrained(folder, dtype=torch.float16, **options)
        with torch.no_grad():
            expected, y = model(x.float()), loaded(x)
        assert loaded.block.down.layer.activation == (activation if activation == "int8" else "f32")
        assert (y - expected).abs().max() < 0.03 * expected.abs().max()
    if kept.endswith("strict") and activation is None:
        loaded = Own.from_pretrained(folder, dtype=torch.bfloat16)
        assert loaded.block.down.layer.activation == "f32"
        assert loaded.block.up.layer.activation == "bf16"


SCALES: dict[str, tuple[Any, str]] = {
    "GPTQ": (gptq(), "scales"),
    "NVFP4": (compressed("NVFP4"), "weight_scale"),
}


@pytest.mark.parametrize("form", SCALES)
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_scales_that_are_not_finite(form: str, value: float, tmp_path: Path) -> None:
    store, key = SCALES[form]
    save(tmp_path, llama(), *store)

    def change(tensors: dict[str, Any]) -> None:
        tensor = tensors[f"{LAYER}.{key}"]
        if tensor.dtype == torch.uint8:
            tensor.view(-1)[-1] = 255
        elif tensor.dtype == torch.float8_e4m3fn:
            tensor.view(torch.uint8).view(-1)[-1] = 0xFF
        else:
            tensor.view(-1)[-1] = value

    edit(tmp_path, change)
    with pytest.raises(ValueError, match=f"tensor {LAYER}.{key} has an element that is not finite"):
        load(tmp_path)


@pytest.mark.parametrize("kind", ["safetensors", "bin"])
def test_damaged_files(kind: str, tmp_path: Path) -> None:
    save(tmp_path, llama(), *gptq())
    path = tmp_path / "model.safetensors"
    if kind == "bin":
        tensors = load_file(path)
        path.unlink()
        path = tmp_path / "pytorch_model.bin"
        torch.save(tensors, path)
        assert len(layers_of(load(tmp_path))) == 14
    data = path.read_bytes()
    for size in (0, 5, 100, len(data) - 10):
        path.write_bytes(data[:size])
        for options in ({"dtype": torch.float32}, {}):  # {}: Transformers reads it before zemm
            with pytest.raises(ValueError, match=f"the file {re.escape(str(path))} .*cannot be read: ."):
                load(tmp_path, **options)


def test_transformers_that_does_not_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that zemm does not know must not give a model of floats without a word."""
    llama().save_pretrained(tmp_path)
    monkeypatch.setattr(FloatQuantizer, "update_weight_conversions", lambda self, found, model=None: found)
    with pytest.raises(NotImplementedError, match="has not asked zemm which layers are quantised"):
        load(tmp_path, quantization_config=ZemmConfig(group=32))
