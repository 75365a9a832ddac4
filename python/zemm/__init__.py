# SPDX-License-Identifier: Apache-2.0
"""zemm: quantised matmul on Level Zero devices, Intel GPUs and any x86-64 CPU.

    values, scales, reductions = zemm.quantize_activations(x)
    wq, ws, wz = zemm.quantize_weights(w, bits=8)
    y = zemm.matmul(values, wq, src_scales=scales, weights_scales=ws, weights_zero_points=wz,
                    reductions=reductions)

matmul() works on numpy arrays. reorder() changes a memory's layout or data type. Both are built on
the objects of the C library, which are here as well: Engine, Stream, MemoryDesc, Memory, Attr,
PostOps, MatmulPrimitiveDesc, ReorderPrimitiveDesc and Primitive. Importing zemm opens no loader,
driver or runtime; making an Engine does.
"""

from typing import Any

from zemm import gguf
from zemm._arrays.reorder import reorder
from zemm._functions.from_dlpack import from_dlpack
from zemm._functions.matmul import matmul
from zemm._functions.paths import get_include, get_lib
from zemm._functions.saved_layers import load_layers, save_layers
from zemm._functions.warm import Warmed, warm
from zemm._library import check, library
from zemm._library.library import ARG, RUNTIME_DIM, version
from zemm.attributes import Attr, PostOps
from zemm.dtypes import (
    PackedInt2,
    PackedInt3,
    PackedInt4,
    dtype_name,
    numpy_dtype,
    pack_int2,
    pack_int3,
    pack_int4,
    unpack_int2,
    unpack_int3,
    unpack_int4,
)
from zemm.engine import Engine, Stream
from zemm.errors import (
    DeviceError,
    InvalidArgumentsError,
    NoDeviceError,
    OutOfMemoryError,
    UnimplementedError,
    ZemmError,
)
from zemm.float_quantization import QuantizedFloats, quantize_floats
from zemm.linear import Linear
from zemm.memory import Memory
from zemm.memory_desc import MemoryDesc
from zemm.packed_weights import PackedWeights, pack
from zemm.primitive import (
    DynamicQuantizePrimitiveDesc,
    InnerProductPrimitiveDesc,
    MatmulPrimitiveDesc,
    Module,
    Primitive,
    ReorderPrimitiveDesc,
)
from zemm.quantization import (
    QuantizedActivations,
    QuantizedActivationsU8,
    QuantizedWeights,
    quantize_activations,
    quantize_weights,
)

__version__ = version()

ARG_SRC = ARG["SRC"]
ARG_DST = ARG["DST"]
ARG_WEIGHTS = ARG["WEIGHTS"]
ARG_BIAS = ARG["BIAS"]
ARG_FROM = ARG["FROM"]
ARG_TO = ARG["TO"]
ARG_SCRATCHPAD = ARG["SCRATCHPAD"]
ARG_DYNAMIC_SCALE = ARG["DYNAMIC_SCALE"]
ARG_DYNAMIC_ZERO_POINT = ARG["DYNAMIC_ZERO_POINT"]
ARG_DYNAMIC_REDUCTIONS = ARG["DYNAMIC_REDUCTIONS"]
ARG_ATTR_SCALES = ARG["ATTR_SCALES"]
ARG_ATTR_ZERO_POINTS = ARG["ATTR_ZERO_POINTS"]
ARG_ATTR_OFFSETS = ARG["ATTR_OFFSETS"]
ARG_ATTR_SCALE_FACTORS = ARG["ATTR_SCALE_FACTORS"]
ARG_ATTR_OFFSET_FACTORS = ARG["ATTR_OFFSET_FACTORS"]
ARG_ATTR_PRECOMPUTED_REDUCTIONS = ARG["ATTR_PRECOMPUTED_REDUCTIONS"]
ARG_ATTR_DROPOUT_MASK = ARG["ATTR_DROPOUT_MASK"]
ARG_ATTR_DROPOUT_PROBABILITY = ARG["ATTR_DROPOUT_PROBABILITY"]
ARG_ATTR_DROPOUT_SEED = ARG["ATTR_DROPOUT_SEED"]
ARG_ATTR_DROPOUT_OFFSET = ARG["ATTR_DROPOUT_OFFSET"]
ARG_ATTR_ROUNDING_SEED = ARG["ATTR_ROUNDING_SEED"]


