# SPDX-License-Identifier: Apache-2.0
"""The tokens that models get: of a text that each Python has, or random ones."""

import random
from typing import Any

from zemm.models.errors import ModelsError
from zemm.models.model import Model

# Prose of Python's reference, which help() shows, in this order.
_TOPICS = ("objects", "execmodel", "naming", "exceptions", "types")
SOURCE = "pydoc_data.topics"
_SEED = 1


def text() -> str:
    """About 60,000 characters. They may differ between versions of Python."""
    from pydoc_data.topics import topics

    return "\n".join(topics[name] for name in _TOPICS if name in topics)


def tokens_of(model: Model, count: int) -> list[int]:
    """The first tokens of the text, or random ones for a random model. ModelsError: there is no tokenizer, or
    the text is too short."""
    import transformers

    if model.is_random:
        size = transformers.AutoConfig.from_pretrained(model.folder, local_files_only=True).vocab_size
        return random.Random(_SEED).choices(range(size), k=count)
    try:
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(**model.source)
    except (OSError, ValueError, KeyError, ImportError, NotImplementedError) as error:
        raise ModelsError(f"--model={model.name} has no tokenizer that can be loaded: {error}") from None
    ids = list(tokenizer(text()).input_ids)
    if len(ids) < count:
        raise ModelsError(
            f"the text of {SOURCE} has {len(ids)} tokens for this model, and --prompt or --text-tokens asks"
            f" for {count}"
        )
    return ids[:count]
