# SPDX-License-Identifier: Apache-2.0
"""A small decoder whose linear layers are zemm's, from a float model to tokens.

    python examples/decoder.py [--type Q8_0] [--activation int8] [--tokens 24]

It makes a model with random weights, quantises it, saves it as a GGUF file, loads that with
zemm.gguf and generates tokens. The same model in float32 generates tokens with numpy. The program
prints both, and the time that each kind of layer takes per token.

Needs the package gguf. Everything but the linear layers is numpy.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import gguf
import numpy as np
import zemm
from numpy.typing import NDArray

# With this seed the largest logit of each of 24 tokens is at least 0.098 above the next one. Weights
# of Q8_0 change logits by up to 0.04, with int8 activations by up to 0.065.
SEED = 244

Array = NDArray[np.float32]
Layer = Callable[[Array], Array]
Weights = dict[str, Array]  # by GGUF's names: matrices [N, K], norms [K]


class Config(NamedTuple):
    """width: of the residual stream. hidden: of the feed-forward layers. kv_heads: heads of keys and
    values, each of which serves heads / kv_heads heads of queries."""

    layers: int = 2
    width: int = 256
    heads: int = 8
    kv_heads: int = 4
    hidden: int = 768
    vocabulary: int = 512

    @property
    def head_width(self) -> int:
        return self.width // self.heads


def random_weights(config: Config, seed: int) -> Weights:
    rng = np.random.default_rng(seed)

    def matrix(n: int, k: int) -> Array:
        return (rng.standard_normal((n, k)) / np.sqrt(k)).astype(np.float32)

    width, kv_width = config.width, config.kv_heads * config.head_width
    weights = {"token_embd": rng.standard_normal((config.vocabulary, width)).astype(np.float32)}
    for layer in range(config.layers):
        weights |= {
            f"blk.{layer}.attn_norm": np.ones(width, np.float32),
            f"blk.{layer}.attn_q": matrix(width, width),
            f"blk.{layer}.attn_k": matrix(kv_width, width),
            f"blk.{layer}.attn_v": matrix(kv_width, width),
            f"blk.{layer}.attn_output": matrix(width, width),
            f"blk.{layer}.ffn_norm": np.ones(width, np.float32),
            f"blk.{layer}.ffn_gate": matrix(config.hidden, width),
            f"blk.{layer}.ffn_up": matrix(config.hidden, width),
            f"blk.{layer}.ffn_down": matrix(width, config.hidden),
        }
    return weights | {"output_norm": np.ones(width, np.float32), "output": matrix(config.vocabulary, width)}


def is_linear(name: str) -> bool:
    return name != "token_embd" and not name.endswith("norm")


def save(path: Path, weights: Weights, config: Config, type_name: str) -> None:
    """Write a GGUF file with the weights of linear layers quantised to a type, the others f32."""
    kind = gguf.GGMLQuantizationType[type_name]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(config.layers)
    writer.add_embedding_length(config.width)
    writer.add_head_count(config.heads)
    writer.add_head_count_kv(config.kv_heads)
    writer.add_feed_forward_length(config.hidden)
    writer.add_vocab_size(config.vocabulary)
    for name, array in weights.items():
        if is_linear(name):
            writer.add_tensor(f"{name}.weight", gguf.quants.quantize(array, kind), raw_dtype=kind)
        else:
            writer.add_tensor(f"{name}.weight", array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class Decoder:
    """One token at a time. norms, embedding: arrays. linear: the linear layers by name. seconds: of
    each call of each kind of linear layer."""

    def __init__(self, config: Config, embedding: Array, norms: Weights, linear: dict[str, Layer]) -> None:
        self.config, self.embedding, self.norms, self.linear = config, embedding, norms, linear
        self.keys: list[list[Array]] = [[] for _ in range(config.layers)]  # per layer and position
        self.values: list[list[Array]] = [[] for _ in range(config.layers)]
        self.seconds: dict[str, list[float]] = {}

    def logits(self, token: int) -> Array:
        """The logits of the token after this one. [vocabulary]"""
        x = self.embedding[token]
        for layer in range(self.config.layers):
            x = x + self._attention(layer, self._norm(f"blk.{layer}.attn_norm", x))
            x = x + self._feed_forward(layer, self._norm(f"blk.{layer}.ffn_norm", x))
        return self._linear("output", self._norm("output_norm", x))

    def _linear(self, name: str, x: Array) -> Array:
        begin = time.perf_counter()
        y = self.linear[name](x[None])[0]
        self.seconds.setdefault(name.split(".")[-1], []).append(time.perf_counter() - begin)
        return y

    def _norm(self, name: str, x: Array) -> Array:
        return x / np.sqrt(np.mean(x * x) + np.float32(1e-5)) * self.norms[name]

    def _attention(self, layer: int, x: Array) -> Array:
        c, keys, values = self.config, self.keys[layer], self.values[layer]
        position = len(keys)
        q, k, v = (self._linear(f"blk.{layer}.attn_{part}", x).reshape(-1, c.head_width) for part in "qkv")
        keys.append(rotated(k, position))
        values.append(v)
        q = rotated(q, position).reshape(c.kv_heads, -1, c.head_width)
        scores = np.einsum("hqd,thd->hqt", q, np.stack(keys)) / np.float32(np.sqrt(c.head_width))
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed = np.einsum("hqt,thd->hqd", weights, np.stack(values))
        return self._linear(f"blk.{layer}.attn_output", mixed.reshape(-1))

    def _feed_forward(self, layer: int, x: Array) -> Array:
        gate, up = (self._linear(f"blk.{layer}.ffn_{part}", x) for part in ("gate", "up"))
        return self._linear(f"blk.{layer}.ffn_down", gate / (1 + np.exp(-gate)) * up)


def rotated(x: Array, position: int) -> Array:
    """Rotary position embedding of [heads, head width]: pairs of neighbours are turned."""
    half = x.shape[-1] // 2
    angles = position * 10000.0 ** (-np.arange(half) / half)
    sin, cos = np.sin(angles).astype(np.float32), np.cos(angles).astype(np.float32)
    even, odd = x[:, 0::2], x[:, 1::2]
    return np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1).reshape(x.shape)


def float_decoder(config: Config, weights: Weights) -> Decoder:
    """The float model, with numpy's matmul."""

    def layer_of(w: Array) -> Layer:
        return lambda x: x @ w.T

    linear = {name: layer_of(w) for name, w in weights.items() if is_linear(name)}
    return Decoder(config, weights["token_embd"], weights, linear)


