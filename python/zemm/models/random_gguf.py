# SPDX-License-Identifier: Apache-2.0
"""A GGUF file with random weights and no vocabulary: linear layers are Q4_0 (groups of 32), Q4_K (the same
with scales of scales) or Q4_K_M (llama.cpp's mixture of Q4_K and Q6_K), embeddings and the head are F16 or
Q6_K. A tensor at a time is in memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zemm.gguf.formats import FORMATS
from zemm.models.shapes import CONTEXT, DEVIATION, STEP, Shape, nibbles

_SEED = 1
# The layers of a block, by their names in Transformers.
_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_F16, _F32 = "F16", "F32"
LINEARS = ("Q4_0", "Q4_K", "Q4_K_M")
# What gives a type's weights DEVIATION, where integers, scales and minima are uniform, and the middle 0.
_SCALES = {
    "Q4_0": {"d": STEP},
    "Q4_K": {"d": DEVIATION / 258, "dmin": DEVIATION / 258 * 7.5},
    "Q6_K": {"d": DEVIATION / 1367},
}
_Tensor = tuple[str, str, tuple[int, ...]]  # name, type, shape [N, K], [experts, N, K] or [K]


def write(shape: Shape, folder: Path, linears: str = LINEARS[0], table: str = _F16) -> Path:
    """Write the file. linears: one of LINEARS. table: F16 or Q6_K. The package gguf is needed."""
    from gguf import GGMLQuantizationType, GGUFWriter

    path = folder / "model.gguf"
    writer = GGUFWriter(path, architecture(shape))
    _describe(writer, shape)
    tensors = list(_tensors(shape, linears, table))
    for name, kind, dims in tensors:
        stored = _stored(kind, dims)
        size = int(np.prod(stored.shape)) * stored.dtype.itemsize
        writer.add_tensor_info(name, stored.shape, stored.dtype, size, GGMLQuantizationType[kind])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    rng = np.random.default_rng(_SEED)
    for _, kind, dims in tensors:
        writer.write_tensor_data(_values(kind, dims, rng))
    writer.close()
    return path


def architecture(shape: Shape) -> str:
    return "qwen3moe" if shape.experts else "llama"


def _describe(writer: Any, shape: Shape) -> None:
    writer.add_block_count(shape.layers)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(shape.hidden)
    writer.add_feed_forward_length(shape.intermediate)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_dimension_count(shape.head_width)
    writer.add_vocab_size(shape.vocabulary)
    writer.add_tokenizer_model("no_vocab")
    if shape.experts:
        writer.add_key_length(shape.head_width)
        writer.add_value_length(shape.head_width)
        writer.add_rope_freq_base(1e6)
        writer.add_expert_count(shape.experts)
        writer.add_expert_used_count(shape.used)
        writer.add_expert_feed_forward_length(shape.intermediate)


def _tensors(shape: Shape, linears: str = LINEARS[0], table: str = _F16) -> Iterator[_Tensor]:
    table_dims = (shape.vocabulary, shape.hidden)
    yield "token_embd.weight", table, table_dims
    for layer in range(shape.layers):
        for name, (k, n) in shape.linears().items():
            kind = _kind(_NAMES[name], layer, shape.layers) if linears == "Q4_K_M" else linears
            if shape.experts and name.startswith("mlp."):
                yield f"blk.{layer}.{_NAMES[name]}_exps.weight", kind, (shape.experts, n, k)
            else:
                yield f"blk.{layer}.{_NAMES[name]}.weight", kind, (n, k)
        if shape.experts:
            yield f"blk.{layer}.ffn_gate_inp.weight", _F32, (shape.experts, shape.hidden)
            for norm in ("attn_q_norm", "attn_k_norm"):
                yield f"blk.{layer}.{norm}.weight", _F32, (shape.head_width,)
        for norm in ("attn_norm", "ffn_norm"):
            yield f"blk.{layer}.{norm}.weight", _F32, (shape.hidden,)
    yield "output_norm.weight", _F32, (shape.hidden,)
    yield "output.weight", table, table_dims


def _kind(name: str, layer: int, layers: int) -> str:
    """The type in Q4_K_M: half of the layers of two kinds are Q6_K."""
    first, last = layers // 8, 7 * layers // 8
    is_better = layer < first or layer >= last or (layer - first) % 3 == 2
    return "Q6_K" if is_better and name in ("attn_v", "ffn_down") else "Q4_K"


def _stored(kind: str, dims: tuple[int, ...]) -> NDArray[Any]:
    """An array with the shape and type of a tensor in the file, without memory of its own."""
    if kind in _SCALES:
        form = FORMATS[kind]
        return np.broadcast_to(np.uint8(0), (*dims[:-1], dims[-1] // form.elements * form.block.itemsize))
    return np.broadcast_to(np.dtype({_F16: np.float16, _F32: np.float32}[kind]).type(0), dims)


def _values(kind: str, dims: tuple[int, ...], rng: np.random.Generator) -> NDArray[Any]:
    if len(dims) == 1:
        return np.ones(dims, np.float32)
    if kind in (_F32, _F16):
        normal = DEVIATION * rng.standard_normal(dims, np.float32)
        return normal if kind == _F32 else normal.astype(np.float16)
    form = FORMATS[kind]
    blocks = rng.integers(0, 256, (int(np.prod(dims)) // form.elements, form.block.itemsize), np.uint8)
    blocks = blocks.view(form.block)
    if kind == "Q4_0":
        blocks["q"] = nibbles(blocks["q"].size, rng).reshape(blocks["q"].shape)
    for field, value in _SCALES[kind].items():
        blocks[field] = value
    return blocks.view(np.uint8)
