# SPDX-License-Identifier: Apache-2.0
"""libdnnl.so.3: its functions, its log, and a program that is compiled with oneDNN's C++ header.

The header comes with the package onednn-devel, oneDNN's own library with onednn. Both are no part of
'.[test]'. c/compat/test_dropin.cpp tests the functions that the library does not forward.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zemm
from readme import block, blocks
from support_process import captured
from support_tree import ROOT
from zemm._library.lists import ATTRIBUTES

LIBRARY = Path(zemm.__file__).parent / "dnnl" / "libdnnl.so.3"
INCLUDE = Path(sys.prefix) / "include"
ONEDNN = Path(sys.prefix) / "lib" / "libdnnl.so.3"
PROGRAM = Path(__file__).with_name("dropin_program.cpp")
CASES = [
    "about",
    "groups",
    "reductions",
    "zero_points",
    "weights_only",
    "runtime_m",
    "reorders",
    "inner_product",
]
UNIMPLEMENTED = 77


def needs_headers(test: Callable[..., None]) -> Callable[..., None]:
    has_headers = (INCLUDE / "oneapi" / "dnnl" / "dnnl.hpp").exists()
    skip = pytest.mark.skipif(not has_headers, reason="no oneDNN headers: pip install onednn-devel")
    return pytest.mark.onednn(skip(test))


def read(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def exported() -> set[str]:
    lines = read(["nm", "-D", "--defined-only", str(LIBRARY)]).splitlines()
    return {line.split()[-1] for line in lines}


def functions(text: str, prefix: str) -> set[str]:
    """The functions that a header declares, without the prefix."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    return set(re.findall(rf"\b{prefix}_API\s+\*?\s*{prefix.lower()}_(\w+)\s*\(", text))


def test_has_every_function_of_zemm() -> None:
    """All but zemm's extensions, under oneDNN's name."""
    headers = (ROOT / "include" / "zemm").glob("*.h")
    declared = set().union(*(functions(header.read_text(), "ZEMM") for header in headers))
    listed = (ROOT / "src" / "compat" / "compat.def").read_text()
    extensions = set(re.findall(r"^ZEMM_EXTENSION\((\w+)\)", listed, re.MULTILINE))
    setters = {
        f"primitive_attr_{verb}_{row.name}"
        for row in ATTRIBUTES.values()
        for verb in ("get", "set")
        if row.is_extension
    }
    extensions |= setters & declared
    assert len(declared) > 120
    assert extensions <= declared
    names = exported()
    assert {name for name in declared - extensions if f"dnnl_{name}" not in names} == set()
    assert {name for name in extensions if f"dnnl_{name}" in names} == set()
    assert {name for name in names if "dnnl_" not in name} == set()


def test_finds_libzemm_beside_its_folder() -> None:
    dynamic = read(["readelf", "-d", str(LIBRARY)])
    assert "Library soname: [libdnnl.so.3]" in dynamic
    assert re.search(r"\(R(UN)?PATH\).*\[\$ORIGIN/\.\.\]", dynamic)
    assert "[libzemm.so.0]" in dynamic


def python(code: str, **variables: str) -> str:
    """The output of the code, run by a Python of its own."""
    environment = {
        name: value for name, value in os.environ.items() if not name.endswith(("_VERBOSE", "_TIMESTAMP"))
    }
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout


SGEMM = f"""
import ctypes
lib = ctypes.CDLL({str(LIBRARY)!r})
char, dim, real = ctypes.c_char, ctypes.c_int64, ctypes.c_float
lib.dnnl_sgemm.argtypes = [char, char, dim, dim, dim, real, ctypes.c_void_p, dim, ctypes.c_void_p, dim, real,
                           ctypes.c_void_p, dim]
a, c = (real * 4)(1, 2, 3, 4), (real * 4)()
assert lib.dnnl_sgemm(b"N", b"N", 2, 2, 2, 1, a, 2, a, 2, 0, c, 2) == 0
assert list(c) == [7, 10, 15, 22]
"""


def test_log_is_onednns() -> None:
    line = r"^onednn_verbose,v1,primitive,exec,cpu,matmul,\w+,undef,src:f32.*,2x2:2x2,[\d.e-]+$"
    for variable in ["ONEDNN_VERBOSE", "DNNL_VERBOSE", "ZEMM_VERBOSE"]:
        log = python(SGEMM, **{variable: "1"})
        assert len(re.findall(line, log, re.MULTILINE)) == 1, log
        assert "zemm_verbose" not in log
    with_time = python(SGEMM, ONEDNN_VERBOSE="profile_exec", ONEDNN_VERBOSE_TIMESTAMP="1")
    assert re.search(r"^onednn_verbose,v1,\d+\.\d+,primitive,exec,", with_time, re.MULTILINE)


def test_variables_of_zemm_come_first() -> None:
    assert python(SGEMM, ONEDNN_VERBOSE="2", ZEMM_VERBOSE="0") == ""
    capacity = "n = ctypes.c_int()\nlib.dnnl_get_primitive_cache_capacity(ctypes.byref(n))\nprint(n.value)"
    assert python(SGEMM + capacity, ONEDNN_PRIMITIVE_CACHE_CAPACITY="7") == "7\n"
    mode = capacity.replace("primitive_cache_capacity", "default_fpmath_mode")
    assert python(SGEMM + mode, ONEDNN_DEFAULT_FPMATH_MODE="bf16") == "1\n"
    both = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "7", "ZEMM_PRIMITIVE_CACHE_CAPACITY": "8"}
    assert python(SGEMM + capacity, **both) == "8\n"


