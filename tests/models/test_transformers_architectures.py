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
from support_twins import GROUP, WAYS, QuantExperts, QuantLinear, Twins, difference

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
_IN_ONE = "it has all experts in one tensor, or biases"
_TIED = "computes something else if they are not tied"
_JOINED = "Transformers cuts tensors or joins them in files"
# Models that cannot be saved, and a part of the reason.
NOT_SAVED = {
    **dict.fromkeys(("causal-aria_text", "causal-gpt_oss", "causal-hy_v4", "causal-inkling_text"), _IN_ONE),
    **dict.fromkeys(("causal-granitemoe", "causal-granitemoe_swa", "causal-granitemoehybrid"), _IN_ONE),
    **dict.fromkeys(("causal-granitemoeshared", "causal-lara_mini", "causal-minimax_m3_vl_text"), _IN_ONE),
    **dict.fromkeys(("causal-inkling2_loop_text", "causal-inkling2_text", "causal-zaya"), _IN_ONE),
    **dict.fromkeys(("seq2seq-longt5", "seq2seq-mt5", "seq2seq-switch_transformers"), _TIED),
    **dict.fromkeys(("seq2seq-t5", "seq2seq-umt5"), _TIED),
    **dict.fromkeys(("causal-sarvam_moe", "masked-gte", "masked-jina_embeddings_v3"), _JOINED),
    "masked-nomic_bert": _JOINED,
    "causal-fuyu": "of which the last one is shorter",
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


@pytest.mark.full
@pytest.mark.parametrize("name", chosen())
def test_what_is_saved_is_loaded(name: str, tmp_path: Path) -> None:
    """The same layers and logits, or there is no folder. Sums of floats may differ, which lie elsewhere."""
    if name in NOT_TINY:
        pytest.skip(NOT_TINY[name])
    if name == "seq2seq-marian":
        pytest.skip("Transformers makes its random positions anew while it loads")
    model = tiny_model(name)
    zemm.torch.quantize_(model, bits=8, group=GROUP, symmetric=True)
    saved = tmp_path / "saved"
    if reason := NOT_SAVED.get(name):
        with pytest.raises(NotImplementedError, match=reason):
            model.save_pretrained(saved)
        assert not saved.exists()
        return
    model.save_pretrained(saved)
    with zemm.transformers.registered():
        again = type(model).from_pretrained(saved).eval()
    assert difference(Twins(again, model, 0, {}), inputs_of(model, name)) <= 1e-6
    kinds = [
        [
            (key, type(module))
            for key, module in each.named_modules()
            if isinstance(module, (QuantLinear, QuantExperts))
        ]
        for each in (model, again)
    ]
    assert kinds[0] == kinds[1]


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
    assert {name for name, _ in REFUSED} | NOT_TINY.keys() | NOT_SAVED.keys() | ALWAYS <= set(NAMES)
    assert EXTRA.keys() <= kinds | set(NAMES)
