# SPDX-License-Identifier: Apache-2.0
"""Write the C source of the extension module `zemm._zemm` (cffi, API mode) from zemm's public headers, and
from experts.h and experts.c beside this file.

`python build_ffi.py <output.c> <include dir>`: meson calls it. Nothing of the C API is declared a second
time: the declarations given to cffi are the headers' own text without what cffi's parser does not read. The C
compiler then checks every one of them against the headers.
"""

import re
import sys
from pathlib import Path

from cffi import FFI

EXPERTS_H, EXPERTS_C = (
    Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("experts.h", "experts.c")
)
HEADERS = ("zemm/zemm_format_tags.h", "zemm/zemm_types.h", "zemm/zemm.h", "zemm/zemm_ze.h")
# A layer's call as one call of the extension: gives memories their addresses and experts their rows, executes
# primitives in order and waits. Stops at the first call that fails, and returns its status.
CALLS = """
typedef struct {
    zemm_primitive_t primitive;
    int nargs;
    const zemm_exec_arg_t *args;
} layer_execution;

/* A buffer of a memory, which gets the address of one of a call's tensors plus some bytes. */
typedef struct {
    zemm_memory_t memory;
    int index;
    int tensor; /* 0: src, 1: dst, 2: scratch, 3: ends */
    size_t offset;
} layer_place;

/* ends: for the rows of each expert, the number of its rows and of those before. */
typedef struct {
    int nplaces;
    const layer_place *places;
    int nexecutions;
    const layer_execution *executions;
    int nexperts;
    int32_t *ends;
} layer_call;

/* Returns -1, and has done nothing, if the sizes are not those of `rows` rows. */
static int layer_run(const layer_call *call, zemm_stream_t stream, void *src, void *dst, void *scratch,
                     const int64_t *sizes, int64_t rows, int wait)"""
SOURCE = (
    "#include <zemm/zemm_ze.h>\n"
    + CALLS
    + """ {
    int64_t end = 0;
    for (int i = 0; i < call->nexperts; ++i) {
        if (sizes[i] < 0 || sizes[i] > rows - end)
            return -1;
        call->ends[i] = (int32_t)(end += sizes[i]);
    }
    if (call->nexperts && (end != rows || rows > INT32_MAX))
        return -1;
    char *const tensors[] = {src, dst, scratch, (char *)call->ends};
    zemm_status_t status = zemm_success;
    for (int i = 0; i < call->nplaces && status == zemm_success; ++i) {
        const layer_place *place = &call->places[i];
        status = zemm_memory_set_data_handle_v2(place->memory, tensors[place->tensor] + place->offset,
                                                place->index);
    }
    for (int i = 0; i < call->nexecutions && status == zemm_success; ++i)
        status = zemm_primitive_execute(call->executions[i].primitive, stream, call->executions[i].nargs,
                                        call->executions[i].args);
    return wait && status == zemm_success ? zemm_stream_wait(stream) : status;
}
"""
)


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)


def integer_constants(text: str) -> dict[str, int]:
    """The `#define NAME value` lines whose value is an integer or another such name."""
    constants: dict[str, int] = {}
    for name, value in re.findall(r"^#define[ \t]+(\w+)[ \t]+(\w+)[ \t]*$", text, flags=re.MULTILINE):
        literal = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*", value)
        if literal:
            constants[name] = int(literal[1], 0)
        elif value in constants:
            constants[name] = constants[value]
    return constants


def declarations(text: str) -> str:
    """The types and functions of a header without preprocessor lines, linkage and attributes."""
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", "", text, flags=re.MULTILINE)
    text = re.sub(r'extern "C" \{(.*)\}', r"\1", text, flags=re.DOTALL)
    # Functions with Level Zero's handles: Python has none.
    text = re.sub(r"\bzemm_status_t ZEMM_API [^;]*\bze_\w+_handle_t\b[^;]*;", "", text)
    text = re.sub(r"static const union \{.*?\} \w+ = \{.*?\};", "", text, flags=re.DOTALL)
    return re.sub(r"\bZEMM_API\b", "", text)


def cdef(include: Path) -> str:
    texts = [without_comments((include / header).read_text(encoding="utf-8")) for header in HEADERS]
    constants: dict[str, int] = {}
    for text in texts:
        constants |= integer_constants(text)
    defines = "".join(f"#define {name} {value}\n" for name, value in constants.items())
    return defines + "".join(declarations(text) for text in texts)


def main(output: str, include: str) -> None:
    ffi = FFI()
    ffi.cdef(cdef(Path(include)) + CALLS + ";" + without_comments(EXPERTS_H))
    ffi.set_source("zemm._zemm", SOURCE + EXPERTS_H + EXPERTS_C, py_limited_api=True)
    ffi.emit_c_code(output)


if __name__ == "__main__":
    main(*sys.argv[1:])