def test_only_programs_that_ask_load_it() -> None:
    """zemm itself loads no libdnnl, and oneDNN's variables have no meaning for it."""
    code = """
import numpy as np, zemm
assert zemm.matmul(np.ones((2, 3), np.float32), np.ones((3, 2), np.float32)).sum() == 12
print("libdnnl" in open("/proc/self/maps").read())
"""
    assert python(code, ONEDNN_VERBOSE="1") == "False\n"


def test_names_for_programs_that_are_compiled_again(tmp_path: Path) -> None:
    """zemm/compat/dnnl.h has all functions, constants and types of zemm that oneDNN has, too."""
    folder = ROOT / "src" / "compat"
    made = tmp_path / "dnnl.h"
    arguments = [
        "names",
        str(made),
        str(ROOT / "include"),
        str(folder / "compat.def"),
        str(ROOT / "src" / "lists" / "attributes.def"),
    ]
    subprocess.run([sys.executable, str(folder / "forwards.py"), *arguments], check=True)
    defined = dict(re.findall(r"^#define (\w+) (\w+)$", made.read_text(), re.MULTILINE))
    assert defined["dnnl_primitive_execute"] == "zemm_primitive_execute"
    assert defined["dnnl_memory_desc_t"] == "zemm_memory_desc_t"
    assert defined["DNNL_ARG_SRC"] == "ZEMM_ARG_SRC"
    assert "dnnl_last_error" not in defined
    (tmp_path / "zemm.c").write_text("#include <zemm/zemm.h>\n")
    macros = read(["gcc", "-E", "-dM", f"-I{ROOT / 'include'}", str(tmp_path / "zemm.c")])
    missing = [
        name
        for name in re.findall(r"^#define (ZEMM_\w+)", macros, re.MULTILINE)
        if name.replace("ZEMM", "DNNL") not in defined and not re.fullmatch(r"ZEMM_(\w+_)?H|ZEMM_API", name)
    ]
    assert missing == []


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dropin") / "program"
    command = ["g++", "-std=c++17", "-O1", f"-I{INCLUDE}", str(PROGRAM), "-o", str(path)]
    # The linker would warn that it does not see libzemm.so, which the loader finds.
    subprocess.run([*command, str(LIBRARY), f"-Wl,-rpath-link,{LIBRARY.parent.parent}"], check=True)
    return path


def run(program: Path, case: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder), **variables}
    return captured([program, case], env=environment, timeout=120)


def onednn_headers() -> list[str]:
    names = ("dnnl.h", "dnnl_common.h", "dnnl_debug.h", "dnnl_ze.h")
    return [(INCLUDE / "oneapi" / "dnnl" / name).read_text() for name in names]


@needs_headers
def test_has_every_function_of_onednns_headers() -> None:
    declared = set().union(*(functions(text, "DNNL") for text in onednn_headers()))
    assert len(declared) > 180
    names = exported()
    assert {name for name in declared if f"dnnl_{name}" not in names} == set()


