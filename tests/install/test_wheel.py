# SPDX-License-Identifier: Apache-2.0
"""The installed wheel: it works in a bare environment of another Python, and C programs are compiled
and linked with it.
"""

import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
import zemm
from readme import block, c_program
from support_tree import ROOT
from test_install import expected_output

SITE = Path(sysconfig.get_paths()["platlib"])
EXTENSION = Path(zemm._zemm.__file__)
OF_TORCH = EXTENSION.with_name(EXTENSION.name.replace("_zemm", "_torch_calls"))


def tags() -> list[str]:
    """The tags of the wheel that was installed."""
    text = importlib.metadata.distribution("zemm").read_text("WHEEL")
    assert text
    return re.findall(r"(?m)^Tag: (.*)$", text)


def run(*command: str | Path, env: dict[str, str], cwd: Path) -> str:
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def test_one_wheel_for_all_pythons() -> None:
    assert EXTENSION.name == "_zemm.abi3.so"
    (tag,) = tags()
    python, abi, platform = tag.split("-")
    oldest = importlib.metadata.metadata("zemm")["Requires-Python"].removeprefix(">=")
    assert python == f"cp{oldest.replace('.', '')}"
    assert abi == "abi3"
    assert platform.startswith(("linux_", "manylinux_"))


@pytest.mark.parametrize("extension", [EXTENSION, OF_TORCH], ids=lambda path: path.name)
def test_extension_needs_the_oldest_python(extension: Path) -> None:
    """Functions of the stable ABI that are newer than Python 3.10 would not be found there."""
    newer = "PyType_GetName PyType_FromMetaclass PyObject_Vectorcall PyBuffer_Release PyObject_GetTypeData"
    symbols = run("nm", "-D", "--undefined-only", extension, env=dict(os.environ), cwd=ROOT)
    used = set(re.findall(r"\bU (_?Py\w+)", symbols))
    assert used
    assert used & set(newer.split()) == set()


@pytest.mark.skipif(
    tuple(map(int, os.confstr("CS_GNU_LIBC_VERSION").split()[1].split("."))) > (2, 36),
    reason="a wheel that is built with a glibc newer than that of Debian 12 is for newer systems",
)
def test_system_libraries() -> None:
    """Nothing newer than the manylinux_2_34 of docs/install.md is needed."""
    limits = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)}
    folder = Path(zemm.get_lib())
    for library in (
        *folder.glob("*.so*"),
        *folder.glob("dnnl/*.so.3"),
        *folder.glob("ggml/*.so"),
        folder / "zemm_time",
    ):
        symbols = run("readelf", "-W", "--dyn-syms", library, env=dict(os.environ), cwd=ROOT)
        for name, version in re.findall(r"@(GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)", symbols):
            assert tuple(map(int, version.split("."))) <= limits[name], f"{library.name}: {name}_{version}"


def test_older_system(tmp_path: Path) -> None:
    """A wheel whose libraries need a newer glibc says so."""
    package = tmp_path / "zemm"
    shutil.copytree(SITE / "zemm", package)
    library = package / "libzemm.so.0"
    changed = re.sub(rb"\bGLIBC_2\.\d\d\0", b"GLIBC_9.99\0", library.read_bytes())
    library.write_bytes(changed)
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", "import zemm"], env=env, capture_output=True, text=True)
    sentence = done.stderr.splitlines()[-1]
    assert sentence.startswith(
        "ImportError: this wheel of zemm was made on a system with a newer C library ("
    )
    assert "GLIBC_9.99" in sentence


def test_no_thread_has_destructors() -> None:
    """The main thread's would run before the static destructors of the program, which may still
    call the libraries."""
    folder = Path(zemm.get_lib())
    for library in (*folder.glob("*.so*"), *folder.glob("dnnl/*.so.3"), *folder.glob("ggml/*.so")):
        symbols = run("nm", "-D", "--undefined-only", library, env=dict(os.environ), cwd=ROOT)
        assert "__cxa_thread_atexit" not in symbols, library.name


