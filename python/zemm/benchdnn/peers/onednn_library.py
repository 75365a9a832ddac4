# SPDX-License-Identifier: Apache-2.0
"""Loads oneDNN's C library from its PyPI package.

Its CPU engine runs on SYCL, which runs on OpenCL. The libraries of these packages lie in the lib
folder of the Python environment, where the dynamic linker does not search, and they open each other
by soname. So they are opened by path first, each after those that it depends on; afterwards the
linker finds them by soname. The only change to the process's environment is OCL_ICD_FILENAMES,
which the OpenCL loader reads when it is first asked for platforms.
"""

import os
from importlib import metadata
from pathlib import Path
from typing import Any

from zemm.benchdnn.peers import PeerError, missing

# (package, library), each after those that it depends on.
_LIBRARIES = (
    ("intel-cmplr-lib-rt", "libintlc.so.5"),
    ("intel-cmplr-lib-rt", "libirng.so"),
    ("intel-cmplr-lib-rt", "libimf.so"),
    ("intel-cmplr-lib-rt", "libsvml.so"),
    ("tbb", "libtbb.so.12"),
    ("tcmlib", "libhwloc.so.15"),
    ("intel-opencl-rt", "libOpenCL.so.1"),
    ("umf", "libumf.so.1"),
    ("intel-cmplr-lib-ur", "libur_loader.so.0"),
    ("intel-sycl-rt", "libsycl.so.9"),
)
_RUNTIME = ("intel-opencl-rt", "libintelocl.so")
_PACKAGE, _LIBRARY = "onednn", "libdnnl.so.3"

_DECLARATIONS = """
typedef struct { int major, minor, patch; const char *hash; unsigned cpu_runtime,
    gpu_runtime; } dnnl_version_t;
typedef struct { int arg; void *memory; } dnnl_exec_arg_t;
const dnnl_version_t *dnnl_version(void);
int dnnl_set_verbose(int level);
size_t dnnl_engine_get_count(int kind);
int dnnl_engine_create(void **engine, int kind, size_t index);
int dnnl_engine_destroy(void *engine);
int dnnl_stream_create(void **stream, void *engine, unsigned flags);
int dnnl_stream_wait(void *stream);
int dnnl_stream_destroy(void *stream);
int dnnl_memory_desc_create_with_strides(void **md, int ndims, const int64_t *dims, int dt,
    const int64_t *strides);
int dnnl_memory_desc_create_with_tag(void **md, int ndims, const int64_t *dims, int dt, int tag);
int dnnl_memory_desc_create_host_scalar(void **md, int dt);
int dnnl_memory_desc_clone(void **md, const void *other);
int dnnl_memory_desc_destroy(void *md);
int dnnl_memory_desc_equal(const void *a, const void *b);
size_t dnnl_memory_desc_get_size(const void *md);
int dnnl_memory_create(void **memory, const void *md, void *engine, void *handle);
int dnnl_memory_create_host_scalar(void **memory, const void *md, void *value);
int dnnl_memory_map_data(void *memory, void **data);
int dnnl_memory_unmap_data(void *memory, void *data);
int dnnl_memory_destroy(void *memory);
int dnnl_primitive_attr_create(void **attr);
int dnnl_primitive_attr_destroy(void *attr);
int dnnl_primitive_attr_set_scales_v3(void *attr, int arg, int mask, int ndims, const int64_t *groups,
    int dt,
    int on_host, int mode);
int dnnl_primitive_attr_set_zero_points_v2(void *attr, int arg, int mask, int ndims,
    const int64_t *groups, int dt,
    int on_host);
int dnnl_primitive_attr_set_precomputed_reductions(void *attr, int arg, int mask, int ndims,
    const int64_t *groups,
    int dt);
int dnnl_primitive_attr_set_fpmath_mode_v2(void *attr, int mode, int apply_to_int);
int dnnl_primitive_attr_set_accumulation_mode(void *attr, int mode);
int dnnl_primitive_attr_set_deterministic(void *attr, int value);
int dnnl_primitive_attr_set_scratchpad_mode(void *attr, int mode);
int dnnl_primitive_attr_set_rounding(void *attr, int arg, int mode);
int dnnl_primitive_attr_set_post_ops(void *attr, const void *post_ops);
int dnnl_post_ops_create(void **post_ops);
int dnnl_post_ops_destroy(void *post_ops);
int dnnl_post_ops_append_sum(void *post_ops, float scale, int32_t zero_point, int dt);
int dnnl_post_ops_append_eltwise(void *post_ops, int alg, float alpha, float beta);
int dnnl_post_ops_append_binary(void *post_ops, int alg, const void *md);
int dnnl_post_ops_append_binary_v2(void *post_ops, int alg, const void *md, const void *md2);
int dnnl_post_ops_append_prelu(void *post_ops, int mask);
int dnnl_matmul_primitive_desc_create(void **pd, void *engine, const void *src, const void *wei,
    const void *bias,
    const void *dst, const void *attr);
int dnnl_reorder_primitive_desc_create(void **pd, const void *src, void *src_engine, const void *dst,
    void *dst_engine, const void *attr);
int dnnl_primitive_desc_query(const void *pd, int what, int index, void *result);
const void *dnnl_primitive_desc_query_md(const void *pd, int what, int index);
int dnnl_primitive_desc_destroy(void *pd);
int dnnl_primitive_create(void **primitive, const void *pd);
int dnnl_primitive_execute(const void *primitive, void *stream, int count, const dnnl_exec_arg_t *args);
int dnnl_primitive_destroy(void *primitive);
"""


def open_library() -> tuple[Any, Any]:
    """The ffi object and the library. PeerError if a library is missing or the CPU engine has no
    device."""
    from cffi import FFI

    ffi = FFI()
    ffi.cdef(_DECLARATIONS)
    library = _find(_PACKAGE, _LIBRARY)
    runtime = str(_find(*_RUNTIME))
    given = os.environ.get("OCL_ICD_FILENAMES", "")
    if runtime not in given.split(":"):
        os.environ["OCL_ICD_FILENAMES"] = ":".join(filter(None, (given, runtime)))
    for package, name in _LIBRARIES:
        _open(ffi, _find(package, name))
    lib = _open(ffi, library)
    if not lib.dnnl_engine_get_count(1):
        raise PeerError(
            "peer onednn left out: its CPU engine found no device; it runs on SYCL over OpenCL, whose "
            f"runtime is {runtime} here (run with SYCL_UR_TRACE=1 to see what SYCL finds)"
        )
    return ffi, lib


def _open(ffi: Any, path: Path) -> Any:
    try:
        return ffi.dlopen(str(path), ffi.RTLD_NOW | ffi.RTLD_GLOBAL)
    except OSError as error:
        raise missing("onednn", _PACKAGE, error) from None


def _find(package: str, name: str) -> Path:
    """The path of the file `name` in an installed package. PeerError if it is missing."""
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        raise missing("onednn", _PACKAGE, f"package {package} is not installed") from None
    for file in files:
        path = Path(str(file.locate()))
        if file.name == name and path.is_file():
            return path
    raise missing("onednn", _PACKAGE, f"package {package} has no {name}")
