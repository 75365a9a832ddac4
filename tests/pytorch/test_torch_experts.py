# SPDX-License-Identifier: Apache-2.0
"""A mixture of experts as one operator, torch.ops.zemm.experts: what is between the products, types, numbers
of rows, programs of torch."""

import copy
import io
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import zemm
from support_checkpoints import torch
from support_small_layers import expected as expected_weights
from zemm._layers.experts_step import ExpertsPrimitiveDesc
from zemm._layers.gate import Gate
from zemm.torch import _experts_call
from zemm.torch._expert_places import Packed
from zemm.torch._gates import between, gate_of
from zemm.torch._quant_experts import QuantExperts, QuantExpertsOfRows

EXPERTS, K, WIDTH, N = 5, 64, 96, 128
F = torch.nn.functional


def halves(gate: Any) -> Any:
    def apply(_: Any, rows: torch.Tensor) -> torch.Tensor:
        x, up = rows.chunk(2, dim=-1)
        made: torch.Tensor = gate(x, up)
        return made

    return apply


def limited(x: torch.Tensor, up: torch.Tensor) -> Any:
    return F.silu(x.clamp(max=7)) * up.clamp(-7, 7)


def swiglu(x: torch.Tensor, up: torch.Tensor) -> Any:
    x = x.clamp(max=7)
    return (up.clamp(-7, 7) + 1) * x * torch.sigmoid(1.702 * x)


GATES: dict[str, Any] = {
    "silu": halves(lambda x, up: F.silu(x) * up),
    "gelu": halves(lambda x, up: F.gelu(x) * up),
    "gelu by tanh": halves(lambda x, up: F.gelu(x, approximate="tanh") * up),
    "relu": halves(lambda x, up: F.relu(x) * up),
    "limits": halves(limited),
    "swiglu": halves(swiglu),
    "swiglu of columns side by side": lambda _, rows: swiglu(rows[..., ::2], rows[..., 1::2]),
    "squared relu without gates": lambda x: F.relu(x).square(),
    "silu without gates": F.silu,
}


class Original(torch.nn.Module):
    """A module behind Transformers' experts interface, as far as zemm asks it."""

    def __init__(self, function: Any, has_gate: bool) -> None:
        super().__init__()
        self.has_gate, self.limit, self.alpha = has_gate, 7.0, 1.702
        if has_gate:
            self._apply_gate = types.MethodType(function, self)
        else:
            self.act_fn = function


def original_of(name: str) -> Original:
    return Original(GATES[name], "without" not in name)


def layers(has_gate: bool = True, has_bias: bool = True, **more: Any) -> tuple[zemm.Linear, zemm.Linear]:
    rng = np.random.default_rng(0)
    w = [
        rng.standard_normal((EXPERTS, *shape), np.float32) / 8
        for shape in ((K, WIDTH * (1 + has_gate)), (WIDTH, N))
    ]
    bias = rng.standard_normal((EXPERTS, w[0].shape[-1]), np.float32)
    up, down = (
        zemm.Linear.from_float(values, own, bits=8, group=32, **more)
        for values, own in zip(w, (bias if has_bias else None, None), strict=True)
    )
    return up, down


def made(name: str = "silu", columns: Any = (None, None), **more: Any) -> QuantExperts:
    up, down = layers("without" not in name, **more)
    return QuantExperts(Packed(up, columns[0]), Packed(down, columns[1]), original_of(name))