def types_of(text: str, prefix: str) -> dict[str, list[str]]:
    """The types of the result and of the parameters of each function, without the prefix."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*|^#[^\n]*$", "", text, flags=re.DOTALL | re.MULTILINE)
    found = {}
    for function in re.finditer(rf"([^;{{}}]*) {prefix}_API (\*?){prefix.lower()}_(\w+)\(([^;]*)\);", text):
        returned, star, name, parameters = function.groups()
        types = [re.sub(r"\b\w+\s*$", "", one) for one in parameters.split(",")]
        found[name] = [
            re.sub(r"\s|struct|_t\b|const_?|dnnl_|zemm_", "", one).replace("stream*", "stream")
            for one in [returned + star, *types]
        ]
    return found


@needs_headers
def test_functions_have_the_types_of_onednns_headers() -> None:
    """A forward passes its arguments on as they are, so zemm's parameters must be oneDNN's."""
    zemm_text = "".join(header.read_text() for header in (ROOT / "include" / "zemm").glob("*.h"))
    own, onednns = types_of(zemm_text, "ZEMM"), types_of("".join(onednn_headers()), "DNNL")
    both = own.keys() & onednns.keys()
    assert len(both) > 110
    assert {name: (own[name], onednns[name]) for name in both if own[name] != onednns[name]} == {}


def constants(text: str, prefix: str) -> set[str]:
    """oneDNN's names of the enumerators and macros of a header."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    enums = re.findall(r"\benum\b[^;{]*\{([^}]*)\}", text)
    found = {item.split("=")[0].split()[-1] for enum in enums for item in enum.split(",") if item.strip()}
    found |= set(re.findall(rf"^#define ({prefix.upper()}_\w+)[ (]", text, re.MULTILINE))
    return {name.replace(prefix, "dnnl").replace(prefix.upper(), "DNNL") for name in found}


@needs_headers
def test_constants_have_onednns_numbers(tmp_path: Path) -> None:
    files = [INCLUDE / "oneapi" / "dnnl" / f"dnnl_{name}.h" for name in ("types", "common_types", "config")]
    names = constants(
        "".join(header.read_text() for header in (ROOT / "include" / "zemm").glob("*.h")), "zemm"
    )
    names &= constants("".join(file.read_text() for file in files), "dnnl")
    # No numbers, and what the package is built without: test_headers.py has these.
    names -= {"DNNL_API", "DNNL_ARG_ATTR_MULTIPLE_POST_OP", "DNNL_RUNTIME_F32_VAL"}
    names -= {"dnnl_grouped", "DNNL_ARG_HINT_MAX_GROUP_SIZE"}
    assert len(names) > 1900
    own = {name: name.replace("dnnl", "zemm").replace("DNNL", "ZEMM") for name in names}
    lines = "".join(f'if ((long long){name} != (long long){own[name]}) puts("{name}");\n' for name in names)
    headers = ("stdio.h", "oneapi/dnnl/dnnl_types.h", "zemm/zemm.h")
    includes = "#define DNNL_EXPERIMENTAL_PROFILING 1\n" + "".join(f"#include <{name}>\n" for name in headers)
    (tmp_path / "a.c").write_text(f"{includes}int main(void) {{\n{lines}}}\n")
    command = [
        "gcc",
        f"-I{INCLUDE}",
        f"-I{ROOT / 'include'}",
        str(tmp_path / "a.c"),
        "-o",
        str(tmp_path / "a"),
    ]
    subprocess.run(command, check=True)
    assert read([str(tmp_path / "a")]) == ""


@needs_headers
@pytest.mark.parametrize("case", [*CASES, "cache_blob"])
def test_program_of_onednn(program: Path, case: str) -> None:
    result = run(program, case, LIBRARY.parent)
    assert result.returncode == 0, result.stdout + result.stderr


@needs_headers
def test_program_learns_what_zemm_has_not(program: Path) -> None:
    result = run(program, "convolution", LIBRARY.parent, ONEDNN_VERBOSE="dispatch")
    assert result.returncode == UNIMPLEMENTED, result.stdout + result.stderr
    lacks = "unimplemented,zemm has no convolution"
    assert f"onednn_verbose,v1,primitive,create:dispatch,{lacks}" in result.stdout
    for level, lines in (("", 1), ("none", 0)):
        result = run(program, "convolution", LIBRARY.parent, **({"ONEDNN_VERBOSE": level} if level else {}))
        assert result.returncode == UNIMPLEMENTED, result.stdout + result.stderr
        assert result.stdout.count(f"onednn_verbose,v1,primitive,error,{lacks}") == lines


