# SPDX-License-Identifier: Apache-2.0
"""zemm-bundle: makes a folder with zemm, its CPU device, the OpenCL CPU runtime and the program
zemm_time, so that a server can be timed that has neither Python nor a network.

The folder works wherever it is copied. All that it needs of the server are glibc, libstdc++ and zlib.
"""

import argparse
import importlib.metadata
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import zemm
from zemm._library.package_files import package_file
from zemm._terminal.console import program
from zemm.doctor import CPU_PACKAGES, run_probe

OWN_FILES = ("zemm_time", "libzemm.so.0", "libze_cpu.so")
RUNTIME = "libintelocl.so"
# Files that the runtime opens by name. Of those whose name ends with two letters for an instruction set
# it opens one, and the server's CPU may be another than this machine's: all of them are taken.
OPENED_BY_RUNTIME = ("cl.cfg", "clbltfn*.rtl", "cllibrary*", "libocl_svml_*.so", "libtbbmalloc.so.2")
# The compiler of OpenCL C is more than half of the runtime, and kernels in SPIR-V do not need it.
COMPILER, NO_COMPILER = "libcommon_clang.so", "libno_opencl_c.so"
# The server's own are used: those of this machine may need a newer glibc than the server has.
SYSTEM = re.compile(r"(ld-linux-x86-64|lib(c|m|mvec|dl|rt|pthread|stdc\+\+|gcc_s|z))\.so\.\d+")
LICENSED_PACKAGES = (*CPU_PACKAGES, "intel-cmplr-lic-rt", "tbb", "zemm")

README = """\
zemm {version}: times matmuls on the CPU of this machine.

    ./zemm_time -h    says how
    ./zemm_time       runs all cases

Needs Linux on x86-64 with glibc {glibc}, libstdc++ {libstdcxx} (or newer) and zlib.
The path of this folder must not have spaces: the OpenCL CPU runtime fails then.
Built kernels are kept in ~/.cache/zemm (ZEMM_CACHE=0: they are not).
"""


class BundleError(Exception):
    """A sentence for the user."""


def find_runtime() -> Path:
    """The OpenCL CPU runtime that zemm uses. It has just run a matmul."""
    facts = run_probe("cpu")
    if "error" in facts or not facts["runtime"]:
        why = facts.get("error", f"it does not use {RUNTIME}")
        raise BundleError(f"the CPU device cannot be bundled: {why}")
    return Path(facts["runtime"])


def libraries_of(files: Iterable[Path]) -> dict[str, Path]:
    """The libraries that these files are linked with, by the names in their headers, without
    zemm's own and the system's."""
    command = ["ldd", *map(str, files)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = {}
    for name, path in re.findall(r"(?m)^\t(\S+) => (.+?)(?: \(0x[0-9a-f]+\))?$", text):
        if name in OWN_FILES:
            continue
        if path == "not found":
            raise BundleError(f"{name} was not found, which a library of the bundle needs")
        if not SYSTEM.fullmatch(name):
            found[name] = Path(path)
    return found


def files_of_bundle(runtime: Path) -> dict[str, Path]:
    """Which file to copy for each name in the folder."""
    files = {name: package_file(name) for name in OWN_FILES} | {RUNTIME: runtime}
    for pattern in OPENED_BY_RUNTIME:
        files |= {path.name: path for path in runtime.parent.glob(pattern)}
    libraries = [path for name, path in files.items() if ".so" in name]
    for name, path in libraries_of([package_file("zemm_time"), *libraries]).items():
        files.setdefault(name, package_file(NO_COMPILER) if name.startswith(COMPILER) else path)
    for path in files.values():
        if not path.is_file():
            raise BundleError(f"{path} is missing; reinstall its package")
    return files | licenses()


def licenses() -> dict[str, Path]:
    """The licences of the packages that the files come from, as far as pip installed these."""
    found = {}
    for package in LICENSED_PACKAGES:
        try:
            files = importlib.metadata.files(package) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for file in files:
            if re.search(r"(?i)licen[cs]|third-party|_TPP", str(file)) and file.suffix in ("", ".txt"):
                path = Path(str(file.locate()))
                if path.is_file():
                    found[f"licenses/{package}/{file.name}"] = path
    return found


def needed_version(prefix: str, files: Iterable[Path]) -> str:
    """The highest version of symbols with this prefix that the libraries and programs name."""
    pattern = re.compile(rb"\0" + prefix.encode() + rb"_(\d+(?:\.\d+)+)(?=\0)")
    versions = {version for file in files for version in pattern.findall(file.read_bytes())}
    return max((version.decode() for version in versions), key=lambda v: [int(x) for x in v.split(".")])


def is_code(name: str) -> bool:
    return name == "zemm_time" or ".so" in name


def make_folder(folder: Path) -> int:
    """Fill a new or empty folder. Returns the bytes of its files."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BundleError(f"{folder} is there already and not an empty folder")
    files = files_of_bundle(find_runtime())
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        target.chmod(0o755 if is_code(name) else 0o644)
    # zemm loads libraries only from where others cannot write.
    for directory in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        directory.chmod(0o755)
    code = [source for name, source in files.items() if is_code(name)]
    text = README.format(
        version=zemm.__version__,
        glibc=needed_version("GLIBC", code),
        libstdcxx=needed_version("GLIBCXX", code),
    )
    (folder / "README.txt").write_text(text, encoding="utf-8")
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def make_archive(folder: Path) -> Path:
    """Write FOLDER.tar.xz beside the folder."""

    def of_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        return entry

    archive = folder.with_name(f"{folder.name}.tar.xz")
    with tarfile.open(archive, "w:xz") as tar:
        tar.add(folder, arcname=folder.name, filter=of_root)
    return archive


@program
def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        "zemm-bundle",
        description="Makes a folder with zemm, the OpenCL CPU runtime and the program zemm_time, for timing "
        "a server that has neither Python nor a network.",
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="is made, or exists and is empty")
    parser.add_argument(
        "--archive", action="store_true", help="also write FOLDER.tar.xz (takes one to two minutes)"
    )
    arguments = parser.parse_args(argv)
    folder: Path = arguments.folder.resolve()
    try:
        size = make_folder(folder)
        print(f"{folder}: {size / 1e6:.0f} MB. On the server: {folder.name}/zemm_time")
        if arguments.archive:
            archive = make_archive(folder)
            print(f"{archive}: {archive.stat().st_size / 1e6:.1f} MB. On the server: tar xf {archive.name}")
    except BrokenPipeError:
        raise
    except (BundleError, OSError) as error:
        print(f"zemm-bundle: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
