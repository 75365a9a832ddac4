# SPDX-License-Identifier: Apache-2.0
"""Runs llvm-objdump and llvm-mca, of the newest LLVM that is installed."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from judge.errors import IsaError

# Without -mattr llvm-mca refuses instructions that the CPU of its model does not have.
_MATTR = "+avx512vnni,+avxvnni,+avx512bf16,+avx512fp16"


def _run(command: list[str], text: str = "") -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode or "not a recognized processor" in done.stderr:
        said = " ".join(done.stderr.split())[:1000]
        raise IsaError(f"{command[0]} failed (exit code {done.returncode}); it said: {said}")
    return done.stdout


def newest() -> tuple[int, str]:
    """The version of the newest llvm-mca beside which there is an llvm-objdump, and the end of both
    names. (0, "") if there is none."""
    suffixes = {""}
    for folder in os.get_exec_path():
        suffixes |= {path.name.removeprefix("llvm-mca") for path in Path(folder).glob("llvm-mca-*")}
    found = [(0, "")]
    for suffix in suffixes:
        if shutil.which(f"llvm-mca{suffix}") and shutil.which(f"llvm-objdump{suffix}"):
            version = re.search(r"LLVM version (\d+)", _run([f"llvm-mca{suffix}", "--version"]))
            found.append((int(version[1]) if version else 0, suffix))
    return max(found)


class Tools:
    """IsaError if they are missing."""

    def __init__(self) -> None:
        self.llvm, self._suffix = newest()
        if self.llvm < 16:
            raise IsaError("there is no llvm-mca and llvm-objdump of version 16 or newer: install llvm-19")

    def disassembly(self, path: Path) -> str:
        return _run([f"llvm-objdump{self._suffix}", "-d", "--no-show-raw-insn", str(path)])

    def mca(self, lines: list[str], model: str, iterations: int) -> dict[str, Any]:
        """The JSON of llvm-mca about instructions that are executed so many times in turn."""
        command = [f"llvm-mca{self._suffix}", "-mtriple=x86_64", f"-mcpu={model}", f"-mattr={_MATTR}"]
        answer = _run([*command, f"-iterations={iterations}", "-json", "-"], "\n".join(lines) + "\n")
        result: dict[str, Any] = json.loads(answer)
        return result
