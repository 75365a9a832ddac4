# SPDX-License-Identifier: Apache-2.0
"""The files that `meson install` installs, used like a C or C++ programmer would."""

import os
import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from readme import block, c_program
from support_process import captured
from support_tree import ROOT

pytestmark = [pytest.mark.full, pytest.mark.long, pytest.mark.xdist_group("install")]
HEADERS = ["zemm.h", "zemm_format_tags.h", "zemm_types.h", "zemm_ze.h"]


def tool(name: str) -> str:
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    assert found, f"{name} is missing"
    return found


def run(*command: str, env: dict[str, str] | None = None, cwd: Path = ROOT) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    result = captured(command, cwd=cwd, env={**os.environ, "PATH": path, **(env or {})})
    assert result.returncode == 0, f"{' '.join(command)}\n{result.stdout[-4000:]}\n{result.stderr[-4000:]}"
    return result.stdout


class Installation(NamedTuple):
    prefix: Path
    libdir: Path

    def env(self) -> dict[str, str]:
        """The environment of programs that use the installation and find the OpenCL runtime of this
        Python.
        """
        return {
            "PKG_CONFIG_PATH": str(self.libdir / "pkgconfig"),
            "LD_LIBRARY_PATH": str(self.libdir),
            "VIRTUAL_ENV": sys.prefix,
        }


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    folder = tmp_path_factory.mktemp("install")
    prefix, build = folder / "prefix", folder / "build"
    quick = ("-Dunits=true", "-Doptimization=0")
    run(tool("meson"), "setup", str(build), str(ROOT), f"--prefix={prefix}", *quick)
    run(tool("meson"), "install", "-C", str(build))
    (library,) = prefix.rglob("libzemm.so.0")
    return Installation(prefix, library.parent)


def test_files(installed: Installation) -> None:
    names = {
        path.relative_to(installed.prefix).as_posix()
        for path in installed.prefix.rglob("*")
        if path.is_file()
    }
    libdir = installed.libdir.relative_to(installed.prefix).as_posix()
    expected = {f"{libdir}/{name}" for name in ("libzemm.so", "libzemm.so.0", "libze_cpu.so")}
    expected |= {f"{libdir}/cmake/zemm/zemm-config{end}.cmake" for end in ("", "-version")}
    expected |= {f"{libdir}/pkgconfig/zemm.pc"}
    dnnl = ["libdnnl.so", "libdnnl.so.3", "dnnl.pc", "dnnl-config.cmake", "dnnl-config-version.cmake"]
    expected |= {f"{libdir}/zemm/dnnl/{name}" for name in dnnl} | {f"{libdir}/zemm/ggml/libggml-zemm.so"}
    assert names == expected | {f"include/zemm/{name}" for name in [*HEADERS, "compat/dnnl.h"]}


def test_program_with_onednns_names(installed: Installation, tmp_path: Path) -> None:
    """The header for programs of oneDNN, and the library for those that are not compiled again."""
    source = (ROOT / "tests" / "c" / "compat" / "test_compat_header.c").read_text()
    program = build(installed, tmp_path, source, ["cc", "-std=c99", *STRICT], ".c")
    run(program, env=installed.env())
    library = installed.libdir / "zemm" / "dnnl" / "libdnnl.so.3"
    ctypes_code = f"import ctypes; print(ctypes.CDLL({str(library)!r}).dnnl_engine_get_count(1))"
    assert run(sys.executable, "-c", ctypes_code, env=installed.env()) == "1\n"


def test_program_linked_with_the_dropin(installed: Installation, tmp_path: Path) -> None:
    """dnnl.pc lies beside the library. The program finds it, and libzemm.so.0, by itself."""
    (tmp_path / "p.c").write_text("void *dnnl_version(void); int main(void) { return !dnnl_version(); }")
    env = {"PKG_CONFIG_PATH": str(installed.libdir / "zemm" / "dnnl")}
    flags = run("pkg-config", "--libs", "dnnl", env=env).split()
    run("cc", "-Werror", "p.c", *flags, "-o", "p", cwd=tmp_path)
    run(str(tmp_path / "p"))


def test_pkg_config(installed: Installation) -> None:
    env = installed.env()
    flags = run("pkg-config", "--cflags", "--libs", "zemm", env=env).split()
    assert f"-I{installed.prefix}/include" in flags
    assert {f"-L{installed.libdir}", "-lzemm"} <= set(flags)
    (version,) = re.findall(r"(?m)^  version: '(.*)',", (ROOT / "meson.build").read_text())
    assert run("pkg-config", "--modversion", "zemm", env=env).strip() == version


def build(installed: Installation, folder: Path, source: str, compiler: list[str], suffix: str) -> str:
    (folder / f"example{suffix}").write_text(source)
    flags = run("pkg-config", "--cflags", "--libs", "zemm", env=installed.env()).split()
    run(*compiler, f"example{suffix}", *flags, "-o", "example", cwd=folder)
    return str(folder / "example")


