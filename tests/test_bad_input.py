# SPDX-License-Identifier: Apache-2.0
"""Bad input at every entry point: oneDNN's status, a sentence with the argument and its values, and
no crash.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zemm
from zemm._zemm import ffi, lib

SRC, WEIGHTS, DST = zemm.ARG_SRC, zemm.ARG_WEIGHTS, zemm.ARG_DST

# ---- NULL, in a process of its own

INVALID, UNIMPLEMENTED = 2, 3
# Parameters that may be NULL according to oneDNN's documentation.
OPTIONAL = {
    ("zemm_matmul_primitive_desc_create", 4),  # bias
    ("zemm_matmul_primitive_desc_create", 6),  # attr
    ("zemm_reorder_primitive_desc_create", 5),  # attr
    ("zemm_memory_create", 1),  # md: NULL is the zero descriptor
    ("zemm_memory_create", 3),  # handle: NULL is no buffer
    ("zemm_memory_create_v2", 1),
    ("zemm_memory_desc_create_with_strides", 4),  # strides: NULL is dense
    ("zemm_memory_desc_get_blob", 0),  # NULL asks for the size
    ("zemm_memory_desc_get_blob", 1),
    ("zemm_memory_set_data_handle", 1),
    ("zemm_memory_set_data_handle_v2", 1),
    ("zemm_memory_unmap_data", 1),  # NULL is what map returns for a memory without a buffer
    ("zemm_memory_unmap_data_v2", 1),
    ("zemm_primitive_attr_set_dropout", 1),
    ("zemm_primitive_attr_set_dropout_v2", 1),
    ("zemm_primitive_attr_get_dropout_v2", 1),
    ("zemm_primitive_attr_get_dropout_v2", 2),
    ("zemm_primitive_attr_get_dropout_v2", 3),
    ("zemm_primitive_attr_get_dropout_v2", 4),
    ("zemm_primitive_attr_get_fpmath_mode_v2", 1),
    ("zemm_primitive_attr_get_fpmath_mode_v2", 2),
    ("zemm_primitive_desc_get_tuning", 2),  # NULL asks for the size
    ("zemm_get_cache_folder", 1),
    ("zemm_primitive_get_cache_blob", 2),
    ("zemm_ze_interop_engine_get_cache_blob", 2),
    ("zemm_ze_interop_primitive_desc_get_modules", 2),  # NULL asks for the number
}
UNSUPPORTED = {
    ("zemm_memory_desc_create_with_grouped_encoding", 2),  # not 2 dimensions, which is refused first
}
# Functions that return no status, with their answers to NULL.
ANSWERS = {
    ("zemm_memory_desc_equal", "all"): 1,
    ("zemm_memory_desc_equal", 0): 0,
    ("zemm_memory_desc_equal", 1): 0,
    ("zemm_memory_desc_get_size", "all"): 0,
    ("zemm_memory_desc_get_size_v2", "all"): 0,
    ("zemm_post_ops_len", "all"): 0,
    ("zemm_post_ops_get_kind", "all"): 0,
    ("zemm_primitive_desc_query_s32", "all"): 0,
    ("zemm_primitive_desc_query_md", "all"): "<cdata 'struct zemm_memory_desc *' NULL>",
}


@pytest.fixture(scope="module")
def null_calls() -> list[list[Any]]:
    script = Path(__file__).with_name("support_null_calls.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"crashed in {lines[-1]}: {done.stderr}"
    return [line for line in lines if line[0] != "about to call"]


def test_null_is_refused_with_its_name(null_calls: list[list[Any]]) -> None:
    wrong = []
    for name, which, ctype, result, sentence in null_calls:
        key = (name, which)
        if key in ANSWERS:
            expected: list[Any] = [ANSWERS[key]]
        elif name.endswith("_destroy"):
            expected = [0]
        elif key in OPTIONAL:
            expected = [0, INVALID]
        else:
            expected = [UNIMPLEMENTED if key in UNSUPPORTED else INVALID]
            if not sentence or (expected == [INVALID] and which == "all" and "NULL" not in sentence):
                wrong.append((name, which, ctype, result, sentence))
        if result not in expected:
            wrong.append((name, which, ctype, result, sentence))
    assert not wrong


def test_null_calls_reach_every_function(null_calls: list[list[Any]]) -> None:
    functions = {n for n in dir(lib) if n.startswith("zemm_") and callable(getattr(lib, n))}
    with_pointers = {
        n for n in functions if any(a.kind == "pointer" for a in ffi.typeof(getattr(lib, n)).args)
    }
    assert {line[0] for line in null_calls} == with_pointers
    assert len(with_pointers) > 90


# ---- settings that break a rule by themselves


def scales(arg: int, *args: Any, **kwargs: Any) -> Callable[[], None]:
    return lambda: zemm.Attr().set_scales(arg, *args, **kwargs)


def zero_points(arg: int, *args: Any, **kwargs: Any) -> Callable[[], None]:
    return lambda: zemm.Attr().set_zero_points(arg, *args, **kwargs)


def reductions(arg: int, *args: Any) -> Callable[[], None]:
    return lambda: zemm.Attr().set_precomputed_reductions(arg, *args)


def post_op(method: str, *args: Any) -> Callable[[], None]:
    return lambda: getattr(zemm.PostOps(), f"append_{method}")(*args)


def md(*args: Any, **kwargs: Any) -> Callable[[], zemm.MemoryDesc]:
    return lambda: zemm.MemoryDesc(*args, **kwargs)


REFUSED: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "scales_of_bias": (scales(zemm.ARG_BIAS, 0), ["41"]),
    "scales_mask": (scales(SRC, -1), ["mask", "-1"]),
    "scales_type": (scales(SRC, 0, (), "s8"), ["s8"]),
    "scales_e8m0_common": (scales(SRC, 0, (), "e8m0"), ["e8m0", "mask"]),
    "scales_one_group": (scales(SRC, 3, (32,)), ["number of groups 1"]),
    "scales_group_zero": (scales(SRC, 3, (1, 0)), ["groups[1]", "0"]),
    "scales_group_negative": (scales(WEIGHTS, 3, (-16, 1)), ["groups[0]", "-16"]),
    "reductions_of_dst": (reductions(zemm.ARG_DST, 3, (1, 32)), ["dst", "dynamic scales"]),
    "scales_groups_common": (scales(SRC, 0, (1, 32)), ["groups", "mask 0"]),
    "scales_host_mask": (scales(SRC, 2, (), "f32", True), ["mask 2", "host"]),
    "zero_points_type": (zero_points(SRC, 0, (), "f32"), ["f32"]),
    "zero_points_u4_common": (zero_points(WEIGHTS, 0, (), "u4"), ["u4", "mask"]),
    "zero_points_of_bias": (zero_points(zemm.ARG_BIAS, 0), ["41"]),
    "zero_points_dst_type": (zero_points(DST, 0, (), "s8"), ["s8", "17"]),
    "zero_points_dst_groups": (zero_points(DST, 3, (1, 32)), ["number of groups 2"]),
    "zero_points_host_mask": (zero_points(SRC, 1, (), "s32", True), ["mask 1", "host"]),
    "reductions_of_weights": (reductions(WEIGHTS, 3, (1, 32)), ["33"]),
    "reductions_type": (reductions(SRC, 3, (1, 32), "f32"), ["f32", "s32"]),
    "reductions_group": (reductions(SRC, 3, (1, -4)), ["groups[1]", "-4"]),
    "eltwise_alg": (post_op("eltwise", "binary_add"), ["binary_add"]),
    "eltwise_clip": (post_op("eltwise", "eltwise_clip", 2.0, 1.0), ["clip", "2", "1"]),
    "eltwise_clip_v2": (post_op("eltwise", "eltwise_clip_v2", 0.0, -1.5), ["clip_v2", "-1.5"]),
    "eltwise_relu_dst": (post_op("eltwise", "eltwise_relu_use_dst_for_bwd", -0.5), ["-0.5"]),
    "eltwise_elu_dst": (post_op("eltwise", "eltwise_elu_use_dst_for_bwd", -0.25), ["-0.25"]),
    "binary_alg": (post_op("binary", "eltwise_relu", zemm.MemoryDesc((1, 1), "f32")), ["eltwise_relu"]),
    "binary_runtime": (
        post_op("binary", "binary_add", zemm.MemoryDesc((zemm.RUNTIME_DIM, 1), "f32")),
        ["src1", "runtime"],
    ),
    "select_alone": (post_op("binary", "binary_select", zemm.MemoryDesc((1, 1), "f32")), ["src2"]),
    "prelu_mask": (post_op("prelu", -2), ["mask", "-2"]),
    "md_too_many": (md((1,) * 13, "f32"), ["13"]),
    "md_negative": (md((2, -3), "f32", "ab"), ["-3"]),
    "md_type": (md((2, 3), "boolean", "ab"), ["boolean"]),
    "md_overlap": (md((4, 8), "f32", strides=(7, 1)), ["7", "8"]),
    "md_odd_int4": (md((4, 7), "s4", "ab"), ["7", "s4"]),
    "md_runtime_any": (md((zemm.RUNTIME_DIM, 7), "f32", "any"), ["any"]),
    "engine_index": (lambda: zemm.Engine("cpu", 77), ["77"]),
}  # fmt: skip


@pytest.mark.parametrize(("attempt", "words"), REFUSED.values(), ids=REFUSED)
def test_refused_settings(attempt: Callable[[], Any], words: list[str]) -> None:
    with pytest.raises(zemm.InvalidArgumentsError) as caught:
        attempt()
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)


def test_33rd_post_op() -> None:
    ops = zemm.PostOps()
    for _ in range(32):
        ops.append_eltwise("eltwise_abs")
    for append in (ops.append_sum, lambda: ops.append_eltwise("eltwise_abs"), lambda: ops.append_prelu(0)):
        with pytest.raises(zemm.OutOfMemoryError, match="32"):
            append()
    assert len(ops) == 32


# ---- descriptors of the matmul; test_matmul_random.py has more


def test_zero_and_scalar_descriptors(engine: zemm.Engine) -> None:
    good = zemm.MemoryDesc((2, 2), "f32")
    for bad in (zemm.MemoryDesc.zero(), zemm.MemoryDesc.host_scalar("f32")):
        for position, name in enumerate(("src", "weights", "dst")):
            mds = [good] * 3
            mds[position] = bad
            with pytest.raises(zemm.InvalidArgumentsError, match=name):
                zemm.MatmulPrimitiveDesc(engine, *mds)
    with pytest.raises(zemm.InvalidArgumentsError, match="bias"):
        zemm.MatmulPrimitiveDesc(engine, good, good, good, zemm.MemoryDesc.host_scalar("f32"))
    zemm.MatmulPrimitiveDesc(engine, good, good, good, zemm.MemoryDesc.zero())  # no bias


def test_refusals_leave_outputs_alone(engine: zemm.Engine) -> None:
    good, bad = zemm.MemoryDesc((2, 2), "f32"), zemm.MemoryDesc((3, 3), "f32")
    marker = ffi.cast("zemm_primitive_desc_t", 0x1234)
    out = ffi.new("zemm_primitive_desc_t *", marker)
    status = lib.zemm_matmul_primitive_desc_create(
        out, engine._handle, good._handle, bad._handle, ffi.NULL, good._handle, ffi.NULL
    )
    assert status == INVALID
    assert out[0] == marker


# ---- memories


def test_small_buffers(engine: zemm.Engine) -> None:
    with pytest.raises(zemm.InvalidArgumentsError, match=r"100 .*256|256.* 100"):
        zemm.Memory(zemm.MemoryDesc((8, 8), "f32"), engine, np.zeros(100, np.uint8))


def test_usm_allocation_too_small(engine: zemm.Engine) -> None:
    small = zemm.Memory(zemm.MemoryDesc((1000,), "u8"), engine)
    large = zemm.MemoryDesc((1_000_001,), "u8")
    with pytest.raises(zemm.InvalidArgumentsError, match=r"too small.*1000001"):
        zemm.Memory.from_handle(large, engine, small.handle, small)
    unbound = zemm.Memory.from_handle(large, engine, 0)
    assert lib.zemm_memory_set_data_handle(unbound._handle, ffi.cast("void *", small.handle)) == INVALID
    assert unbound.handle == 0
    # Only the rest of an allocation behind the handle counts, not all of it.
    with pytest.raises(zemm.InvalidArgumentsError, match="too small"):
        zemm.Memory.from_handle(zemm.MemoryDesc((65536,), "u8"), engine, small.handle + 900, small)


def test_memory_needs_a_layout(engine: zemm.Engine) -> None:
    for bad in (zemm.MemoryDesc((2, 2), "f32", "any"), zemm.MemoryDesc.host_scalar("f32")):
        with pytest.raises(zemm.InvalidArgumentsError):
            zemm.Memory(bad, engine)
    with pytest.raises(zemm.InvalidArgumentsError):
        zemm.Memory(zemm.MemoryDesc((zemm.RUNTIME_DIM, 2), "f32", "ab"), engine)
