# SPDX-License-Identifier: Apache-2.0
"""Attributes of primitives: quantisation parameters, modes and post-ops."""

from collections.abc import Sequence
from typing import Any

from zemm import _library
from zemm._library import value_of
from zemm._numbers import float32_of
from zemm._post_ops import full_name, parameters
from zemm.memory_desc import MemoryDesc


class PostOps:
    """A list of up to 32 operations, applied in order to the f32 result x before dst's scale."""

    def __init__(self) -> None:
        self._handle: Any = _library.create("post_ops", "post_ops_create")

    def __len__(self) -> int:
        return int(_library.plain("post_ops_len", self._handle))

    def append_sum(self, scale: float = 1.0, zero_point: int = 0, data_type: str = "undef") -> None:
        """Append x + scale * (old dst - zero_point). data_type: of the old dst; "undef": dst's."""
        dt = value_of("data_type", data_type)
        factor = float32_of(scale, "scale of sum")
        _library.call("post_ops_append_sum", self._handle, factor, zero_point, dt)

    def append_eltwise(self, alg: str, alpha: float | None = None, beta: float | None = None) -> None:
        """Append an eltwise operation. zemm.matmul() lists names ("relu", ...) and defaults."""
        values = parameters(alg, alpha, beta, may_be_unused=True)
        number = value_of("alg_kind", full_name(alg, "eltwise"))
        _library.call("post_ops_append_eltwise", self._handle, number, *values)

    def append_binary(self, alg: str, src1_md: MemoryDesc, src2_md: MemoryDesc | None = None) -> None:
        """Append alg(x, src1), such as "binary_add" or "add". Each dimension of src1 is dst's or 1.
        src2: the s8 or u8 condition of "select", which gives x where it is not 0, else src1."""
        number = value_of("alg_kind", full_name(alg, "binary"))
        args = (self._handle, number, src1_md._handle)
        if src2_md is None:
            _library.call("post_ops_append_binary", *args)
        else:
            _library.call("post_ops_append_binary_v2", *args, src2_md._handle)

    def append_prelu(self, mask: int) -> None:
        """Append x >= 0 ? x : x * slope. There is a slope for each index of dimension d if bit d of
        mask is set."""
        _library.call("post_ops_append_prelu", self._handle, mask)

    def append_dw(
        self, weights_dt: str, bias_dt: str, dst_dt: str, kernel: int, stride: int, padding: int
    ) -> None:
        """Append a depthwise convolution. As in oneDNN the list accepts it, but no matmul does."""
        types = (value_of("data_type", dt) for dt in (weights_dt, bias_dt, dst_dt))
        _library.call("post_ops_append_dw", self._handle, *types, kernel, stride, padding)


class Attr:
    """Attributes of a matmul or reorder.

    A setter raises ValueError if its arguments are wrong for any primitive. What depends on the
    tensors is checked when the primitive descriptor is made.
    """

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
        """Declare scales of the argument arg. Bit d of mask: there is a scale for each index of
        dimension d, or for each group of indices. groups: group sizes in the last two dimensions,
        or (). is_on_host: one scale, in a host scalar memory. quantization_mode: "dynamic_fp" makes
        scales of a reorder's dst an output."""
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
        """Declare zero points of an argument: integers, or f16, bf16 and f32 of integer weights."""
        self._set_quantisation("zero_points_v2", arg, mask, groups, data_type, int(is_on_host))

    def set_precomputed_reductions(
        self, arg: int, mask: int, groups: Sequence[int] = (), data_type: str = "s32"
    ) -> None:
        """Declare that sums of src over groups of K are an argument, s32 [.., M, K / groups[1]].

        Source: oneDNN RFC "User's Precomputed Reductions for GeMM".
        """
        self._set_quantisation("precomputed_reductions", arg, mask, groups, data_type)

    def set_fpmath_mode(self, mode: str, apply_to_int: bool = False) -> None:
        """mode: "strict", "bf16", "f16", "tf32" or "any". apply_to_int: integer weights may be
        converted to the floating-point type of src."""
        self._set("fpmath_mode_v2", value_of("fpmath_mode", mode), int(apply_to_int))

    def set_accumulation_mode(self, mode: str) -> None:
        self._set("accumulation_mode", value_of("accumulation_mode", mode))

    def set_scratchpad_mode(self, mode: str) -> None:
        """mode: "library", or "user": the caller passes ARG_SCRATCHPAD, of any alignment."""
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
        """mask_md: the u8 output that says which elements were kept, in dst's layout; None: it is
        not written. seed_dt: "s32" or "s64"."""
        mask = (mask_md or MemoryDesc.zero())._handle
        seed = value_of("data_type", seed_dt)
        self._set("dropout_v2", mask, seed, int(use_offset), int(use_host_scalars))

    def set_rounding(self, arg: int, mode: str) -> None:
        """mode: "environment" (to nearest even) or "stochastic"."""
        self._set("rounding", arg, value_of("rounding_mode", mode))

    def set_post_ops(self, post_ops: PostOps) -> None:
        """Set the post-ops to a copy of the list."""
        self._set("post_ops", post_ops._handle)