def expected_output(program: str) -> str:
    """The output that the comment beside the README's printf promises. Commas separate rows."""
    (comment,) = re.findall(r"printf\(.*/\* (.*) \*/", program)
    return comment.replace(", ", "\n") + "\n"


STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic-errors"]


@pytest.mark.parametrize(
    ("compiler", "suffix"),
    [
        (["cc", "-std=c99", *STRICT], ".c"),
        (["c++", "-std=c++11", *STRICT], ".cpp"),
    ],
    ids=lambda value: value[1][5:] if isinstance(value, list) else "",
)
def test_program_of_the_readme(
    installed: Installation, tmp_path: Path, compiler: list[str], suffix: str
) -> None:
    source = c_program()
    program = build(installed, tmp_path, source, compiler, suffix)
    assert run(program, env=installed.env(), cwd=tmp_path) == expected_output(source)


def test_program_by_cmake(installed: Installation, tmp_path: Path) -> None:
    """The project of docs/install.md compiles the README's program."""
    if not shutil.which("cmake"):
        pytest.skip("cmake is not installed: pip install cmake")
    source = c_program()
    (tmp_path / "example.c").write_text(source)
    (tmp_path / "CMakeLists.txt").write_text(block("From C and C++", "cmake", "docs/install.md"))
    build = tmp_path / "build"
    command = ["cmake", "-G", "Ninja", "-S", str(tmp_path), "-B", str(build)]
    run(*command, f"-DCMAKE_PREFIX_PATH={installed.prefix}")
    run("cmake", "--build", str(build))
    assert run(str(build / "example"), env=installed.env()) == expected_output(source)


def test_subproject(tmp_path: Path) -> None:
    """Without an installation, zemm's folder in the folder subprojects of a Meson project is enough to
    compile and link its program. The library itself is not built again here.
    """
    (tmp_path / "example.c").write_text(c_program())
    (tmp_path / "meson.build").write_text(block("From C and C++", "meson", "docs/install.md"))
    (tmp_path / "subprojects").mkdir()
    (tmp_path / "subprojects" / "zemm").symlink_to(ROOT)
    build = str(tmp_path / "build")
    run(tool("meson"), "setup", build, "--force-fallback-for=zemm", cwd=tmp_path)
    run("ninja", "-C", build, "example.p/example.c.o")
    link = run("ninja", "-C", build, "-t", "commands", "example").splitlines()[-1]
    assert "example.c.o" in link
    assert "subprojects/zemm/src/libzemm.so.0" in link


def exported(library: Path) -> set[str]:
    lines = run("nm", "-D", "--defined-only", str(library)).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


def declared() -> set[str]:
    """The functions that the public headers declare."""
    names: set[str] = set()
    for header in HEADERS:
        text = re.sub(r"/\*.*?\*/", "", (ROOT / "include" / "zemm" / header).read_text(), flags=re.S)
        names |= set(re.findall(r"\bZEMM_API\s+\*?\s*(zemm_\w+)\s*\(", text))
    return names


def test_exports_are_the_headers(installed: Installation) -> None:
    names = declared()
    assert len(names) > 120
    # Functions that libdnnl.so.3 and the Python package need besides the public ones.
    for header in ("api/compat.hpp", "experts/experts.h", "attention/attention.h"):
        inner = (ROOT / "src" / header).read_text()
        names |= set(re.findall(r"\bZEMM_API (zemm_(?:compat|experts|attention)_\w+)\(", inner))
    assert exported(installed.libdir / "libzemm.so") == names
    assert (installed.libdir / "libzemm.so").readlink() == Path("libzemm.so.0")


def test_exports_of_the_cpu_driver(installed: Installation) -> None:
    names = exported(installed.libdir / "libze_cpu.so")
    getters = {name for name in names if re.fullmatch(r"z(e|er|et|es)Get\w+ProcAddrTable", name)}
    known = ("zeGetGlobal", "zeGetKernel", "zerGetGlobal", "zetGetDevice")
    assert {f"{name}ProcAddrTable" for name in known} <= getters
    assert {name for name in names - getters if not name.startswith("zeCpu")} == set()


@pytest.mark.parametrize("name", ["libzemm.so", "libze_cpu.so"])
def test_dependencies(installed: Installation, name: str) -> None:
    """Both libraries load without a loader, a driver and OpenCL, because they open these when they
    need them.
    """
    dynamic = run("readelf", "-d", str(installed.libdir / name))
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert needed
    system = r"(lib(c|m|dl|pthread|stdc\+\+|gcc_s)\.so\.\d+|ld-linux-x86-64\.so\.2)"
    assert [library for library in needed if not re.fullmatch(system, library)] == []
    assert not re.search(r"\((RPATH|RUNPATH)\)", dynamic)
