# SPDX-License-Identifier: Apache-2.0
"""llama.cpp by its program llama-bench, which loads the model for each turn."""

import json
import shutil
import subprocess
import tempfile
import time

from zemm.benchdnn.peers import PeerError
from zemm.models import process_memory
from zemm.models.contestant import Settings, Turn
from zemm.models.model import Model

_PROGRAM = "llama-bench"
_TICK = 0.05  # seconds between two looks at its memory


class LlamaBench:
    """The program, found on PATH."""

    def __init__(self, model: Model, settings: Settings) -> None:
        path = shutil.which(_PROGRAM)
        if path is None:
            raise PeerError(f"there is no {_PROGRAM} on PATH: build llama.cpp and add its build/bin to PATH")
        if model.llama_file is None:
            raise PeerError("it loads GGUF files only, and this model is none")
        self._command = [path, "-m", str(model.llama_file), "-t", str(settings.threads)]
        self._command += ["-ngl", "0", "-r", "1", "-o", "json"]
        self._peak = 0
        self.version = ""

    def turn(self, prompt: list[int], tokens: int) -> Turn:
        """Read a prompt of the same length, then write tokens after one."""
        prefill = self._run("-p", str(len(prompt)), "-n", "0")
        decode = self._run("-p", "0", "-n", str(tokens), "-d", str(len(prompt))) if tokens else 0.0
        return Turn(len(prompt) / prefill, prefill, decode)

    def peak(self) -> int:
        return self._peak

    def _run(self, *arguments: str) -> float:
        """Tokens/s of a test. PeerError: the program has failed."""
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                [*self._command, *arguments], stdin=subprocess.DEVNULL, stdout=output, stderr=errors
            )
            try:
                while process.poll() is None:
                    self._peak = max(self._peak, process_memory.peak(process.pid))
                    time.sleep(_TICK)
            finally:
                process.kill()
                process.wait()
            output.seek(0), errors.seek(0)
            if process.returncode:
                lines = errors.read().strip().splitlines() or ["it said nothing"]
                raise PeerError(f"{_PROGRAM} has failed: {lines[-1]}")
            (found,) = json.load(output)
        self.version = f"{found.get('build_number', '')} {found.get('build_commit', '')}".strip()
        return float(found["avg_ts"])
