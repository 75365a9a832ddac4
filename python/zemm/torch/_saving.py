# SPDX-License-Identifier: Apache-2.0
"""Transformers' save_pretrained() of a model that has zemm's layers.

It would write the arrays of the layers under names that from_pretrained() does not know, which then makes up
random weights. So it is refused, however the layers came into the model.
"""

import functools
import sys
from typing import Any

from zemm.errors import UnimplementedError


def refuse_to_save(layers: type) -> None:
    """Have Transformers, if the program has imported it, refuse to save models that have such layers."""
    models = sys.modules.get("transformers.modeling_utils")
    kind = getattr(models, "PreTrainedModel", None)
    if kind is None or hasattr(kind.save_pretrained, "_asks_zemm"):
        return
    save = kind.save_pretrained

    @functools.wraps(save)
    def save_pretrained(self: Any, *args: Any, **kwargs: Any) -> Any:
        # With adapters of peft Transformers saves these alone.
        if not getattr(self, "_hf_peft_config_loaded", False):
            _check(self, layers)
        return save(self, *args, **kwargs)

    save_pretrained._asks_zemm = True  # type: ignore[attr-defined]
    kind.save_pretrained = save_pretrained


def _check(model: Any, layers: type) -> None:
    name = next((name for name, part in model.named_modules() if isinstance(part, layers)), None)
    if name is not None:
        raise UnimplementedError(
            f"save_pretrained() cannot save the layer {name}, which is zemm's: Transformers would load random"
            " weights in its place. Keep the checkpoint and quantise it again, or save the layers by"
            " torch.save(model.state_dict(), path)"
        )
