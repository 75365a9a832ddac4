# SPDX-License-Identifier: Apache-2.0
"""Quantises a tiny model of each architecture of Transformers in each way, and prints what came of it.

    python tests/models/architectures.py
    python tests/models/architectures.py --dtype=bfloat16 causal-llama seq2seq-t5

Each one is right, or refused with the reason, or cannot be made tiny. Otherwise the status is 1.
"""

import argparse
import json
import select
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import zemm

sys.path.append(str(Path(__file__).parents[1] / "support"))
from support_architectures import NAMES, inputs_of, tiny_model, torch, transformers
from support_twins import WAYS, Twins, difference

# Relative to the largest logit. Both models round in the same type, but not in the same places. In the short
# ones routers may choose other experts, and single logits.
TOLERANCES = {"float32": 1e-3, "bfloat16": 0.1, "float16": 0.02}
LIMIT = 300  # seconds for each
NOT_TINY = {"causal-gemma3n": "it needs the package timm"}
# What is refused, by name and way, and a part of the reason.
_CUT = "which Transformers cuts or joins to others of the model"
_NOTHING = "no layer of the model is quantised"
REFUSED: dict[tuple[str, str], str] = {
    **{
        (f"causal-{kind}", way): _NOTHING
        for kind in ("gpt-sw3", "gpt2", "openai-gpt")  # their layers are Conv1D
        for way in ("ZemmConfig", "GPTQ")
    },
    **{
        (name, "GPTQ"): _CUT
        for name in (
            "causal-hrm_text",
            "causal-longcat_flash",
            "causal-sarvam_moe",
            "masked-gte",
            "masked-jina_embeddings_v3",
            "masked-nomic_bert",
            "seq2seq-nemo_speechlm",
        )
    },
    ("causal-rwkv", "GPTQ"): "writes to its weight",
}


@dataclass(frozen=True)
class Outcome:
    """kind: "right", "refused", "not tiny" or "failed"."""

    name: str
    way: str
    kind: str
    about: str


def outcome(name: str, way: str, dtype: str = "float32") -> Outcome:
    try:
        kind, about = _outcome(name, way, dtype)
    except Exception as error:
        places = [f"{Path(at.filename).name}:{at.lineno}" for at in traceback.extract_tb(error.__traceback__)]
        kind, about = "failed", f"{type(error).__name__}: {error} ({' '.join(places[-3:])})"
    return Outcome(name, way, kind, about)


def _outcome(name: str, way: str, dtype: str) -> tuple[str, str]:
    if name in NOT_TINY:
        return "not tiny", NOT_TINY[name]
    model = tiny_model(name).to(getattr(torch, dtype))
    given = inputs_of(model, name)
    reason = REFUSED.get((name, way))
    with tempfile.TemporaryDirectory() as folder:
        try:
            twins = WAYS[way](model, Path(folder))
        except zemm.ZemmError as error:
            return "refused" if reason and reason in str(error) else "failed", str(error)
    if reason:
        return "failed", f"this is not refused: {reason}"
    if not twins.replaced:
        return "failed", "nothing is quantised"
    if unexplained := [layer for layer, why in twins.left.items() if not why]:
        return "failed", f"{unexplained[0]} is not quantised, and nothing says why"
    found = difference(twins, given)
    if not found <= TOLERANCES[dtype]:
        return "failed", f"wrong by {found:.2g}"
    if name.startswith("causal-") and dtype == "float32" and not _generates(twins, given.get("input_ids")):
        return "failed", "generate() gives other tokens"
    return "right", f"{found:.1g}, {twins.replaced} quantised"


def _generates(twins: Twins, ids: Any) -> bool:
    """Whether generate() gives the same, where the float model can do it."""
    options = {"max_new_tokens": 3, "do_sample": False}
    try:
        expected = twins.twin.generate(ids, **options)
    except Exception:
        return True
    return bool(torch.equal(twins.quantised.generate(ids, **options), expected))


class Worker:
    """A process for one architecture after the other. One that ends or hangs is replaced."""

    def __init__(self, dtype: str) -> None:
        self._dtype, self._process = dtype, None

    def outcome(self, name: str, way: str) -> Outcome:
        process = self._process = self._process or subprocess.Popen(
            [sys.executable, __file__, "--worker", f"--dtype={self._dtype}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        print(name, way, file=process.stdin, flush=True)
        is_there = select.select([process.stdout], [], [], LIMIT)[0]
        if line := process.stdout.readline() if is_there else "":
            return Outcome(**json.loads(line))
        process.kill()
        self._process = None
        return Outcome(name, way, "failed", f"ended with {process.wait()}" if is_there else f"{LIMIT} s")

    def end(self) -> None:
        if self._process is not None:
            self._process.communicate()


def outcomes(names: list[str], ways: list[str], dtype: str, workers: int) -> Iterator[Outcome]:
    def of_some(first: int) -> list[Outcome]:
        worker = Worker(dtype)
        found = [worker.outcome(name, way) for name in names[first::workers] for way in ways]
        worker.end()
        return found

    with ThreadPoolExecutor(workers) as pool:
        for found in pool.map(of_some, range(workers)):
            yield from found


def work(dtype: str) -> None:
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        print(json.dumps(asdict(outcome(*line.split(), dtype))), file=answers, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "names", nargs="*", default=NAMES, metavar="name", help=f"as {NAMES[0]}; all by default"
    )
    parser.add_argument("--way", choices=list(WAYS), action="append", help="all by default")
    parser.add_argument("--dtype", choices=list(TOLERANCES), default="float32")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work(given.dtype)
        return 0
    found = list(outcomes(given.names, given.way or list(WAYS), given.dtype, given.workers))
    for one in sorted(found, key=lambda one: (one.kind, one.name)):
        print(f"{one.kind:9}{one.way:11}{one.name:36}{one.about}")
    for way in given.way or WAYS:
        print(way, *(f"{kind} {n}" for kind, n in Counter(o.kind for o in found if o.way == way).items()))
    return int(any(one.kind == "failed" for one in found))


if __name__ == "__main__":
    sys.exit(main())
