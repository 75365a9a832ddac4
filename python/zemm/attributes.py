# SPDX-License-Identifier: Apache-2.0
"""Attributes of a matmul: quantisation parameters, modes and post-ops."""

from collections.abc import Sequence
from typing import Any

from zemm import _library
from zemm._library import value_of
from zemm._numbers import float32_of
from zemm._post_ops import full_name, parameters
from zemm.memory_desc import MemoryDesc


class PostOps:
    """Up to 32 operations on the f32 result, in order, before the destination's scale."""

    def __init__(self) -> None:
        self._handle: Any = _library.create("post_ops", "post_ops_create")

    def __len__(self) -> int:
        return int(_library.plain("post_ops_len", self._handle))

    def append_sum(self, scale: float = 1.0, zero_point: int = 0, data_type: str = "undef") -> None:
        """x + scale * (old dst - zero_point); data_type: how to read the old dst (undef: as it is)."""
        dt = value_of("data_type", data_type)
        factor = float32_of(scale, "scale of sum")
        _library.call("post_ops_append_sum", self._handle, factor, zero_point, dt)

    def append_eltwise(self, alg: str, alpha: float | None = None, beta: float | None = None) -> None:
        """alg, alpha, beta: names and defaults as in zemm.matmul(); "eltwise_relu", "gelu" ..."""
        values = parameters(alg, alpha, beta, may_be_unused=True)
        number = value_of("alg_kind", full_name(alg, "eltwise"))
        _library.call("post_ops_append_eltwise", self._handle, number, *values)

    def append_binary(self, alg: str, src1_md: MemoryDesc, src2_md: MemoryDesc | None = None) -> None:
        """alg: "binary_add", "add" ...; dimensions of src1 are dst's or 1. src2: the condition of select."""
        number = value_of("alg_kind", full_name(alg, "binary"))
        args = (self._handle, number, src1_md._handle)
        if src2_md is None:
            _library.call("post_ops_append_binary", *args)
        else:
            _library.call("post_ops_append_binary_v2", *args, src2_md._handle)

    def append_prelu(self, mask: int) -> None:
        """x >= 0 ? x : x * slope, with a slope for each index of the masked dimensions."""
        _library.call("post_ops_append_prelu", self._handle, mask)

    def append_dw(
        self, weights_dt: str, bias_dt: str, dst_dt: str, kernel: int, stride: int, padding: int
    ) -> None:
        """A depthwise convolution: accepted here as in oneDNN, by no matmul."""
        types = (value_of("data_type", dt) for dt in (weights_dt, bias_dt, dst_dt))
        _library.call("post_ops_append_dw", self._handle, *types, kernel, stride, padding)


class Attr:
    """How a matmul computes. ValueError for settings that break a rule on their own; rules that depend on the
    tensors are checked when the primitive descriptor is made."""

    def __init__(self) -> None:
        self._handle: Any = _library.create("primitive_attr", "primitive_attr_create")

    def _set(self, what: str, *args: Any) -> None:
        _library.call(f"primitive_attr_set_{what}", self._handle, *args)

    def _set_quantisation(
        self, what: str, arg: int, mask: int, groups: Sequence[int], data_type: str, *more: int
    ) -> None:
        c_groups = _library.dims(groups, "groups")
        self._set(what, arg, mask, *c_groups, value_of("data_type", data_type), *more)

    def set_scales(
        self,
        arg: int,
        mask: int,
        groups: Sequence[int] = (),
        data_type: str = "f32",
        is_on_host: bool = False,
        quantization_mode: str = "static_sazp",
    ) -> None:
        """mask bit d: a scale per index of dimension d; groups: sizes in the last two dimensions, or ()."""
        mode = value_of("quantization_mode", quantization_mode)
        self._set_quantisation("scales_v3", arg, mask, groups, data_type, int(is_on_host), mode)

    def set_zero_points(
        self,
        arg: int,
        mask: int,
        groups: Sequence[int] = (),
        data_type: str = "s32",
        is_on_host: bool = False,
    ) -> None:
        self._set_quantisation("zero_points_v2", arg, mask, groups, data_type, int(is_on_host))

    def set_precomputed_reductions(
        self, arg: int, mask: int, groups: Sequence[int] = (), data_type: str = "s32"
    ) -> None:
        """Sums of src over K groups come as an argument (RFC "User's Precomputed Reductions for GeMM")."""
        self._set_quantisation("precomputed_reductions", arg, mask, groups, data_type)

    def set_fpmath_mode(self, mode: str, apply_to_int: bool = False) -> None:
        """mode: "strict", "bf16", "f16", "tf32", "any"; apply_to_int: also convert integer weights."""
        self._set("fpmath_mode_v2", value_of("fpmath_mode", mode), int(apply_to_int))

    def set_accumulation_mode(self, mode: str) -> None:
        self._set("accumulation_mode", value_of("accumulation_mode", mode))

    def set_scratchpad_mode(self, mode: str) -> None:
        """ "library", or "user": the scratchpad is the argument ARG_SCRATCHPAD, at any address."""
        self._set("scratchpad_mode", value_of("scratchpad_mode", mode))

    def set_deterministic(self, value: bool) -> None:
        self._set("deterministic", int(value))

    def set_dropout(
        self,
        mask_md: MemoryDesc | None = None,
        seed_dt: str = "s64",
        use_offset: bool = False,
        use_host_scalars: bool = False,
    ) -> None:
        """mask_md: u8, dst's layout, an output; None: the mask is not written."""
        mask = (mask_md or MemoryDesc.zero())._handle
        seed = value_of("data_type", seed_dt)
        self._set("dropout_v2", mask, seed, int(use_offset), int(use_host_scalars))

    def set_rounding(self, arg: int, mode: str) -> None:
        """ "environment" (to nearest even) or "stochastic"."""
        self._set("rounding", arg, value_of("rounding_mode", mode))

    def set_post_ops(self, post_ops: PostOps) -> None:
        """Copies the list."""
        self._set("post_ops", post_ops._handle)
