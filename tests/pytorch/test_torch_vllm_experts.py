# SPDX-License-Identifier: Apache-2.0
"""zemm.vllm: experts of compressed-tensors, GPTQ and AWQ as vLLM loads them, by stand-ins for it."""

import copy
import importlib
import logging
from typing import Any

import numpy as np
import pytest
import support_vllm
import support_vllm_experts as interface
from support_torch import torch
from support_vllm_experts import AutoAWQConfig, AutoGPTQConfig, QuantizationArgs
from test_torch_vllm import words
from zemm.vllm import register

E, K, INNER = 3, 64, 32
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]
ACTIVATIONS = {
    "SILU": torch.nn.functional.silu,
    "GELU": torch.nn.functional.gelu,
    "GELU_TANH": lambda gates: torch.nn.functional.gelu(gates, approximate="tanh"),
}


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    support_vllm.install(monkeypatch, more=interface.MODULES)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    install(monkeypatch)
    register()
    register()  # vLLM may load a plugin twice
    assert not caplog.records


def awq_words(codes: np.ndarray) -> Any:
    """Codes packed along the last dimension in AWQ's order."""
    return words(codes.reshape(*codes.shape[:-1], -1, 8)[..., AWQ_ORDER], 4)[..., 0]


def method_of(quant: Any, **changes: Any) -> Any:
    """What vLLM makes for experts of K inputs, and INNER features between their products."""
    moe = interface.FusedMoEConfig(**({"hidden_dim": K, "intermediate_size_per_partition": INNER} | changes))
    if isinstance(quant, AutoGPTQConfig | AutoAWQConfig):
        return quant.get_quant_method(moe)
    return interface.CompressedTensorsMoEMethod.get_moe_method(quant, moe)


def created(method: Any, on_input: bool = False) -> Any:
    layer = torch.nn.Module()
    layer.apply_router_weight_on_input = on_input
    method.create_weights(layer, E, K, INNER, params_dtype=method.moe.in_dtype, weight_loader=None)
    return layer


