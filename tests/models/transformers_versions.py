# SPDX-License-Identifier: Apache-2.0
"""Tests zemm.transformers with another version of Transformers, which it installs into a folder.

    python tests/models/transformers_versions.py 5.6.2 build/transformers
    python tests/models/transformers_versions.py --digit=b build/transformers --all

A digit of the commit's hash picks one of 16 versions. --all: all tests of these files, in place of some in
each format.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

VERSIONS = (
    *("5.0.0", "5.1.0", "5.2.0", "5.3.0", "5.4.0", "5.5.4", "5.6.2", "5.7.0"),
    *("5.8.1", "5.9.0", "5.10.4", "5.12.1", "5.14.1", "5.17.0", "5.20.2", "5.22.2"),
)
HUB_1 = [
    *("huggingface-hub==1.33.0", "httpx==0.28.1", "httpcore==1.0.9", "anyio==4.16.0", "h11==0.16.0"),
    *("certifi", "idna", "typer-slim==0.24.0", "shellingham"),
]
# What a version needs beside what the newest one has brought: before the version of the key.
NEEDS: dict[tuple[int, int], list[str]] = {
    (5, 0): ["huggingface-hub==0.36.0", "tokenizers==0.22.2", "accelerate==1.15.0", "psutil"],
    (5, 16): ["tokenizers==0.22.2", *HUB_1],
    (5, 18): HUB_1,
}
TESTS = [
    "test_transformers.py::test_logits[GPTQ]",
    "test_transformers.py::test_logits[GPTQ, act-order]",
    "test_transformers.py::test_logits[AWQ]",
    "test_transformers.py::test_logits[AutoRound, GPTQ]",
    "test_transformers.py::test_float_checkpoints_are_quantised",
    "test_transformers_compressed.py::test_logits",
    "test_transformers_saving.py::test_several_files_and_again",
]
OF_5 = [
    "test_transformers_experts.py::test_logits",
    "test_transformers_experts.py::test_mxfp4_of_gpt_oss",
    "test_transformers_experts.py::test_float_experts_are_quantised_while_they_load",
    "test_transformers_experts.py::test_short_floats_and_generation",
    "test_transformers_loading.py::test_initialisation_changes_no_layer",
]


def test(version: str, folder: Path, all_files: bool) -> int:
    """The exit status of pytest."""
    number = tuple(map(int, version.split(".")[:2]))
    own = folder / version
    if not own.exists():
        needs = next((needs for before, needs in NEEDS.items() if number < before), [])
        packages = [f"transformers=={version}", *needs]
        pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-compile", "--target", str(own)]
        subprocess.run([*pip, *packages], check=True)
    found = TESTS + OF_5 * (number >= (5, 0)) + ["test_transformers_gguf.py"] * (number >= (5, 17))
    found += ["test_transformers_loading.py::test_modules_kept_in_f32"] * (number >= (5, 3))
    if all_files:
        found = sorted({test.partition("::")[0] for test in found})
    tests = Path(__file__).parent
    pytest = [sys.executable, "-m", "pytest", "-q", "--full", *(str(tests / test) for test in found)]
    return subprocess.run(pytest, env={**os.environ, "PYTHONPATH": str(own)}, check=False).returncode


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("version", nargs="?")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--digit", help="a hexadecimal digit, which picks the version")
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args()
    if (given.version is None) == (given.digit is None):
        parser.error("it takes a version or --digit")
    version = given.version or VERSIONS[int(given.digit, 16) % len(VERSIONS)]
    print(f"Transformers {version}", flush=True)
    sys.exit(test(version, given.folder.resolve(), given.all))
