# SPDX-License-Identifier: Apache-2.0
"""zemm.vllm: the plugin registers kernels, which multiply what vLLM loads in its layouts, by a stand-in of
vLLM's interface.
"""

import importlib.util
import logging
import os
from importlib.metadata import entry_points
from typing import Any

import numpy as np
import pytest
import support_vllm as interface
import zemm
from support_torch import torch
from zemm.vllm import register

K, N, GROUP = 64, 24, 32


def registered(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """The classes of kernels that the plugin puts first, for weights of few bits and of int8."""
    linear = interface.install(monkeypatch)
    register()
    register()  # vLLM may load a plugin twice
    found = []
    for table in (linear._POSSIBLE_KERNELS, linear._POSSIBLE_INT8_KERNELS):
        first, *others = table[interface.PlatformEnum.CPU]
        assert len(others) == 1
        found.append(first)
    return tuple(found)  # type: ignore[return-value]


def parameter(tensor: Any, **dims: int) -> Any:
    made = torch.nn.Parameter(tensor, requires_grad=False)
    made.__dict__.update(dims)
    return made


def words(codes: np.ndarray, bits: int) -> Any:
    """Codes packed into int32 along the last dimension, low bits first."""
    parts = codes.reshape(*codes.shape[:-1], -1, 32 // bits).astype(np.uint32)
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    return torch.from_numpy((parts << shifts).sum(-1, dtype=np.uint32).view(np.int32))


def config(**changes: Any) -> Any:
    types = importlib.import_module("vllm.scalar_type").scalar_types
    weight_type = getattr(types, changes.pop("weight", "uint4b8"))
    made = {
        "partition_weight_shape": (K, N),
        "act_type": torch.float32,
        "group_size": GROUP,
        "zero_points": False,
    }
    return interface.MPLinearLayerConfig(
        full_weight_shape=(K, N), weight_type=weight_type, **(made | changes)
    )


CASES = [
    (weight, layout, group)
    for weight in ("uint4", "uint8", "uint4b8", "uint8b128")
    for layout in ("compressed-tensors", "gptq")
    for group in (GROUP, -1)
] + [("uint4", "awq without zero points", GROUP)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("weight", "layout", "group"), CASES)
@pytest.mark.parametrize("n", [N, 8])
def test_weights_of_few_bits(
    monkeypatch: pytest.MonkeyPatch, weight: str, layout: str, group: int, dtype: Any, n: int
) -> None:
    kind, _ = registered(monkeypatch)
    rng, bits = np.random.default_rng(1), 8 if weight.startswith("uint8") else 4
    groups, has_points = K // group if group > 0 else 1, "b" not in weight and "awq" not in layout
    codes = rng.integers(0, 2**bits, (n, K))
    scales = torch.from_numpy(2.0 ** rng.integers(-6, -3, (n, groups))).to(dtype)
    points = rng.integers(0, 2**bits, (n, groups)) if has_points else np.full((n, groups), 2 ** (bits - 1))
    layer = torch.nn.Module()
    if layout != "compressed-tensors":  # [K / 8, N], [G, N], [G, N / 8]
        layer.w = parameter(words(codes, bits).T.contiguous(), input_dim=0, output_dim=1, packed_dim=0)
        layer.s = parameter(scales.T.contiguous(), input_dim=0, output_dim=1)
        layer.zp = parameter(words(points.T, bits), output_dim=1, packed_dim=1)
    else:  # [N, K / 8], [N, G], [N / 8, G]
        layer.w = parameter(words(codes, bits), input_dim=1, output_dim=0, packed_dim=1)
        layer.s = parameter(scales, input_dim=1, output_dim=0)
        layer.zp = parameter(words(points.T, bits).T.contiguous(), output_dim=0, packed_dim=0)
    c = config(weight=weight, act_type=dtype, group_size=group, zero_points=has_points)
    assert kind.can_implement(c) == (True, None)
    kernel = kind(c, "w", "s", "zp")
    kernel.process_weights_after_loading(layer)
    assert not layer.w.numel()
    assert not layer.s.numel()
    spread = [np.repeat(a, K // groups, 1) for a in (scales.double().numpy(), points)]
    real = torch.from_numpy(spread[0] * (codes - spread[1]))
    x = torch.from_numpy(rng.integers(-8, 9, (2, 3, K))).to(dtype)
    bias = torch.ones(n, dtype=dtype)
    got = kernel.apply_weights(layer, x, bias)
    assert got.dtype == dtype
    tolerance = 1e-5 if dtype == torch.float32 else 1e-2
    torch.testing.assert_close(got.double(), x.double() @ real.T + 1, rtol=tolerance, atol=tolerance * 8)


def test_quantised_activations(monkeypatch: pytest.MonkeyPatch) -> None:
    kind, _ = registered(monkeypatch)
    monkeypatch.setenv("VLLM_CPU_INT4_W4A8", "1")
    layer = torch.nn.Module()
    layer.w = parameter(words(np.full((N, K), 9), 4), input_dim=1, output_dim=0, packed_dim=1)
    layer.s = parameter(torch.ones(N, K // GROUP), input_dim=1, output_dim=0)
    kernel = kind(config(), "w", "s")
    kernel.process_weights_after_loading(layer)
    assert layer.zemm.layer.activation == "int8"
    assert layer.zemm.layer.activation_group == GROUP
    x = torch.randn(5, K)
    got = kernel.apply_weights(layer, x)
    torch.testing.assert_close(got, x.sum(1, keepdim=True).expand(5, N), rtol=0, atol=0.2)


@pytest.mark.parametrize("groups", [K // GROUP, 1])
def test_int4_by_int8(monkeypatch: pytest.MonkeyPatch, groups: int) -> None:
    """W4A8 of compressed-tensors: values of int4 in bytes, which the layer has under two names, and a scale
    for each row of x."""
    kind, _ = registered(monkeypatch)
    monkeypatch.setattr("zemm.engine._engines", [])
    monkeypatch.setattr(zemm.Engine, "count", lambda kind: 1)  # the default engine would be a GPU
    rng = np.random.default_rng(3)
    values = rng.integers(-8, 8, (N, K)).astype(np.int8)
    scales = torch.from_numpy(rng.uniform(0.1, 1, (N, groups))).float()
    layer = torch.nn.Module()
    layer.weight = layer.weight_packed = parameter(torch.from_numpy(values), input_dim=1, output_dim=0)
    layer.weight_scale = parameter(scales, input_dim=1, output_dim=0)
    c = config(weight="int4", group_size=K // groups)
    assert kind.can_implement(c) == (True, None)
    kernel = kind(c, "weight_packed", "weight_scale")
    kernel.process_weights_after_loading(layer)
    assert not layer.weight.numel()
    assert not layer.weight_packed.numel()
    assert layer.zemm.layer.engine.kind == "cpu"
    x = torch.randn(5, K)
    step = x.double().abs().amax(1, keepdim=True) / 127
    real = torch.from_numpy(values).double() * scales.double().repeat_interleave(K // groups, 1)
    want = (torch.round(x.double() / step) * step) @ real.T
    torch.testing.assert_close(kernel.apply_weights(layer, x).double(), want, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("scales", ["one", "channels", "fused"])
def test_int8(monkeypatch: pytest.MonkeyPatch, scales: str) -> None:
    """The numbers of a scale for each row: the largest element becomes 127."""
    _, kind = registered(monkeypatch)
    rng = np.random.default_rng(2)
    layer = torch.nn.Module()
    layer.logical_widths = [8, 16]
    layer.weight = parameter(torch.from_numpy(rng.integers(-127, 128, (N, K)).astype(np.int8)))
    made = {"one": [0.5], "channels": list(rng.uniform(0.1, 1, N)), "fused": [0.25, 0.5]}[scales]
    layer.weight_scale = parameter(
        torch.tensor(made)[:, None] if scales == "channels" else torch.tensor(made)
    )
    widths = {"one": N, "channels": 1, "fused": torch.tensor([8, 16])}[scales]
    real = layer.weight.double() * torch.tensor(made).double().repeat_interleave(widths)[:, None]
    names = ["weight", "weight_scale", "input_scale", "input_zero_point", "azp_adj"]
    c = interface.Int8ScaledMMLinearLayerConfig(False, scales == "channels", True)
    kernel = kind(c, names)
    kernel.process_weights_after_loading(layer)
    assert not layer.weight.numel()
    x = torch.randn(5, K)
    step = x.double().abs().amax(1, keepdim=True) / 127
    want = (torch.round(x.double() / step) * step) @ real.T
    torch.testing.assert_close(kernel.apply_weights(layer, x).double(), want, rtol=1e-4, atol=1e-2)


def test_what_is_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    kind, int8 = registered(monkeypatch)
    for changes, words_of_reason in [
        ({"weight": "float4_e2m1f"}, "takes weights of"),
        ({"act_type": torch.float64}, "takes activations of"),
        ({"weight": "uint8b128", "zero_points": True}, "takes zero points of"),
        ({"group_size": 48}, "vLLM has scales of whole groups only, but 48 does not divide 64 inputs"),
        ({"partition_weight_shape": (4304, N), "group_size": 128}, "128 does not divide 4304 inputs"),
        ({"partition_weight_shape": (60, N), "group_size": -1}, "multiples of 8, not 60"),
    ]:
        implements, reason = kind.can_implement(config(**changes))
        assert not implements
        assert words_of_reason in reason
    for static, symmetric in ((True, True), (False, False)):
        c = interface.Int8ScaledMMLinearLayerConfig(static, True, symmetric)
        assert not int8.can_implement(c)[0]


def test_vllm_is_left_alone(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """On another platform, without a device, and with another interface."""

    def check(linear: Any, line: str) -> None:
        caplog.clear()
        with caplog.at_level(logging.WARNING, "zemm"):
            register()
        assert line in caplog.text
        assert len(caplog.records) == bool(line)
        assert all(len(kernels) == 1 for kernels in linear._POSSIBLE_KERNELS.values())

    check(interface.install(monkeypatch, interface.PlatformEnum.CUDA), "")
    linear = interface.install(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(
            "zemm.vllm.Engine", lambda kind: (_ for _ in ()).throw(zemm.NoDeviceError("no CPU device"))
        )
        check(linear, "zemm registers no kernels with vLLM: no CPU device")
    linear = interface.install(monkeypatch)
    monkeypatch.setattr(linear, "MPLinearLayerConfig", interface.Int8ScaledMMLinearLayerConfig)
    check(linear, "Int8ScaledMMLinearLayerConfig has no act_type")
    linear = interface.install(monkeypatch)
    monkeypatch.delattr(linear, "MPLinearKernel")
    check(linear, "whose interface is not that of 0.32 and 0.33")


@pytest.mark.parametrize(
    ("name", "value", "cpus"),
    [
        ("GOMP_CPU_AFFINITY", "{0} {1}", {0, 1}),
        ("KMP_AFFINITY", "granularity=fine,explicit,proclist=[{0},{1}]", {0, 1}),
        ("OMP_PLACES", "{{{0},{1}}}", {0, 1}),
        ("OMP_PLACES", "cores", {0}),
        ("GOMP_CPU_AFFINITY", "99999", {0}),
    ],
)
def test_cpus_of_the_worker(monkeypatch: pytest.MonkeyPatch, name: str, value: str, cpus: set[int]) -> None:
    """The thread that OpenMP has bound to one CPU asks for the device with all CPUs of the worker."""
    interface.install(monkeypatch)
    allowed, seen = sorted(os.sched_getaffinity(0)), []
    first, last = allowed[0], allowed[-1]
    monkeypatch.setenv(name, value.format(first, last))
    monkeypatch.setattr("zemm.vllm.Engine", lambda kind: seen.append(os.sched_getaffinity(0)))
    try:
        os.sched_setaffinity(0, {first})
        register()
        assert os.sched_getaffinity(0) == {first}
    finally:
        os.sched_setaffinity(0, allowed)
    assert seen == [{(first, last)[i] for i in cpus}]


def test_entry_point() -> None:
    (plugin,) = entry_points(group="vllm.general_plugins", name="zemm")
    assert plugin.load() is register
