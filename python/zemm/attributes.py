# SPDX-License-Identifier: Apache-2.0
"""Attributes of primitives: quantisation parameters, modes and post-ops."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NoReturn, TypeVar

from zemm._library import check, library
from zemm._library.check import a
from zemm._library.library import value_of
from zemm._library.lists import IN_PLACE
from zemm._objects.post_op_names import full_name, parameters
from zemm.dtypes import dtype_name, float32_of, type_number
from zemm.errors import InvalidArgumentsError
from zemm.memory_desc import MemoryDesc
from zemm.words import (
    AccumulationMode,
    BinaryName,
    DType,
    EltwiseName,
    FpmathMode,
    QuantizationMode,
    RoundingMode,
    ScratchpadMode,
)

S = TypeVar("S", bound="Settings")


class Settings:
    """A mutable object that consists of settings.

    The C library does not give all of them back, so they are kept here, too, for comparisons.
    """

    _kind: ClassVar[str]
    _library: ClassVar[Any] = library  # peers of zemm.benchdnn set another library

    def __init__(self) -> None:
        self._handle: Any = self._library.create(self._kind, f"{self._kind}_create")
        self._made: dict[Any, tuple[Any, ...]] = {}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Settings) or self._kind != other._kind:
            return NotImplemented
        return self._made == other._made

    __hash__ = None  # type: ignore[assignment]

    def __copy__(self: S) -> S:
        made = type(self).__new__(type(self))
        made._handle = self._library.create(self._kind, f"{self._kind}_clone", self._handle)
        made._made = dict(self._made)
        return made

    def __deepcopy__(self: S, memo: object) -> S:
        return self.__copy__()

    def __reduce__(self) -> NoReturn:
        raise InvalidArgumentsError(f"{a(type(self).__name__)} is not pickled: set it up in each process")


class PostOps(Settings):
    """A list of up to 32 operations, applied in order to the f32 result x before dst's scale.

    Lists with equal operations are equal. copy.copy() makes an independent list.
    """

    _kind = "post_ops"

    def __len__(self) -> int:
        return int(library.plain("post_ops_len", self._handle))

    def __repr__(self) -> str:
        return f"<PostOps {list(self._made.values())}>"

    def _has_sum(self) -> bool:
        return any(name == "sum" for name, *_ in self._made.values())

    def _in_place(self) -> list[int]:
        """The indices of binary operations whose src1 is dst."""
        names = (name.removeprefix("binary_") for name, *_ in self._made.values())
        return [index for index, name in enumerate(names) if name in IN_PLACE]

    def _append(self, name: str, function: str, *args: Any, words: tuple[Any, ...]) -> None:
        self._library.call(f"post_ops_append_{function}", self._handle, *args)
        self._made[len(self._made)] = (name, *words)

    def append_sum(
        self, scale: float = 1.0, zero_point: int = 0, data_type: DType | Literal["undef"] = "undef"
    ) -> None:
        """Append x + scale * (old dst - zero_point). data_type: of the old dst; "undef": dst's."""
        number = type_number(data_type, "data_type")
        factor, zero = float32_of(scale, "scale of sum"), check.integer(zero_point, "zero_point")
        words = (factor, zero, library.name_of("data_type", number))
        self._append("sum", "sum", factor, zero, number, words=words)

    def append_eltwise(self, alg: EltwiseName, alpha: float | None = None, beta: float | None = None) -> None:
        """Append an eltwise operation. zemm.matmul() lists names ("relu", ...) and defaults."""
        name = full_name(alg, "eltwise")
        values = parameters(alg, alpha, beta, may_be_unused=True)
        self._append(name, "eltwise", value_of("alg_kind", name), *values, words=values)

    def append_binary(self, alg: BinaryName, src1_md: MemoryDesc, src2_md: MemoryDesc | None = None) -> None:
        """Append alg(x, src1), such as "binary_add" or "add". Each dimension of src1 is dst's or 1.
        src2: the s8 or u8 condition of "select", which gives x where it is not 0, else src1.
        src1 of "mul_inplace" is the old dst: src1_md is dst's, or has its type and dims and tag any,
        and the argument of an execution is dst's memory."""
        name = full_name(alg, "binary")
        mds = {"src1_md": src1_md} | ({} if src2_md is None else {"src2_md": src2_md})
        handles = [check.handle(md, MemoryDesc, what) for what, md in mds.items()]
        function = "binary" if src2_md is None else "binary_v2"
        self._append(name, function, value_of("alg_kind", name), *handles, words=tuple(mds.values()))

    def append_prelu(self, mask: int) -> None:
        """Append x >= 0 ? x : x * slope. There is a slope for each index of dimension d if bit d of
        mask is set."""
        mask = check.integer(mask, "mask")
        self._append("prelu", "prelu", mask, words=(mask,))

    def append_dw(self, *_: Any, **__: Any) -> None:
        """Raise UnimplementedError: a depthwise convolution follows a convolution, and zemm has none."""
        library.call("post_ops_append_dw", self._handle, *[0] * 6)


