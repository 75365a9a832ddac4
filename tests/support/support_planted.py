# SPDX-License-Identifier: Apache-2.0
"""C programs over libzemm, and libraries that tell when somebody loads them."""

import os
import subprocess
from pathlib import Path

import zemm
from support_tree import ROOT

# It runs a matmul on the CPU device and compares the result. The environment variable FIRST names a
# library to open before, LAST one to open afterwards.
PROGRAM = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zemm/zemm.h>

#define OK(call) do { if (call) { printf("%s: %s\n", #call, zemm_last_error()); return 1; } } while (0)

static int open_library(const char *variable) {
    const char *name = getenv(variable);
    if (!name || dlopen(name, RTLD_NOW | (getenv("GLOBAL") ? RTLD_GLOBAL : RTLD_LOCAL)))
        return 0;
    puts(dlerror());
    return 1;
}

int main(void) {
    zemm_dims_t dims = {8, 8};
    float src[64], weights[64], dst[64];
    void *data[3] = {src, weights, dst};
    zemm_exec_arg_t args[3] = {{ZEMM_ARG_SRC, 0}, {ZEMM_ARG_WEIGHTS, 0}, {ZEMM_ARG_DST, 0}};
    zemm_memory_desc_t md;
    zemm_engine_t engine;
    zemm_stream_t stream;
    zemm_primitive_desc_t pd;
    zemm_primitive_t matmul;
    int i;
    for (i = 0; i < 64; i++) {
        src[i] = 1;
        weights[i] = 2;
        dst[i] = 0;
    }
    (void)!write(2, "BEGIN\n", 6);
    if (open_library("FIRST"))
        return 2;
    OK(zemm_engine_create(&engine, zemm_cpu, 0));
    OK(zemm_stream_create(&stream, engine, zemm_stream_default_flags));
    OK(zemm_memory_desc_create_with_tag(&md, 2, dims, zemm_f32, zemm_ab));
    for (i = 0; i < 3; i++)
        OK(zemm_memory_create(&args[i].memory, md, engine, data[i]));
    OK(zemm_matmul_primitive_desc_create(&pd, engine, md, md, NULL, md, NULL));
    OK(zemm_primitive_create(&matmul, pd));
    OK(zemm_primitive_execute(matmul, stream, 3, args));
    OK(zemm_stream_wait(stream));
    for (i = 0; i < 64; i++)
        if (dst[i] != 16)
            return 3;
    if (open_library("LAST"))
        return 2;
    OK(zemm_primitive_execute(matmul, stream, 3, args));
    OK(zemm_stream_wait(stream));
    puts("right");
    return 0;
}
"""

# The library writes its own path into the file that the environment variable MARKER names.
PLANTED = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void loaded(void) {
    Dl_info info;
    FILE *file = fopen(getenv("MARKER"), "a");
    if (file && dladdr((void *)&loaded, &info))
        fprintf(file, "%s\n", info.dli_fname);
    if (file)
        fclose(file);
}
"""

# Another TBB. A few functions that the runtime calls, and not all. None of them may be called.
SYMBOLS = (
    "TBB_runtime_interface_version",
    "_ZN3tbb6detail2r110initializeERNS0_2d115task_arena_baseE",
    "_ZN3tbb6detail2r115max_concurrencyEPKNS0_2d115task_arena_baseE",
    "_ZN3tbb6detail2r122cache_aligned_allocateEm",
    "_ZN3tbb6detail2r17executeERNS0_2d115task_arena_baseERNS2_13delegate_baseE",
    "_ZN3tbb6detail2r17enqueueERNS0_2d14taskEPNS2_15task_arena_baseE",
)
FOREIGN = "#include <stdlib.h>\n" + "".join(f"void {name}(void) {{ abort(); }}\n" for name in SYMBOLS)


def compile_c(source: str, output: Path, *flags: str) -> Path:
    text = output.with_name(output.name + ".c")
    text.write_text(source)
    subprocess.run(["cc", str(text), "-o", str(output), *flags], check=True)
    text.unlink()
    return output


LIBRARY = Path(zemm.get_lib()) / "libzemm.so.0"


def compile_program(folder: Path, library: Path = LIBRARY) -> Path:
    include = ROOT / "include"
    run_path = f"-Wl,-rpath,{library.parent}"
    return compile_c(PROGRAM, folder / "program", f"-I{include}", str(library), run_path, "-ldl")


def compile_library(source: str, output: Path, name: str) -> Path:
    return compile_c(source, output, "-shared", "-fPIC", f"-Wl,-soname,{name}")


def clean_environment(**variables: str) -> dict[str, str]:
    """The environment without what chooses libraries and folders."""
    foreign = ("LD_", "ZE_", "ZEMM_", "XDG_", "CL_CONFIG_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    kept.pop("VIRTUAL_ENV", None)
    kept.pop("CONDA_PREFIX", None)
    return kept | {"ZEMM_CACHE": "0"} | variables
