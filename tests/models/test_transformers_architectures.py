# SPDX-License-Identifier: Apache-2.0
"""Tiny models of an eighth of Transformers' architectures, which the commit chooses, quantised in each way.

ZEMM_TEST_ARCHITECTURES=all tries all of them, ZEMM_TEST_ARCHITECTURES=bfloat16 all in this type.
"""

import faulthandler
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zemm
from support_architectures import EXTRA, NAMES, inputs_of, tiny_model, torch
from support_twins import WAYS, Twins, difference

PARTS = 8
LIMIT = 300  # seconds for each
# Classes of layers, experts and names that zemm once took for others, and models that read or write weights
# themselves: Mamba those of dt_proj.
ALWAYS = {"causal-falcon", "causal-lara_mini", "causal-llama4_text", "causal-xlnet"}
ALWAYS |= {"causal-mamba", "causal-rwkv", "causal-sarvam_moe", "masked-mobilebert", "seq2seq-t5"}
# Relative to the largest logit. Both models round in the same type, but not in the same places. In the short
# ones routers may choose other experts, and single logits.
TOLERANCES = {"float32": 1e-3, "bfloat16": 0.1, "float16": 0.02}
NOT_TINY = {"causal-gemma3n": "it needs the package timm"}
# Refused models, by name and way, and a part of the reason.
_CUT = "which Transformers cuts or joins to others of the model"
_NOTHING = "no layer of the model is quantised"
REFUSED: dict[tuple[str, str], str] = {
    **{
        (f"causal-{kind}", way): _NOTHING
        for kind in ("gpt-sw3", "gpt2", "openai-gpt")  # their layers are Conv1D
        for way in ("ZemmConfig", "GPTQ")
    },
    **{
        (name, "GPTQ"): _CUT
        for name in (
            "causal-hrm_text",
            "causal-longcat_flash",
            "causal-sarvam_moe",
            "masked-gte",
            "masked-jina_embeddings_v3",
            "masked-nomic_bert",
            "seq2seq-nemo_speechlm",
        )
    },
    ("causal-rwkv", "GPTQ"): "writes to its weight",
}


WANTED = os.environ.get("ZEMM_TEST_ARCHITECTURES", "")
DTYPE = WANTED if WANTED in TOLERANCES else "float32"


def chosen() -> list[str]:
    """The architectures whose turn it is at this commit; without git, the first part."""
    if WANTED:
        return NAMES
    command = ["git", "rev-parse", "--short=2", "HEAD"]
    run = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return sorted({*NAMES[int(run.stdout[:2] or "0", 16) % PARTS :: PARTS], *ALWAYS})


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    """Ends the process of a test that hangs, wherever it does."""
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def generated(model: Any, ids: Any) -> Any:
    return model.generate(ids, max_new_tokens=3, do_sample=False)


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", chosen())
def test_architecture(name: str, way: str, tmp_path: Path) -> None:
    """Its logits are right, or it is refused with the reason."""
    if name in NOT_TINY:
        pytest.skip(NOT_TINY[name])
    model = tiny_model(name).to(getattr(torch, DTYPE))
    given = inputs_of(model, name)
    if reason := REFUSED.get((name, way)):
        with pytest.raises(zemm.ZemmError, match=reason):
            WAYS[way](model, tmp_path)
        return
    twins = WAYS[way](model, tmp_path)
    assert twins.replaced
    assert all(twins.left.values()), f"layers are not quantised, and nothing says why: {twins.left}"
    assert difference(twins, given) <= TOLERANCES[DTYPE]
    if name.startswith("causal-") and DTYPE == "float32":
        check_generation(twins, given.get("input_ids"))


def check_generation(twins: Twins, ids: Any) -> None:
    """generate() gives the same, where the float model can do it."""
    try:
        expected = generated(twins.twin, ids)
    except Exception:
        return
    assert torch.equal(generated(twins.quantised, ids), expected)


def test_names() -> None:
    """The tables name architectures that this version of Transformers has."""
    kinds = {name.partition("-")[2] for name in NAMES}
    assert len(NAMES) > 200
    assert {name for name, _ in REFUSED} | NOT_TINY.keys() | ALWAYS <= set(NAMES)
    assert EXTRA.keys() <= kinds | set(NAMES)
