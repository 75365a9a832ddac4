# SPDX-License-Identifier: Apache-2.0
"""Runs llvm-objdump and llvm-mca, of the newest LLVM that is installed."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from zemm.isa.errors import IsaError

SECONDS = 300  # time limit of a run
_INSTALL = "install an LLVM of version 16 or newer (Debian: llvm-19)"
# Without -mattr llvm-mca refuses instructions that the CPU of its model does not have.
_MATTR = "+avx512vnni,+avxvnni,+avx512bf16,+avx512fp16,+amx-tile,+amx-int8,+amx-bf16"


def _run(command: list[str], text: str = "") -> str:
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except OSError as error:
        raise IsaError(f"{command[0]} cannot be executed: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise IsaError(f"{command[0]} did not end within {SECONDS} s") from None
    if done.returncode or "not a recognized processor" in done.stderr:
        said = " ".join(done.stderr.split())[:1000] or "nothing"
        raise IsaError(f"{Path(command[0]).name} failed (exit code {done.returncode}); it said: {said}")
    return done.stdout


def _version(command: str) -> int:
    found = re.search(r"LLVM version (\d+)", _run([command, "--version"]))
    return int(found[1]) if found else 0


def _newest() -> tuple[int, str]:
    """The version of the newest llvm-mca beside which there is an llvm-objdump, and the end of both
    names."""
    suffixes = {""}
    for folder in os.get_exec_path():
        suffixes |= {path.name.removeprefix("llvm-mca") for path in Path(folder).glob("llvm-mca-*")}
    found = [
        (_version(f"llvm-mca{suffix}"), suffix)
        for suffix in suffixes
        if shutil.which(f"llvm-mca{suffix}") and shutil.which(f"llvm-objdump{suffix}")
    ]
    if not found:
        raise IsaError(f"there is no llvm-mca with an llvm-objdump of the same version: {_INSTALL}")
    return max(found)


class Tools:
    """IsaError if they are missing."""

    def __init__(self) -> None:
        self.llvm, self._suffix = _newest()

    def version(self) -> str:
        return f"llvm-mca {self.llvm}"

    def disassembly(self, path: Path) -> str:
        return _run([f"llvm-objdump{self._suffix}", "-d", "-r", "--no-show-raw-insn", str(path)])

    def relocations(self, path: Path) -> str:
        return _run([f"llvm-objdump{self._suffix}", "-r", str(path)])

    def mca(self, lines: list[str], model: str, iterations: int) -> dict[str, Any]:
        """What llvm-mca says in JSON of instructions that are executed so many times in turn."""
        text = "\n".join(lines) + "\n"
        command = [f"llvm-mca{self._suffix}", "-mtriple=x86_64", f"-mcpu={model}", f"-mattr={_MATTR}"]
        try:
            answer = _run([*command, f"-iterations={iterations}", "-json", "-"], text)
        except IsaError as error:
            if "not a recognized processor" in str(error):
                raise IsaError(f"llvm-mca {self.llvm} has no model of {model}: {_INSTALL}") from None
            raise
        result: dict[str, Any] = json.loads(answer)
        return result
