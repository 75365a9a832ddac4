# SPDX-License-Identifier: Apache-2.0
"""Opens llama.cpp's libraries ggml-base and ggml-cpu.

No package has them in a known place, so a variable of the environment names the file. It must be an
absolute path in a folder that not everybody may write to. The current directory has no say.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from zemm.benchdnn.peers import PeerError
from zemm.gguf.formats import FORMATS

VARIABLE = "ZEMM_GGML_LIBRARY"
_BASE = "libggml-base.so"
# Libraries that the two need. They are opened by name first: builds of llama.cpp have run paths with an empty
# element, which is the current directory.
_NEEDED = ("libgcc_s.so.1", "libstdc++.so.6", "libgomp.so.1")
TYPES = {name: FORMATS[name].number for name in ("F32", "Q8_0", "Q6_K", "Q4_0", "Q4_1", "Q4_K", "MXFP4")}

_DECLARATIONS = """
struct ggml_init_params { size_t mem_size; void *mem_buffer; bool no_alloc; };
const char *ggml_version(void);
size_t ggml_tensor_overhead(void);
size_t ggml_graph_overhead(void);
size_t ggml_type_size(int type);
int64_t ggml_blck_size(int type);
void *ggml_init(struct ggml_init_params params);
void ggml_free(void *context);
void *ggml_new_tensor_2d(void *context, int type, int64_t ne0, int64_t ne1);
void *ggml_mul_mat(void *context, void *weights, void *src);
void *ggml_new_graph(void *context);
void ggml_build_forward_expand(void *graph, void *tensor);
void *ggml_backend_alloc_ctx_tensors_from_buft(void *context, void *buffer_type);
const char *ggml_backend_buft_name(void *buffer_type);
void ggml_backend_buffer_free(void *buffer);
void *ggml_backend_buffer_get_base(void *buffer);
int ggml_backend_tensor_alloc(void *buffer, void *tensor, void *address);
void ggml_backend_tensor_set(void *tensor, const void *data, size_t offset, size_t size);
void ggml_backend_tensor_get(const void *tensor, void *data, size_t offset, size_t size);
int ggml_backend_graph_compute(void *backend, void *graph);
bool ggml_backend_dev_supports_op(void *device, const void *tensor);
void *ggml_backend_reg_dev_get(void *reg, size_t index);
void *ggml_backend_reg_get_proc_address(void *reg, const char *name);
void *ggml_backend_cpu_buffer_type(void);
"""
_CPU_DECLARATIONS = """
void *ggml_backend_cpu_init(void);
void *ggml_backend_cpu_reg(void);
void ggml_backend_cpu_set_n_threads(void *backend, int threads);
"""


def open_libraries() -> tuple[Any, Any, Any]:
    """The ffi object, ggml-base and ggml-cpu. PeerError if they are missing or their blocks are not
    the ones that zemm knows."""
    from cffi import FFI

    ffi = FFI()
    ffi.cdef(_DECLARATIONS + _CPU_DECLARATIONS)
    path = _path()
    for name in _NEEDED:
        with suppress(OSError):  # a build without OpenMP needs no libgomp
            ffi.dlopen(name, ffi.RTLD_NOW | ffi.RTLD_GLOBAL)
    try:
        base = ffi.dlopen(str(path.parent / _BASE), ffi.RTLD_NOW | ffi.RTLD_GLOBAL)
        cpu = ffi.dlopen(str(path), ffi.RTLD_NOW)
        base.ggml_version  # noqa: B018 - libraries without it are older than some of the types
        for name, number in TYPES.items():
            block = FORMATS[name]
            if (base.ggml_type_size(number), base.ggml_blck_size(number)) != (
                block.block.itemsize,
                block.elements,
            ):
                raise _left_out(f"{path} has other blocks of {name} than zemm knows")
        cpu.ggml_backend_cpu_reg  # noqa: B018 - raises where the library has no such function
    except (OSError, AttributeError) as error:
        raise _left_out(str(error)) from None
    return ffi, base, cpu


def _path() -> Path:
    """The file that the variable names."""
    given = os.environ.get(VARIABLE, "")
    if not given:
        raise _left_out(f"{VARIABLE} is not set")
    path = Path(given)
    if not path.is_absolute():
        raise _left_out(f"{VARIABLE}={given} is not an absolute path")
    if path.parent.is_dir() and path.parent.stat().st_mode & stat.S_IWOTH:
        raise _left_out(f"{path.parent} is writable by all users")
    for file in (path, path.parent / _BASE):
        if not file.is_file():
            raise _left_out(f"{VARIABLE}={given}: there is no file {file}")
    return path


def _left_out(why: str) -> PeerError:
    return PeerError(
        f"peer ggml left out: {why} ({VARIABLE} names libggml-cpu.so of llama.cpp, beside {_BASE}: "
        "docs/performance.md has the commands that build them)"
    )
