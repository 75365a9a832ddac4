# SPDX-License-Identifier: Apache-2.0
"""Mistakes that only a value or two arguments together make: each call is refused with a sentence that names
the argument and says what to do. test_bad_arguments.py tries values of other types everywhere."""

import array
import copy
import ctypes
import pickle
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zemm
from zemm import ARG_DST, ARG_SRC, ARG_WEIGHTS

# Calls with names of zemm and those of `names`, and words of the sentence.
INVALID = r"""
# ---- matmul: operands
matmul([[1, 2, 3, 4]], W) -- src has type int64 -- src.astype(np.int8)
matmul(S8, ones((4, 2), np.int32)) -- weights has type int32 -- int8
matmul(F > 0, W) -- src has type bool -- astype
matmul(F * 1j, W) -- src has type complex64 -- float32 -- cast
matmul(F, [[1.0], [1.0, 2.0]]) -- weights is a list -- no array
matmul(1.0, W) -- src () -- two dimensions
matmul(F, ones((5, 3))) -- (2, 4) -- (5, 3) -- 4 -- 5
matmul(F[0], W) -- (4,)
matmul(ones((2, 0)), ones((1, 2))) -- (2, 0) -- (1, 2)
matmul(ones((2, 3, 4)), ones((3, 4, 5))) -- (2, 3, 4) -- (3, 4, 5)
matmul(F, W, bias=ones(3)) -- bias -- (3,) -- (2, 2)
matmul(F, W, bias=[None, None]) -- bias is a list -- numbers
matmul(F, W, bias=ones((2, 2), bool)) -- bias -- bool
matmul(F, W, bias=ones(2, ml_dtypes.int4)) -- bias -- s4
matmul(F, W, bias=[0, 1e39]) -- bias -- 1e+39 -- float32
matmul(F, W, dst_dtype="u4") -- u4
matmul(F, W, dst_dtype="float31") -- dst_dtype is 'float31' -- float32
matmul(S8, S8.T, weights_dtype="int5") -- weights_dtype is 'int5' -- int4
matmul(F, W, fpmath="oops") -- fpmath is 'oops' -- strict -- bf16
matmul(LONG, U8, weights_dtype="f16") -- u8 -- f16
matmul(LONG, U8[:30], weights_dtype="u4") -- (30, 6) -- 64 -- 32
matmul(S8, ones((4, 4), np.float16), weights_dtype="u4") -- f16 -- u4
# ---- matmul: parameters
matmul(LONG, U8, src_scales=ones((2, 5))) -- src_scales -- (2, 5) -- (2, 64)
matmul(LONG, U8, src_scales=ones(2)) -- src_scales -- (2,) -- (2, 64)
matmul(LONG, U8, src_scales=ones((3, 2))) -- (3, 2)
matmul(LONG, U8, weights_scales=ones(5)) -- weights_scales -- (5,) -- (64, 6)
matmul(LONG, U8, weights_scales=ones((5, 6))) -- (5, 6) -- (64, 6)
matmul(LONG, U8, weights_scales=ones((0, 6))) -- (0, 6)
matmul(LONG, U8, weights_scales=ones(6, np.complex64)) -- complex64
matmul(LONG, U8, weights_scales=ones((6, 1))) -- weights_scales -- (6, 1) -- [N]
matmul(LONG, U8, weights_zero_points=ones((64, 1))) -- weights_zero_points -- (64, 1) -- [N]
matmul(LONG, U8, weights_zero_points=ones(6, np.complex64)) -- weights_zero_points -- complex64
matmul(LONG, U8, weights_zero_points=ones((2, 6), bool)) -- weights_zero_points -- bool
matmul(LONG, U8, weights_zero_points=1e300) -- weights_zero_points -- 1e+300
matmul(LONG, U8, weights_zero_points=2**40) -- 1099511627776
matmul(LONG, U8, src_zero_points=1.5) -- src_zero_points has type f64
matmul(LONG, U8, dst_zero_points=ones(6)) -- dst_zero_points -- f32
matmul(LONG, U8, dst_scales=ones(2)) -- dst_scales -- (2,)
matmul(LONG, U8, src_scales=1e39) -- src_scales -- float32
matmul(LONG, U8, weights_scales=-1e300) -- weights_scales -- float32
matmul(LONG, U8, dst_scales=1e-50) -- dst_scales -- float32
matmul(LONG, U8, weights_scales=[1, 1e39, 1, 1, 1, 1]) -- weights_scales -- float32
matmul(LONG, U8, dst_scales=[1, 1e-50, 1, 1, 1, 1]) -- dst_scales -- float32
matmul(LONG, U8, reductions=ones((2, 2), np.int64)) -- reductions -- s64
matmul(LONG, U8, reductions=ones((2, 2))) -- reductions has type f32 -- s32
matmul(LONG, U8, reductions=ones((2, 3), np.int32)) -- reductions -- (2, 3) -- (2, 64)
matmul(ones((3, 340)), ROWS, weights_group=0) -- weights_group is 0, not a positive integer
matmul(ones((3, 340)), ROWS) -- divides K, or the size of a group is given
matmul(ones((3, 340)), ROWS, weights_group=96) -- G is 4, of groups of 96, or divides K
matmul(ones((3, 340)), ROWS, weights_scales=ROWS.scales) -- quantised weights have their own
# ---- matmul: nothing to multiply
matmul(NO_K, NO_ROWS, src_scales=ones((2, 0))) -- src_scales of shape
matmul(NO_K, NO_ROWS, src_scales=ones(3)) -- src_scales of shape
matmul(NO_K, NO_ROWS, weights_scales=ones(5)) -- weights_scales of shape
matmul(NO_K, NO_ROWS, weights_scales=ones((0, 5))) -- weights_scales of shape
matmul(NO_K, NO_ROWS, weights_zero_points=ones((0, 5), np.uint8)) -- weights_zero_points of shape
matmul(NO_K, NO_ROWS, bias=ones(5)) -- bias of shape
matmul(NO_K, NO_ROWS, dst_scales=ones(0)) -- dst_scales of shape
# ---- matmul: out
matmul(F, W, out=np.broadcast_to(np.float32(0), (2, 2))) -- out -- read-only
matmul(F, W, out=np.frombuffer(bytes(16), np.float32).reshape(2, 2)) -- out -- read-only
matmul(F, W, out=ones((2, 3))) -- (2, 3) -- (2, 2)
matmul(F, W, out=ones((2, 2), np.float64), dst_dtype="f32") -- f64 -- f32
matmul(F, W, out=ones((2, 2), np.complex64)) -- complex64
matmul(F, W, out=ones((2, 2), bool)) -- bool
matmul(F, W, out=ones((2, 2), ml_dtypes.int4)) -- s4
matmul(F, W, out=[[0.0] * 2] * 2) -- out is a list -- numpy
matmul(F, W, out=np.lib.stride_tricks.as_strided(ones(3), (2, 2), (4, 4))) -- out
# ---- matmul: post-ops
matmul(F, W, post_ops={"relu": 0.1}) -- post_ops is a dict -- [('relu', 0.1)]
matmul(F, W, post_ops="relu") -- post_ops is 'relu' -- [('relu', 0.1)]
matmul(F, W, post_ops=["relu", 3.0]) -- post_ops[1] -- 3.0 is no name
matmul(F, W, post_ops=[(3.0, "relu")]) -- post_ops[0] -- 3.0
matmul(F, W, post_ops=["rleu"]) -- post_ops[0] -- 'rleu' -- relu
matmul(F, W, post_ops=["eltwise_rely"]) -- eltwise_relu
matmul(F, W, post_ops=["gelu_err"]) -- gelu_erf
matmul(F, W, post_ops=["hard_swish"]) -- hardswish
matmul(F, W, post_ops=["leaky_relu"]) -- relu -- prelu
matmul(F, W, post_ops=["binary_addd"]) -- binary_add
matmul(F, W, post_ops=["multiply"]) -- mul
matmul(F, W, post_ops=[""]) -- relu -- add -- prelu -- sum
matmul(F, W, post_ops=["softmax_log"]) -- soft_relu
matmul(F, W, post_ops=["undef"]) -- post_ops[0]
matmul(F, W, post_ops=["clip"]) -- alpha -- lower bound -- ("clip", 0.0, 6.0)
matmul(F, W, post_ops=[("eltwise_clip", 1.0)]) -- beta -- upper bound -- ("eltwise_clip", 0.0, 6.0)
matmul(F, W, post_ops=[("clip_v2", None, 1.0)]) -- alpha -- lower bound
matmul(F, W, post_ops=[("pow", 2)]) -- beta -- exponent -- ("pow", 1.0, 2.0)
matmul(F, W, post_ops=[("clip", 2.0, 1.0)]) -- post_ops[0] -- 2 -- 1
matmul(F, W, post_ops=[("tanh", 2.0)]) -- tanh -- alpha -- 2.0
matmul(F, W, post_ops=[("relu", 0.0, 2.0)]) -- relu -- beta -- 2.0
matmul(F, W, post_ops=[("linear", 1.0, 2.0, 3.0)]) -- linear -- 3
matmul(F, W, post_ops=[("linear", "1")]) -- post_ops[0] -- alpha of linear is '1'
matmul(F, W, post_ops=[("linear", ones(2))]) -- alpha
matmul(F, W, post_ops=[("linear", 1e300)]) -- alpha -- 1e+300
matmul(F, W, post_ops=[("add",)]) -- post_ops[0] -- add takes an array
matmul(F, W, post_ops=["mul"]) -- post_ops[0] -- array
matmul(F, W, post_ops=[("add", None)]) -- post_ops[0] -- the array of add is None
matmul(F, W, post_ops=[("binary_add", ones(3))]) -- post_ops[0] -- (3,)
matmul(F, W, post_ops=[("add", [0, 1e39])]) -- add -- 1e+39 -- float32
matmul(F, W, post_ops=[("mul", ones(2, ml_dtypes.int4))]) -- post_ops[0] -- s4
matmul(F, W, post_ops=["prelu"]) -- slopes
matmul(F, W, post_ops=[("prelu", 1.0, 2.0)]) -- post_ops[0] -- 2
matmul(F, W, post_ops=[("prelu", ones(3))]) -- (3,) -- (2, 2)
matmul(F, W, post_ops=[("prelu", [0, 1e39])]) -- slopes -- float32
matmul(F, W, post_ops=[("select", ones(2))]) -- condition -- 1
matmul(F, W, post_ops=[("sum", 1.0)]) -- post_ops[0] -- out
matmul(F, W, post_ops=[("sum", 1.0, 0, "undef", 4)], out=F[:, :2].copy()) -- sum -- 4
PostOps().append_eltwise("eltwise_clip") -- lower bound
PostOps().append_eltwise("relu", "x") -- alpha of relu is 'x'
PostOps().append_eltwise("eltwise_linear", 1e39) -- alpha -- 1e+39
PostOps().append_eltwise("gelu_err") -- gelu_erf
PostOps().append_eltwise("binary_add") -- binary_add
PostOps().append_binary("relu", md) -- relu
PostOps().append_binary("add", F) -- src1_md is an array -- MemoryDesc
PostOps().append_sum(1e39) -- scale
PostOps().append_sum(1.0, 0.5) -- zero_point is 0.5
# ---- descriptors
MemoryDesc((2.0, 3), "f32") -- dims (2.0, 3) -- no integer
MemoryDesc((2, -3), "f32") -- dims[1]=-3
MemoryDesc(((2, 3),), "f32") -- dims (a tuple) -- no integer
MemoryDesc((2**70,), "f32") -- 1180591620717411303424
MemoryDesc((2, 3), "f8") -- data_type is 'f8' -- f8_e5m2
MemoryDesc((2, 3), bool) -- data_type -- s8 (int8)
MemoryDesc((2, 3), "f32", "ab\0c") -- tag is -- ASCII
MemoryDesc((2, 3), "f32", strides=(1,)) -- (1,) -- (2, 3)
MemoryDesc((2, 3), "f32", "ab", strides=(3, 1)) -- ab -- (3, 1)
MemoryDesc((2, 3), "f32", "any").strides -- any -- no strides
MemoryDesc.coo((4, 6), "f32", 2**80) -- nnz is -- not in
MemoryDesc.from_blob(b"blob") -- blob has 4 bytes
MemoryDesc.from_blob(bytes(len(md.blob))) -- blob is no
md.permute_axes((0, 2**40)) -- permutation (0, -- 64 bits
md.permute_axes((0,)) -- (0,) -- 2
md.submemory((1, 1), (0,)) -- (0,)
md.part_size(1) -- index of a buffer -- is 1
numpy_dtype("f99") -- f99
# ---- memories
Memory(scalar, engine) -- md is -- zemm.Memory.host_scalar
Memory.host_scalar(md, 1.0) -- md is -- MemoryDesc.host_scalar
Memory.host_scalar(scalar, 1.0).write(np.float32(2)) -- host scalar
Memory.host_scalar(scalar, 1.0).write(bytes(4)) -- host scalar
Memory.from_handle(md, engine, "0x10") -- address is '0x10'
Memory.from_handle(md, engine, -1) -- address is -1
Memory.from_handle(GROUPED, engine, [8]) -- handles
Memory.from_handle(GROUPED, engine, [8, 8, 0]) -- handles
Memory.from_handle(GROUPED, engine, 8) -- handles
Memory.from_handle(GROUPED, engine, [8, "0x10"]) -- address is '0x10'
memory.read(3) -- index -- is 3
memory.write(VALUES.tolist()) -- float32
CSR.write(np.arange(7, dtype=np.float32)) -- wants
CSR.write(np.arange(8, dtype=np.float16)) -- wants
CSR.write(np.arange(7), index=1) -- wants
CSR.write(np.arange(7, dtype=np.int32), index=2) -- wants
Memory(md, engine, VALUES.tobytes()) -- read-only
Memory(md, engine).write(bytes(47)) -- 47 -- 48
Memory(md, engine).write(bytes(49)) -- 49 -- 48
# ---- memories: arrays in another order
Memory(md, engine, np.asfortranarray(VALUES)) -- (1, 3) -- (4, 1) -- write()
Memory(md, engine, np.zeros((3, 8), np.float32)[:, ::2]) -- (8, 2) -- (4, 1)
Memory(md, engine, np.zeros((3, 4), np.float32)[::-1]) -- (-4, 1) -- (4, 1)
Memory(MemoryDesc((3, 4), "f32", "ba"), engine, VALUES) -- (4, 1) -- (1, 3)
Memory(WIDE, engine, VALUES) -- (4, 1) -- (7, 1)
Memory(WIDE, engine, np.zeros((3, 7), np.float32)[:, :4]) -- 48 -- 84 -- gaps
Memory(PART, engine, np.zeros((5, 6), np.float32)[1:4, 2:6]) -- 8 elements
Memory(MemoryDesc((3, 4), "f32", strides=(0, 1)), engine, VALUES) -- (0, 1)
# ---- memories: elements of 4 bits, blocks
Memory(U4, engine).write(NIBBLES) -- (6, 4) -- (6, 2)
Memory(U4, engine).write(NIBBLES.astype(ml_dtypes.uint4)) -- uint4 -- pack_int4()
Memory(U4, engine).write(NIBBLES.astype(np.int8)) -- int8 -- pack_int4()
Memory(U4, engine).write(pack_int4(NIBBLES.T)) -- (4, 3) -- (6, 2)
Memory(MemoryDesc((3, 3), "s4", strides=(4, 1)), engine).write(np.zeros((3, 2), np.uint8)) -- inside
Memory(BLOCKED, engine).write(np.zeros((64, 64), np.int8)) -- reorder
Memory(BLOCKED, engine).write(np.zeros((1, 16, 64, 4), np.int8)) -- reorder
Memory(BLOCKED, engine, np.zeros((64, 64), np.int8)) -- reorder
Memory(BLOCKED, engine, np.zeros((1, 16, 64, 4), np.int8)) -- reorder
# ---- engines, attributes, primitives
Engine("gpux") -- kind is 'gpux' -- cpu, gpu
Engine("cpu", 99) -- 99
set_primitive_cache_capacity(2**40) -- capacity is -- not in
ARG_ATTR_MULTIPLE_POST_OP(-1) -- index is -1
Attr().set_scales(ARG_SRC, 2**40) -- mask is -- not in
Attr().set_scales(ARG_SRC, 3, 128) -- groups is 128 -- sequence
MatmulPrimitiveDesc(engine, md, md, memory) -- dst is a Memory -- MemoryDesc
primitive.execute(args, stream) -- stream is a dict
primitive.execute(stream, {"src": memory}) -- args -- 'src' -- zemm.ARG_SRC
primitive.execute(stream, {None: memory}) -- args -- key None -- zemm.ARG_SRC
primitive.execute(stream, {2**40: memory}) -- key of args -- 1099511627776
primitive.execute(stream, args | {ARG_SRC: F}) -- args[ARG_SRC] is an array -- zemm.Memory(md, engine, array)
primitive.execute(stream, args | {ARG_DST: None}) -- ARG_DST is missing
pickle.dumps(engine) -- an Engine -- pickled
copy.deepcopy(stream) -- a Stream -- copied
copy.copy(memory) -- a Memory -- copied
pickle.dumps(Attr()) -- an Attr -- pickled
Stream(Mine()) -- engine is a Mine without -- super()
# ---- quantisers
quantize_activations([[1, 2]], 2) -- x has type s64 -- f32
quantize_activations(ones((2, 300))) -- 300 -- 128 -- 100
quantize_activations(F, 0) -- 0
quantize_activations(ones((2, 8), np.int32), 4) -- s32
quantize_activations(np.array([[1, np.nan]], "f4"), 2) -- x[0, 1] -- nan
quantize_activations(np.array([[np.inf, 1]], "f4"), 2) -- x[0, 0] -- inf
quantize_activations(np.full((1, 2), 1e9), 2, "f16") -- f16
quantize_activations(np.full((1, 2), 1e30, "f4"), 2, "f16", engine=engine) -- f16
quantize_activations(F, 2, np.int8) -- scale_dtype is 's8' -- f32
quantize_activations(F, 4, dtype="s4") -- dtype is 's4' -- s8, u8
quantize_activations(F, 4, stream=stream) -- stream
quantize_activations(F.astype(float), 4, engine=engine) -- f64
quantize_activations(DEVICE, 48) -- 64 -- 48
quantize_activations(DEVICE, 8421505, dtype="u8") -- sums of 8421504 u8
quantize_activations(DEVICE, 16909321) -- sums of 16909320 s8
quantize_activations(DEVICE, 32, "e8m0") -- e8m0
quantize_activations(DEVICE, 32, engine=Engine("cpu")) -- engine
quantize_activations(Memory(MemoryDesc((64,), "f32"), engine), 32) -- two dimensions
quantize_activations(ones((3, 100)), 32) -- has 4 groups of 32, as many as of 25
quantize_floats(F, "f16") -- dtype is 'f16' -- f8_e4m3, f8_e5m2
quantize_floats(F, scaling="fp") -- scaling is 'fp' -- mx, nvfp4
quantize_floats(np.ones(32)) -- x has type f64 -- f32, f16
quantize_floats(np.float32(1)) -- single number
quantize_floats(F, stream=stream) -- a stream is for a Memory
quantize_weights(W, 5) -- bits is 5 -- 8, 4, 3 and 2
quantize_weights(W[None, None], 8) -- w has shape -- [E, K, N]
quantize_weights(W[:, 0], 8) -- (4,)
quantize_weights(ones((4, 3)), 4) -- (4, 3)
quantize_weights(ones((4, 6)), 2) -- (4, 6) -- multiple of 4
quantize_weights(ones((4, 4)), 2, symmetric=True) -- 2 bits -- symmetric
quantize_weights(W, 8, 3) -- 4 -- 3
quantize_weights(np.array([[-np.inf]]), 8) -- w[0, 0] -- -inf
quantize_weights(ones((100, 48)), 8, 32) -- has 4 groups of 32, as many as of 25
pack(*ROWS) -- divides K, or the size of a group is given
Linear.from_quantized(*ROWS, group=-1) -- group is -1, not a positive integer
Linear.from_quantized(ones((0, 4), np.uint8)) -- nothing to multiply
Linear.from_quantized(ones((2, 32, 0), np.uint8)) -- nothing to multiply
pack_int4([16]) -- 16
pack_int4([-1, 8]) -- -1 -- 8
pack_int4(np.zeros((2, 3), int)) -- (2, 3)
pack_int4([0.5]) -- float64
pack_int4("ab") -- values of type <U2
pack_int2([-1, 3]) -- -1 -- 3
pack_int2([4]) -- 4
pack_int2(np.zeros((2, 6), int)) -- (2, 6)
unpack_int2(b"ab", 9) -- 9 -- 8
unpack_int4(b"ab", 5, True) -- 5 -- 4
unpack_int4(b"ab", -1, True) -- -1
unpack_int4(b"ab", "4", True) -- count -- is '4'
unpack_int4([1.0], 1, True) -- packed -- float64
unpack_int4(ones(4, ml_dtypes.int4), 4, signed=True) -- int4
PackedInt2(np.zeros(2, np.uint8), "u4") -- u4 -- u2
# ---- host scalars
number("s8", 300) -- 300 -- -128..127 -- s8
number("s8", -129) -- -129
number("s8", 1.5) -- 1.5 -- integer
number("u8", -1) -- -1 -- 0..255
number("u8", np.int16(256)) -- 256
number("s32", np.nan) -- nan
number("s32", np.inf) -- inf
number("s32", 2**31) -- 2147483648
number("s64", 2**63) -- 9223372036854775808
number("s4", 8) -- -8..7
number("u4", 16) -- 0..15
number("f16", 65520) -- 65520 -- f16 -- inf
number("f16", 1e-9) -- 1e-09 -- 0
number("f32", 1e39) -- 1e+39 -- inf
number("f32", 1e-50) -- 1e-50
number("f32", 2**2000) -- too large
number("bf16", 3.4e38 * 1.01) -- bf16
number("f8_e4m3", 1000) -- 1000 -- nan
number("f8_e4m3", np.inf) -- inf
number("f4_e2m1", 8) -- 8
number("f4_e2m1", np.nan) -- nan
number("e8m0", -1) -- -1
number("e8m0", 0) -- 0
number("f32", "3") -- value is '3' -- number
number("f32", b"3") -- b'3'
number("f32", 1 + 0j) -- (1+0j)
number("f32", [1.0]) -- a list
number("f32", np.ones(1)) -- (1,)
number("f32", np.asarray("3")) -- '3'
"""
UNIMPLEMENTED = """
matmul(F, W, out=ones((2, 2), np.float64)) -- f64
matmul(F, W, out=ones((2, 2), np.int64)) -- s64
matmul(LONG, U8.view(np.int8), reductions=ones((2, 2), np.int32)) -- zero points
quantize_activations(Memory(MemoryDesc((4, 64), "s32"), engine), 32) -- s32
"""
ARITY = """
matmul(F) -- weights
Memory() -- md
Stream() -- engine
MemoryDesc((2, 3)) -- data_type
matmul(F, W, fp_math="any") -- fp_math
quantize_weights(F, 8, 2, "f32", True) -- quantize_weights
"""
TABLE = {zemm.InvalidArgumentsError: INVALID, zemm.UnimplementedError: UNIMPLEMENTED, TypeError: ARITY}
LINES = [
    (error, line) for error, text in TABLE.items() for line in text.splitlines() if line and line[0] != "#"
]


