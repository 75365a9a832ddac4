# SPDX-License-Identifier: Apache-2.0
"""Make oneDNN's names from zemm's public headers: forwards.py KIND OUT INCLUDE_DIR COMPAT_DEF ATTRIBUTES_DEF

KIND forwards: C++ functions dnnl_X that call zemm_X, for libdnnl.so.3.
KIND names:    the header zemm/compat/dnnl.h, which gives oneDNN's names to all that zemm declares.
compat.def names the functions that are left out, attributes.def the attributes that are extensions.
"""

import re
import sys
from pathlib import Path

HEADERS = ("zemm_format_tags.h", "zemm_types.h", "zemm.h", "zemm_ze.h")
FUNCTION = re.compile(r"^([\w ]+?) ZEMM_API (\*?)zemm_(\w+)\(([^;]*)\);", re.MULTILINE)
# These macros belong to the headers themselves.
OWN_MACROS = {"ZEMM_API", "ZEMM_FORMAT_TAGS_H", "ZEMM_H", "ZEMM_TYPES_H", "ZEMM_ZE_H"}

NAMES_HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN's names for what zemm.h declares: a C program of oneDNN compiles with this header instead of
 * oneapi/dnnl/dnnl.h, and is linked with libzemm.so. Functions of primitives that zemm does not have
 * are not declared. */
#ifndef ZEMM_COMPAT_DNNL_H
#define ZEMM_COMPAT_DNNL_H

#ifdef ONEAPI_DNNL_DNNL_H
#error "oneDNN's own header is included, too"
#endif

#include <zemm/zemm.h>

#define DNNL_API ZEMM_API
typedef const struct zemm_engine *const_dnnl_engine_t;
typedef const struct zemm_stream *const_dnnl_stream_t;

"""


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def left_out(definition: str, macros: str) -> set[str]:
    attributes = re.findall(r'^ZEMM_\w+_ATTRIBUTE\((\w+),[^"\n]*"[\w-]+", yes,', definition, re.MULTILINE)
    accessors = {f"primitive_attr_{verb}_{name}" for name in attributes for verb in ("get", "set")}
    return accessors.union(re.findall(rf"^(?:{macros})\((\w+)", definition, re.MULTILINE))


def forward(returned: str, pointer: str, name: str, parameters: str) -> str:
    """The definition of dnnl_<name>. It only passes its arguments on, which is a jump."""
    parameters = " ".join(parameters.split())
    passed = [] if parameters == "void" else [re.findall(r"\w+", p)[-1] for p in parameters.split(",")]
    arguments = ", ".join(passed)
    return f"{returned} ZEMM_API {pointer}dnnl_{name}({parameters}) {{ return zemm_{name}({arguments}); }}\n"


def forwards(headers: str, definition: str) -> str:
    skipped = left_out(definition, "ZEMM_EXTENSION|DNNL_OWN")
    functions = FUNCTION.findall(headers)
    if len(functions) != len(re.findall(r" ZEMM_API \*?zemm_", headers)):
        sys.exit("forwards.py cannot read all functions of the headers")
    body = "".join(forward(*function) for function in functions if function[2] not in skipped)
    return f'#include "zemm/zemm_ze.h"\n\nextern "C" {{\n{body}}}\n'


def names(headers: str, definition: str) -> str:
    skipped = {f"zemm_{name}" for name in left_out(definition, "ZEMM_EXTENSION")} | OWN_MACROS
    found = dict.fromkeys(re.findall(r"\b(?:const_)?(?:zemm|ZEMM)_\w+", headers))
    lines = [
        f"#define {name.replace('zemm', 'dnnl').replace('ZEMM', 'DNNL')} {name}\n"
        for name in found
        if name not in skipped
    ]
    return NAMES_HEAD + "".join(lines) + "\n#endif\n"


def main(kind: str, out: str, include: str, *definitions: str) -> None:
    folder = Path(include) / "zemm"
    kinds = {"forwards": (forwards, HEADERS), "names": (names, HEADERS[:3])}
    make, used = kinds[kind]
    text = "".join(without_comments((folder / name).read_text(encoding="utf-8")) for name in used)
    definition = "".join(Path(name).read_text(encoding="utf-8") for name in definitions)
    Path(out).write_text(make(text, definition), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
