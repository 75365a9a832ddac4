# SPDX-License-Identifier: Apache-2.0
"""from_pretrained() by two processes, of quantised checkpoints: each has a part of each layer, and a part of
each expert or some of the experts."""

import sys
from pathlib import Path
from typing import Any

import pytest
import support_ranks
import zemm
from support_checkpoints import PROMPTS, llama, load, logits, save, torch, transformers
from support_experts import mixture
from support_experts import save as save_mixture
from test_transformers import awq, gptq
from test_transformers_experts import experts_of, save_gpt_oss
from torch import distributed as dist
from zemm.torch._compressed import Checkpoint
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
TENSOR, EXPERT = {"tp_size": RANKS}, {"tp_size": RANKS, "ep_size": RANKS}
MIXTURES: dict[str, tuple[str, dict[str, int]]] = {  # the folder and how it is loaded
    "Mixtral, GPTQ, parts of experts": ("Mixtral", TENSOR),
    "Mixtral, GPTQ, whole experts": ("Mixtral", EXPERT),
    "Qwen3Moe, act-order, whole experts": ("Qwen3Moe", EXPERT),
    "GptOss, MXFP4, whole experts": ("GptOss", EXPERT),
    "Llama4Text, GPTQ, parts of experts": ("Llama4Text", TENSOR),
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


def check_mixture(folder: Path, sizes: dict[str, int]) -> None:
    """Each process has half of the bytes."""
    whole, model = load(folder), load(folder, distributed_config=sizes)
    assert experts_of(model)
    for own, all_of_it in zip(experts_of(model), experts_of(whole), strict=True):
        for part, layer in ((own.up, all_of_it.up), (own.down, all_of_it.down)):
            assert part.layer.weights.nbytes * RANKS == layer.layer.weights.nbytes
        with pytest.raises(NotImplementedError, match="this process has a part of it: save the model before"):
            own._store("experts", Checkpoint())
    expected = logits(whole)
    assert (logits(model) - expected).norm() < 1e-5 * expected.norm()


def hidden(model: Any) -> Any:
    with torch.no_grad():
        return model.model(PROMPTS).last_hidden_state


def check_refusals(folder: Path) -> None:
    sentence = (
        r"the layer model\.layers\.0\.mlp\.down_proj cannot be cut for 2 processes: activation_group, 512,"
    )
    with zemm.transformers.registered(activation="int8"), pytest.raises(ValueError, match=sentence):
        load(folder / "one group", tp_plan="auto")
    sentence = r"the experts model\.layers\.1\.mlp\.experts cannot be cut for 2 processes: the last layers"
    with zemm.transformers.registered(), pytest.raises(ValueError, match=sentence):
        load(folder / "Qwen3Moe", distributed_config=TENSOR)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What two processes print that load all checkpoints."""
    folder = tmp_path_factory.mktemp("parallel")
    for kind, make in KINDS.items():
        save(folder / kind, llama(**SIZES), *make())
    for kind, act_order in (("Mixtral", False), ("Qwen3Moe", True), ("Llama4Text", False)):
        model = mixture(kind, intermediate_size=256, moe_intermediate_size=256)
        save_mixture(folder / kind, model, *gptq(act_order=act_order))
    (folder / "GptOss").mkdir()
    save_gpt_oss(folder / "GptOss")
    return support_ranks.outputs(__file__, folder, RANKS)


@pytest.mark.xdist_group("transformers_parallel")
@pytest.mark.parametrize("case", [*KINDS, *MIXTURES, "refusals"])
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
    with zemm.transformers.registered():
        for case, (kind, sizes) in MIXTURES.items():
            check_mixture(folder / kind, sizes)
            print(f"{case}: ok", flush=True)
    check_refusals(folder)
    print("refusals: ok", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