class Attr(Settings):
    """Attributes of a matmul or reorder.

    A setter raises ValueError if its arguments are wrong for any primitive. What depends on the
    tensors is checked when the primitive descriptor is made. Attributes with equal settings are
    equal. copy.copy() makes independent attributes.
    """

    _kind = "primitive_attr"

    def _set(self, what: str, *args: Any, of: int | None = None, words: tuple[Any, ...]) -> None:
        """Call a setter. of: the ARG that it is for. words: the values, for equality and repr."""
        self._library.call(f"primitive_attr_set_{what}", self._handle, *(() if of is None else (of,)), *args)
        self._made[re.sub(r"_v\d$", "", what), of] = words

    def _set_quantisation(
        self, what: str, arg: int, mask: int, groups: Sequence[int], data_type: DType, *more: tuple[int, Any]
    ) -> None:
        arg, mask = check.integer(arg, "arg"), check.integer(mask, "mask")
        count, c_groups = library.dims(groups, "groups")
        number = type_number(data_type, "data_type")
        words = (mask, tuple(groups), dtype_name(data_type), *(word for _, word in more))
        self._set(what, mask, count, c_groups, number, *(value for value, _ in more), of=arg, words=words)

    def set_scales(
        self,
        arg: int,
        mask: int,
        groups: Sequence[int] = (),
        data_type: DType = "f32",
        is_on_host: bool = False,
        quantization_mode: QuantizationMode = "static_sazp",
    ) -> None:
        """Declare scales of the argument arg. Bit d of mask: there is a scale for each index of
        dimension d, or for each group of indices. groups: group sizes in the last two dimensions,
        or (). is_on_host: one scale, in a host scalar memory. quantization_mode: "dynamic_fp" makes
        scales of dst an output of a reorder or, if dst is f8 or f4, of a matmul (f8_e4m3, groups of
        1x16); "dynamic_mx" those of a matmul (e8m0, groups of 1x32)."""
        word = check.choice(quantization_mode, QuantizationMode, "quantization_mode")
        host = check.flag(is_on_host, "is_on_host")
        mode = (value_of("quantization_mode", word), word)
        self._set_quantisation("scales_v3", arg, mask, groups, data_type, (host, bool(host)), mode)

    def set_zero_points(
        self,
        arg: int,
        mask: int,
        groups: Sequence[int] = (),
        data_type: DType = "s32",
        is_on_host: bool = False,
    ) -> None:
        """Declare zero points of the argument arg: integers, or f16, bf16 and f32 of integer weights.
        The parameters are those of set_scales().
        """
        host = check.flag(is_on_host, "is_on_host")
        self._set_quantisation("zero_points_v2", arg, mask, groups, data_type, (host, bool(host)))

    def set_offsets(self, arg: int, mask: int, groups: Sequence[int] = (), data_type: DType = "f32") -> None:
        """Declare offsets of integer weights (ARG_WEIGHTS), which are scale * value + offset: f16, bf16 or
        f32. Mask and groups are those of set_scales(). They exclude zero points of the weights."""
        self._set_quantisation("offsets", arg, mask, groups, data_type)

    def set_scale_factors(
        self, arg: int, mask: int, groups: Sequence[int] = (), data_type: DType = "f32"
    ) -> None:
        """Declare factors (f16, bf16 or f32) by which s8 or u8 scales of weights (ARG_WEIGHTS) are
        multiplied, before these scales. Groups along K are multiples of those of the scales."""
        self._set_quantisation("scale_factors", arg, mask, groups, data_type)

    def set_offset_factors(
        self, arg: int, mask: int, groups: Sequence[int] = (), data_type: DType = "f32"
    ) -> None:
        """Declare factors of s8 or u8 offsets of weights, as set_scale_factors() does of scales."""
        self._set_quantisation("offset_factors", arg, mask, groups, data_type)

    def set_precomputed_reductions(
        self, arg: int, mask: int, groups: Sequence[int] = (), data_type: DType = "s32"
    ) -> None:
        """Declare that sums of src over groups of K are an argument, s32 [.., M, K / groups[1]].

        Source: oneDNN RFC "User's Precomputed Reductions for GeMM".
        """
        self._set_quantisation("precomputed_reductions", arg, mask, groups, data_type)

    def set_reduced_range(self, arg: int, value: bool = True) -> None:
        """value: the 8-bit values of arg have 7 bits, -64 to 63 of s8 and 0 to 127 of u8. ARG_SRC of a
        matmul: CPUs that have AVX2 without VNNI multiply them faster; other values give wrong numbers.
        ARG_DST of a reorder with "dynamic_fp" scales: it quantises to this range."""
        number = check.flag(value, "value")
        self._set("reduced_range", number, of=check.integer(arg, "arg"), words=(bool(number),))

    def set_src_dyn_quant_params(self, group_size: int) -> None:
        """group_size: a matmul quantises its float src to s8 first, in groups of so many elements along K
        (the last of a row may be shorter), each with a scale in f32; 0: it does not. The result is that of
        DynamicQuantizePrimitiveDesc and a matmul of its outputs. Experimental, named as in OpenVINO's fork of
        oneDNN."""
        size = check.integer(group_size, "group_size", *check.INT64)
        self._set("src_dyn_quant_params", size, words=(size,))

    def set_saturation(self, value: bool = True) -> None:
        """value: values that are too large for an f8 dst become its largest value in place of infinity or
        NaN. (f4 saturates in any case, and so do results of dynamic scales.)"""
        number = check.flag(value, "value")
        self._set("saturation", number, words=(bool(number),))

    def _set_mode(self, what: str, mode: str, words: Any, *more: int) -> None:
        value = value_of(what, check.choice(mode, words, "mode"))
        self._set(f"{what}_v2" if more else what, value, *more, words=(mode, *map(bool, more)))

    def set_fpmath_mode(self, mode: FpmathMode, apply_to_int: bool = False) -> None:
        """mode: "strict", "bf16", "f16", "tf32" or "any". apply_to_int: the mode also holds for
        integer weights beside a floating-point src. Scales of such weights that change along K
        need this, and zero points of groups along N."""
        self._set_mode("fpmath_mode", mode, FpmathMode, check.flag(apply_to_int, "apply_to_int"))

    def set_accumulation_mode(self, mode: AccumulationMode) -> None:
        """mode: the type of sums, "strict", "relaxed", "any", "s32", "f32" or "f16", as in oneDNN.
        zemm's sums are exact or f32 in all modes that a primitive takes."""
        self._set_mode("accumulation_mode", mode, AccumulationMode)

    def set_scratchpad_mode(self, mode: ScratchpadMode) -> None:
        """mode: "library", or "user": the caller passes ARG_SCRATCHPAD, of any alignment."""
        self._set_mode("scratchpad_mode", mode, ScratchpadMode)

    def set_deterministic(self, value: bool) -> None:
        """value: results have to have the same bits with any number of threads, too. (Each run gives
        the same bits in any case.)"""
        number = check.flag(value, "value")
        self._set("deterministic", number, words=(bool(number),))

    def set_dropout(
        self,
        mask_md: MemoryDesc | None = None,
        seed_dt: DType = "s64",
        use_offset: bool = False,
        use_host_scalars: bool = False,
    ) -> None:
        """Dropout after the bias. An execution takes ARG_ATTR_DROPOUT_PROBABILITY (f32, from 0 to 1),
        _SEED and, with use_offset, _OFFSET (s64): one element each, or host scalars. mask_md: the u8
        output that says which elements were kept, in dst's layout; None: it is
        not written. seed_dt: "s32" or "s64"."""
        md = MemoryDesc.zero() if mask_md is None else mask_md
        mask, seed = check.handle(md, MemoryDesc, "mask_md"), type_number(seed_dt, "seed_dt")
        flags = (check.flag(use_offset, "use_offset"), check.flag(use_host_scalars, "use_host_scalars"))
        words = (mask_md, dtype_name(seed_dt), *map(bool, flags))
        self._set("dropout_v2", mask, seed, *flags, words=words)

    def set_rounding(self, arg: int, mode: RoundingMode) -> None:
        """mode: "environment" (to nearest even) or "stochastic"."""
        value = value_of("rounding_mode", check.choice(mode, RoundingMode, "mode"))
        self._set("rounding", value, of=check.integer(arg, "arg"), words=(mode,))

    def set_post_ops(self, post_ops: PostOps) -> None:
        """Set the post-ops to a copy of the list."""
        self._set(
            "post_ops", check.handle(post_ops, PostOps, "post_ops"), words=tuple(post_ops._made.values())
        )

    def __repr__(self) -> str:
        settings = (
            f"{what}{'' if of is None else f'[{library.arg_name(of)}]'}={words}"
            for (what, of), words in self._made.items()
        )
        return f"<Attr {', '.join(settings) or 'default'}>"