def tokens(count: int, top_k: int = 3, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(count)
    x = torch.randn(count, K, generator=generator).to(dtype)
    index = torch.rand(count, EXPERTS, generator=generator).argsort(-1)[:, :top_k]
    return x, index, torch.rand(count, top_k, generator=generator).to(dtype)


def expected(
    module: QuantExperts, x: torch.Tensor, index: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    """The result, one row after the other, with the layers' own calls for an expert, in float32."""
    y = torch.zeros(len(x), N)
    for token, chosen in enumerate(index.tolist()):
        for k, expert in enumerate(chosen):
            row = x[token : token + 1].float()
            for part in (module.up, module.down):
                assert part.layer is not None
                row = row if part.columns is None else row[:, part.columns[expert]]
                row = part.layer(row, expert=expert)
                row = between(module.original, row) if part is module.up else row
            y[token] += weights[token, k].float() * row[0]
    return y


def assert_near(y: torch.Tensor, wanted: torch.Tensor, error: float) -> None:
    assert y.shape == wanted.shape
    assert (y.float() - wanted).abs().max() <= error * wanted.abs().max()


@pytest.mark.parametrize("name", GATES)
def test_gates(name: str) -> None:
    """Each is found, and is what the module does."""
    module, given = made(name), tokens(9)
    assert module.gate == gate_of(module.original) is not None
    assert_near(module(*given), expected(module, *given), 1e-5)


def test_each_element_of_a_gate() -> None:
    """Of no number of elements in particular, from numbers that overflow to denormal ones."""
    for name in GATES:
        original = original_of(name)
        gate = gate_of(original)
        assert gate is not None
        rows = torch.randn(3, 602) * torch.tensor([[1e-15], [1.0], [100.0]])
        wanted = between(original, rows.double())
        error = (torch.from_numpy(gate(rows.numpy())) - wanted).abs().amax(-1)
        assert (error <= 1e-6 * wanted.abs().amax(-1)).all(), name
        assert Gate.of_text(gate.text) == gate
    silu = Gate()(np.float32([[np.nan, np.inf, -200, 1, 1, 1]]))
    np.testing.assert_allclose(silu, np.float32([[np.nan, np.inf, 0]]), atol=1e-30)


def test_a_gate_that_zemm_does_not_know() -> None:
    module, given = made(), tokens(9)
    other = Original(halves(lambda x, up: torch.sin(x) * up), True)
    module = QuantExperts(Packed(module.up.layer), Packed(module.down.layer), other)  # type: ignore[arg-type]
    assert module.gate is None
    assert_near(module(*given), expected(module, *given), 1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("activation", ["f32", "bf16", "f16", "int8"])
def test_types(dtype: torch.dtype, activation: str) -> None:
    module, given = made(activation=activation), tokens(9, dtype=dtype)
    y = module(*given)
    assert y.dtype is dtype
    rounding = 0.02 if dtype is torch.bfloat16 or activation == "bf16" else 0.003
    assert_near(
        y, expected(module, *given), 1e-5 if dtype is torch.float32 and activation == "f32" else rounding
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_columns(dtype: torch.dtype) -> None:
    """Each expert may take its inputs in an order of its own."""
    generator = torch.Generator().manual_seed(0)
    columns = [
        torch.stack([torch.randperm(k, generator=generator) for _ in range(EXPERTS)]) for k in (K, WIDTH)
    ]
    for chosen in (columns, (columns[0], None), (None, columns[1])):
        module, given = made(columns=chosen), tokens(9, dtype=dtype)
        assert_near(module(*given), expected(module, *given), 1e-5 if dtype is torch.float32 else 0.02)


@pytest.mark.parametrize("count", [1, 2, 33, 200])
def test_numbers_of_tokens(count: int) -> None:
    module, given = made(), tokens(count)
    assert_near(module(*given), expected(module, *given), 1e-5)


def test_all_tokens_to_one_expert() -> None:
    module, (x, index, weights) = made(), tokens(20, 1)
    for expert in range(EXPERTS):
        index = torch.full_like(index, expert)
        assert_near(module(x, index, weights), expected(module, x, index, weights), 1e-5)


def test_tensors_that_are_not_dense() -> None:
    module, (x, index, weights) = made(), tokens(9)
    wanted = module(x, index, weights)
    torch.testing.assert_close(module(x.T.contiguous().T, index.int(), weights.double()), wanted)
    torch.testing.assert_close(module(x, index.repeat(1, 2)[:, :3], weights), wanted)


def test_refusals() -> None:
    module, (x, index, weights) = made(), tokens(9)
    for wrong in (EXPERTS, -1):
        bad = index.clone()
        bad[4, 1] = wrong
        with pytest.raises(ValueError, match=f"top_k_index has expert {wrong} of 5"):
            module(x, bad, weights)
    with pytest.raises(
        ValueError, match=r"hidden_states have shape \(9, 63\), the experts take \[tokens, 64\]"
    ):
        module(x[:, 1:], index, weights)
    with pytest.raises(ValueError, match=r"top_k_weights \(9, 2\), not \[9, k\] both"):
        module(x, index, weights[:, 1:])
    with pytest.raises(ValueError, match="hidden_states"):
        module(x.requires_grad_(), index, weights)
    assert module(x.detach()[:0], index[:0], weights[:0]).shape == (0, N)
    layers = module.up._tensors(), module.down._tensors(), None, None
    with pytest.raises(ValueError, match="top_k_weights"):
        torch.ops.zemm.experts(x.detach(), index, weights.requires_grad_(), *layers, Gate().text, K, N)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"tokens": 0}, "tokens is 0, not from 1 to"),
        ({"tokens": 1 << 20, "top_k": 1 << 12}, "1048576 tokens with 4096 experts each are too many rows"),
        ({"src_type": "s8"}, "a step has data type s8, not f32, f16 or bf16"),
        ({"activation": 5}, "activation is 5, not from 0 to 4"),
    ],
)
def test_refusals_of_a_step(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ExpertsPrimitiveDesc(
            zemm.Engine("cpu"), "gate", **{"tokens": 2, "width": 8, **Gate().values, **wrong}
        )


def floats_of(w: Any, dtype: Any, scaling: Any, activation: Any) -> zemm.Linear:
    values, scales = zemm.quantize_floats(np.ascontiguousarray(w.swapaxes(-1, -2)), dtype, scaling)
    return zemm.Linear.from_quantized(values, scales, transposed=True, activation=activation)


FORMS: dict[str, Callable[[Any, Any], zemm.Linear]] = {
    "s8": lambda w, a: zemm.Linear.from_float(w, bits=8, group=32, symmetric=True, activation=a),
    "u8": lambda w, a: zemm.Linear.from_float(w, bits=8, group=16, activation=a),
    "s4": lambda w, a: zemm.Linear.from_float(w, bits=4, group=None, symmetric=True, activation=a),
    "u4": lambda w, a: zemm.Linear.from_float(w, bits=4, group=32, scale_dtype="f16", activation=a),
    "u3": lambda w, a: zemm.Linear.from_float(w, bits=3, group=32, activation=a),
    "u2": lambda w, a: zemm.Linear.from_float(w, bits=2, group=32, activation=a),
    "mxfp8": lambda w, a: floats_of(w, "f8_e4m3", "mx", a),
    "mxfp4": lambda w, a: floats_of(w, "f4_e2m1", "mx", a),
    "nvfp4": lambda w, a: floats_of(w, "f4_e2m1", "nvfp4", a),
}


OF_FORM = (
    "s8-int8 u8-f16 s4-int8 u4-f32 u4-f16 u4-bf16 u4-int8 u3-bf16 u2-int8 mxfp8-bf16 mxfp4-f32 nvfp4-f16"
)


@pytest.mark.parametrize(("form", "activation"), [case.split("-") for case in OF_FORM.split()])
def test_forms(form: str, activation: Any) -> None:
    """Weights of each form beside float64: groups of few rows beside larger ones, an expert without rows, and
    a token whose weights are NaN."""
    rng = np.random.default_rng(1)
    layers = [
        FORMS[form](rng.standard_normal((9, k, n), np.float32), activation) for k, n in ((96, 64), (32, 40))
    ]
    module = QuantExperts(*(Packed(layer) for layer in layers), original_of("silu"))
    up, down = (torch.from_numpy(np.asarray(expected_weights(layer, np.float64))) for layer in layers)
    for count in (1, 60):
        x, weights = torch.from_numpy(rng.standard_normal((count, 96), np.float32)), torch.rand(count, 2)
        index = torch.stack([torch.arange(count) % 7, torch.full((count,), 8)], -1)  # 7: without rows
        rows = torch.einsum("tk,tsko->tso", x.double(), up[index])
        gate, values = rows.chunk(2, -1)
        wanted = torch.einsum("tsk,tsko->tso", F.silu(gate) * values, down[index])
        wanted = torch.einsum("tso,ts->to", wanted, weights.double())
        assert_near(module(x, index, weights), wanted, {"f32": 1e-5, "int8": 0.05}.get(activation, 0.02))
        weights[0] = torch.nan
        y = module(x, index, weights)
        assert y[0].isnan().all()
        assert not y[1:].isnan().any()


ODD_EXPERTS: dict[str, tuple[int, int, int, int | None, bool]] = {
    # name: features, width, group, elements that share a scale of activations, with columns in another order
    "groups": (64, 96, 32, None, False),
    "a group of all": (100, 70, 100, 100, False),
    "short groups": (96, 48, 48, 16, False),
    "long groups": (512, 256, 256, 256, False),
    "columns": (64, 96, 32, None, True),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ODD_EXPERTS)
def test_steps_quantise_as_layers_do(monkeypatch: pytest.MonkeyPatch, name: str, dtype: torch.dtype) -> None:
    """As a chain in which reorders quantise, to the bit. Rows with NaN, infinity and zeros, too."""
    k, width, group, activation_group, has_columns = ODD_EXPERTS[name]
    rng = np.random.default_rng(0)
    shapes = (k, 2 * width), (width, N)
    how: dict[str, Any] = {"bits": 4, "activation": "int8", "activation_group": activation_group}
    both = [
        zemm.Linear.from_float(
            rng.standard_normal((EXPERTS, *shape), np.float32), group=min(group, shape[0]), **how
        )
        for shape in shapes
    ]
    columns = [
        torch.from_numpy(rng.permuted(np.tile(np.arange(n), (EXPERTS, 1)), axis=1)) for n in (k, width)
    ]
    packed = [Packed(layer, own if has_columns else None) for layer, own in zip(both, columns, strict=True)]
    module = QuantExperts(*packed, original_of("silu"))
    for count in (1, 5, 300):
        _, index, weights = tokens(count)
        x = torch.randn(count, k).to(dtype)
        if count == 5:
            x[0, 3], x[1, 5], x[2] = math.nan, -math.inf, 0
        y = module(x, index, weights.to(dtype))
        with monkeypatch.context() as patch:
            patch.setattr(_experts_call, "_quantised", lambda *_: _experts_call._Quantised({}, {}))
            for part in (module.up, module.down):
                part.layer._calls.kept.experts.clear()
            wanted = module(x, index, weights.to(dtype))
        for part in (module.up, module.down):
            part.layer._calls.kept.experts.clear()
        assert torch.equal(y.nan_to_num(), wanted.nan_to_num())


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"group": 0}, "group is 0, not from 1"),
        ({"group": 48}, "group is 48 and sums_group 32: neither divides the other"),
        ({"dst_type": "bf16"}, "a step that quantises f32 takes rows of bf16"),
    ],
)
def test_refusals_of_a_step_that_quantises(wrong: dict[str, Any], sentence: str) -> None:
    fields = {"tokens": 2, "width": 96, "is_quantised": True, "group": 32, "sums_group": 32}
    with pytest.raises(ValueError, match=sentence):
        ExpertsPrimitiveDesc(zemm.Engine("cpu"), "gather", **fields | wrong)


