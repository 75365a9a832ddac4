# SPDX-License-Identifier: Apache-2.0
"""The shapes of random models, and what their weights have in common."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CONTEXT = 8192  # the tokens that a model may look back to
DEVIATION = 0.02  # of all weights, as of a model that Transformers initialises
STEP = float(DEVIATION / np.sqrt((15**2 - 1) / 12))  # of 15 integers that are equally likely


@dataclass(frozen=True)
class Shape:
    """A Llama's, or with experts a Qwen3's. heads, kv: those of queries, and those of keys and values. head:
    the elements of one; 0: hidden / heads. experts: of a layer, each of which is intermediate wide. used:
    those that compute a token."""

    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv: int
    vocabulary: int
    head: int = 0
    experts: int = 0
    used: int = 0

    @property
    def head_width(self) -> int:
        return self.head or self.hidden // self.heads

    def linears(self) -> dict[str, tuple[int, int]]:
        """The linear layers of a block: inputs and outputs."""
        wide, hidden = self.intermediate, self.hidden
        queries, keys = self.head_width * self.heads, self.head_width * self.kv
        return {
            "self_attn.q_proj": (hidden, queries),
            "self_attn.k_proj": (hidden, keys),
            "self_attn.v_proj": (hidden, keys),
            "self_attn.o_proj": (queries, hidden),
            "mlp.gate_proj": (hidden, wide),
            "mlp.up_proj": (hidden, wide),
            "mlp.down_proj": (wide, hidden),
        }


SHAPES = {
    "llama-1b": Shape(2048, 8192, 16, 32, 8, 32000),
    "llama-3b": Shape(3072, 8192, 28, 24, 8, 32000),
    "llama-8b": Shape(4096, 14336, 32, 32, 8, 32000),
    "llama-tiny": Shape(256, 512, 2, 4, 2, 512),
    # Eight of the 48 layers of Qwen3-30B-A3B. Transformers takes experts of this width in all files.
    "qwen3-moe": Shape(2048, 768, 8, 32, 4, 32000, head=128, experts=128, used=8),
    "qwen3-moe-tiny": Shape(256, 768, 2, 4, 2, 512, head=128, experts=4, used=2),
}


def nibbles(count: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Bytes with two random integers from 1 to 15 each. Their middle is 8: weights whose mean is not 0
    would add up to a few large activations, beside which 8 bits have no room for the others."""
    low, high = rng.integers(1, 16, (2, count), np.uint8)
    return low | high << np.uint8(4)
