# SPDX-License-Identifier: Apache-2.0
"""Bad input at every entry point: oneDNN's status, a sentence with the argument and its values, and
no crash.
"""

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import zemm
from support_tree import ROOT
from zemm._zemm import ffi, lib

SRC, WEIGHTS, DST = zemm.ARG_SRC, zemm.ARG_WEIGHTS, zemm.ARG_DST

# ---- NULL, in a process of its own

INVALID, UNIMPLEMENTED = 2, 3
# Parameters that may be NULL according to oneDNN's documentation.
OPTIONAL = {
    "zemm_matmul_primitive_desc_create": {4, 6},  # bias, attr
    "zemm_reorder_primitive_desc_create": {5},  # attr
    "zemm_memory_create": {1, 3},  # md: NULL is the zero descriptor; handle: NULL is no buffer
    "zemm_memory_create_v2": {1},
    "zemm_memory_desc_create_with_strides": {4},  # strides: NULL is dense
    "zemm_memory_desc_get_blob": {0, 1},  # NULL asks for the size
    "zemm_memory_set_data_handle": {1},
    "zemm_memory_set_data_handle_v2": {1},
    "zemm_memory_unmap_data": {1},  # NULL is what map returns for a memory without a buffer
    "zemm_memory_unmap_data_v2": {1},
    "zemm_primitive_attr_set_dropout": {1},
    "zemm_primitive_attr_set_dropout_v2": {1},
    "zemm_primitive_attr_get_dropout_v2": {1, 2, 3, 4},
    "zemm_primitive_attr_get_fpmath_mode_v2": {1, 2},
    "zemm_primitive_desc_get_tuning": {2},  # NULL asks for the size
    "zemm_get_cache_folder": {1},
    "zemm_primitive_get_cache_blob": {2},
    "zemm_ze_interop_engine_get_cache_blob": {2},
    "zemm_ze_interop_primitive_desc_get_modules": {2},  # NULL asks for the number
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


@pytest.fixture(scope="session")
def null_calls() -> list[list[Any]]:
    script = ROOT / "tests" / "support" / "support_null_calls.py"
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
        elif which in OPTIONAL.get(name, ()):
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
