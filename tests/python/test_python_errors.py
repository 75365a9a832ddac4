# SPDX-License-Identifier: Apache-2.0
"""The mistakes of a new user: each gets a sentence that names the argument and says what to do. The arguments
of all calls get values of any type in test_python_wrong_types.py."""

import copy
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import zemm
from zemm import ARG_DST, ARG_SRC, ARG_WEIGHTS

Make = Callable[[SimpleNamespace], object]

F32 = np.ones((2, 4), np.float32)
W32 = np.ones((4, 2), np.float32)
S8 = np.ones((2, 4), np.int8)


@pytest.fixture(scope="session")
def have(engine: zemm.Engine) -> SimpleNamespace:
    """One object of each class."""
    mds = [zemm.MemoryDesc(dims, "f32") for dims in ((2, 4), (4, 2), (2, 2))]
    pd = zemm.MatmulPrimitiveDesc(engine, *mds)
    memories = [zemm.Memory(md, engine, np.ones(md.dims, np.float32)) for md in mds]
    return SimpleNamespace(
        engine=engine,
        stream=zemm.Stream(engine),
        md=mds[0],
        mds=mds,
        memory=memories[0],
        args=dict(zip((ARG_SRC, ARG_WEIGHTS, ARG_DST), memories, strict=True)),
        pd=pd,
        primitive=zemm.Primitive(pd),
        attr=zemm.Attr(),
        ops=zemm.PostOps(),
        scalar=zemm.MemoryDesc.host_scalar("f32"),
    )


def matmul(src: Any = F32, weights: Any = W32, **more: Any) -> Make:
    return lambda have: zemm.matmul(src, weights, **{"engine": have.engine, **more})


def md(*args: Any, **more: Any) -> Make:
    return lambda _: zemm.MemoryDesc(*args, **more)


def execute(change: Callable[[dict[Any, Any]], Any]) -> Make:
    return lambda have: have.primitive.execute(have.stream, change(have.args))


def attr(setter: str, *args: Any, **more: Any) -> Make:
    return lambda _: getattr(zemm.Attr(), f"set_{setter}")(*args, **more)


def post_op(kind: str, *args: Any) -> Make:
    return lambda _: getattr(zemm.PostOps(), f"append_{kind}")(*args)