def commands_of_the_page(folder: Path, lines: list[str]) -> Path:
    """Run lines of docs/compat.md beside a copy of the program. Returns the folder."""
    shutil.copy(PROGRAM, folder / "program.cpp")
    (folder / "CMakeLists.txt").write_text(block("Build a program", "cmake", "docs/compat.md"))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "VIRTUAL_ENV": sys.prefix}
    done = captured(["bash", "-ec", "\n".join(lines)], cwd=folder, env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def assert_runs_on_zemm(program: Path) -> None:
    done = captured([program, "about"], env={"PATH": "", "ONEDNN_VERBOSE": "1"}, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "zemm" in done.stdout


COMMANDS = [text for language, text in blocks("Build a program", "docs/compat.md") if language == "sh"]


@needs_headers
@pytest.mark.full
def test_program_by_cmake(tmp_path: Path) -> None:
    """find_package(dnnl) gives zemm's library, which the program finds by itself."""
    assert_runs_on_zemm(commands_of_the_page(tmp_path, COMMANDS[0].splitlines()) / "build" / "program")


@needs_headers
@pytest.mark.full
def test_program_by_pkg_config(tmp_path: Path) -> None:
    assert_runs_on_zemm(commands_of_the_page(tmp_path, COMMANDS[1].splitlines()) / "program")


@pytest.mark.full
def test_cmake_says_which_headers_are_missing(tmp_path: Path) -> None:
    """Headers of oneDNN 2 are not taken."""
    older = tmp_path / "include" / "oneapi" / "dnnl" / "dnnl_version.h"
    older.parent.mkdir(parents=True)
    older.write_text("#define DNNL_VERSION_MAJOR 2\n")
    (tmp_path / "CMakeLists.txt").write_text(block("Build a program", "cmake", "docs/compat.md"))
    given = [f"-Ddnnl_DIR={LIBRARY.parent}", f"-DDNNL_INCLUDE_DIR={tmp_path / 'include'}"]
    cmake = shutil.which("cmake", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    done = captured([cmake or "cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build", *given])
    assert done.returncode
    assert "pip install onednn-devel" in done.stderr


def test_linked_by_name(tmp_path: Path) -> None:
    """-ldnnl in the folder is libdnnl.so.3, also where a wheel cannot have a link."""
    (tmp_path / "p.c").write_text(
        "const void *dnnl_version(void); int main(void) { return !dnnl_version(); }"
    )
    command = ["cc", "p.c", f"-L{LIBRARY.parent}", "-ldnnl", f"-Wl,-rpath-link,{LIBRARY.parent.parent}"]
    subprocess.run([*command, "-o", "p"], cwd=tmp_path, check=True)
    assert "[libdnnl.so.3]" in read(["readelf", "-d", str(tmp_path / "p")])


VERSION = """
lib.dnnl_version.restype = ctypes.POINTER(ctypes.c_int * 3)
print(*lib.dnnl_version().contents, sep=".")
"""


def test_packages_have_the_version_of_the_library() -> None:
    version = python(SGEMM + VERSION).strip()
    for name in ("dnnl.pc", "dnnl-config-version.cmake"):
        assert re.search(rf"(Version:|PACKAGE_VERSION) {version}\b", (LIBRARY.parent / name).read_text())


@needs_headers
@pytest.mark.skipif(not ONEDNN.exists(), reason="oneDNN is not installed: pip install onednn")
@pytest.mark.parametrize("case", CASES)
def test_program_with_onednns_own_library(program: Path, case: str) -> None:
    """oneDNN runs that binary, so the numbers above are its own."""
    runtime = ONEDNN.with_name("libintelocl.so")  # the device of SYCL, which this library computes with
    result = run(program, case, ONEDNN.parent, OCL_ICD_FILENAMES=str(runtime))
    assert result.returncode == 0, result.stdout + result.stderr
    if case == "about":
        assert "zemm" not in result.stdout
