# SPDX-License-Identifier: Apache-2.0
"""Quantised models beside float models with the same weights, made in three ways.

The float twin has the dequantised weights. So what differs is wrong, and not the rounding of the weights.
"""

import copy
import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import zemm
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from support_architectures import torch
from support_checkpoints import in_words
from support_small_layers import expected
from transformers.conversion_mapping import get_model_conversion_mapping
from zemm.torch import QuantLinear, quantize_
from zemm.torch._obstacles import obstacle, obstacles
from zemm.torch._quant_experts import QuantExperts
from zemm.torch._renaming import Renaming
from zemm.transformers import ZemmConfig, registered
from zemm.transformers._quantizer import tied_modules

GROUP = 32


class Twins(NamedTuple):
    """A quantised model, the float one, how many of its layers are quantised, and why others are not."""

    quantised: Any
    twin: Any
    replaced: int
    left: dict[str, str]


def by_quantize(model: Any, folder: Path) -> Twins:
    """zemm.torch.quantize_()"""
    quantised = copy.deepcopy(model)
    report = quantize_(quantised, bits=8, group=GROUP, progress=False)
    assert len(report.replaced) == _give_weights(quantised, model), "the report counts other layers"
    return Twins(quantised, model, len(report.replaced), {layer.name: layer.note for layer in report.skipped})


def by_config(model: Any, folder: Path) -> Twins:
    """ZemmConfig"""
    model.save_pretrained(folder)
    twin = _load(model, folder)
    log, messages = logging.getLogger("zemm"), _Messages()
    log.addHandler(messages)
    try:
        quantised = _load(model, folder, quantization_config=ZemmConfig(bits=8, group=GROUP))
    finally:
        log.removeHandler(messages)
    left = _left(quantised, twin, messages.all)
    return Twins(quantised, twin, _give_weights(quantised, twin), left)


def by_gptq(model: Any, folder: Path) -> Twins:
    """A checkpoint in GPTQ's format, and one of floats with the same weights. They have the names that the
    model's files have. All layers are quantised that the format can store, except heads."""
    floats, packed, stored = folder / "floats", folder / "packed", 0
    model.save_pretrained(floats)
    tensors: dict[str, Any] = {}
    for file in floats.glob("*.safetensors"):
        tensors |= load_file(file)
        file.unlink()
    shutil.copytree(floats, packed)
    in_files, dequantised = dict(tensors), dict(tensors)
    is_stored = _stored_by_gptq(model)
    for key, tensor in tensors.items():
        if is_stored(key, tensor):
            del in_files[key]
            own, weight = _gptq(tensor.float().numpy())
            in_files |= {f"{key.removesuffix('weight')}{name}": torch.from_numpy(own[name]) for name in own}
            dequantised[key] = torch.from_numpy(weight).to(tensor.dtype)
            stored += 1
    for path, parts in ((floats, dequantised), (packed, in_files)):
        for index in path.glob("*.index.json"):
            index.unlink()
        save_file(parts, path / "model.safetensors", {"format": "pt"})
    method = {"quant_method": "gptq", "bits": 4, "group_size": GROUP, "desc_act": False, "sym": True}
    config = json.loads((packed / "config.json").read_text())
    (packed / "config.json").write_text(json.dumps({**config, "quantization_config": method}))
    twin = _load(model, floats)
    with registered():
        quantised = _load(model, packed)
    replaced = sum(
        2 * module.num_experts if isinstance(module, QuantExperts) else isinstance(module, QuantLinear)
        for module in quantised.modules()
    )
    return Twins(quantised, twin, replaced if stored else 0, {})


WAYS: dict[str, Callable[[Any, Path], Twins]] = {
    "quantize_": by_quantize,
    "ZemmConfig": by_config,
    "GPTQ": by_gptq,
}


def difference(twins: Twins, given: dict[str, Any]) -> float:
    """Of the logits, relative to the largest."""
    right, found = (_logits(model, given) for model in (twins.twin, twins.quantised))
    assert torch.isfinite(right).all()
    return float((found - right).abs().max() / right.abs().max())


def _logits(model: Any, given: Any) -> Any:
    def cast(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: cast(part) for key, part in value.items()}
        if isinstance(value, tuple):
            return tuple(map(cast, value))
        is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.to(model.dtype) if is_float else copy.copy(value)

    with torch.no_grad():
        return model(**cast(given)).logits.float()