def other_python() -> Path:
    """A Python of another version that this machine has, else this one."""
    found = [shutil.which(f"python3.{minor}") for minor in range(10, 16)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [Path(path) for path in found if path] + sorted(pyenv.glob("versions/3.1*/bin/python"))
    code = "import sys, venv, ensurepip; print(*sys.version_info[:2])"
    for candidate in candidates:
        done = subprocess.run([candidate, "-c", code], capture_output=True, text=True, check=False)
        if done.returncode == 0 and tuple(map(int, done.stdout.split())) != sys.version_info[:2]:
            return candidate
    return Path(sys.executable)


def installed_wheel(folder: Path) -> Path:
    """The wheel that was installed, made again of its files."""
    wheel = folder / f"zemm-{zemm.__version__}-{tags()[0]}.whl"
    by_pip = ("INSTALLER", "REQUESTED", "direct_url.json")
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in importlib.metadata.files("zemm") or []:
            if ".." not in file.parts and file.name not in by_pip and file.suffix != ".pyc":
                archive.write(SITE / file, str(file))
    return wheel


@pytest.mark.full
def test_bare_environment(engine: zemm.Engine, tmp_path: Path) -> None:
    """The README's snippet runs in a new environment, with an empty PATH."""
    venv, python = tmp_path / "venv", tmp_path / "venv" / "bin" / "python"
    run(other_python(), "-m", "venv", venv, env=dict(os.environ), cwd=tmp_path)
    wheel = installed_wheel(tmp_path)
    done = subprocess.run([python, "-m", "pip", "install", "-q", wheel], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"the packages that zemm needs cannot be installed: {done.stderr[-300:]}")
    # The OpenCL CPU runtime is as pip install 'zemm[cpu]' puts it there, without 0.1 GB of downloads.
    for file in (Path(sys.prefix) / "lib").iterdir():
        if file.is_file():
            shutil.copy2(file, venv / "lib", follow_symlinks=False)
    (tmp_path / "snippet.py").write_text(block("From Python", "python"))
    env = {"PATH": "", "HOME": str(tmp_path), "ZEMM_CACHE_DIR": os.environ["ZEMM_CACHE_DIR"]}
    assert run(python, "snippet.py", env=env, cwd=tmp_path).startswith("largest error: ")
    code = "import zemm; print(zemm.__file__); print(zemm._doctor.child.probe_device('cpu', 0)['runtime'])"
    lines = run(python, "-c", f"import zemm._doctor.child; {code}", env=env, cwd="/").splitlines()
    assert all(line.startswith(str(venv)) for line in lines), lines


def test_flags_in_a_folder_with_a_space(tmp_path: Path) -> None:
    """A shell takes the flags as they are meant (docs/install.md: eval)."""
    folder = tmp_path / "my folder" / "pkgconfig"
    folder.mkdir(parents=True)
    shutil.copy(Path(zemm.get_lib()) / "pkgconfig" / "zemm.pc", folder)
    env = os.environ | {"PKG_CONFIG_PATH": str(folder)}
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", "zemm", env=env, cwd=tmp_path))
    assert f"-L{folder}/.." in flags
    assert {flag[:2] for flag in flags} == {"-I", "-L", "-W", "-l"}


def test_commands_of_the_readme(engine: zemm.Engine, tmp_path: Path) -> None:
    """They need nothing but the quick start's first command, and no root."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "build").mkdir()
    activate, commands = block("From C", "sh").split(" &&\n", 1)
    assert activate == ". .venv/bin/activate"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    printed = run("bash", "-c", commands, env=os.environ | {"PATH": path}, cwd=tmp_path)
    assert printed == expected_output(c_program())
    assert (Path(zemm.get_include()) / "zemm" / "compat" / "dnnl.h").is_file()


def test_cmake(engine: zemm.Engine, tmp_path: Path) -> None:
    """The project of docs/install.md compiles the README's program."""
    if not shutil.which("cmake"):
        pytest.skip("cmake is not installed: pip install cmake")
    (tmp_path / "example.c").write_text(c_program())
    (tmp_path / "CMakeLists.txt").write_text(block("From C and C++", "cmake", "docs/install.md"))
    build, env = tmp_path / "build", dict(os.environ)
    command = ["cmake", "-G", "Ninja", "-S", tmp_path, "-B", build, f"-DCMAKE_PREFIX_PATH={zemm.get_lib()}"]
    run(*command, env=env, cwd=tmp_path)
    run("cmake", "--build", build, env=env, cwd=tmp_path)
    bare = {"PATH": "", "ZEMM_CACHE_DIR": os.environ["ZEMM_CACHE_DIR"]}
    assert run(build / "example", env=bare, cwd=tmp_path) == expected_output(c_program())
