# SPDX-License-Identifier: Apache-2.0
"""Time llama.cpp with zemm's backend and without it, in turns: the tables of docs/ggml.md.

    PYTHONPATH=tests/support ZEMM_LLAMA_CPP=BUILD python tests/ggml/speed.py [TYPE ..]

BUILD: the folder that build.py made. The models are random, with the shapes of Llama 1B. For each type the
program prints tokens/s of llama-bench, of tokens that are read and of such that are written: ggml's and
zemm's best, the ratio of these, and that of the medians.
"""

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median

from gguf import GGMLQuantizationType
from support_llama_cpp import run
from support_random_models import write_model
from test_ggml_formats import TYPES
from zemm.models.shapes import SHAPES

TESTS = ("n_prompt", "n_gen")
KNOWN = [name for name in TYPES if name in GGMLQuantizationType.__members__]


def rates(file: Path, options: list[str], *, zemm: bool) -> dict[str, float]:
    """Tokens/s by test."""
    log = run("llama-bench", "-m", file, *options, "-r", "2", "-o", "json", zemm=zemm, timeout=600)
    found = json.loads(log[log.index("[\n") : log.rindex("]") + 1])
    return {name: result["avg_ts"] for result in found for name in TESTS if result[name]}


def line(type_name: str, options: list[str], layers: int, rounds: int) -> str:
    cells = [type_name]
    with tempfile.TemporaryDirectory() as folder:
        file = write_model(type_name, replace(SHAPES["llama-1b"], layers=layers), Path(folder))
        taken = [(rates(file, options, zemm=False), rates(file, options, zemm=True)) for _ in range(rounds)]
    for test in (test for test in TESTS if test in taken[0][0]):
        ggml, zemm = ([rate[test] for rate in of] for of in zip(*taken, strict=True))
        middle = median(zemm) / median(ggml)
        cells += [f"{max(ggml):.0f}", f"{max(zemm):.0f}", f"{max(zemm) / max(ggml):.2f}", f"{middle:.2f}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--read", type=int, default=512, help="tokens at once; 0: none")
    parser.add_argument("--write", type=int, default=128, help="tokens one by one; 0: none")
    parser.add_argument("--threads", help="of ggml; default: its own")
    parser.add_argument("types", nargs="*", default=KNOWN)
    args = parser.parse_args()
    options = ["-p", str(args.read), "-n", str(args.write), *(["-t", args.threads] if args.threads else [])]
    kinds = [(args.read, "at once"), (args.write, "one by one")]
    heads = [f"ggml, {count} {how} | zemm | ratio | of medians" for count, how in kinds if count]
    print(f"| type | {' | '.join(heads)} |")
    print(f"|---{4 * len(heads) * '|---:'}|")
    for type_name in args.types:
        print(line(type_name, options, args.layers, args.rounds), flush=True)


if __name__ == "__main__":
    main()
