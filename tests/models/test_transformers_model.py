# SPDX-License-Identifier: Apache-2.0
"""A real model, SmolLM2 of 135 million weights as Q4_1, with zemm's layers: what it says is what it says with
its weights dequantised to float32 by Transformers."""

from typing import Any

import pytest
import zemm
from support_checkpoints import torch, transformers
from support_smollm2 import FILE, FOLDER, PROMPTS


def load() -> Any:
    model = transformers.AutoModelForCausalLM.from_pretrained(FOLDER, gguf_file=FILE, dtype=torch.float32)
    return model.eval()


@pytest.fixture(scope="module")
def prompts() -> list[Any]:
    tokenizer = transformers.AutoTokenizer.from_pretrained(FOLDER, gguf_file=FILE)
    return [tokenizer(prompt, return_tensors="pt").input_ids for prompt in PROMPTS]


@pytest.mark.full
@pytest.mark.long
def test_says_what_the_float_model_says(prompts: list[Any]) -> None:
    reference = load()
    with zemm.transformers.registered():
        model = load()
    assert sum(hasattr(module, "layer") for module in model.modules()) == 7 * 30 + 1
    with torch.no_grad():
        for ids in prompts:
            expected, y = reference(ids).logits, model(ids).logits
            assert (y - expected).abs().max() < 1e-4 * expected.abs().max()
    arguments = {"max_new_tokens": 32, "do_sample": False}
    text = model.generate(prompts[0], **arguments)
    assert torch.equal(text, reference.generate(prompts[0], **arguments))
    assert text.shape[1] > prompts[0].shape[1] + 8
