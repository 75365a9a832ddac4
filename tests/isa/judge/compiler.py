# SPDX-License-Identifier: Apache-2.0
"""Runs Intel's offline compiler (ocloc) on a SPIR-V module and reads the dump of its kernel."""

import os
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from judge import assembly
from judge.binary import code_size, private_size, sections
from judge.errors import IsaError

PADDING = 136  # bytes after the code in a binary, roughly: 112 to 168 were seen
SECONDS = 300  # time limit of a compilation; ocloc takes about two


@dataclass
class Compiled:
    kernel: assembly.Kernel
    private: int | None  # bytes of private memory, from the binary; None: not known


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
    except (OSError, subprocess.TimeoutExpired) as error:
        raise IsaError(f"the compiler cannot be executed: {error}") from None
    if done.returncode:
        said = " ".join((done.stdout + done.stderr).split())[-2000:] or "nothing"
        raise IsaError(f"the compiler returned {done.returncode}: {shlex.join(command)}; it said: {said}")


def _kernels(folder: Path) -> list[tuple[assembly.Kernel, int | None]]:
    """The kernels in the compiler's dumps, with their bytes of private memory.

    The compiler may compile a kernel twice and dump both, but the binary has only the one with
    fewer spills. The dump whose size fits the binary best is chosen.
    """
    binary: dict[str, bytes] = {}
    for path in sorted(folder.glob("*.bin")):
        binary = binary or sections(path)
    dumps: dict[str, list[assembly.Kernel]] = {}
    for path in sorted(folder.glob("*.asm")):
        kernel = assembly.parse(path.read_text(encoding="utf-8", errors="replace"))
        if kernel.name != "Intel_Symbol_Table_Void_Program":
            dumps.setdefault(kernel.name, []).append(kernel)
    result = []
    for name, tries in dumps.items():
        size = code_size(binary, name)
        if size is None:
            best = min(tries, key=lambda k: k.spill)
        else:
            best = min(tries, key=lambda k: abs(size - PADDING - k.code_bytes))
        result.append((best, private_size(binary, name)))
    return result


class Compiler:
    """The compiler: ocloc, or another COMMAND that is called as `COMMAND INPUT.spv DEVICE FOLDER
    OPTIONS` and leaves its dumps in FOLDER. IsaError if it is missing."""

    def __init__(self, command: str = "") -> None:
        self.command = shlex.split(command)
        self._ocloc = "" if self.command else shutil.which("ocloc") or ""
        if not self.command and not self._ocloc:
            raise IsaError(
                "there is no ocloc: install it (Debian: intel-opencl-icd), or name another compiler with "
                "--ocloc"
            )

    def version(self) -> str:
        """The version of ocloc, or the name of another compiler."""
        if self.command:
            return Path(self.command[0]).name
        # ocloc writes the answer to a file.
        with tempfile.TemporaryDirectory(prefix="zemm-isa-") as folder:
            _run([self._ocloc, "query", "OCL_DRIVER_VERSION"], Path(folder), {})
            answer = (Path(folder) / "OCL_DRIVER_VERSION").read_text(encoding="utf-8", errors="replace")
            return f"ocloc {answer.strip().strip(chr(0))}"

    def run(self, spirv: Path, device: str, options: str, folder: Path, kernel: str) -> Compiled:
        """Compile a module for a device. folder: for the dumps. IsaError if the compiler fails."""
        for old in (*folder.glob("*.asm"), *folder.glob("*.bin")):
            old.unlink()
        if self.command:
            _run([*self.command, str(spirv), device, str(folder), options], folder, {})
        else:
            _run(
                [self._ocloc, "compile", "-q", "-file", str(spirv), "-spirv_input", "-device", device,
                 "-options", options, "--format", "zebin", "-output", "k", "-out_dir", str(folder)],
                folder,
                {"IGC_ShaderDumpEnable": "1", "IGC_DumpToCustomDir": str(folder)},
            )  # fmt: skip
        found = [(k, private) for k, private in _kernels(folder) if k.name == kernel]
        if not found:
            raise IsaError(f"the compiler left no assembly of {kernel} in its folder (*.asm)")
        return Compiled(*found[0])