def made_of_rows(**more: Any) -> QuantExpertsOfRows:
    """As for Llama 4's experts."""
    up, down = layers(has_bias=False, **more)
    original = torch.nn.Module()
    original.act_fn = F.silu  # type: ignore[assignment]
    return QuantExpertsOfRows(Packed(up), Packed(down), original)


def rows_of(count: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Those of all tokens for each expert, of which two are chosen."""
    x, index, weights = tokens(count, 2, dtype)
    rows = torch.zeros(EXPERTS, count, K, dtype=dtype)
    rows[index, torch.arange(count)[:, None]] = x[:, None] * weights[..., None]
    return rows.view(-1, K)


@pytest.mark.parametrize("in_steps", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rows_of_all_experts(dtype: torch.dtype, in_steps: bool) -> None:
    """Those that are 0 give 0, also for experts without tokens. NaN stays in its row."""
    module, rows = made_of_rows(activation="f32"), rows_of(9, dtype)
    assert module.gate == gate_of(original_of("silu"))
    if in_steps:
        module._gate_text = None
    rows[:9] = 0
    experts = torch.arange(EXPERTS).repeat_interleave(9)[:, None]
    wanted = expected(module, rows, experts, torch.ones(len(rows), 1))
    with torch.inference_mode():
        y = module(rows)
        assert y.dtype is dtype
        assert_near(y, wanted, 1e-5 if dtype is torch.float32 else 1e-2)
        assert y.any(-1).sum() == rows.any(-1).sum() < 18
        assert not module(torch.zeros_like(rows)).any()
        assert module(rows[:0]).shape == (0, N)
        rows[3, 0] = torch.nan
        is_nan = module(rows).isnan().any(-1)
    assert is_nan.nonzero().tolist() == [[3]]


@pytest.mark.parametrize("of_rows", [False, True])
def test_a_compiled_program_is_one_graph(of_rows: bool) -> None:
    """With any number of tokens, and without being compiled again for each."""
    module = made_of_rows(activation="int8") if of_rows else made(activation="int8")
    compiled = torch.compile(module, fullgraph=True, dynamic=True)
    counters = torch._dynamo.utils.counters["stats"]
    graphs = []
    with torch.no_grad():
        for count in (7, 2, 40):
            given = (rows_of(count),) if of_rows else tokens(count)
            torch.testing.assert_close(compiled(*given), module(*given), rtol=0, atol=0)
            graphs.append(counters["unique_graphs"])
    assert graphs == graphs[:1] * 3


def test_an_exported_program() -> None:
    """It has the layers, and takes any number of tokens."""
    module = made()
    rows = torch.export.Dim("tokens", min=2, max=4096)
    program = torch.export.export(module, tokens(7), dynamic_shapes=({0: rows},) * 3)
    assert [n.target for n in program.graph.nodes if n.op == "call_function"] == [
        torch.ops.zemm.experts.default
    ]
    file = io.BytesIO()
    torch.export.save(program, file)
    wanted = module(*tokens(30))
    del module, program
    file.seek(0)
    torch.testing.assert_close(torch.export.load(file).module()(*tokens(30)), wanted, rtol=0, atol=0)


def test_vmap() -> None:
    module = made()
    x, index, weights = (torch.stack(parts) for parts in zip(*(tokens(6) for _ in range(3)), strict=True))
    x = x * torch.tensor([1, 2, 3])[:, None, None]
    y = torch.func.vmap(module)(x, index, weights)
    torch.testing.assert_close(y[2], module(x[2], index[2], weights[2]))


def test_a_copy() -> None:
    module, given = made(), tokens(5)
    torch.testing.assert_close(copy.deepcopy(module).to(torch.bfloat16)(*given), module(*given))


def test_another_device_is_refused() -> None:
    with pytest.raises(ValueError, match="ExpertsLayer takes tensors of the host and cannot be moved"):
        made().to("meta")