def load(path: Path, activation: str = "f32") -> Decoder:
    """The model of a GGUF file, with zemm's layers. activation: as in zemm.Linear."""
    file = zemm.gguf.load(path)

    def field(name: str) -> int:
        return int(file.metadata[f"llama.{name}"])

    config = Config(
        field("block_count"),
        field("embedding_length"),
        field("attention.head_count"),
        field("attention.head_count_kv"),
        field("feed_forward_length"),
        field("vocab_size"),
    )
    tensors = {name.removesuffix(".weight"): tensor for name, tensor in file.items()}
    linear = {
        name: tensor.linear(activation=activation) for name, tensor in tensors.items() if is_linear(name)
    }
    norms = {name: tensor.values for name, tensor in tensors.items() if name.endswith("norm")}
    return Decoder(config, tensors["token_embd"].values.T, norms, linear)


def generate(decoder: Decoder, prompt: list[int], count: int) -> tuple[list[int], Array]:
    """`count` tokens after the prompt, each with the largest logit, and their logits [count, V]."""
    for token in prompt[:-1]:
        decoder.logits(token)
    decoder.seconds.clear()  # the first calls also build kernels
    tokens, logits = [prompt[-1]], []
    for _ in range(count):
        logits.append(decoder.logits(tokens[-1]))
        tokens.append(int(logits[-1].argmax()))
    return tokens[1:], np.stack(logits)


def main() -> None:
    parser = argparse.ArgumentParser(description="A small decoder whose linear layers are zemm's.")
    parser.add_argument("--type", default="Q8_0", choices=["Q8_0", "Q5_1", "Q5_0", "Q4_1", "Q4_0"])
    parser.add_argument("--activation", default="f32", choices=["f32", "int8"])
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()

    config, prompt = Config(), [1, 2, 3, 4]
    weights = random_weights(config, options.seed)
    model = float_decoder(config, weights)
    expected, float_logits = generate(model, prompt, options.tokens)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        save(path, weights, config, options.type)
        print(f"{options.type} file: {path.stat().st_size / 1e6:.2f} MB")
        decoder = load(path, options.activation)
        tokens, logits = generate(decoder, prompt, options.tokens)
    print("numpy, float32:", *expected)
    print(f"zemm, {options.type}:", *tokens)
    same = next((i for i, pair in enumerate(zip(tokens, expected, strict=True)) if pair[0] != pair[1]), None)
    print("all tokens are equal" if same is None else f"the first {same} tokens are equal")
    error = np.abs(logits[0] - float_logits[0]).max() / np.abs(float_logits[0]).max()
    print(f"largest error of the first logits: {error:.2%} of the largest logit")
    print(f"\n{'ms per token':<12} {'zemm':>8} {'numpy':>8}")
    for kind, seconds in decoder.seconds.items():
        times = (1e3 * per_token(s, options.tokens) for s in (seconds, model.seconds[kind]))
        print(f"{kind:<12}", *(f"{ms:>8.3f}" for ms in times))


def per_token(seconds: list[float], tokens: int) -> float:
    """The median of calls times the calls of a token."""
    return statistics.median(seconds) * len(seconds) / tokens


if __name__ == "__main__":
    main()