class Mine(zemm.Engine):
    def __init__(self) -> None:
        pass


def ones(shape: Any, dtype: Any = np.float32) -> np.ndarray:
    return np.ones(shape, dtype)


VALUES = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(scope="session")
def names(engine: zemm.Engine) -> dict[str, Any]:
    """What the calls of the table name: those of zemm and of numpy, arrays, one object of each class."""
    mds = [zemm.MemoryDesc(dims, "f32") for dims in ((2, 4), (4, 2), (2, 2))]
    memories = [zemm.Memory(md, engine) for md in mds]
    md = zemm.MemoryDesc((3, 4), "f32")
    return {
        **vars(zemm), "matmul": partial(zemm.matmul, engine=engine),
        "np": np, "ml_dtypes": ml_dtypes, "copy": copy, "pickle": pickle, "ones": ones,
        "Mine": Mine, "VALUES": VALUES, "engine": engine, "stream": zemm.Stream(engine), "md": md,
        "memory": zemm.Memory(md, engine), "scalar": zemm.MemoryDesc.host_scalar("f32"),
        "args": dict(zip((ARG_SRC, ARG_WEIGHTS, ARG_DST), memories, strict=True)),
        "primitive": zemm.Primitive(zemm.MatmulPrimitiveDesc(engine, *mds)),
        "number": lambda dt, value: zemm.Memory.host_scalar(zemm.MemoryDesc.host_scalar(dt), value),
        "F": ones((2, 4)), "W": ones((4, 2)), "S8": ones((2, 4), np.int8), "LONG": ones((2, 64), np.int8),
        "U8": ones((64, 6), np.uint8), "NO_K": ones((3, 0), np.int8), "NO_ROWS": ones((0, 4), np.uint8),
        "ROWS": zemm.quantize_weights(ones((340, 48)), 8, 64), "NIBBLES": np.ones((6, 4), np.uint8),
        "U4": zemm.MemoryDesc((6, 4), "u4"), "BLOCKED": zemm.MemoryDesc((64, 64), "s8", "BA16a64b4a"),
        "WIDE": zemm.MemoryDesc((3, 4), "f32", strides=(7, 1)),
        "GROUPED": zemm.MemoryDesc.grouped((3, 2), "f32", 0, 2),
        "PART": zemm.MemoryDesc((5, 6), "f32").submemory((3, 4), (1, 2)),
        "CSR": zemm.Memory(zemm.MemoryDesc.csr((4, 6), "f16", 7), engine),
        "DEVICE": zemm.Memory(zemm.MemoryDesc((4, 64), "f32"), engine),
    }  # fmt: skip


