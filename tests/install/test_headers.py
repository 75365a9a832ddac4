# SPDX-License-Identifier: Apache-2.0
"""The public headers: each compiles alone as C and as C++, and the enums have oneDNN's numbers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from support_tree import ROOT

INCLUDE = ROOT / "include"
HEADERS = sorted(path.name for path in (INCLUDE / "zemm").glob("*.h"))
WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Werror"]
LANGUAGES = {
    "c99": ["gcc", "-xc", "-std=c99"],
    "c11": ["gcc", "-xc", "-std=c11"],
    "c++11": ["g++", "-xc++", "-std=c++11"],
    "c++17": ["g++", "-xc++", "-std=c++17"],
}

# oneDNN's numbers of what its package is built without, and some others. test_dropin.py compares all others
# with oneDNN's own headers, where they are installed.
VALUES = (
    "success 0, unimplemented 3, f32 3, s64 16, grouped 4, any_engine 0, gpu 2, stream_profiling 4, "
    "profiling_data_kind_cycles 2, fpmath_mode_tf32 4, matmul 14, eltwise_hardswish 0x34, "
    "binary_select 0x1fffc, query_exec_arg_md 255, query_num_handles_s32 268, dabc 837, BA16a64b4a 388, "
    "aCB16b64c4b 532, nCdhw16c 121, format_tag_last 875, ARG_DST 17, ARG_WEIGHTS 33, "
    "ARG_HINT_MAX_GROUP_SIZE 384, ARG_ATTR_SCALES 4096, ARG_ATTR_ZERO_POINTS 8192, "
    "ARG_ATTR_MULTIPLE_POST_OP(0) 32768, ARG_ATTR_MULTIPLE_POST_OP(31) 1048576, MAX_NDIMS 12, RUNTIME_ZE 1024"
)


def run(command: list[str], source: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=source, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("header", HEADERS)
def test_compiles_alone(header: str, language: str) -> None:
    compiler = LANGUAGES[language]
    if not shutil.which(compiler[0]):
        pytest.skip(f"no {compiler[0]}")
    if header == "zemm_ze.h":
        probe = run([*compiler, "-fsyntax-only", "-"], "#include <level_zero/ze_api.h>\n")
        if probe.returncode:
            pytest.skip("the Level Zero headers (libze-dev) are not installed or do not compile")
    result = run([*compiler, *WARNINGS, f"-I{INCLUDE}", "-fsyntax-only", "-"], f"#include <zemm/{header}>\n")
    assert result.returncode == 0, result.stderr


def printed(source: str, folder: Path) -> str:
    """The output of a C program with this main."""
    program = folder / "program"
    head = "#include <stdio.h>\n#include <string.h>\n#include <zemm/zemm.h>\n"
    built = run(["gcc", "-xc", "-std=c99", f"-I{INCLUDE}", "-", "-o", str(program)], head + source)
    assert built.returncode == 0, built.stderr
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_values(tmp_path: Path) -> None:
    expected = {name: int(value, 0) for name, value in (item.split() for item in VALUES.split(", "))}
    prefix = {name: "ZEMM_" if name[:4] in ("ARG_", "MAX_", "RUNT") else "zemm_" for name in expected}
    lines = [f'printf("{name} %lld\\n", (long long){prefix[name]}{name});' for name in expected]
    found = printed("int main(void) {\n" + "\n".join(lines) + "\n}\n", tmp_path)
    assert {name: int(value) for name, value in map(str.split, found.splitlines())} == expected


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_runtime_placeholders(tmp_path: Path) -> None:
    source = """int main(void) {
    float f = ZEMM_RUNTIME_F32_VAL;
    unsigned bits;
    memcpy(&bits, &f, 4);
    printf("%x %zx %zx", bits, (size_t)ZEMM_RUNTIME_SIZE_VAL, (size_t)ZEMM_MEMORY_ALLOCATE);
    return ZEMM_MEMORY_NONE != NULL;
}
"""
    assert printed(source, tmp_path) == "7fc000d0 8000000000000000 ffffffffffffffff"
