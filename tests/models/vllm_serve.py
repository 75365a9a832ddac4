# SPDX-License-Identifier: Apache-2.0
"""Lets vLLM write tokens, in the environment of vllm_models.py: `vllm_serve.py request.json answer.json`."""

import gc
import json
import os
import sys
from pathlib import Path
from typing import Any

import torch

CPU_FEATURES = ("_is_avx512_supported", "_is_avx512_bf16_supported", "_is_amx_tile_supported")


class Extension:
    """What vLLM's workers can be asked beside their own methods."""

    def kernels(self: Any) -> list[str]:
        """The classes of kernels that multiply the model's quantised layers, and of methods that compute its
        experts."""
        from vllm.model_executor.layers.fused_moe import FusedMoEMethodBase

        found = set()
        for module in self.get_model().modules():
            method = getattr(module, "scheme", None) or getattr(module, "quant_method", None)
            kernel = method if isinstance(method, FusedMoEMethodBase) else getattr(method, "kernel", None)
            if kernel is not None:
                found.add(type(kernel).__name__)
        return sorted(found)


def serve(case: dict[str, Any], count: int) -> dict[str, Any]:
    """The most probable tokens after each prompt, one after the other, and the logarithms of their
    probabilities."""
    from vllm import LLM, SamplingParams

    os.environ["VLLM_CPU_INT4_W4A8"] = str(int(case["quantises"]))
    options: Any = {"skip_tokenizer_init": True, "max_model_len": 64, "max_num_seqs": 4}
    options["worker_extension_cls"] = f"{Path(__file__).stem}.{Extension.__name__}"
    llm = LLM(case["folder"], dtype=case["dtype"], enforce_eager=not case["compiled"], **options)
    greedy = SamplingParams(temperature=0, max_tokens=count, logprobs=0, ignore_eos=True, detokenize=False)
    given: Any = [{"prompt_token_ids": prompt} for prompt in case["prompts"]]
    written = [result.outputs[0] for result in llm.generate(given, greedy, use_tqdm=False)]
    return {
        "kernels": llm.collective_rpc("kernels")[0],
        "tokens": [list(one.token_ids) for one in written],
        "logprobs": [
            [step[token].logprob for step, token in zip(one.logprobs, one.token_ids, strict=True)]
            for one in written
        ],
    }


def main(request: Path, answer: Path) -> None:
    asked, answers = json.loads(request.read_text()), {}
    if asked["avx2"]:  # vLLM chooses its libraries by these
        for name in CPU_FEATURES:
            assert hasattr(torch.cpu, name)
            setattr(torch.cpu, name, lambda: False)
    from vllm.distributed import cleanup_dist_env_and_memory

    for name, case in asked["cases"].items():
        try:
            answers[name] = serve(case, asked["count"])
        except Exception as error:
            answers[name] = {"failed": str(error)}
        gc.collect()
        cleanup_dist_env_and_memory()
        answer.write_text(json.dumps(answers))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
