# SPDX-License-Identifier: Apache-2.0
"""Models with random weights: of the size of real ones, made in seconds, for timing."""

from importlib.util import find_spec
from pathlib import Path

from zemm.models import random_gguf, random_gptq
from zemm.models.model import Model
from zemm.models.shapes import SHAPES


def write(name: str, folder: Path) -> Model:
    """Write a shape into a folder: a checkpoint, and with the package gguf a GGUF file for llama.cpp and
    OpenVINO, which read no GPTQ."""
    file = random_gptq.write(SHAPES[name], folder)
    gguf = random_gguf.write(SHAPES[name], folder) if find_spec("gguf") else None
    return Model(name, folder, None, "gptq", file.stat().st_size, gguf, is_random=True)
