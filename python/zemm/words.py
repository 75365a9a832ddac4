# SPDX-License-Identifier: Apache-2.0
"""The words that zemm's arguments take, as types: mypy refuses fpmath="oops".

Checks at run time use the same lists (check.choice()), and tests/python/test_python_words.py compares
them with the library's. Use these names to annotate own code:

    from zemm.words import DType, FpmathMode
"""

from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

EngineKind = Literal["cpu", "gpu"]
FpmathMode = Literal["strict", "bf16", "f16", "tf32", "any"]
AccumulationMode = Literal["strict", "relaxed", "any", "s32", "f32", "f16"]
ScratchpadMode = Literal["library", "user"]
RoundingMode = Literal["environment", "stochastic"]
QuantizationMode = Literal["static_sazp", "dynamic_mx", "dynamic_fp"]
ForwardKind = Literal["forward_training", "forward_inference"]
Peak = Literal[
    "int8", "f32", "copy", "read", "bf16", "amx_int8", "amx_bf16", "amx_fp16", "xmx_int8", "xmx_half",
    "xmx_tf32",
]  # fmt: skip

# Queries of a primitive descriptor.
MdQuery = Literal["src_md", "weights_md", "dst_md", "scratchpad_md", "exec_arg_md"]
IntQuery = Literal["memory_consumption_s64", "cache_blob_id_size_s64"]

DataType = Literal[
    "f64", "f32", "f16", "bf16", "f8_e5m2", "f8_e4m3", "f4_e2m1", "e8m0",
    "s64", "s32", "s8", "u8", "s4", "u4", "u2",
]  # fmt: skip
# numpy's names of the same types, those of ml_dtypes included.
NumpyName = Literal[
    "float64", "float32", "float16", "bfloat16", "float8_e5m2", "float8_e4m3fn", "float4_e2m1fn",
    "float8_e8m0fnu", "int64", "int32", "int8", "uint8", "int4", "uint4", "uint2",
]  # fmt: skip


class TorchDType(Protocol):
    """A data type of torch, which need not be installed."""

    @property
    def is_floating_point(self) -> bool:
        """Whether the type is floating-point."""


DTypeObject: TypeAlias = np.dtype[Any] | type[Any] | TorchDType
# A data type in any spelling: "f32", "float32", np.float32, np.dtype("float32") or torch.float32.
DType: TypeAlias = DataType | NumpyName | DTypeObject
SubByteType = Literal["s4", "u4", "f4_e2m1", "u2", "int4", "uint4", "float4_e2m1fn", "uint2"]

# The type in which a layer multiplies its activations, and those of src that weights are packed for.
Activation = Literal["f32", "f16", "bf16", "int8", "int7"]
PackedFor = Literal["f32", "f16", "bf16", "s8", "u8"]

# Types that the quantisers make.
ScaleType = Literal["f32", "f16", "bf16"]
ScaleDType: TypeAlias = ScaleType | Literal["float32", "float16", "bfloat16"] | DTypeObject
QuantizedType = Literal["s8", "u8"]
QuantizedDType: TypeAlias = QuantizedType | Literal["int8", "uint8"] | DTypeObject
QuantizedFloatType = Literal["f8_e4m3", "f8_e5m2", "f4_e2m1"]
QuantizedFloatDType: TypeAlias = (
    QuantizedFloatType | Literal["float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"] | DTypeObject
)
FloatScaling = Literal["mx", "nvfp4"]

# Names of post-ops. The library also knows eltwise_..._use_dst_for_bwd, which only training needs.
EltwiseName = Literal[
    "abs", "clip", "clip_v2", "elu", "exp", "gelu", "gelu_erf", "gelu_tanh", "hardsigmoid",
    "hardswish", "linear", "log", "logistic", "mish", "pow", "relu", "round", "sigmoid", "silu",
    "soft_relu", "softplus", "sqrt", "square", "swish", "tanh",
    "eltwise_abs", "eltwise_clip", "eltwise_clip_v2", "eltwise_elu", "eltwise_exp", "eltwise_gelu",
    "eltwise_gelu_erf", "eltwise_gelu_tanh", "eltwise_hardsigmoid", "eltwise_hardswish",
    "eltwise_linear", "eltwise_log", "eltwise_logistic", "eltwise_mish", "eltwise_pow",
    "eltwise_relu", "eltwise_round", "eltwise_sigmoid", "eltwise_silu", "eltwise_soft_relu",
    "eltwise_softplus", "eltwise_sqrt", "eltwise_square", "eltwise_swish", "eltwise_tanh",
]  # fmt: skip
BinaryName = Literal[
    "add", "div", "eq", "ge", "gt", "le", "lt", "max", "min", "mul", "mul_inplace", "ne", "select", "sub",
    "binary_add", "binary_div", "binary_eq", "binary_ge", "binary_gt", "binary_le", "binary_lt",
    "binary_max", "binary_min", "binary_mul", "binary_mul_inplace", "binary_ne", "binary_select",
    "binary_sub",
]  # fmt: skip
# An entry of zemm.matmul()'s post_ops.
PostOp: TypeAlias = (
    EltwiseName
    | Literal["sum", "mul_inplace", "binary_mul_inplace"]
    | tuple[EltwiseName]
    | tuple[EltwiseName, float]
    | tuple[EltwiseName, float, float]
    | tuple[BinaryName | Literal["prelu"], ArrayLike]
    | tuple[Literal["select", "binary_select"], ArrayLike, ArrayLike]
    | tuple[Literal["sum", "mul_inplace", "binary_mul_inplace"]]
    | tuple[Literal["sum"], float]
    | tuple[Literal["sum"], float, int]
    | tuple[Literal["sum"], float, int, DType]
)
