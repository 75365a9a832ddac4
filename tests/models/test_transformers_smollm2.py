# SPDX-License-Identifier: Apache-2.0
"""SmolLM2 of 135 million weights in the formats of checkpoints, each made by the format's package: logits and
text are those of the float model with the weights that the package itself makes of the checkpoint's."""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zemm
from numpy.typing import NDArray
from support_checkpoints import Store, Stored, save, torch, transformers
from support_smollm2 import FILE, FOLDER, PROMPTS

if transformers.__version__.startswith("4."):
    pytest.skip("needs Transformers 5", allow_module_level=True)
GROUP = 32


class Model:
    """The float model, whose weights a test may change: the next one gets the first ones again."""

    def __init__(self) -> None:
        load = transformers.AutoModelForCausalLM.from_pretrained
        of_file = load(FOLDER, gguf_file=FILE, dtype=torch.float32)
        del of_file.config.quantization_config, of_file.hf_quantizer  # what is saved is a float model
        self._model = of_file.eval()
        self._weights = {name: part.data for name, part in self._model.named_parameters()}

    def fresh(self) -> Any:
        for name, part in self._model.named_parameters():
            part.data = self._weights[name]
        for module in self._model.modules():
            module._forward_pre_hooks.clear()
        return self._model


@pytest.fixture(scope="session")
def original() -> Model:
    return Model()


@pytest.fixture
def model(original: Model) -> Any:
    return original.fresh()


@pytest.fixture(scope="session")
def prompts() -> Any:
    """All in one batch: what is behind a prompt changes none of its logits."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(FOLDER, gguf_file=FILE)
    tokenizer.pad_token, tokenizer.padding_side = tokenizer.eos_token, "right"
    return tokenizer(PROMPTS, return_tensors="pt", padding=True)


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


def compressed(settings: Any) -> tuple[dict[str, Any], Store]:
    support = pytest.importorskip("support_compressed", reason="needs the package compressed-tensors")
    made: tuple[dict[str, Any], Store] = support.compressed(settings)
    return made


def weights(bits: int, **more: Any) -> dict[str, Any]:
    return {"weights": {"num_bits": bits, "strategy": "channel", **more}}


INPUTS = {"input_activations": {"num_bits": 8, "strategy": "token", "dynamic": True}}
INT4 = weights(4, strategy="group", group_size=GROUP, symmetric=False)
KINDS: dict[str, Callable[[], tuple[dict[str, Any], Store]]] = {
    "GPTQ": lambda: gptq("qlinear_torch_zp", quant_method="gptq"),
    "AWQ": awq,
    "AutoRound": lambda: gptq(
        "qlinear_torch", quant_method="auto-round", data_type="int", packing_format="auto_round"
    ),
    "compressed-tensors, int4": lambda: compressed(INT4),
    "compressed-tensors, int8": lambda: compressed(weights(8)),
    "compressed-tensors, W8A8": lambda: compressed(weights(8) | INPUTS),
    "compressed-tensors, f8": lambda: compressed(weights(8, type="float")),
    "compressed-tensors, NVFP4": lambda: compressed("NVFP4A16"),
    "compressed-tensors, MXFP4": lambda: compressed("MXFP4A16"),
}


@pytest.fixture(autouse=True)
def memory() -> Iterator[None]:
    yield
    gc.collect()


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_checkpoint(kind: str, model: Any, prompts: Any, tmp_path: Path) -> None:
    config, store = KINDS[kind]()
    reference = save(tmp_path, model, config, store)
    with zemm.transformers.registered():
        loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    (check_int8 if "W8A8" in kind else check)(loaded, reference, prompts)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["int4", "int8"])
def test_torchao(kind: str, model: Any, prompts: Any, tmp_path: Path) -> None:
    quantization = pytest.importorskip("torchao.quantization", reason="needs the package torchao")
    granularity = quantization.PerGroup(GROUP) if kind == "int4" else quantization.PerAxis(0)
    settings = quantization.IntxWeightOnlyConfig(weight_dtype=getattr(torch, kind), granularity=granularity)
    load = transformers.AutoModelForCausalLM.from_pretrained
    model.save_pretrained(tmp_path / "float")
    config = transformers.TorchAoConfig(settings)
    load(tmp_path / "float", quantization_config=config, dtype=torch.float32).save_pretrained(tmp_path / kind)
    for name, part in load(tmp_path / kind, dtype=torch.float32).named_parameters():
        if hasattr(part, "dequantize") and "proj" in name:
            model.get_parameter(name).data = part.dequantize()
    with zemm.transformers.registered():
        loaded = load(tmp_path / kind, dtype=torch.float32)
    check(loaded, model, prompts)


def check(model: Any, reference: Any, prompts: Any) -> None:
    layers = layers_of(model)
    assert {layer.layer.activation for layer in layers.values()} == {"f32"}
    y, expected = logits(model, prompts), logits(reference, prompts)
    assert (y - expected).abs().max() < 1e-4 * expected.abs().max()
    first = prompts.input_ids[:1, : prompts.attention_mask[0].sum()]
    arguments = {"max_new_tokens": 32, "min_new_tokens": 32, "do_sample": False}
    assert torch.equal(model.generate(first, **arguments), reference.generate(first, **arguments))


def check_int8(model: Any, reference: Any, prompts: Any) -> None:
    """Each layer, given the same inputs, is the float layer of inputs that are rounded. Together they change
    the logits by less than the rounding does."""
    errors = {}

    def compare(name: str, x: Any, y: Any) -> None:
        expected = reference.get_submodule(name)(rounded(x))
        errors[name] = float((y - expected).norm() / expected.norm())

    hooks = [
        layer.register_forward_hook(lambda _, args, y, name=name: compare(name, args[0], y))
        for name, layer in layers_of(model).items()
    ]
    y, exact = logits(model, prompts), logits(reference, prompts)
    assert len(errors) == len(hooks)
    assert max(errors.values()) < 1e-3
    for name in errors:
        reference.get_submodule(name).register_forward_pre_hook(lambda _, args: (rounded(args[0]),))
    expected = logits(reference, prompts)
    assert (y - expected).norm() < (expected - exact).norm() < 0.2 * exact.norm()


def rounded(x: Any) -> Any:
    """Each row in steps of a 127th of its largest value."""
    step = x.abs().amax(-1, keepdim=True) / 127
    return (x / step).round() * step


def layers_of(model: Any) -> dict[str, Any]:
    found = {name: m for name, m in model.named_modules() if isinstance(m, zemm.torch.QuantLinear)}
    assert len(found) == 210
    return found


def logits(model: Any, prompts: Any) -> Any:
    """Of all tokens, [tokens, vocabulary]."""
    with torch.no_grad():
        found: Any = model(**prompts).logits
    return found[prompts.attention_mask.bool()]
