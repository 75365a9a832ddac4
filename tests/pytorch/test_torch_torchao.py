# SPDX-License-Identifier: Apache-2.0
"""Weights that torchao has quantised are taken as they are, by QuantLinear.from_linear() and quantize_()."""

from typing import Any

import pytest
import zemm
from support_torch import GROUP, K, N, linear, torch, x_of

pytest.importorskip("torchao", reason="needs the package torchao")

from torchao.quantization import (
    Int8DynamicActivationIntxWeightConfig,
    IntxWeightOnlyConfig,
    MappingType,
    PerAxis,
    PerGroup,
    quantize_,
)
from torchao.quantization.quantize_.workflows.int4.int4_tensor import Int4Tensor

pytestmark = pytest.mark.filterwarnings("ignore")  # torchao's own

CONFIGS: dict[str, Any] = {
    "int4": IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(GROUP)),
    "int4, zero points": IntxWeightOnlyConfig(
        weight_dtype=torch.int4, granularity=PerGroup(GROUP), mapping_type=MappingType.ASYMMETRIC
    ),
    "int3": IntxWeightOnlyConfig(weight_dtype=torch.int3, granularity=PerGroup(GROUP)),
    "int8 of columns": IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0)),
}


def close(got: Any, x: Any, weight: Any, bias: Any) -> bool:
    expected = x.double() @ weight.dequantize().double().T + bias.double()
    return bool((got.double() - expected).abs().max() <= 2e-5 * expected.abs().max())


@pytest.mark.parametrize("name", CONFIGS)
def test_intx(name: str) -> None:
    model = torch.nn.Sequential(linear())
    quantize_(model, CONFIGS[name])
    weight, bias = model[0].weight, model[0].bias
    report = zemm.torch.quantize_(model, bits=8, group=4)
    assert close(model(x_of(3)), x_of(3), weight, bias)
    assert report["0"].bits == (8 if "int8" in name else 4)
    assert report["0"].group == (K if "columns" in name else GROUP)
    assert report["0"].nbytes_before < 5 * K * N / 4 + 4 * N + 8 * N * K // GROUP
    other = zemm.torch.QuantLinear(K, N)
    other.load_state_dict(model[0].state_dict())
    assert torch.equal(other(x_of(3)), model(x_of(3)))


@pytest.mark.parametrize("zero", [False, True])
def test_int4(zero: bool) -> None:
    """Its zero points are floats that are added after the scale: offsets."""
    generator = torch.Generator().manual_seed(4)
    plain = linear()
    codes = torch.randint(-8, 8, (N, K), generator=generator, dtype=torch.int8)
    scale = torch.rand((K // GROUP, N), generator=generator).to(torch.bfloat16)
    offset = torch.randn((K // GROUP, N), generator=generator).to(torch.bfloat16) * zero
    packed = codes[:, ::2] & 15 | codes[:, 1::2] << 4
    plain.weight = torch.nn.Parameter(
        Int4Tensor(packed, scale, offset, [1, GROUP], torch.Size((N, K))), requires_grad=False
    )
    module = zemm.torch.QuantLinear.from_linear(plain, activation="f32")
    spread = [p.double().T.repeat_interleave(GROUP, dim=1) for p in (scale, offset)]
    weight = codes.double() * spread[0] + spread[1]
    expected = x_of(3).double() @ weight.T + plain.bias.double()
    assert (module(x_of(3)).double() - expected).abs().max() <= 2e-5 * expected.abs().max()
    assert module.layer.weights.data_type == "s4"
    plain.weight.act_pre_scale = torch.ones(K)
    model = torch.nn.Sequential(plain)
    assert "act_pre_scale" in zemm.torch.quantize_(model)["0"].note
    with pytest.raises(ValueError, match="act_pre_scale"):
        zemm.torch.QuantLinear.from_linear(plain)


def test_activations() -> None:
    """torchao's int8 activations are quantised with a scale for each row here, too."""
    model = torch.nn.Sequential(linear())
    expected = model(x_of(3))
    quantize_(model, Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int8))
    zemm.torch.quantize_(model)
    layer = model[0].layer
    assert (layer.activation, layer.activation_group) == ("int8", K)
    assert (model(x_of(3)) - expected).abs().max() < 0.03 * expected.abs().max()
