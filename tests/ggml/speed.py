# SPDX-License-Identifier: Apache-2.0
"""Time llama.cpp with zemm's backend and without it, in turns: the table of docs/ggml.md.

    PYTHONPATH=tests/support ZEMM_LLAMA_CPP=BUILD python tests/ggml/speed.py [TYPE ..]

BUILD: the folder that build.py made. The models are random, with the shapes of Llama 1B. For each type the
program prints the best tokens/s of llama-bench with 512 tokens that are read and 32 that are
written: ggml's, zemm's, and zemm's over ggml's.
"""

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path

from support_llama_cpp import run
from support_random_models import write_model
from test_ggml_formats import TYPES
from zemm.models.shapes import SHAPES

TESTS = {"n_prompt": "512", "n_gen": "32"}


def rates(file: Path, *, zemm: bool) -> dict[str, float]:
    """Tokens/s by test."""
    sizes = ["-p", TESTS["n_prompt"], "-n", TESTS["n_gen"]]
    log = run("llama-bench", "-m", file, *sizes, "-r", "2", "-o", "json", zemm=zemm, timeout=600)
    found = json.loads(log[log.index("[\n") : log.rindex("]") + 1])
    return {name: result["avg_ts"] for result in found for name in TESTS if result[name]}


def line(type_name: str, layers: int, rounds: int) -> str:
    cells = [type_name]
    with tempfile.TemporaryDirectory() as folder:
        file = write_model(type_name, replace(SHAPES["llama-1b"], layers=layers), Path(folder))
        taken = [(rates(file, zemm=False), rates(file, zemm=True)) for _ in range(rounds)]
    for test in TESTS:
        ggml, zemm = (max(rate[test] for rate in of) for of in zip(*taken, strict=True))
        cells += [f"{ggml:.0f}", f"{zemm:.0f}", f"{zemm / ggml:.2f}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("types", nargs="*", default=TYPES)
    args = parser.parse_args()
    print("| type | ggml, 512 tokens | zemm | ratio | ggml, one by one | zemm | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for type_name in args.types:
        print(line(type_name, args.layers, args.rounds), flush=True)


if __name__ == "__main__":
    main()
