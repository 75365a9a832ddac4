# SPDX-License-Identifier: Apache-2.0
"""The programs in examples/."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import zemm
from support_process import captured
from support_tree import ROOT

EXAMPLES = ROOT / "examples"
PROMPT, TOKENS = [1, 2, 3, 4], 24


@pytest.fixture(scope="session")
def decoder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("decoder_example", EXAMPLES / "decoder.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("type_name", "activation", "most"),
    [("Q8_0", "f32", 0.05), ("Q8_0", "int8", 0.08), ("Q4_0", "f32", 0.8), ("Q4_1", "f32", 0.8)],
)
def test_decoder(decoder: ModuleType, type_name: str, activation: str, most: float, tmp_path: Path) -> None:
    """Tokens of 8-bit weights are those of the float model, and the logits of both are near. most: the
    largest error of logits whose standard deviation is 1."""
    config = decoder.Config()
    weights = decoder.random_weights(config, decoder.SEED)
    expected, logits = decoder.generate(decoder.float_decoder(config, weights), PROMPT, TOKENS)
    best = np.sort(logits, axis=1)
    assert (best[:, -1] - best[:, -2]).min() > 0.098
    decoder.save(tmp_path / "model.gguf", weights, config, type_name)
    model = decoder.load(tmp_path / "model.gguf", activation)
    assert model.config == config
    tokens, found = decoder.generate(model, PROMPT, TOKENS)
    if type_name == "Q8_0":
        assert tokens == expected
        assert np.abs(found - logits).max() < most
    else:  # the first logits do not depend on tokens that may differ
        assert np.abs(found[0] - logits[0]).max() < most
        assert np.abs(found[0] - logits[0]).max() > 0.08


def run(*command: str, env: dict[str, str] | None = None) -> str:
    result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_decoder_program() -> None:
    lines = run(sys.executable, str(EXAMPLES / "decoder.py"), "--tokens", "8").splitlines()
    assert "all tokens are equal" in lines
    table = lines[lines.index("") + 1 :]
    assert table[0].split() == ["ms", "per", "token", "zemm", "numpy"]
    names = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down", "output"]
    assert [line.split()[0] for line in table[1:]] == names
    assert all(float(number) > 0 for line in table[1:] for number in line.split()[1:])


def test_program_that_times_calls() -> None:
    lines = run(sys.executable, str(EXAMPLES / "speed.py"), "calls", "--rounds=1").splitlines()
    kinds = [line.split(": a call takes ")[0] for line in lines]
    assert kinds == [f"{bits} bits by {activation}" for bits in (8, 4) for activation in ("f32", "int8")]


@pytest.mark.full
def test_program_that_times_layers() -> None:
    pytest.importorskip("torch")
    lines = run(sys.executable, str(EXAMPLES / "speed.py"), "layers", "--rounds=1").splitlines()
    assert len([line for line in lines if re.search(r": [\d.]+, [\d.]+$", line)]) == 9


def test_chat(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="needs the package transformers")
    from support_checkpoints import letters, llama

    source, folder = str(tmp_path / "source"), str(tmp_path / "saved")
    llama().save_pretrained(source)
    letters(chat_template="{% for m in messages %}{{ m.content }}{% endfor %}").save_pretrained(source)
    command = [sys.executable, str(EXAMPLES / "quantize_and_chat.py"), source, folder]
    done = captured(command, input="Hi\nWho are you?\n\n", timeout=300)
    assert done.returncode == 0, done.stderr
    assert "15 of 15 replaced" in done.stdout
    assert len([line for line in done.stdout.splitlines() if line.startswith("> ")]) == 3
    names = {path.name for path in Path(folder).iterdir()}
    assert {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json"} <= names


def test_linear_program(tmp_path: Path) -> None:
    """Beside the library of the Python package. test_install.py builds it like README says."""
    folder = Path(zemm.__file__).parent
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic-errors", f"-I{ROOT / 'include'}"]
    program = str(tmp_path / "linear")
    run("cc", *flags, str(EXAMPLES / "linear.c"), f"-L{folder}", "-l:libzemm.so.0", "-o", program)
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder), "VIRTUAL_ENV": sys.prefix}
    lines = run(program, env=env).splitlines()
    assert [line.split(":")[0] for line in lines] == [f"u{b}, {m:2} rows" for b in (8, 4) for m in (1, 4, 33)]
    assert all(line.endswith(", right") for line in lines)