# Calls, and words of the sentence: the argument first.
TABLE: dict[str, tuple[Make, list[str]]] = {
    # A name or None where an object is wanted
    "matmul_engine_name": (matmul(engine="cpu"), ["engine is 'cpu'", "Engine", "zemm.Engine('cpu')"]),
    "matmul_engine_class": (matmul(engine=zemm.Engine), ["engine", "Engine"]),
    "memory_engine_name": (lambda h: zemm.Memory(h.md, "cpu"), ["engine is 'cpu'", "zemm.Engine('cpu')"]),
    "memory_md_dims": (lambda h: zemm.Memory((2, 4), h.engine), ["md is a tuple", "MemoryDesc"]),
    "memory_buffer_list": (lambda h: zemm.Memory(h.md, h.engine, [1.0]), ["buffer is a list"]),
    "from_handle_address": (lambda h: zemm.Memory.from_handle(h.md, h.engine, "0x10"), ["address is '0x10'"]),
    "from_handle_negative": (lambda h: zemm.Memory.from_handle(h.md, h.engine, -1), ["address is -1"]),
    "host_scalar_md": (lambda h: zemm.Memory.host_scalar(h.md, 1.0), ["md is", "MemoryDesc.host_scalar"]),
    "host_scalar_engine": (lambda h: zemm.Memory(h.scalar, h.engine), ["md is", "zemm.Memory.host_scalar"]),
    "host_scalar_text": (lambda h: zemm.Memory.host_scalar(h.scalar, "1"), ["value is '1'", "number"]),
    "stream_engine_name": (lambda _: zemm.Stream("cpu"), ["engine is 'cpu'", "zemm.Engine('cpu')"]),
    "stream_profiling": (lambda h: zemm.Stream(h.engine, "yes"), ["profiling is 'yes'"]),
    "pd_engine": (lambda h: zemm.MatmulPrimitiveDesc("cpu", *h.mds), ["engine is 'cpu'"]),
    "pd_dst_memory": (
        lambda h: zemm.MatmulPrimitiveDesc(h.engine, *h.mds[:2], h.memory),
        ["dst is a Memory", "MemoryDesc"],
    ),
    "primitive_pd": (lambda h: zemm.Primitive(h.engine), ["pd is an Engine", "zemm.MatmulPrimitiveDesc"]),
    "reorder_array": (lambda h: zemm.reorder(F32, h.md), ["src is an array", "zemm.Memory"]),
    "reorder_tag": (lambda h: zemm.reorder(h.memory, "ba"), ["md is 'ba'", "zemm.MemoryDesc"]),
    # Executions
    "execute_no_stream": (lambda h: h.primitive.execute(None, h.args), ["stream is None", "zemm.Stream"]),
    "execute_swapped": (lambda h: h.primitive.execute(h.args, h.stream), ["stream is a dict"]),
    "execute_list": (execute(lambda args: list(args.values())), ["args is a list", "zemm.ARG_SRC"]),
    "execute_text_key": (execute(lambda args: {"src": args[ARG_SRC]}), ["args", "'src'", "zemm.ARG_SRC"]),
    "execute_odd_key": (execute(lambda args: {None: args[ARG_SRC]}), ["args", "key None", "zemm.ARG_SRC"]),
    "execute_large_key": (execute(lambda args: {2**40: args[ARG_SRC]}), ["key of args", str(2**40)]),
    "execute_array": (
        execute(lambda args: args | {ARG_SRC: F32}),
        ["args[ARG_SRC] is an array", "zemm.Memory(md, engine, array)"],
    ),
    "execute_dst_none": (execute(lambda args: args | {ARG_DST: None}), ["ARG_DST is missing"]),
    "query_md_word": (lambda h: h.pd.query_md("src"), ["what is 'src'", "src_md"]),
    "query_s64_word": (lambda h: h.pd.query_s64("impl_info_str"), ["what is", "memory_consumption_s64"]),
    # Operands of matmul
    "matmul_src_list_of_ints": (matmul([[1, 2, 3, 4]]), ["src has type int64", "astype(np.int8)"]),
    "matmul_src_int64": (matmul(S8.astype(np.int64), S8.T), ["src has type int64", "astype(np.int8)"]),
    "matmul_weights_int32": (matmul(S8, np.ones((4, 2), np.int32)), ["weights has type int32", "int8"]),
    "matmul_src_bool": (matmul(F32 > 0), ["src has type bool", "astype"]),
    "matmul_src_complex": (matmul(F32 * 1j), ["src has type complex64", "float32", "cast"]),
    "matmul_src_none": (matmul(None), ["src is None", "array"]),
    "matmul_src_dict": (matmul({}), ["src is a dict", "array"]),
    "matmul_weights_ragged": (matmul(F32, [[1.0], [1.0, 2.0]]), ["weights is a list", "no array"]),
    "matmul_src_number": (matmul(1.0), ["src ()", "two dimensions"]),
    "matmul_bias_none_array": (matmul(bias=[None, None]), ["bias is a list", "numbers"]),
    "matmul_zero_points_object": (matmul(weights_zero_points=object()), ["weights_zero_points is an object"]),
    "matmul_zero_points_floats": (matmul(S8, S8.T, src_zero_points=0.5), ["src_zero_points has type f64"]),
    "matmul_reductions_float": (matmul(S8, S8.T, reductions=[[1.0]]), ["reductions has type f64", "s32"]),
    "matmul_out_list": (matmul(out=[[0.0] * 2] * 2), ["out is a list", "numpy"]),
    "matmul_dst_dtype": (matmul(dst_dtype="float31"), ["dst_dtype is 'float31'", "float32"]),
    "matmul_weights_dtype": (matmul(S8, S8.T, weights_dtype="int5"), ["weights_dtype is 'int5'", "int4"]),
    "matmul_fpmath": (matmul(fpmath="oops"), ["fpmath is 'oops'", "strict", "bf16"]),
    "post_ops_dict": (matmul(post_ops={"relu": 0.1}), ["post_ops is a dict", "[('relu', 0.1)]"]),
    "post_ops_text": (matmul(post_ops="relu"), ["post_ops is 'relu'", "[('relu', 0.1)]"]),
    "post_ops_number": (matmul(post_ops=[1]), ["post_ops[0]", "1 is no name"]),
    "post_ops_name": (matmul(post_ops=["rleu"]), ["post_ops[0]", "'rleu'", "relu"]),
    "post_ops_alpha": (matmul(post_ops=[("relu", "x")]), ["post_ops[0]", "alpha of relu is 'x'"]),
    "post_ops_array": (matmul(post_ops=[("add", None)]), ["post_ops[0]", "the array of add is None"]),
    "post_ops_count": (matmul(post_ops=[("add",)]), ["post_ops[0]", "add takes an array"]),
    # Descriptors
    "md_dims_number": (md(5, "f32"), ["dims is 5", "sequence"]),
    "md_dims_text": (md("2x3", "f32"), ["dims is '2x3'", "sequence"]),
    "md_dims_float": (md((2.0, 3), "f32"), ["dims (2.0, 3)", "no integer"]),
    "md_dims_negative": (md((2, -3), "f32"), ["dims[1]=-3"]),
    "md_dims_nested": (md(((2, 3),), "f32"), ["dims (a tuple)", "no integer"]),
    "md_no_type": (md((2, 3), None), ["data_type is None", "f32 (float32)"]),
    "md_type_number": (md((2, 3), 3), ["data_type is 3", "f32 (float32)"]),
    "md_type_code": (md((2, 3), "f8"), ["data_type is 'f8'", "f8_e5m2"]),
    "md_type_bool": (md((2, 3), bool), ["data_type", "s8 (int8)"]),
    "md_tag_number": (md((2, 3), "f32", 7), ["tag is 7", "string"]),
    "md_tag_nul": (md((2, 3), "f32", "ab\0c"), ["tag is", "ASCII"]),
    "md_strides_count": (md((2, 3), "f32", strides=(1,)), ["(1,)", "(2, 3)"]),
    "md_tag_and_strides": (md((2, 3), "f32", "ab", strides=(3, 1)), ["ab", "(3, 1)"]),
    "md_dims_large": (md((2**70,), "f32"), [str(2**70)]),
    "md_nnz_large": (lambda _: zemm.MemoryDesc.coo((4, 6), "f32", 2**80), ["nnz is", "not in"]),
    "md_permute_large": (lambda h: h.md.permute_axes((0, 2**40)), ["permutation (0,", "64 bits"]),
    "md_permute_count": (lambda h: h.md.permute_axes((0,)), ["(0,)", "2"]),
    "md_submemory_count": (lambda h: h.md.submemory((1, 1), (0,)), ["(0,)"]),
    "md_part": (lambda h: h.md.part_size(1), ["index of a buffer", "is 1"]),
    "md_blob_text": (lambda _: zemm.MemoryDesc.from_blob("blob"), ["blob is 'blob'", "bytes"]),
    "md_blob_short": (lambda _: zemm.MemoryDesc.from_blob(b"blob"), ["blob has 4 bytes"]),
    "md_blob_zeros": (lambda h: zemm.MemoryDesc.from_blob(bytes(len(h.md.blob))), ["blob is no"]),
    "md_strides_of_any": (lambda _: zemm.MemoryDesc((2, 3), "f32", "any").strides, ["any", "no strides"]),
    "read_index_large": (lambda h: h.memory.read(3), ["index", "is 3"]),
    # Engines
    "engine_kind": (lambda _: zemm.Engine("gpux"), ["kind is 'gpux'", "cpu, gpu"]),
    "engine_index": (lambda _: zemm.Engine("cpu", "0"), ["index is '0'", "integer"]),
    "engine_peak": (lambda h: h.engine.measure_peak("flops"), ["what is 'flops'", "int8"]),
    "capacity": (lambda _: zemm.set_primitive_cache_capacity(2**40), ["capacity is", "not in"]),
    "post_op_arg": (lambda _: zemm.ARG_ATTR_MULTIPLE_POST_OP(-1), ["index is -1"]),
    # Attributes and post-ops
    "scales_arg": (attr("scales", "src", 0), ["arg is 'src'"]),
    "scales_mask_large": (attr("scales", ARG_SRC, 2**40), ["mask is", "not in"]),
    "scales_groups": (attr("scales", ARG_SRC, 3, 128), ["groups is 128", "sequence"]),
    "scales_mode": (attr("scales", ARG_SRC, 0, quantization_mode="x"), ["quantization_mode is 'x'"]),
    "fpmath_mode": (attr("fpmath_mode", None), ["mode is None", "strict"]),
    "accumulation_mode": (attr("accumulation_mode", 1), ["mode is 1", "relaxed"]),
    "scratchpad_mode": (attr("scratchpad_mode", "mine"), ["mode is 'mine'", "user"]),
    "dropout": (attr("dropout", F32), ["mask_md is an array"]),
    "rounding": (attr("rounding", ARG_DST, "up"), ["mode is 'up'", "stochastic"]),
    "set_post_ops_list": (attr("post_ops", ["relu"]), ["post_ops is a list", "zemm.PostOps()"]),
    "eltwise_alg": (post_op("eltwise", None), ["alg None", "post-op"]),
    "eltwise_alpha": (post_op("eltwise", "relu", "x"), ["alpha of relu is 'x'"]),
    "binary_array": (post_op("binary", "add", F32), ["src1_md is an array", "MemoryDesc"]),
    "sum_zero_point": (post_op("sum", 1.0, 0.5), ["zero_point is 0.5"]),
    # Quantisers and types
    "quantize_ints": (lambda _: zemm.quantize_activations([[1, 2]], 2), ["x has type s64", "f32"]),
    "quantize_dtype": (lambda _: zemm.quantize_activations(F32, 4, dtype="s4"), ["dtype is 's4'", "s8, u8"]),
    "quantize_scales": (lambda _: zemm.quantize_activations(F32, 4, np.int8), ["scale_dtype is 's8'", "f32"]),
    "floats_dtype": (lambda _: zemm.quantize_floats(F32, "f16"), ["dtype is 'f16'", "f8_e4m3, f8_e5m2"]),
    "floats_scaling": (lambda _: zemm.quantize_floats(F32, scaling="fp"), ["scaling is 'fp'", "mx, nvfp4"]),
    "floats_f64": (lambda _: zemm.quantize_floats(np.ones(32)), ["x has type f64", "f32, f16"]),
    "floats_number": (lambda _: zemm.quantize_floats(np.float32(1)), ["single number"]),
    "floats_stream": (lambda h: zemm.quantize_floats(F32, stream=h.stream), ["a stream is for a Memory"]),
    "weights_bits": (lambda _: zemm.quantize_weights(W32, "8"), ["bits is '8'", "8, 4 and 2"]),
    "weights_4d": (lambda _: zemm.quantize_weights(W32[None, None], 8), ["w has shape", "[E, K, N]"]),
    "dtype_object": (lambda _: zemm.dtype_name(object()), ["dtype is an object", "bf16 (bfloat16)"]),
    "pack_text": (lambda _: zemm.pack_int4("ab"), ["values of type <U2"]),
    "unpack_count": (lambda _: zemm.unpack_int4(b"ab", "4", True), ["count", "is '4'"]),
    "unpack_list": (lambda _: zemm.unpack_int4([1.0], 1, True), ["packed", "float64"]),
    # Copies
    "pickle_engine": (lambda h: pickle.dumps(h.engine), ["an Engine", "pickled"]),
    "copy_stream": (lambda h: copy.deepcopy(h.stream), ["a Stream", "copied"]),
    "copy_memory": (lambda h: copy.copy(h.memory), ["a Memory", "copied"]),
    "pickle_attr": (lambda h: pickle.dumps(h.attr), ["an Attr", "pickled"]),
}  # fmt: skip


