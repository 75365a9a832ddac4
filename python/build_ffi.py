# SPDX-License-Identifier: Apache-2.0
"""Write the C source of the extension module `zemm._zemm` (cffi, API mode) from zemm's public headers, the
internal ones, and calls.h and calls.c beside this file.

`python build_ffi.py <output.c> <include dir>`: meson calls it. Nothing of the C API is declared a second
time: the declarations given to cffi are the headers' own text without what cffi's parser does not read. The C
compiler then checks every one of them against the headers.
"""

import re
import sys
from pathlib import Path

from cffi import FFI

HEADERS = ("zemm/zemm_format_tags.h", "zemm/zemm_types.h", "zemm/zemm.h", "zemm/zemm_ze.h")
INTERNAL = ("experts/experts.h", "attention/attention.h")  # in src, beside the folder of the public headers
CALLS_H, CALLS_C = (
    Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("calls.h", "calls.c")
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
    headers = (*HEADERS, *(f"../src/{header}" for header in INTERNAL))
    texts = [without_comments((include / header).read_text(encoding="utf-8")) for header in headers]
    constants: dict[str, int] = {}
    for text in texts:
        constants |= integer_constants(text)
    defines = "".join(f"#define {name} {value}\n" for name, value in constants.items())
    return defines + "".join(declarations(text) for text in texts)


def main(output: str, include: str) -> None:
    ffi = FFI()
    ffi.cdef(cdef(Path(include)) + without_comments(CALLS_H))
    includes = "".join(f"#include <{header}>\n" for header in ("zemm/zemm_ze.h", *INTERNAL))
    ffi.set_source("zemm._zemm", includes + CALLS_H + CALLS_C, py_limited_api=True)
    ffi.emit_c_code(output)


if __name__ == "__main__":
    main(*sys.argv[1:])
