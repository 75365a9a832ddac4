# SPDX-License-Identifier: Apache-2.0
"""Modules of zemm.torch for tests, one for each kind of layer."""

from typing import Any

import numpy as np
import pytest
import zemm
from support_small_layers import expected

torch = pytest.importorskip("torch", reason="needs the package torch")

import zemm.torch  # noqa: E402 (after the check for torch)

K, N, GROUP = 64, 48, 16

# Arguments of QuantLinear.from_linear().
QUANTIZED: dict[str, dict[str, Any]] = {
    "u8": {"bits": 8},
    "u4, int8": {"bits": 4, "activation": "int8"},
    "u8, int8 in one group": {"bits": 8, "activation": "int8", "activation_group": 64},
    "s8, one scale a column": {"bits": 8, "group": None, "symmetric": True},
    "s4, bf16": {"bits": 4, "symmetric": True, "activation": "bf16", "scale_dtype": "bf16"},
    "u8, f16 dst": {"bits": 8, "scale_dtype": "f16", "dst_dtype": "f16"},
    "no bias": {"bits": 8, "bias": False},
}
KINDS = [
    *QUANTIZED,
    "u4 with an odd N",
    "offsets, int8",
    "factors, int8",
    "factors of scales",
    "f8 with one scale",
    "f32",
]


def module_of(kind: str, seed: int = 1) -> Any:
    """A module of K inputs and N outputs (or N + 1). seed: of its weights."""
    if kind in QUANTIZED:
        arguments = {"group": GROUP, **QUANTIZED[kind]}
        plain = linear(seed, arguments.pop("bias", True))
        return zemm.torch.QuantLinear.from_linear(plain, **arguments)
    w = linear(seed).weight
    if kind == "f32":
        return zemm.torch.QuantLinear(zemm.Linear.from_quantized(w, transposed=True))
    if kind == "f8 with one scale":
        values = w.to(torch.float8_e4m3fn)
        return zemm.torch.QuantLinear(zemm.Linear.from_quantized(values, 0.5, transposed=True))
    generator = torch.Generator().manual_seed(seed)
    if kind == "offsets, int8":
        codes = torch.randint(0, 256, (N, K), generator=generator, dtype=torch.uint8)
        scales, offsets = torch.randn((2, N, K // GROUP), generator=generator)
        layer = zemm.Linear.from_quantized(
            codes, scales, offsets=offsets.half(), transposed=True, activation="int8"
        )
        return zemm.torch.QuantLinear(layer)
    if kind.startswith("factors"):
        codes = torch.randint(0, 256, (N, K // 2), generator=generator, dtype=torch.uint8)
        scales, offsets = torch.randint(1, 64, (2, N, K // GROUP), generator=generator, dtype=torch.uint8)
        factors = torch.randn((2, N, K // (2 * GROUP)), generator=generator).half() / 64
        more: dict[str, Any] = {}
        if kind == "factors, int8":
            more = {"offsets": offsets, "offset_factors": factors[1], "activation": "int8"}
        layer = zemm.Linear.from_quantized(
            codes,
            scales,
            scale_factors=factors[0],
            weights_dtype="u4",
            transposed=True,
            **more,
        )
        return zemm.torch.QuantLinear(layer)
    n, groups = N + 1, K // GROUP
    layer = zemm.Linear.from_quantized(
        torch.randint(0, 256, (n, K // 2), generator=generator, dtype=torch.uint8),
        torch.rand((n, groups), generator=generator) + 0.1,
        torch.randint(0, 16, (n, groups), generator=generator, dtype=torch.uint8),
        weights_dtype="u4",
        transposed=True,
    )
    return zemm.torch.QuantLinear(layer)


def table_of(module: Any) -> np.ndarray:
    """The dequantised weights of a module, [N, K]."""
    return expected(module.layer, np.float32).T


def linear(seed: int = 1, bias: bool = True) -> Any:
    generator = torch.Generator().manual_seed(seed)
    plain = torch.nn.Linear(K, N, bias=bias).requires_grad_(False)
    for parameter in plain.parameters():
        parameter.normal_(generator=generator)
    return plain


def x_of(*leading: int, dtype: Any = torch.float32) -> Any:
    return torch.randn(*leading, K, generator=torch.Generator().manual_seed(2)).to(dtype)


def parts_of(module: Any) -> list[Any]:
    """The tensors by which the module gives its layer to the operator."""
    return list(module.buffers())
