# SPDX-License-Identifier: Apache-2.0
"""Runs Intel's offline compiler on a SPIR-V module and finds the dump of its kernel."""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from zemm.isa import assembly
from zemm.isa.errors import IsaError

SECONDS = 300  # after which a compiler is ended; the real one takes two


@dataclass
class Compiled:
    kernel: assembly.Kernel
    private: int | None  # bytes of private memory a work-item or thread; None: the binary does not say
    seconds: float


def _run(command: list[str], folder: Path, variables: dict[str, str]) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | variables,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise IsaError(
            f"the compiler {command[0]!r} is not there: install it (Debian: intel-opencl-icd), or name "
            "another with --ocloc"
        ) from None
    except PermissionError:
        raise IsaError(f"the compiler {command[0]!r} may not be executed") from None
    except subprocess.TimeoutExpired:
        raise IsaError(f"the compiler did not end within {SECONDS} s: {shlex.join(command)}") from None
    if done.returncode:
        said = " ".join((done.stdout + done.stderr).split())[-2000:] or "nothing"
        raise IsaError(f"the compiler returned {done.returncode}: {shlex.join(command)}; it said: {said}")


def _private(folder: Path, name: str) -> int | None:
    """From the section .ze_info of the binary, which is YAML."""
    for path in folder.glob("*.bin"):
        text = path.read_bytes().decode("latin-1")
        entry = re.search(
            rf"\n  - name: +{re.escape(name)}\n(.*?)(?=\n  - name:|\n\S|\x00|$)", text, re.DOTALL
        )
        if not entry:
            continue
        sizes = re.findall(r"usage: +private_space\s+size: +(\d+)", entry[1])
        return sum(int(size) for size in sizes)
    return None


def _dumps(folder: Path) -> list[assembly.Kernel]:
    """The kernels in their order. A compiler that tries twice dumps twice and keeps what spills less."""
    best: dict[str, assembly.Kernel] = {}
    for path in sorted(folder.glob("*.asm")):
        kernel = assembly.parse(path.read_text(encoding="utf-8", errors="replace"))
        if kernel.name == "Intel_Symbol_Table_Void_Program":
            continue
        if kernel.name not in best or kernel.spill <= best[kernel.name].spill:
            best[kernel.name] = kernel
    return list(best.values())


class Compiler:
    """Debian's ocloc, or `COMMAND INPUT.spv DEVICE FOLDER OPTIONS`, which leaves the dumps in FOLDER."""

    def __init__(self, command: str = "") -> None:
        self.command = shlex.split(command)
        self._ocloc = "" if self.command else shutil.which("ocloc") or ""
        if not self.command and not self._ocloc:
            raise IsaError(
                "there is no ocloc: install it (Debian: intel-opencl-icd), or name another compiler with "
                "--ocloc"
            )

    def version(self) -> str:
        """Of ocloc; another compiler's name."""
        if self.command:
            return Path(self.command[0]).name
        with tempfile.TemporaryDirectory(prefix="zemm-isa-") as folder:  # the answer is a file
            _run([self._ocloc, "query", "OCL_DRIVER_VERSION"], Path(folder), {})
            return f"ocloc {(Path(folder) / 'OCL_DRIVER_VERSION').read_text().strip()}"

    def run(self, spirv: Path, device: str, options: str, folder: Path, kernel: str = "") -> Compiled:
        """folder: for the dumps. kernel: which one of the module; empty: the only one."""
        for old in (*folder.glob("*.asm"), *folder.glob("*.bin")):
            old.unlink()
        begin = time.monotonic()
        if self.command:
            _run([*self.command, str(spirv), device, str(folder), options], folder, {})
        else:
            _run(
                [self._ocloc, "compile", "-q", "-file", str(spirv), "-spirv_input", "-device", device,
                 "-options", options, "--format", "zebin", "-output", "k", "-out_dir", str(folder)],
                folder,
                {"IGC_ShaderDumpEnable": "1", "IGC_DumpToCustomDir": str(folder)},
            )  # fmt: skip
        seconds = time.monotonic() - begin
        found = [k for k in _dumps(folder) if not kernel or k.name == kernel]
        if not found:
            raise IsaError(
                f"the compiler left no assembly of {kernel or 'a kernel'} in its folder (*.asm), as it does "
                "with IGC_ShaderDumpEnable=1"
            )
        if len(found) > 1:
            names = ", ".join(k.name for k in found)
            raise IsaError(f"the module has the kernels {names}: choose one with --kernel")
        return Compiled(found[0], _private(folder, found[0].name), seconds)
