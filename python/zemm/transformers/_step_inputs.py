# SPDX-License-Identifier: Apache-2.0
"""Makes the arguments of forward() for a decode step as prepare_inputs_for_generation() of Transformers does,
in fewer operators."""

from typing import Any

import torch
import transformers
from transformers import cache_utils

from zemm.transformers._replay import cache_of

_FULL = "full_attention"
_CHANGING = ("position_ids", "attention_mask")


def has_usual_inputs(model: type[transformers.PreTrainedModel]) -> bool:
    """Whether Transformers makes the arguments of a kind of models, and their masks, in its usual way."""
    usual = transformers.GenerationMixin.prepare_inputs_for_generation
    return model.prepare_inputs_for_generation is usual and not hasattr(model, "create_masks_for_generate")


class StepInputs:
    """Of a step with a static cache, and of those after it. Which arguments there are, and what they are made
    of, is learned from a step that Transformers has made; if not all is understood, no other is made."""

    def __init__(self, ids: torch.Tensor, given: dict[str, Any], made: dict[str, Any]) -> None:
        """given: what generate() has passed beside ids. made: what Transformers has returned for it."""
        self._given, self._made = dict(given), dict(made)
        self._mask: Any = made.get("attention_mask")
        self._has_kinds = False
        if isinstance(self._mask, dict) and list(self._mask) == [_FULL]:
            self._has_kinds, self._mask = True, self._mask[_FULL]
        # A window cuts a mask some time.
        has_windows = any(type(layer) is not cache_utils.StaticLayer for layer in cache_of(given).layers)
        is_possible = not has_windows and self._is_mask(self._mask)
        self._is_understood = is_possible and self._is_equal(self._make(ids, given), made)

    def __call__(self, ids: torch.Tensor, given: dict[str, Any]) -> dict[str, Any] | None:
        """None: this is not a step like the known one."""
        if not self._is_understood or given.keys() != self._given.keys():
            return None
        for name, value in given.items():
            known = self._given[name]
            is_tensor = isinstance(value, torch.Tensor) and isinstance(known, torch.Tensor)
            may_change = name in _CHANGING and is_tensor
            if not may_change and value is not known and not _is_same_number(value, known):
                return None
        if given["position_ids"].shape[-1] > self._mask.shape[-1]:
            return None
        return self._make(ids, given)

    def _is_mask(self, mask: Any) -> bool:
        """Whether the mask is one of tokens that are seen, and may be made of the arguments."""
        of_tokens, positions = (self._given.get(name) for name in ("attention_mask", "position_ids"))
        return (
            isinstance(mask, torch.Tensor)
            and mask.dtype is torch.bool
            and mask.ndim == 4
            and mask.shape[1:3] == (1, 1)
            and isinstance(positions, torch.Tensor)
            and positions.shape[-1] <= mask.shape[3]
            and (
                of_tokens is None
                or (
                    isinstance(of_tokens, torch.Tensor)
                    and of_tokens.shape == (len(mask), positions.shape[-1])
                )
            )
        )

    def _make(self, ids: torch.Tensor, given: dict[str, Any]) -> dict[str, Any]:
        of_tokens, positions = given.get("attention_mask"), given["position_ids"]
        mask = torch.zeros_like(self._mask)
        mask[:, 0, 0, : positions.shape[-1]] = True if of_tokens is None else of_tokens
        changed = {
            "input_ids": ids[:, -1:].clone(memory_format=torch.contiguous_format),
            "position_ids": positions[..., -1:].clone(memory_format=torch.contiguous_format),
            "attention_mask": {_FULL: mask} if self._has_kinds else mask,
        }
        return {name: changed.get(name, given.get(name)) for name in self._made}

    def _is_equal(self, own: dict[str, Any], made: dict[str, Any]) -> bool:
        """Whether these are the arguments that Transformers has made."""

        def is_equal(a: Any, b: Any) -> bool:
            if isinstance(a, dict) and isinstance(b, dict):
                return a.keys() == b.keys() and all(is_equal(a[name], b[name]) for name in a)
            if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and a is not b:
                same = a.dtype is b.dtype and a.shape == b.shape and a.stride() == b.stride()
                return same and torch.equal(a, b)
            return a is b or _is_same_number(a, b)

        return own.keys() == made.keys() and all(is_equal(own[name], made[name]) for name in made)


def _is_same_number(a: Any, b: Any) -> bool:
    return isinstance(a, bool | int | float | str) and type(a) is type(b) and a == b
