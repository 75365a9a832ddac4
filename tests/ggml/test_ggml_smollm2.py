# SPDX-License-Identifier: Apache-2.0
"""SmolLM2 in llama.cpp predicts the same tokens with zemm's backend for ggml."""

import re
from pathlib import Path

import pytest
from support_llama_cpp import run
from support_smollm2 import FILE, FOLDER
from support_tree import ROOT

TOKENS, CHUNKS = 512, 8  # of a chunk; chunks
PAGES = ["design", "driver", "gguf", "performance"]  # English and numbers, enough for the tokens
NUMBER = r"(-?[\d.]+) ± +([\d.]+)"


def perplexity(text: Path, logits: Path, *more: str, zemm: bool) -> str:
    options = ["-c", str(TOKENS), "-b", str(TOKENS), "--chunks", str(CHUNKS), "-t", "2", "-lv", "4"]
    base = ["--kl-divergence-base", logits, *more]
    log = run("llama-perplexity", "-m", FOLDER / FILE, "-f", text, *options, *base, zemm=zemm)
    assert ("zemm: multiplied " in log) == zemm
    return log


@pytest.mark.full
def test_perplexity(tmp_path: Path) -> None:
    """The perplexities differ by less than three standard errors of their ratio, as llama.cpp estimates it.

    With so few tokens the error is 0.2 %. The divergence of the probabilities is far more certain. Both
    libraries round activations to 8 bits, in other ways: 0.004 was measured.
    """
    text, logits = tmp_path / "text", tmp_path / "logits"
    text.write_text("\n".join((ROOT / "docs" / f"{page}.md").read_text() for page in PAGES))
    perplexity(text, logits, zemm=False)
    log = perplexity(text, logits, "--kl-divergence", zemm=True)
    logits.unlink()
    ratio = re.search(rf"Mean PPL\(Q\)/PPL\(base\) +: +{NUMBER}", log)
    divergence = re.search(rf"Mean +KLD: +{NUMBER}", log)
    assert ratio
    assert divergence
    assert abs(float(ratio[1]) - 1) < 3 * float(ratio[2]) < 0.01
    assert float(divergence[1]) < 0.006
