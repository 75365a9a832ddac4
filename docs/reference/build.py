# SPDX-License-Identifier: Apache-2.0
"""Makes the reference of the C and the Python API from the sources, by doxygen and pdoc:
`python docs/reference/build.py [FOLDER]`, by default into build/reference.

Exit code 1: something public has no comment, or a tool is missing.
"""

import importlib
import inspect
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MODULES = ["zemm"]


def make_c(folder: Path) -> str:
    """Write the pages of the headers. Returns what is wrong with them."""
    if not shutil.which("doxygen"):
        return "doxygen is missing: apt-get install doxygen"
    doxyfile = (ROOT / "docs" / "reference" / "Doxyfile").read_text(encoding="utf-8")
    settings = f'{doxyfile}\nOUTPUT_DIRECTORY = "{folder}"\n'
    done = subprocess.run(["doxygen", "-"], input=settings, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    return done.stderr


def make_python(folder: Path) -> str:
    """Write the pages of the Python modules. Returns what is wrong with them."""
    command = [sys.executable, "-m", "pdoc", "--no-show-source", "-o", str(folder / "python"), *MODULES]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if "No module named pdoc" in done.stderr:
        return "pdoc is missing: pip install pdoc"
    bare = [name for module in MODULES for name in undocumented(importlib.import_module(module))]
    return done.stderr + "".join(f"{name} has no docstring\n" for name in bare)


def undocumented(module: ModuleType) -> Iterator[str]:
    """The public classes, functions, methods and properties of a module without a docstring."""
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isclass(thing):
            members = {f"{name}.{key}": value for key, value in vars(thing).items() if key[0] != "_"}
            things: dict[str, Any] = {name: thing} | members
        else:
            things = {name: thing}
        for full_name, value in things.items():
            is_code = isinstance(value, property | staticmethod | classmethod) or inspect.isroutine(value)
            if (is_code or inspect.isclass(value)) and not inspect.getdoc(value):
                yield f"{module.__name__}.{full_name}"


def main(folder: Path) -> int:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    problems = make_c(folder) + make_python(folder)
    print(
        problems or f"{folder}/c/index.html and {folder}/python/index.html",
        file=sys.stderr if problems else None,
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "reference").resolve()))