def in_zemms_words(sentence: str) -> bool:
    """Without C: neither an object of cffi nor a function, type or constant of the C library."""
    return not any(word in sentence for word in ("cdata", "zemm_", "ZEMM_", "has no attribute"))


@pytest.mark.parametrize(("error", "line"), LINES, ids=[line.partition(" -- ")[0] for _, line in LINES])
def test_refused(names: dict[str, Any], error: type[Exception], line: str) -> None:
    call, *words = line.split(" -- ")
    with pytest.raises(error) as caught:
        eval(call, names)
    said = str(caught.value)
    assert [word for word in words if word not in said] == [], said
    assert error is TypeError or in_zemms_words(said), said
    assert "\n" not in said


# Arrays that do not fit a memory of 3x4 f32, and words of the sentence.
MISFITS: dict[str, tuple[Any, list[str]]] = {
    "float64": (VALUES.astype(np.float64), ["float64", "float32", "astype"]),
    "as many bytes": (np.zeros((3, 2)), ["float64", "float32"]),
    "integers": (np.arange(12).reshape(3, 4), ["int64", "float32"]),
    "bits of another type": (VALUES.view(np.uint32), ["uint32", "view()"]),
    "byte order": (VALUES.astype(">f4"), [">f4", "float32"]),
    "transposed": (VALUES.T, ["(4, 3)", "(3, 4)"]),
    "flat": (VALUES.reshape(-1), ["(12,)", "(3, 4)"]),
    "too small": (VALUES[:2].copy(), ["(2, 4)", "(3, 4)"]),
    "too large": (np.zeros((4, 4), np.float32), ["(4, 4)", "(3, 4)"]),
    "one more dimension": (VALUES[None], ["(1, 3, 4)"]),
    "typed buffer": (array.array("d", range(6)), ["float64", "float32"]),
    "ctypes": ((ctypes.c_float * 12)(), ["(12,)", "(3, 4)"]),
    "2-D bytes": (np.zeros((12, 4), np.uint8), ["uint8", "1-D"]),
    "signed bytes": (np.zeros(48, np.int8), ["int8"]),
}


@pytest.mark.parametrize("name", MISFITS)
def test_misfits(engine: zemm.Engine, name: str) -> None:
    """Neither written to a memory nor taken as its buffer."""
    md, (buffer, words) = zemm.MemoryDesc((3, 4), "f32"), MISFITS[name]
    memory = zemm.Memory(md, engine)
    memory.write(VALUES)
    for call in (lambda: memory.write(buffer), lambda: zemm.Memory(md, engine, buffer)):
        with pytest.raises(zemm.InvalidArgumentsError) as caught:
            call()
        assert [word for word in words if word not in str(caught.value)] == []
    assert np.array_equal(memory.as_numpy(), VALUES)
