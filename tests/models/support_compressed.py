# SPDX-License-Identifier: Apache-2.0
"""Makes layers of compressed-tensors with that package itself."""

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support_checkpoints import Store, Stored, torch

pytest.importorskip("compressed_tensors", reason="needs the package compressed-tensors")

from compressed_tensors.compressors.base import BaseCompressor, compress_module
from compressed_tensors.compressors.pack_quantized import (
    pack_to_int32,
    unpack_from_int32,
)
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from compressed_tensors.quantization.lifecycle.initialize import (
    initialize_module_for_quantization,
)
from compressed_tensors.quantization.quant_scheme import preset_name_to_scheme
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam


def scheme_of(settings: str | dict[str, Any]) -> QuantizationScheme:
    """settings: the package's name of a scheme, or a group of config_groups without targets."""
    if isinstance(settings, str):
        return preset_name_to_scheme(settings, ["Linear"])
    return QuantizationScheme(targets=["Linear"], **settings)


def linear_of(w: NDArray[np.float32], scheme: QuantizationScheme) -> Any:
    """A compressed layer with weights [N, K]."""
    linear = torch.nn.Linear(*w.shape[::-1], bias=False, dtype=torch.bfloat16)
    linear.weight.data.copy_(torch.from_numpy(w))
    initialize_module_for_quantization(
        linear, scheme.model_copy(), force_zero_point=not scheme.weights.symmetric
    )
    _calibrate(linear, scheme.weights)
    if hasattr(linear, "input_scale"):
        linear.input_scale.data.fill_(0.05)
    compress_module(linear)
    return linear


def stored_of(linear: Any) -> Stored:
    """The tensors of a compressed layer, and what the package makes of them, in f32 where it can."""
    scheme = linear.quantization_scheme
    tensors = {name: part.detach() for name, part in linear.named_parameters()} | dict(linear.named_buffers())
    wide = {name: part.float() if part.dtype == torch.bfloat16 else part for name, part in tensors.items()}
    compressor = BaseCompressor.get_value_from_registry(scheme.format.value)
    if scheme.format.value.startswith("nvfp4"):
        weight = _of_nvfp4(tensors)  # the package rounds to bf16
    else:
        weight = compressor.decompress(wide, scheme)["weight"].float()
    return Stored(tensors, weight.numpy())


def mixed(stored: Stored, settings: dict[str, Any]) -> Stored:
    """The layer with its inputs, and the groups of these, in another order: act-order, which the package
    no longer makes."""
    n, k = stored.weight.shape
    bits, group = settings["weights"]["num_bits"], settings["weights"]["group_size"]
    order = torch.randperm(k, generator=torch.Generator().manual_seed(k))
    values = unpack_from_int32(stored.tensors["weight_packed"], bits, torch.Size((n, k)))[:, order]
    g_idx = (order // group).to(torch.int32)
    tensors = {**stored.tensors, "weight_packed": pack_to_int32(values, bits), "weight_g_idx": g_idx}
    return Stored(tensors, stored.weight[:, order.numpy()])


def config_of(scheme: QuantizationScheme, **more: Any) -> dict[str, Any]:
    """The quantization_config of a checkpoint with one group."""
    linear = linear_of(np.ones((32, 384), np.float32), scheme)
    group = json.loads(linear.quantization_scheme.model_dump_json())
    return {
        "quant_method": "compressed-tensors",
        "quantization_status": "compressed",
        "format": group["format"],
        "config_groups": {"group_0": group},
        "ignore": ["lm_head"],
        **more,
    }


def compressed(settings: str | dict[str, Any], act_order: bool = False) -> tuple[dict[str, Any], Store]:
    """A quantization_config, and how it stores layers."""
    scheme = scheme_of(settings)
    config = config_of(scheme)
    if act_order:
        config["config_groups"]["group_0"]["weights"]["actorder"] = "group"

    def store(name: str, w: NDArray[np.float32]) -> Stored:
        stored = stored_of(linear_of(w, scheme))
        return mixed(stored, settings) if act_order and isinstance(settings, dict) else stored

    return config, store


def _of_nvfp4(tensors: dict[str, Any]) -> Any:
    values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    packed = tensors["weight_packed"]
    codes = torch.stack((packed & 15, packed >> 4), dim=-1).flatten(-2).long()
    signed = values[codes & 7] * torch.where(codes > 7, -1, 1)
    scales = tensors["weight_scale"].float() / tensors["weight_global_scale"]
    return signed * scales.repeat_interleave(16, dim=1)


def _calibrate(linear: Any, args: QuantizationArgs) -> None:
    """Find the parameters of the weights from their largest and smallest values."""
    weight = linear.weight.detach().float()
    n, k = weight.shape
    common = None
    if args.strategy in ("group", "tensor_group"):
        padded = torch.nn.functional.pad(weight, (0, -k % args.group_size))
        low, high = padded.view(n, -1, args.group_size).aminmax(dim=-1)
    elif args.strategy == "channel":
        low, high = weight.aminmax(dim=-1, keepdim=True)
    elif args.strategy == "block":
        rows, columns = args.block_structure
        padded = torch.nn.functional.pad(weight, (0, -k % columns, 0, -n % rows))
        blocks = padded.view(-1, rows, -(-k // columns), columns)
        low, high = blocks.amin(dim=(1, 3)), blocks.amax(dim=(1, 3))
    else:
        low, high = (part.reshape(1) for part in weight.aminmax())
    if args.strategy == "tensor_group":
        common = generate_gparam(weight.min(), weight.max())
        linear.weight_global_scale.data.copy_(common)
    scale, zero_point = calculate_qparams(low, high, args, global_scale=common)
    linear.weight_scale.data = scale.to(linear.weight_scale.dtype).reshape(linear.weight_scale.shape)
    if not args.symmetric:
        linear.weight_zero_point.data = zero_point.to(linear.weight_zero_point.dtype)