def _load(model: Any, folder: Path, **options: Any) -> Any:
    return type(model).from_pretrained(folder, dtype=model.dtype, **options).eval()


class _Messages(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.all = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.all += record.getMessage()


def _left(model: Any, twin: Any, said: str) -> dict[str, str]:
    """Linear layers and experts that are still floats, and why. "": that was not said."""
    head, tied, problems = model.get_output_embeddings(), tied_modules(model), obstacles(twin)

    def why(name: str, module: Any) -> str:
        if module is head or name in tied:
            return "the head" if module is head else "it shares its weights"
        kind = type(module).__name__
        problem = problems.get(id(twin.get_submodule(name)), f"experts of {kind}")
        return problem if problem in said else ""

    return {name: why(name, module) for name, module in model.named_modules() if _is_float(module)}


def _is_float(module: Any) -> bool:
    if isinstance(module, torch.nn.Linear):
        return not isinstance(module, QuantLinear)
    own = module._parameters.values()
    return "Experts" in type(module).__name__ and any(
        tensor.ndim == 3 for tensor in own if tensor is not None
    )


def _give_weights(quantised: Any, twin: Any) -> int:
    """Give a float model the weights of a quantised one. Returns the number of its quantised layers."""
    count = 0
    for name, module in quantised.named_modules():
        if isinstance(module, QuantLinear):
            layers = [module.layer]
        elif isinstance(module, QuantExperts):
            layers = [module.up.layer, module.down.layer]
        else:
            continue
        count += len(layers)
        for layer in layers:
            _set_weights(twin.get_submodule(name), layer, name)
    return count


def _set_weights(module: Any, layer: zemm.Linear, name: str) -> None:
    """Give the parameter of a float module that is nearest to a layer's weights these weights."""
    weights = torch.from_numpy(expected(layer, np.float32))
    fitting = [
        (float((shown - parameter.detach().float()).abs().max()), key, shown)
        for key, parameter in module.named_parameters(recurse=False)
        for shown in (weights, weights.mT)
        if shown.shape == parameter.shape
    ]
    assert fitting, f"{name}: no parameter has the shape {tuple(weights.shape)}"
    distance, key, shown = min(fitting, key=lambda found: found[0])
    parameter = module._parameters[key]
    assert distance <= float(parameter.detach().abs().max()) / 64, (
        f"{name}.{key} differs by {distance} from its floats"
    )
    values = shown.contiguous().to(parameter.dtype)
    module._parameters[key] = torch.nn.Parameter(values, requires_grad=False)


def _stored_by_gptq(model: Any) -> Callable[[str, Any], bool]:
    """Whether a tensor of a model's files is one that others store as quantised: the weight of a linear layer
    or of an expert."""
    rename = Renaming(get_model_conversion_mapping(model))
    tied, modules = tied_modules(model), dict(model.named_modules())
    head = model.get_output_embeddings()

    def is_stored(key: str, tensor: Any) -> bool:
        sizes = tensor.shape
        if (
            not key.endswith(".weight")
            or len(sizes) != 2
            or not sizes.numel()
            or any(n % GROUP for n in sizes)
        ):
            return False
        own = rename(key)[0]
        name, _, last = own.rpartition(".")
        if name not in modules:
            name = f"{model.base_model_prefix}.{name}"
        module = modules.get(name)
        if isinstance(module, torch.nn.Linear) and obstacle(module) is None:
            return last == "weight" and module is not head and name not in tied
        # A part of the weights of all experts.
        parameter = getattr(module, last, None)
        return isinstance(parameter, torch.nn.Parameter) and parameter.ndim == 3

    return is_stored


def _gptq(weight: NDArray[np.float32]) -> tuple[dict[str, NDArray[Any]], NDArray[np.float32]]:
    """The tensors of 4 bits for weights [N, K], and the weights that they stand for."""
    n, k = weight.shape
    groups = weight.reshape(n, k // GROUP, GROUP)
    scales = np.maximum(abs(groups).max(2) / 7, 1e-4).astype(np.float16)
    steps = scales.astype(np.float32)[..., None]
    codes = np.clip(np.rint(groups / steps), -8, 7)
    words = in_words((codes.reshape(n, k) + 8).astype(np.int64), 4)
    zeros = np.full((k // GROUP, n // 8), 0x77777777, np.int32)
    tensors = {"qweight": words.T, "qzeros": zeros, "scales": scales.T}
    return {name: array.copy() for name, array in tensors.items()}, (codes * steps).reshape(n, k)
