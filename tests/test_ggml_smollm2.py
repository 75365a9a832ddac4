# SPDX-License-Identifier: Apache-2.0
"""The perplexity of SmolLM2 in llama.cpp is the same with zemm's backend for ggml."""

import re
from pathlib import Path

import pytest
from readme import ROOT
from support_llama_cpp import run
from support_smollm2 import FILE, FOLDER

TOKENS, CHUNKS = 512, 8  # of a chunk; chunks
PAGES = ["design", "driver", "gguf", "performance"]  # English and numbers, enough for the tokens


def perplexity(text: Path, *, zemm: bool) -> float:
    options = ["-c", str(TOKENS), "-b", str(TOKENS), "--chunks", str(CHUNKS), "-t", "2", "-lv", "4"]
    log = run("llama-perplexity", "-m", FOLDER / FILE, "-f", text, *options, zemm=zemm)
    assert ("zemm model buffer" in log) == zemm
    found = re.search(r"Final estimate: PPL = ([\d.]+)", log)
    assert found, log[-2000:]
    return float(found[1])


@pytest.mark.full
def test_perplexity(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("\n".join((ROOT / "docs" / f"{page}.md").read_text() for page in PAGES))
    with_zemm, without = perplexity(text, zemm=True), perplexity(text, zemm=False)
    assert 1 < without < 1000
    assert abs(with_zemm / without - 1) < 0.001
