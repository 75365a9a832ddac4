# SPDX-License-Identifier: Apache-2.0
"""Attention of one new token in a compiled step."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import transformers
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

_NAME = "zemm_decode"


def _attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **more: Any,
) -> tuple[torch.Tensor, None]:
    """As "sdpa" of Transformers, which in a compiled graph copies keys and values for each head of the
    query that shares them."""
    if query.shape[2] != 1 or more.get("position_bias") is not None or more.get("softcap") is not None:
        y: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **more
        )
        return y
    shared = key.shape[1] != query.shape[1]
    found = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=attention_mask, dropout_p=dropout, scale=scaling, enable_gqa=shared
    )
    return found.transpose(1, 2).contiguous(), None


transformers.AttentionInterface.register(_NAME, _attention)
AttentionMaskInterface.register(_NAME, sdpa_mask)


@contextmanager
def decode_attention(model: torch.nn.Module) -> Iterator[None]:
    """Has the modules that use "sdpa" use the attention above."""
    found = {
        id(config): config
        for part in model.modules()
        if (config := getattr(part, "config", None)) is not None
    }
    configs = [config for config in found.values() if getattr(config, "_attn_implementation", None) == "sdpa"]
    for config in configs:
        config._attn_implementation = _NAME
    try:
        yield
    finally:
        for config in configs:
            config._attn_implementation = "sdpa"
