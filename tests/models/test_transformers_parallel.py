# SPDX-License-Identifier: Apache-2.0
"""from_pretrained(tp_plan="auto") of quantised checkpoints: two processes have a part of each layer."""

import sys
from pathlib import Path
from typing import Any

import pytest
import support_ranks
import zemm
from support_checkpoints import PROMPTS, llama, load, save, torch, transformers
from test_transformers import awq, gptq
from torch import distributed as dist
from zemm.torch.parallel import shard

if transformers.__version__.startswith("4."):
    pytest.skip("needs Transformers 5", allow_module_level=True)

RANKS = 2
SIZES = {"hidden_size": 256, "intermediate_size": 512}
KINDS = {
    "GPTQ": gptq,
    "GPTQ, act-order": lambda: gptq(act_order=True),
    "AWQ": awq,
    "one group": lambda: gptq(group=-1),
}


class Sum(torch.nn.Module):  # type: ignore[misc]
    """What processes compute of a layer whose rows are cut: the sum of the parts."""

    def __init__(self, layer: zemm.Linear) -> None:
        super().__init__()
        self.parts = [shard(layer, "K", rank, RANKS) for rank in range(RANKS)]

    def forward(self, x: Any) -> Any:
        y = [part(piece) for part, piece in zip(self.parts, x.chunk(RANKS, -1), strict=True)]
        return y[0] + y[1]


def layers_of(model: Any) -> dict[str, Any]:
    return {name: m for name, m in model.named_modules() if isinstance(m, zemm.torch.QuantLinear)}


def bytes_of(model: Any) -> int:
    return sum(layer.layer.weights.nbytes for layer in layers_of(model).values())


def check(folder: Path) -> None:
    """What one process computes of the same parts, bit by bit, in half of the memory."""
    whole, model = load(folder), load(folder, tp_plan="auto")
    assert layers_of(model).keys() == layers_of(whole).keys()
    assert len(layers_of(model)) == 14
    assert bytes_of(model) * RANKS == bytes_of(whole)
    assert type(model.model.embed_tokens.weight.data).__name__ == "DTensor"
    plain = hidden(whole)
    for name, layer in layers_of(whole).items():
        if "o_proj" in name or "down_proj" in name:
            whole.set_submodule(name, Sum(layer.layer))
    y = hidden(model)
    assert torch.equal(y, hidden(whole))
    assert (y - plain).norm() < 0.01 * plain.norm()
    arguments = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0}
    assert torch.equal(model.generate(PROMPTS, **arguments), whole.generate(PROMPTS, **arguments))


def hidden(model: Any) -> Any:
    with torch.no_grad():
        return model.model(PROMPTS).last_hidden_state


def check_refusals(folder: Path) -> None:
    sentence = (
        r"the layer model\.layers\.0\.mlp\.down_proj cannot be cut for 2 processes: activation_group, 512,"
    )
    with zemm.transformers.registered(activation="int8"), pytest.raises(ValueError, match=sentence):
        load(folder / "one group", tp_plan="auto")


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What two processes print that load all checkpoints."""
    folder = tmp_path_factory.mktemp("parallel")
    for kind, make in KINDS.items():
        save(folder / kind, llama(**SIZES), *make())
    return support_ranks.outputs(__file__, folder, RANKS)


@pytest.mark.xdist_group("transformers_parallel")
@pytest.mark.parametrize("case", [*KINDS, "refusals"])
def test_two_processes(outputs: list[str], case: str) -> None:
    for output in outputs:
        assert f"{case}: ok" in output.splitlines(), output


def main(folder: Path) -> None:
    transformers.utils.logging.disable_progress_bar()
    dist.init_process_group("gloo")
    with zemm.transformers.registered(activation="int8"):
        for kind in KINDS:
            if kind != "one group":
                check(folder / kind)
            print(f"{kind}: ok", flush=True)
    check_refusals(folder)
    print("refusals: ok", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
