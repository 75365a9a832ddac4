# SPDX-License-Identifier: Apache-2.0
"""The tokens that models get: of a text that each Python has, or random ones."""

import random
from typing import Any

from zemm._programs.usage import UsageError, first_line
from zemm.models.contestant import Settings
from zemm.models.model import Model

# Prose of Python's reference, which help() shows, in this order.
_TOPICS = ("objects", "execmodel", "naming", "exceptions", "types")
SOURCE = "pydoc_data.topics"
_SEED = 1


def text() -> str:
    """About 60,000 characters. They may differ between versions of Python."""
    from pydoc_data.topics import topics

    return "\n".join(topics[name] for name in _TOPICS if name in topics)


def tokens_of(model: Model, settings: Settings) -> tuple[list[int], list[int]]:
    """The prompt, and the text of the agreement: the first tokens of the text, or random ones for a random
    model and where no agreement is asked for. UsageError: the model cannot be read, has no tokenizer, or
    cannot take so many."""
    import transformers

    try:
        config = transformers.AutoConfig.from_pretrained(**model.source).get_text_config()
    except Exception as error:
        raise UsageError(
            f"--model={model.name}: Transformers cannot read its config: {first_line(error)}"
        ) from None
    longest = getattr(config, "max_position_embeddings", None)
    wanted = max(settings.prompt + settings.tokens + 1, settings.text_tokens)
    if longest is not None and wanted > longest:
        raise UsageError(f"the model takes {longest} tokens, and {wanted} are asked for: lower --prompt")
    count = max(settings.prompt, settings.text_tokens)
    if model.is_random or not settings.text_tokens:
        ids = random.Random(_SEED).choices(range(config.vocab_size), k=count)
    else:
        ids = _tokenised(model)
        if len(ids) < count:
            raise UsageError(f"the text of {SOURCE} has {len(ids)} tokens, and {count} are asked for")
    return ids[: settings.prompt], ids[: settings.text_tokens]


def _tokenised(model: Model) -> list[int]:
    import transformers

    try:
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(**model.source)
        return list(tokenizer(text()).input_ids)
    except Exception as error:
        raise UsageError(
            f"--model={model.name} has no tokenizer that can be loaded ({first_line(error)}):"
            " --text-tokens=0 does without"
        ) from None