def loaded(method: Any, bits: int, symmetric: bool = True) -> tuple[Any, dict[str, Any]]:
    """A layer that the method has packed, and its weights [E, N, K] in float64."""
    layer, rng, real = created(method), np.random.default_rng(5), {}
    for name, n, k in (("w13", 2 * INNER, K), ("w2", K, INNER)):
        parts = {key.removeprefix(f"{name}_"): p for key, p in layer.named_parameters() if f"{name}_" in key}
        is_awq, is_gptq = isinstance(method, interface.AutoAWQMoEMethod), "bias" in parts
        groups = parts["weight_scale"].shape[2] if "weight_scale" in parts else parts["scales"].shape[1]
        codes = rng.integers(0, 2**bits, (E, n, k))
        scales = 2.0 ** rng.integers(-6, -3, (E, n, groups)) / 2 ** (bits - 4)
        middle = np.full((E, n, groups), 2 ** (bits - 1))
        points = middle if symmetric else rng.integers(0, 2**bits, middle.shape)
        if is_awq:
            parts["qweight"].copy_(awq_words(codes.transpose(0, 2, 1)))
            parts["qzeros"].copy_(awq_words(points.transpose(0, 2, 1)))
            parts["scales"].copy_(torch.from_numpy(scales).mT)
        elif is_gptq:
            parts["qweight"].copy_(words(codes, bits).mT)
            parts["scales"].copy_(torch.from_numpy(scales).mT)
        else:
            parts["weight_packed"].copy_(words(codes, bits))
            parts["weight_scale"].copy_(torch.from_numpy(scales))
        if "weight_zero_point" in parts:
            parts["weight_zero_point"].copy_(words(points.transpose(0, 2, 1), bits).mT)
        spread = [np.repeat(a, k // groups, 2) for a in (scales, points)]
        real[name] = torch.from_numpy(spread[0] * (codes - spread[1]))
    method.process_weights_after_loading(layer)
    assert not any(parameter.numel() for parameter in layer.parameters())  # vLLM's copies are freed
    return layer, real


def routed(dtype: Any) -> tuple[Any, Any, Any]:
    """Five tokens, two experts of each, as vLLM's router gives them."""
    generator = torch.Generator().manual_seed(6)
    x = torch.randint(-8, 9, (5, K), generator=generator).to(dtype) / 8
    ids = torch.rand(5, E, generator=generator).argsort(-1)[:, :2].to(torch.int32)
    return x, torch.rand(5, 2, generator=generator), ids


def check(method: Any, layer: Any, real: dict[str, Any], activation: str = "SILU") -> None:
    """The numbers, beside float64."""
    dtype = method.moe.in_dtype
    x, factors, ids = routed(dtype)
    got = method.apply(layer, x, factors, ids, None, None)
    expected = torch.zeros(5, K, dtype=torch.float64)
    for token, place in np.ndindex(*ids.shape):
        expert = int(ids[token, place])
        gates, ups = (real["w13"][expert] @ x[token].double()).chunk(2)
        made = real["w2"][expert] @ (ACTIVATIONS[activation](gates) * ups)
        expected[token] += factors[token, place].double() * made
    assert got.dtype == dtype
    tolerance = (1e-5 if dtype == torch.float32 else 2e-2) * float(expected.abs().max())
    torch.testing.assert_close(got.double(), expected, rtol=0, atol=tolerance)


@pytest.mark.each_value
@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("group", [32, 16, None])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("bits", [4, 8])
def test_compressed_tensors(
    bits: int, symmetric: bool, group: int | None, activation: str, dtype: Any
) -> None:
    quant = QuantizationArgs(bits, symmetric, "group" if group else "channel", group)
    method = method_of(quant, activation=interface.MoEActivation[activation], in_dtype=dtype)
    layer, real = loaded(method, bits, symmetric)
    check(method, layer, real, activation)
    assert method.get_fused_moe_quant_config(layer) is None
    assert not method.supports_eplb


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(("bits", "group"), [(4, 16), (4, -1), (8, 32)])
def test_gptq(bits: int, group: int) -> None:
    method = method_of(AutoGPTQConfig(bits, group))
    check(method, *loaded(method, bits))


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("has_points", [True, False])
@pytest.mark.parametrize(("group", "dtype"), [(32, torch.float32), (16, torch.bfloat16)])
def test_awq(has_points: bool, group: int, dtype: Any) -> None:
    method = method_of(AutoAWQConfig(4, group, has_points), in_dtype=dtype)
    check(method, *loaded(method, 4, symmetric=not has_points))


@pytest.mark.usefixtures("registered")
def test_one_node() -> None:
    """torch.compile keeps the experts of a layer together."""
    method = method_of(QuantizationArgs())
    layer, _ = loaded(method, 4)
    given = routed(torch.float32)

    def call(*tensors: Any) -> Any:
        return method.apply(layer, *tensors, None, None)

    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(*given), call(*given))


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("quant", "bits", "activation"),
    [(kind, 4, "int8") for kind in (QuantizationArgs, AutoGPTQConfig, AutoAWQConfig)]
    + [(kind, 8, "f32") for kind in (QuantizationArgs, AutoGPTQConfig)],
)
def test_quantised_activations(
    monkeypatch: pytest.MonkeyPatch, quant: Any, bits: int, activation: str
) -> None:
    monkeypatch.setenv("VLLM_CPU_INT4_W4A8", "1")
    layer, _ = loaded(method_of(quant(bits)), bits)
    assert {part.layer.activation for part in (layer.zemm.up, layer.zemm.down)} == {activation}


