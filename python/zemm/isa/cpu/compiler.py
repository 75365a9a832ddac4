# SPDX-License-Identifier: Apache-2.0
"""Builds a SPIR-V module for a CPU with the OpenCL CPU runtime, and disassembles it."""

import os
import subprocess
import sys
from pathlib import Path

from zemm.isa.binary import sections_of
from zemm.isa.cpu.assembly import Function, parse
from zemm.isa.cpu.tools import Tools
from zemm.isa.errors import IsaError

SECONDS = 300  # time limit of a build, which takes about one
_ELF = b"\x7fELF"


def object_of(native: bytes) -> bytes:
    """The object file in a native binary of libze_cpu.so: behind a header, the runtime's ELF file
    has it in its section .ocl.obj."""
    start = native.find(_ELF)
    found = sections_of(native[start:]).get(".ocl.obj", b"") if start >= 0 else b""
    start = found.find(_ELF)
    if start < 0:
        raise IsaError("the native binary has no object file in a section .ocl.obj")
    return found[start:]


def build(spirv: Path, target: str, options: str, folder: Path) -> bytes:
    """The native binary for a target of the runtime; '': for the machine's own CPU. IsaError if the
    runtime fails."""
    native = folder / "native.bin"
    native.unlink(missing_ok=True)
    wanted = {"CL_CONFIG_CPU_TARGET_ARCH": target} if target else {}
    shown = target or "this CPU"
    command = [sys.executable, "-m", "zemm.isa.cpu.native", str(spirv), str(native), options]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | wanted | {"ZEMM_VERBOSE": "none"},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise IsaError(f"the OpenCL CPU runtime did not end within {SECONDS} s for {shown}") from None
    if done.returncode or not native.is_file():
        said = " ".join((done.stdout + done.stderr).split())[-2000:] or "nothing"
        raise IsaError(
            f"the OpenCL CPU runtime does not build it for {shown} (exit code {done.returncode}); "
            f"it said: {said}"
        )
    return native.read_bytes()


def compiled(spirv: Path, target: str, options: str, folder: Path, tools: Tools) -> list[Function]:
    """The functions of the module's machine code. folder: for the binary and the disassembly."""
    path = folder / "module.o"
    path.write_bytes(object_of(build(spirv, target, options, folder)))
    text = tools.disassembly(path)
    (folder / "module.s").write_text(text, encoding="utf-8")
    return parse(text, tools.relocations(path))
