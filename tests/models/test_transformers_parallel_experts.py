# SPDX-License-Identifier: Apache-2.0
"""zemm.torch.parallel with experts: parts of layers, and two and four processes that have a part each."""

import copy
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import support_ranks
import zemm
from support_checkpoints import logits, torch, transformers
from support_experts import mixture
from torch import distributed as dist
from zemm.torch.parallel import ExpertParallel, TensorParallelExperts, parallelize, shard

if transformers.__version__.startswith("4."):
    pytest.skip("needs Transformers 5", allow_module_level=True)

EXPERTS, K, N, GROUP = 4, 64, 96, 16
QUANTISED: dict[str, dict[str, Any]] = {
    "u4, int8": {"bits": 4, "activation": "int8"},
    "s8, one scale a column": {"bits": 8, "group": None, "symmetric": True},
}


def layer_of(kind: str) -> zemm.Linear:
    rng = np.random.default_rng(0)
    w = rng.standard_normal((EXPERTS, K, N), np.float32)
    bias = rng.standard_normal((EXPERTS, N), np.float32)
    if kind == "f8 with one scale":
        return zemm.Linear.from_quantized(torch.from_numpy(w).to(torch.float8_e4m3fn), 0.5, bias=bias)
    if kind == "factors":
        codes = rng.integers(0, 256, (EXPERTS, K, N // 2), np.uint8)
        scales, factors = rng.integers(1, 64, (EXPERTS, K // 8, N), np.uint8), w[:, :2] / 64
        return zemm.Linear.from_quantized(codes, scales, scale_factors=factors, weights_dtype="u4", bias=bias)
    return zemm.Linear.from_float(w, bias, **{"group": GROUP, **QUANTISED[kind]})


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("kind", [*QUANTISED, "f8 with one scale", "factors"])
def test_parts(kind: str, size: int) -> None:
    layer, x = layer_of(kind), torch.randn(EXPERTS, 3, K)
    y = layer(x)

    def parts(along: Any, **more: Any) -> list[zemm.Linear]:
        return [shard(layer, along, rank, size, **more) for rank in range(size)]

    of_experts = [part(piece) for part, piece in zip(parts("E"), x.chunk(size), strict=True)]
    assert torch.equal(torch.cat(of_experts), y)
    assert torch.equal(torch.cat([part(x) for part in parts("N")], -1), y)
    halves = [part(x).chunk(2, -1) for part in parts("N", blocks=2)]
    assert torch.equal(torch.cat([half for both in zip(*halves, strict=True) for half in both], -1), y)
    summed = sum(part(piece) for part, piece in zip(parts("K"), x.chunk(size, -1), strict=True))
    torch.testing.assert_close(summed, y, rtol=1e-2, atol=0.1)
    assert [part.bias is not None for part in parts("K")] == [True] + [False] * (size - 1)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("E", 0, 3), "have 4 experts, which 3 does not divide"),
        (("K", 0, 8), "the group of scales, 16, does not divide the 8 rows of a part"),
        (("N", 0, 5), "have 96 columns, which 5 does not divide"),
    ],
)
def test_refusals(arguments: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        shard(layer_of("u4, int8"), *arguments)


def test_one_matrix_has_no_experts() -> None:
    layer = zemm.Linear.from_float(np.ones((K, N), np.float32))
    with pytest.raises(ValueError, match=r"\(64, 96\) are one matrix, not \[E, K, N\]"):
        shard(layer, "E", 0, 2)


# ---- two and four processes


MODELS = ("Mixtral", "Qwen3Moe", "GptOss")  # gates in one block and beside columns; biases
WIDTH = 256
CALLS = [
    *((0, 2, torch.float32), (1, 2, torch.float32), (40, 1, torch.float32)),
    *((33, 1, torch.bfloat16), (33, 2, torch.bfloat16)),
]
STYLES = {"tensor": TensorParallelExperts, "expert": ExpertParallel}


@cache
def model_of(kind: str, **options: Any) -> Any:
    model = mixture(kind, intermediate_size=WIDTH, moe_intermediate_size=WIDTH)
    for name, parameter in model.named_parameters():
        if "bias" in name:
            torch.nn.init.normal_(parameter)
    zemm.torch.quantize_(model, group=32, filter=lambda _, name: "experts" in name, **options)
    return model


def experts_of(model: Any) -> Any:
    return model.model.layers[1].mlp.experts


def tokens(count: int, top_k: int, dtype: Any = torch.float32) -> tuple[torch.Tensor, ...]:
    """The same in all processes."""
    generator = torch.Generator().manual_seed(count)
    index = torch.rand(count, EXPERTS, generator=generator).argsort(-1)[:, :top_k]
    weights = torch.rand(count, top_k, generator=generator)
    return torch.randn(count, K, generator=generator).to(dtype), index, weights.to(dtype)


def applied(style: Any, whole: Any, mesh: Any) -> Any:
    part = style._apply(copy.deepcopy(whole), mesh)
    for own, all_of_it in ((part.up, whole.up), (part.down, whole.down)):
        assert own.layer.weights.nbytes * mesh.size() == all_of_it.layer.weights.nbytes
    return part


def check_experts(mesh: Any, kind: str, style: str) -> None:
    """With whole experts and one for each token the bits are those of one process."""
    whole = experts_of(model_of(kind))
    part = applied(STYLES[style](), whole, mesh)
    for count, top_k, dtype in CALLS:
        given = tokens(count, top_k, dtype)
        y, expected = part(*given), whole(*given)
        if style == "expert" and top_k == 1:
            assert torch.equal(y, expected)
        assert_near(y, expected)


def assert_near(y: Any, expected: Any) -> None:
    assert (y.dtype, y.shape) == (expected.dtype, expected.shape)
    error = 1e-5 if expected.dtype is torch.float32 else 1e-2
    assert (y - expected).norm() <= error * expected.norm()


def check_model(mesh: Any, kind: str, style: str) -> None:
    """By the model's own plan. That of gpt-oss cuts no experts."""
    whole, model = model_of(kind), copy.deepcopy(model_of(kind))
    plan = {"model.layers.*.mlp.experts": "moe_tp_experts"} if style == "tensor" else model.ep_plan
    if style == "tensor" and kind != "GptOss":
        assert plan.items() <= model.tp_plan.items()
    cut = parallelize(model, mesh, plan)
    assert set(cut.values()) == {"moe_tp_experts" if style == "tensor" else "grouped_gemm"}
    assert len(cut) == (1 if kind == "Qwen3Moe" else 2)
    assert_near(logits(model), logits(whole))


def compiled(mesh: Any) -> None:
    for style in STYLES.values():
        part = applied(style(), experts_of(model_of("GptOss")), mesh)
        graph = torch.compile(part, fullgraph=True, dynamic=True, backend="aot_eager")
        with torch.no_grad():
            for given in (tokens(33, 2), tokens(7, 2)):
                assert torch.equal(graph(*given), part(*given))
        torch._dynamo.reset()


def few_tokens(mesh: Any) -> None:
    """All tokens go to one process, and the others have none."""
    whole = experts_of(model_of("Mixtral"))
    part = applied(ExpertParallel(), whole, mesh)
    x, index, weights = tokens(3, 1)
    for expert in range(EXPERTS):
        given = x, torch.full_like(index, expert), weights
        assert torch.equal(part(*given), whole(*given))
        assert torch.equal(part(hidden_states=x, top_k_index=given[1], top_k_weights=weights), whole(*given))


def in_steps(mesh: Any) -> None:
    """With a function between the products that zemm does not know."""
    whole = copy.deepcopy(experts_of(model_of("Mixtral")))
    whole.gate = whole._gate_text = None
    for style in STYLES.values():
        part = applied(style(), whole, mesh)
        for given in (tokens(9, 1), tokens(9, 2), tokens(9, 2, torch.bfloat16), tokens(0, 2)):
            assert_near(part(*given), whole(*given))


def rows(mesh: Any) -> None:
    """Llama 4's experts have rows of all tokens."""
    model = mixture("Llama4Text", intermediate_size=WIDTH)
    zemm.torch.quantize_(model, group=32, filter=lambda _, name: "experts" in name)
    whole, given = model.model.layers[1].feed_forward.experts, tokens(EXPERTS * 5, 1)[0]
    given[::3] = 0
    for style in STYLES.values():
        assert_near(applied(style(), whole, mesh)(given), whole(given))
    expected = logits(model)
    cut = parallelize(model, mesh)
    assert list(cut.values()) == 2 * ["moe_tp_experts"]
    assert_near(logits(model), expected)


def columns(mesh: Any) -> None:
    """In another order each expert has its own."""
    whole = copy.deepcopy(experts_of(model_of("Mixtral")))
    whole.up.columns = torch.stack([torch.randperm(K) for _ in range(EXPERTS)])
    dist.broadcast(whole.up.columns, 0)
    given = tokens(9, 1)
    assert_near(applied(TensorParallelExperts(), whole, mesh)(*given), whole(*given))
    whole.down.columns = torch.stack([torch.arange(WIDTH).roll(i) for i in range(EXPERTS)])
    assert torch.equal(applied(ExpertParallel(), whole, mesh)(*given), whole(*given))
    with pytest.raises(ValueError, match=r"in another order \(act-order\), which other processes have"):
        TensorParallelExperts()._apply(whole, mesh)


def refused(mesh: Any) -> None:
    """Before anything is cut, and calls by each process."""
    model = model_of("Mixtral", activation="int8", activation_group=WIDTH)
    with pytest.raises(ValueError, match=r"layers\.0\.mlp\.experts: activation_group, 256, does not divide"):
        parallelize(model, mesh, {"model.layers.*.mlp.experts": "moe_tp_experts"})
    whole = copy.deepcopy(experts_of(model))
    part = applied(ExpertParallel(), whole, mesh)
    with pytest.raises(ValueError, match="the experts are cut already"):
        ExpertParallel()._apply(part, mesh)
    x, index, weights = tokens(5, 2)
    for steps in (False, True):
        if steps:
            part._gate_text = None
        for wrong in (-1, EXPERTS):
            index[3, 1] = wrong
            with pytest.raises(ValueError, match=f"top_k_index has expert {wrong} of 4"):
                part(x, index, weights)
    whole.original._apply_gate = lambda rows: rows.chunk(2, -1)[0].sin()
    with pytest.raises(ValueError, match="zemm does not know what these experts do between their layers"):
        TensorParallelExperts()._apply(whole, mesh)
    with pytest.raises(ValueError, match="module is a Linear, not experts that zemm has quantised"):
        ExpertParallel()._apply(torch.nn.Linear(2, 2), mesh)


CASES: dict[str, Callable[[Any], None]] = {
    case.__name__: case for case in (compiled, few_tokens, in_steps, rows, columns, refused)
}
for _kind in MODELS:
    for _style in STYLES:
        CASES[f"{_kind}, {_style}"] = partial(check_experts, kind=_kind, style=_style)
        CASES[f"{_kind} by plan, {_style}"] = partial(check_model, kind=_kind, style=_style)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What four processes print that run all cases, in pairs and together."""
    return support_ranks.outputs(__file__, tmp_path_factory.mktemp("experts"), 4)


@pytest.mark.xdist_group("torch_parallel_experts")
@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("case", CASES)
def test_processes(outputs: list[str], case: str, size: int) -> None:
    for output in outputs:
        assert f"{case}, {size}: ok" in output.splitlines(), output


def main() -> None:
    dist.init_process_group("gloo")
    meshes = dist.device_mesh.init_device_mesh("cpu", (2, 2), mesh_dim_names=("other", "pair"))
    for mesh in (meshes["pair"], dist.device_mesh.init_device_mesh("cpu", (4,))):
        for name, case in CASES.items():
            case(mesh)
            print(f"{name}, {mesh.size()}: ok", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