PARALLEL = interface.FusedMoEParallelConfig
LEFT: list[tuple[Any, dict[str, Any], str]] = [
    (QuantizationArgs(3), {}, "weights of 4 and 8 bits, not of 3"),
    (AutoGPTQConfig(3), {}, "weights of 4 and 8 bits, not of 3"),
    (QuantizationArgs(actorder="group"), {}, "takes no g_idx of experts"),
    (AutoGPTQConfig(desc_act=True), {}, "takes no g_idx of experts"),
    (AutoAWQConfig(group_size=-1), {}, "no scales of whole columns for experts of AWQ"),
    (QuantizationArgs(), {"in_dtype": torch.float64}, "takes activations of"),
    (AutoGPTQConfig(), {"moe_backend": "triton"}, "told to compute experts by triton"),
    (QuantizationArgs(), {"activation": interface.MoEActivation.SWIGLUOAI}, "gelu_tanh, not swigluoai"),
    (QuantizationArgs(), {"swiglu_limit": 7.0}, "without swiglu_limit"),
    (QuantizationArgs(), {"has_bias": True}, "without biases"),
    (QuantizationArgs(), {"is_lora_enabled": True}, "without biases and adapters"),
    (AutoGPTQConfig(), {"moe_parallel_config": PARALLEL(use_ep=True)}, "not some of the experts or tokens"),
    (QuantizationArgs(), {"moe_parallel_config": PARALLEL(dp_size=2)}, "not some of the experts or tokens"),
    (AutoAWQConfig(), {"has_bias": True}, "without biases"),
    (QuantizationArgs(), {"intermediate_size_per_partition": 36}, "multiples of 8, not 64 and 36"),
]


@pytest.mark.usefixtures("registered")
def test_what_is_left_to_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM computes it, or both say why they do not."""
    for quant, moe, reason in LEFT:
        with pytest.raises(NotImplementedError, match=f"{reason}.*vLLM itself says: No WNA16 MoE backend"):
            method_of(quant, **moe)
    monkeypatch.setattr(interface, "look_for_kernel", lambda: None)
    own = (
        interface.AutoGPTQMoEMethod,
        interface.AutoAWQMoEMethod,
        interface.CompressedTensorsWNA16MoEMethod,
    )
    assert all(type(method_of(quant, **moe)) in own for quant, moe, _ in LEFT)
    for quant in (QuantizationArgs(), AutoGPTQConfig(), AutoAWQConfig()):
        assert type(copy.deepcopy(method_of(quant))).__name__.startswith("Zemm")
    monkeypatch.setattr(importlib.import_module("vllm.envs"), "VLLM_DISABLED_KERNELS", ["ZemmExperts"])
    assert type(method_of(QuantizationArgs())) in own


@pytest.mark.usefixtures("registered")
def test_what_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="to what they give, not to their input"):
        created(method_of(QuantizationArgs()), on_input=True)
    method = method_of(AutoGPTQConfig())
    layer = created(method)
    layer.w2_bias[1, 2] = 1
    with pytest.raises(NotImplementedError, match="takes experts without biases"):
        method.process_weights_after_loading(layer)


@pytest.mark.parametrize("change", ["another class", "another method", "other words"])
def test_another_interface(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, change: str
) -> None:
    """Experts are left alone, and the kernels are registered."""
    install(monkeypatch)
    if change == "another class":
        monkeypatch.setattr(AutoGPTQConfig, "get_quant_method", lambda *_: None)
        line = "makes no AutoGPTQMoEMethod"
    elif change == "another method":
        monkeypatch.setattr(interface.FusedMoEMethodBase, "apply", lambda self, layer, x: x)
        line = "CompressedTensorsWNA16MoEMethod.apply takes self, layer, x"
    else:
        monkeypatch.setattr(importlib.import_module(interface.CONFIG), "FusedMoEConfig", PARALLEL)
        line = "FusedMoEParallelConfig has no activation"
    with caplog.at_level(logging.WARNING, "zemm"):
        register()
    assert "zemm registers no experts with vLLM" in caplog.text
    assert line in caplog.text
    choice = importlib.import_module(interface.WNA16)
    assert choice.CompressedTensorsWNA16MoEMethod is interface.CompressedTensorsWNA16MoEMethod
    linear = importlib.import_module("vllm.model_executor.kernels.linear")
    assert len(linear._POSSIBLE_KERNELS[support_vllm.PlatformEnum.CPU]) == 2
