# SPDX-License-Identifier: Apache-2.0
"""What a run of llama-bench costs with zemm's backend and without it: the tables of memory in docs/ggml.md.

    PYTHONPATH=tests/support ZEMM_LLAMA_CPP=BUILD python tests/ggml/memory.py [--shape 135m] [TYPE ..]

BUILD: the folder that build.py made. For each type the program prints the peak memory in MB and the time from
start to end in seconds, the best of some rounds, of one token and of a prompt of 512: ggml's, zemm's, and
zemm's with weights that are kept twice.
"""

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path

from support_llama_cpp import BACKEND, BIN
from support_random_models import write_model
from zemm.models.shapes import SHAPES, Shape

MODELS = {"1b": SHAPES["llama-1b"], "135m": Shape(576, 1536, 30, 9, 3, 49152)}
JOBS = {"one token": ("-p", "0", "-n", "1"), "a prompt of 512": ("-p", "512", "-n", "0")}
WAYS = {
    "ggml": {},
    "zemm": {"GGML_BACKEND_PATH": str(BACKEND)},
    "twice": {"GGML_BACKEND_PATH": str(BACKEND), "GGML_ZEMM_WEIGHTS": "twice"},
}


def cost(file: Path, job: str, way: str) -> tuple[float, float]:
    """MB and seconds of a process."""
    command = [str(BIN / "llama-bench"), "-m", str(file), *JOBS[job], "-r", "1"]
    start = time.monotonic()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=os.environ | WAYS[way], **quiet)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return usage.ru_maxrss / 1e3, time.monotonic() - start


def line(type_name: str, shape: Shape, rounds: int) -> str:
    cells = [type_name]
    with tempfile.TemporaryDirectory() as folder:
        file = write_model(type_name, shape, Path(folder))
        for job in JOBS:
            taken = [{way: cost(file, job, way) for way in WAYS} for _ in range(rounds)]
            for way in WAYS:
                megabytes, seconds = (min(costs) for costs in zip(*(of[way] for of in taken), strict=True))
                cells.append(f"{megabytes:,.0f} in {seconds:.2f}")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--shape", choices=MODELS, default="1b")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("types", nargs="*", default=["Q4_0", "Q4_K", "Q8_0", "Q4_1"])
    args = parser.parse_args()
    print(f"| type | {' | '.join(f'{job}: {way}' for job in JOBS for way in WAYS)} |")
    print("|---" + "|---:" * len(JOBS) * len(WAYS) + "|")
    for type_name in args.types:
        print(line(type_name, MODELS[args.shape], args.rounds), flush=True)


if __name__ == "__main__":
    main()
