# SPDX-License-Identifier: Apache-2.0
"""Calls every exported function with NULL, in a process of its own, and prints a JSON line for each
call.

A line is [function, number of the NULL parameter or "all", its type, result, sentence].
"""

import json
from typing import Any

import zemm
from zemm._zemm import ffi, lib

BUFFER = ffi.new("int64_t[4096]", [1] * 4096)


def objects() -> dict[str, Any]:
    """A valid handle for each type, by the type's C name."""
    engine = zemm.Engine("cpu")
    md = zemm.MemoryDesc((1, 1), "f32", "ab")
    pd = zemm.MatmulPrimitiveDesc(engine, md, md, md)
    made = {
        "engine": engine,
        "stream": zemm.Stream(engine),
        "memory_desc": md,
        "memory": zemm.Memory(md, engine),
        "primitive_attr": zemm.Attr(),
        "post_ops": zemm.PostOps(),
        "primitive_desc": pd,
        "primitive": zemm.Primitive(pd),
    }
    return {f"struct zemm_{name} *": thing for name, thing in made.items()}


def value_for(ctype: Any, handles: dict[str, Any]) -> Any:
    if ctype.cname in handles:
        return handles[ctype.cname]._handle
    if ctype.kind == "pointer":
        return ffi.cast(ctype, BUFFER)
    return 1.0 if ctype.cname == "float" else 1


def report(name: str, which: int | str, ctype: str, arguments: list[Any]) -> None:
    print(json.dumps(["about to call", name, which]), flush=True)
    result = getattr(lib, name)(*arguments)
    is_number = isinstance(result, int)
    sentence = ffi.string(lib.zemm_last_error()).decode()
    print(json.dumps([name, which, ctype, result if is_number else str(result), sentence]), flush=True)


def main() -> None:
    handles = objects()
    for name in sorted(dir(lib)):
        function = getattr(lib, name)
        if not name.startswith("zemm_") or not callable(function):
            continue
        types = ffi.typeof(function).args
        pointers = [i for i, ctype in enumerate(types) if ctype.kind == "pointer"]
        if not pointers:
            continue
        zeros = [ffi.NULL if ctype.kind == "pointer" else 0 for ctype in types]
        report(name, "all", "", zeros)
        if name.endswith("_destroy") or len(pointers) < 2:
            continue
        for i in pointers:
            for j in range(4096):
                BUFFER[j] = 1
            arguments = [value_for(ctype, handles) for ctype in types]
            arguments[i] = ffi.NULL
            report(name, i, types[i].cname, arguments)


if __name__ == "__main__":
    main()
