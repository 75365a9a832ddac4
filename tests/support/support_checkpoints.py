# SPDX-License-Identifier: Apache-2.0
"""Small checkpoints of Transformers for tests: random models whose linear layers are stored in a format, and
the float models that they stand for.

The formats are written here from their specification, in numpy, one integer after the other.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch", reason="needs the package torch")
transformers = pytest.importorskip("transformers", reason="needs the package transformers")

import zemm.transformers  # noqa: E402, F401 (after the checks for packages)
from safetensors.torch import load_file, save_file  # noqa: E402

K, N, LAYERS, VOCABULARY = 64, 96, 2, 128
Arrays = dict[str, Any]  # of numpy or torch


class Stored(NamedTuple):
    """A linear layer as a format stores it, and its weights [N, K] in float32."""

    tensors: Arrays
    weight: NDArray[np.float32]


# (name of the layer, its weights [N, K]) -> what the format makes of them; None: it stays float.
Store = Callable[[str, NDArray[np.float32]], Stored | None]


def llama(**options: Any) -> Any:
    """A random model, in float32."""
    settings = {
        "hidden_size": K,
        "intermediate_size": N,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": 64,
        "tie_word_embeddings": False,
        "initializer_range": 0.2,
    }
    torch.manual_seed(1)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**{**settings, **options})).eval()


def save(folder: Path, model: Any, config: dict[str, Any], store: Store) -> Any:
    """Write the model as a checkpoint whose quantization_config is given. Returns the float model."""
    tensors = dict(model.state_dict())
    for name, module in model.named_modules():
        if not isinstance(module, torch.nn.Linear) or module is model.get_output_embeddings():
            continue
        stored = store(name, module.weight.detach().numpy())
        if stored is None:
            continue
        tensors.pop(f"{name}.weight")
        tensors |= {f"{name}.{key}": torch.as_tensor(array) for key, array in stored.tensors.items()}
        module.weight.data = torch.from_numpy(stored.weight)
    folder.mkdir(parents=True, exist_ok=True)
    if model.config.tie_word_embeddings:
        tensors.pop("lm_head.weight")
    write(folder, model, tensors, config)
    return model


def write(folder: Path, model: Any, tensors: Arrays, config: dict[str, Any]) -> None:
    """The files of a checkpoint with these tensors."""
    dense = {name: tensor.clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()}
    save_file(dense, folder / "model.safetensors", {"format": "pt"})
    about = {**model.config.to_dict(), "quantization_config": config, "architectures": [type(model).__name__]}
    about.pop("dtype", None)
    (folder / "config.json").write_text(json.dumps(about))


def edit(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the tensors of a checkpoint by name."""
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def split(folder: Path) -> None:
    """Two files of a checkpoint in place of one. Tensors of a layer may be in both."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    files: dict[str, str] = {}
    for i in range(2):
        name = f"model-0000{i + 1}-of-00002.safetensors"
        part = {key: tensors[key] for key in sorted(tensors)[i::2]}
        save_file(part, folder / name, {"format": "pt"})
        files |= dict.fromkeys(part, name)
    about = {"metadata": {}, "weight_map": files}
    (folder / "model.safetensors.index.json").write_text(json.dumps(about))


def quantised(
    w: NDArray[np.float32], bits: int, groups: NDArray[np.int64], symmetric: bool
) -> tuple[NDArray[np.int64], NDArray[np.float16], NDArray[np.int64]]:
    """Codes [N, K], and scales and zero points [N, G] of the groups, which are numbered for each k."""
    count, top = groups.max() + 1, 2**bits - 1
    scales, zero_points = np.empty((len(w), count), np.float16), np.empty((len(w), count), np.int64)
    codes = np.empty(w.shape, np.int64)
    for g in range(count):
        part = w[:, groups == g]
        low, high = part.min(1), part.max(1)
        if symmetric:
            high = np.maximum(-low, high)
            low = -high
        scales[:, g] = np.maximum(high - low, 1e-4) / (top - 1)
        zero_points[:, g] = 2 ** (bits - 1) if symmetric else np.clip(np.rint(-low / scales[:, g]), 1, top)
        steps = np.rint(part / scales[:, g, None]) + zero_points[:, g, None]
        codes[:, groups == g] = np.clip(steps, 0, top)
    return codes, scales, zero_points


def dequantised(
    codes: NDArray[np.int64],
    scales: NDArray[np.float16],
    zero_points: NDArray[np.int64],
    groups: NDArray[np.int64],
) -> NDArray[np.float32]:
    differences = (codes - zero_points[:, groups]).astype(np.float32)
    return differences * scales[:, groups].astype(np.float32)


def in_words(values: NDArray[np.int64], bits: int, order: list[int] | None = None) -> NDArray[np.int32]:
    """Integers [.., n] in words of 32 bits [.., n * bits / 32], the first in the lowest bits. order: of the
    integers of a word."""
    if order:
        values = values.reshape(*values.shape[:-1], -1, len(order))[..., order].reshape(values.shape)
    each = (values[..., None] >> np.arange(bits) & 1).astype(np.uint8)
    return np.packbits(each.reshape(*values.shape[:-1], -1), -1, "little").view(np.int32)


def letters(**options: Any) -> Any:
    """A tokenizer that knows single characters."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    known = {chr(32 + i): i for i in range(95)} | {"[UNK]": 95}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **options)


PROMPTS = torch.arange(24).reshape(3, 8) * 5 % VOCABULARY


def load(folder: Path, **options: Any) -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(folder, **options)


def logits(model: Any) -> Any:
    """Of PROMPTS."""
    with torch.no_grad():
        return model(PROMPTS).logits.float()