def ARG_ATTR_MULTIPLE_POST_OP(index: int) -> int:  # noqa: N802 (the C macro's name)
    """The number to or with the ARG of a tensor of the post-op at this index."""
    return ARG["ATTR_MULTIPLE_POST_OP_BASE"] * (check.integer(index, "index", 0, 31) + 1)


def set_verbose(level: int) -> None:
    """Choose what is logged on stdout. 0: nothing; 1: errors, warnings and executions; 2: also
    creations."""
    library.call("set_verbose", check.integer(level, "level"))


def set_num_threads(num_threads: int) -> None:
    """Limit how many threads of the CPU device compute at the same time, the one that waits for them
    included. 0: one for each CPU that the process may use. With 1 a call computes on its own thread. The
    environment variable ZEMM_NUM_THREADS sets the number at the start."""
    library.call("set_num_threads", check.integer(num_threads, "num_threads"))


def get_num_threads() -> int:
    """How many threads of the CPU device compute at the same time, at most."""
    return int(library.output("int", "get_num_threads"))


def set_primitive_cache_capacity(capacity: int) -> None:
    """Set how many primitives the process keeps for reuse. 0 turns the cache off."""
    library.call("set_primitive_cache_capacity", check.integer(capacity, "capacity"))


def get_primitive_cache_capacity() -> int:
    """How many primitives the process keeps for reuse."""
    return int(library.output("int", "get_primitive_cache_capacity"))


def warm_up(model: Any) -> None:
    """Build the kernels that the layers of a torch.nn.Module need: zemm.torch.warm_up()."""
    from zemm.torch import warm_up

    warm_up(model)


__all__ = [
    "ARG",
    "ARG_ATTR_DROPOUT_MASK",
    "ARG_ATTR_DROPOUT_OFFSET",
    "ARG_ATTR_DROPOUT_PROBABILITY",
    "ARG_ATTR_DROPOUT_SEED",
    "ARG_ATTR_MULTIPLE_POST_OP",
    "ARG_ATTR_OFFSETS",
    "ARG_ATTR_OFFSET_FACTORS",
    "ARG_ATTR_PRECOMPUTED_REDUCTIONS",
    "ARG_ATTR_ROUNDING_SEED",
    "ARG_ATTR_SCALES",
    "ARG_ATTR_SCALE_FACTORS",
    "ARG_ATTR_ZERO_POINTS",
    "ARG_BIAS",
    "ARG_DST",
    "ARG_DYNAMIC_REDUCTIONS",
    "ARG_DYNAMIC_SCALE",
    "ARG_DYNAMIC_ZERO_POINT",
    "ARG_FROM",
    "ARG_SCRATCHPAD",
    "ARG_SRC",
    "ARG_TO",
    "ARG_WEIGHTS",
    "RUNTIME_DIM",
    "Attr",
    "DeviceError",
    "DynamicQuantizePrimitiveDesc",
    "Engine",
    "InnerProductPrimitiveDesc",
    "InvalidArgumentsError",
    "Linear",
    "MatmulPrimitiveDesc",
    "Memory",
    "MemoryDesc",
    "Module",
    "NoDeviceError",
    "OutOfMemoryError",
    "PackedInt2",
    "PackedInt3",
    "PackedInt4",
    "PackedWeights",
    "PostOps",
    "Primitive",
    "QuantizedActivations",
    "QuantizedActivationsU8",
    "QuantizedFloats",
    "QuantizedWeights",
    "ReorderPrimitiveDesc",
    "Stream",
    "UnimplementedError",
    "Warmed",
    "ZemmError",
    "dtype_name",
    "from_dlpack",
    "get_include",
    "get_lib",
    "get_num_threads",
    "get_primitive_cache_capacity",
    "gguf",
    "load_layers",
    "matmul",
    "numpy_dtype",
    "pack",
    "pack_int2",
    "pack_int3",
    "pack_int4",
    "quantize_activations",
    "quantize_floats",
    "quantize_weights",
    "reorder",
    "save_layers",
    "set_num_threads",
    "set_primitive_cache_capacity",
    "set_verbose",
    "unpack_int2",
    "unpack_int3",
    "unpack_int4",
    "version",
    "warm",
    "warm_up",
]
