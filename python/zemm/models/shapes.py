# SPDX-License-Identifier: Apache-2.0
"""The shapes of random models."""

from dataclasses import dataclass

CONTEXT = 8192  # the tokens that a model may look back to


@dataclass(frozen=True)
class Shape:
    """A Llama's. heads, kv: those of queries, and those of keys and values."""

    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv: int
    vocabulary: int

    @property
    def kv_width(self) -> int:
        return self.hidden // self.heads * self.kv

    def linears(self) -> dict[str, tuple[int, int]]:
        """The linear layers of a block: inputs and outputs."""
        wide, hidden = self.intermediate, self.hidden
        return {
            "self_attn.q_proj": (hidden, hidden),
            "self_attn.k_proj": (hidden, self.kv_width),
            "self_attn.v_proj": (hidden, self.kv_width),
            "self_attn.o_proj": (hidden, hidden),
            "mlp.gate_proj": (hidden, wide),
            "mlp.up_proj": (hidden, wide),
            "mlp.down_proj": (wide, hidden),
        }


SHAPES = {
    "llama-1b": Shape(2048, 8192, 16, 32, 8, 32000),
    "llama-3b": Shape(3072, 8192, 28, 24, 8, 32000),
    "llama-8b": Shape(4096, 14336, 32, 32, 8, 32000),
    "llama-tiny": Shape(256, 512, 2, 4, 2, 512),
}
