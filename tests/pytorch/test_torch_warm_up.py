# SPDX-License-Identifier: Apache-2.0
"""zemm.torch.warm_up(), and loading a model, build all kernels that later calls need."""

import os
import sys
from pathlib import Path

import pytest
import zemm
from support_process import captured
from support_torch import torch
from support_tree import ROOT

PROGRAM = """
import os, sys, torch, zemm.torch

def kernels():
    return set(os.listdir(os.environ["ZEMM_CACHE_DIR"]))

kind, folder = sys.argv[1:]
if kind.startswith("loaded"):
    import zemm.transformers
    from support_checkpoints import llama, load
    from support_experts import mixture
    made = mixture("Mixtral") if kind == "loaded experts" else llama()
    made.save_pretrained(folder)
    config = zemm.transformers.ZemmConfig(group=32, activation="int8")
    model = load(folder, quantization_config=config, dtype=torch.bfloat16)
else:
    model = torch.nn.Sequential(
        torch.nn.Embedding(96, 64), torch.nn.Linear(64, 64), torch.nn.Linear(64, 64), torch.nn.Linear(64, 96)
    )
    zemm.torch.quantize_(model, bits=4, group=32, embeddings=True, filter=lambda module, name: name != "3")
    zemm.torch.quantize_(model, bits=8, activation="int8")
    zemm.warm_up(model)
warmed = kernels()
with torch.no_grad():
    for tokens in (1, 2, 7, 12, 40, 300):
        model(torch.zeros(1, tokens, dtype=torch.int64))
print(len(warmed), kernels() - warmed)
"""


@pytest.mark.parametrize("kind", ["layers", "loaded", pytest.param("loaded experts", marks=pytest.mark.full)])
def test_later_calls_build_nothing(kind: str, tmp_path: Path) -> None:
    if kind != "layers":
        pytest.importorskip("transformers", reason="needs the package transformers")
    paths = [str(ROOT / "tests" / name) for name in ("support", "models")]
    env = {**os.environ, "ZEMM_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(paths)}
    done = captured([sys.executable, "-c", PROGRAM, kind, str(tmp_path / "model")], env=env, timeout=300)
    assert done.returncode == 0, done.stderr
    count, _, later = done.stdout.strip().partition(" ")
    assert int(count) > 3
    assert later == "set()"


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match=r"model is a int, not a torch\.nn\.Module"):
        zemm.warm_up(3)
    with pytest.raises(ValueError, match="model has no layers of zemm: quantise it first"):
        zemm.torch.warm_up(torch.nn.Linear(2, 2))
    with pytest.raises(ValueError, match="this QuantLinear of 2 to 2 features is empty"):
        zemm.torch.warm_up(zemm.torch.QuantLinear(2, 2))
