# SPDX-License-Identifier: Apache-2.0
"""Attention of one new token in a compiled step."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import transformers
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from zemm._layers.attention import WIDTHS, Attention, call_of, host_engine, number_of
from zemm.dtypes import dtype_name
from zemm.torch._calls import keep_attention

_NAME = "zemm_decode"
_TYPES = (torch.float32, torch.float16, torch.bfloat16)

_library = torch.library.Library("zemm", "FRAGMENT")
_library.define(
    "attention(Tensor q, Tensor k, Tensor v, Tensor? mask, float scale) -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)


def _asked(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None, scale: float
) -> Attention:
    batch, heads, tokens, width = k.shape
    shared, masks = q.shape[1] // heads, 0 if mask is None else len(mask)
    strides = k.stride()[:3], v.stride()[:3]
    return Attention(dtype_name(q.dtype), batch, heads, shared, tokens, width, *strides, masks, scale)


def _attend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None, scale: float
) -> torch.Tensor:
    """[batch, 1, heads, width] of q [batch, heads, 1, width], k and v [batch, fewer heads, tokens, width],
    all of one type on the host. mask: booleans [batch or 1, 1, 1, tokens]."""
    return attend(q, k, v, mask, scale)[0]


def attend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None, scale: float
) -> tuple[torch.Tensor, int]:
    """The same, and the number of this thread's call for other tensors of these strides; 0: it has none."""
    has_call = k.stride(3) == v.stride(3) == 1
    if not has_call:
        k, v = k.contiguous(), v.contiguous()
    q = q.contiguous()
    y = q.new_empty(q.shape[0], 1, *q.shape[1::2])
    tensors = [q, y, k, v] + ([] if mask is None else [mask.contiguous()])
    asked = _asked(q, k, v, mask, scale)
    call, number = call_of(asked), number_of(asked)
    call.run([tensor.data_ptr() for tensor in tensors])
    keep_attention(call, number, q.dtype)
    return y, number if has_call else 0


def _fake(q: torch.Tensor, *args: Any) -> torch.Tensor:
    batch, heads, _, width = q.shape
    return q.new_empty(batch, 1, heads, width)


_library.impl("attention", _attend, "CPU")
torch.library.register_fake("zemm::attention", _fake, lib=_library)
OPERATOR = torch.ops.zemm.attention.default


def _is_taken(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None) -> bool:
    """Whether zemm::attention computes it."""
    return (
        q.dtype in _TYPES
        and q.dtype is k.dtype is v.dtype
        and k.shape == v.shape
        and q.shape[3] == k.shape[3]
        and k.shape[3] in WIDTHS
        and (mask is None or (mask.dtype is torch.bool and mask.shape in _masks(q, k)))
    )


def _masks(q: torch.Tensor, k: torch.Tensor) -> tuple[tuple[int, ...], ...]:
    return (q.shape[0], 1, 1, k.shape[2]), (1, 1, 1, k.shape[2])


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
    query that shares them, and reads all of a cache."""
    if query.shape[2] != 1 or more.get("position_bias") is not None or more.get("softcap") is not None:
        y: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **more
        )
        return y
    scale = query.shape[3] ** -0.5 if scaling is None else scaling
    if not dropout and _is_taken(query, key, value, attention_mask):
        found: torch.Tensor = OPERATOR(query, key, value, attention_mask, scale)
        return found, None
    shared = key.shape[1] != query.shape[1]
    found = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=attention_mask, dropout_p=dropout, scale=scale, enable_gqa=shared
    )
    return found.transpose(1, 2).contiguous(), None


transformers.AttentionInterface.register(_NAME, _attention)
AttentionMaskInterface.register(_NAME, sdpa_mask)


@contextmanager
def decode_attention(model: torch.nn.Module) -> Iterator[None]:
    """Has the modules that use "sdpa" use the attention above, if there is a device for it."""
    found = {
        id(config): config
        for part in model.modules()
        if (config := getattr(part, "config", None)) is not None
    }
    configs = [
        config
        for config in found.values()
        if getattr(config, "_attn_implementation", None) == "sdpa" and host_engine() is not None
    ]
    for config in configs:
        config._attn_implementation = _NAME
    try:
        yield
    finally:
        for config in configs:
            config._attn_implementation = "sdpa"