def in_zemms_words(sentence: str) -> bool:
    """Without C: neither an object of cffi nor a function, type or constant of the C library."""
    return not any(word in sentence for word in ("cdata", "zemm_", "ZEMM_", "has no attribute"))


@pytest.mark.parametrize(("make", "words"), TABLE.values(), ids=TABLE)
def test_sentence(have: SimpleNamespace, make: Make, words: list[str]) -> None:
    with pytest.raises(zemm.ZemmError) as caught:
        make(have)
    said = str(caught.value)
    assert isinstance(caught.value, zemm.InvalidArgumentsError)
    assert [word for word in words if word not in said] == [], said
    assert in_zemms_words(said), said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: zemm.matmul(F32), "weights"),
        (lambda: zemm.Memory(), "md"),
        (lambda: zemm.Stream(), "engine"),
        (lambda: zemm.MemoryDesc((2, 3)), "data_type"),
        (lambda: zemm.matmul(F32, W32, fp_math="any"), "fp_math"),
        (lambda: zemm.quantize_weights(F32, 8, 2, "f32", True), "quantize_weights"),
    ],
)
def test_wrong_arity_is_a_type_error(call: Callable[[], object], argument: str) -> None:
    with pytest.raises(TypeError, match=argument):
        call()


def test_subclass_without_super() -> None:
    class Mine(zemm.Engine):
        def __init__(self) -> None:
            pass

    with pytest.raises(zemm.InvalidArgumentsError, match=r"engine is a Mine without .* super\(\)"):
        zemm.Stream(Mine())
