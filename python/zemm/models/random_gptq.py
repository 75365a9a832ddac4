# SPDX-License-Identifier: Apache-2.0
"""A checkpoint of GPTQ with random weights: linear layers are integers of 4 bits with a scale for 128 inputs,
embeddings and the head are f16. A tensor at a time is in memory."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zemm.models.shapes import CONTEXT, DEVIATION, STEP, Shape, nibbles

GROUP = 128
_SEED = 1
_EIGHTS = 0x77777777  # zero points of 8, less one


class _Tensor(NamedTuple):
    """name, type in safetensors, shape, and what its values are made of."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    kind: str


def write(shape: Shape, folder: Path) -> Path:
    """Write config.json and the weights, whose file is returned."""
    (folder / "config.json").write_text(json.dumps(_config(shape)))
    file = folder / "model.safetensors"
    _write(file, list(_tensors(shape)))
    return file


def _config(shape: Shape) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": shape.hidden,
        "intermediate_size": shape.intermediate,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv,
        "vocab_size": shape.vocabulary,
        "max_position_embeddings": CONTEXT,
        "tie_word_embeddings": False,
        "dtype": "float16",
        "quantization_config": {
            "quant_method": "gptq", "bits": 4, "group_size": GROUP, "sym": True, "desc_act": False,
        },
    }  # fmt: skip


def _tensors(shape: Shape) -> Iterator[_Tensor]:
    table = (shape.vocabulary, shape.hidden)
    yield _Tensor("model.embed_tokens.weight", "F16", table, "normal")
    for layer in range(shape.layers):
        for part, (k, n) in shape.linears().items():
            name = f"model.layers.{layer}.{part}"
            yield _Tensor(f"{name}.qweight", "I32", (k // 8, n), "bits")
            yield _Tensor(f"{name}.qzeros", "I32", (k // GROUP, n // 8), "eights")
            yield _Tensor(f"{name}.scales", "F16", (k // GROUP, n), "step")
        for norm in ("input_layernorm", "post_attention_layernorm"):
            yield _Tensor(f"model.layers.{layer}.{norm}.weight", "F16", (shape.hidden,), "ones")
    yield _Tensor("model.norm.weight", "F16", (shape.hidden,), "ones")
    yield _Tensor("lm_head.weight", "F16", table, "normal")


def _values(tensor: _Tensor, rng: np.random.Generator) -> NDArray[Any]:
    shape = tensor.shape
    if tensor.kind == "normal":
        return (DEVIATION * rng.standard_normal(shape, np.float32)).astype(np.float16)
    if tensor.kind == "bits":
        return nibbles(4 * int(np.prod(shape)), rng)
    if tensor.kind == "eights":
        return np.full(shape, _EIGHTS, np.uint32)
    if tensor.kind == "step":
        return (STEP * rng.uniform(0.5, 1.5, shape)).astype(np.float16)
    return np.ones(shape, np.float16)


def _write(path: Path, tensors: list[_Tensor]) -> None:
    """A file of safetensors: the length of its header, the header, the tensors."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for tensor in tensors:
        begin, end = end, end + int(np.prod(tensor.shape)) * (2 if tensor.dtype == "F16" else 4)
        header[tensor.name] = {
            "dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [begin, end],
        }  # fmt: skip
    about = json.dumps(header).encode()
    about += b" " * (-len(about) % 8)
    rng = np.random.default_rng(_SEED)
    with path.open("wb") as file:
        file.write(len(about).to_bytes(8, "little") + about)
        for tensor in tensors:
            _values(tensor, rng).tofile(file)
