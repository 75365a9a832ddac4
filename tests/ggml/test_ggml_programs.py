# SPDX-License-Identifier: Apache-2.0
"""llama.cpp's own programs with zemm's backend for ggml: its test of backends, and llama-bench."""

import re
from pathlib import Path

import pytest
from gguf import GGMLQuantizationType
from support_llama_cpp import run
from support_random_models import write_model
from test_ggml_formats import TYPES
from zemm.models.shapes import SHAPES

# What is tested of each operation, and how many cases at least. All cases of MUL_MAT_ID take minutes.
PARTS = {
    "MUL_MAT": ("", 400),
    "MUL_MAT_ID": ("type_a=(q4_0|q4_K|q8_0|mxfp4),type_b=f32,n_mats=4,n_used=2", 50),
}


@pytest.mark.full
@pytest.mark.parametrize("operation", PARTS)
def test_of_backends(operation: str) -> None:
    """test-backend-ops compares each case that the backend supports with ggml's CPU backend."""
    pattern, least = PARTS[operation]
    only = ["-p", pattern] if pattern else []
    log = run("test-backend-ops", "test", "-b", "zemm", "-o", operation, *only, timeout=580)
    log = re.sub(r"\x1b\[[\d;]*m", "", log)
    cases = re.findall(rf"(?m)^  {operation}\((.*)\): (.*)$", log)
    results = [result for _, result in cases]
    passed = results.count("OK")
    assert [case for case, result in cases if result != "OK" and "not supported [zemm" not in result] == []
    assert passed >= least
    assert re.search(rf"^  {passed}/{passed} tests passed$", log, re.MULTILINE)
    assert "Backend zemm: OK" in log


@pytest.mark.quick(cases=lambda type_name: type_name in ("Q4_0", "Q4_K"))
@pytest.mark.parametrize("type_name", TYPES)
def test_bench(type_name: str, tmp_path: Path) -> None:
    """llama-bench multiplies 96 rows by all weights of the model, then one at a time, and zemm says so."""
    if type_name not in GGMLQuantizationType.__members__:
        pytest.skip(f"the package gguf has no {type_name}")
    file = write_model(type_name, SHAPES["llama-tiny"], tmp_path)
    log = run("llama-bench", "-m", file, "-p", "96", "-n", "4", "-r", "1", "-t", "2", "-v")
    assert "loaded zemm backend from" in log
    done = re.search(r"zemm: multiplied (\d+) times, by (\d+) weights", log)
    assert done
    assert int(done[1]) >= int(done[2]) > 7  # of two layers: of the last one only a row counts
    rates = re.findall(r"\| +(pp96|tg4) \| +([\d.]+) ", log)
    assert [name for name, _ in rates] == ["pp96", "tg4"]
    assert "zemm:" not in run("llama-bench", "-m", file, "-p", "96", "-n", "0", "-v", zemm=False)


def test_says_that_it_did_nothing(tmp_path: Path) -> None:
    file = write_model("Q4_0", SHAPES["llama-tiny"], tmp_path)
    log = run("llama-bench", "-m", file, "-p", "95", "-n", "0", "-r", "1", "-t", "2", "-v")
    assert "zemm: multiplied nothing: " in log
    assert "too few rows (GGML_ZEMM_LEAST_ROWS)" in log
