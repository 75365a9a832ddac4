# SPDX-License-Identifier: Apache-2.0
"""OpenVINO by its package openvino-genai: GGUF files, and folders that optimum-cli has exported."""

from typing import Any

import numpy as np

from zemm.benchdnn.peers import PeerError, missing
from zemm.models.contestant import Loaded, Settings, Turn
from zemm.models.model import Model
from zemm.models.process_memory import measured, peak

_EXPORTED = "openvino_model.xml"


class Runtime:
    """A model on the CPU. PeerError: it cannot be loaded, or the package is missing."""

    def __init__(self, model: Model, settings: Settings) -> None:
        try:
            import openvino
            import openvino_genai
        except ImportError as error:
            raise missing("openvino", "openvino-genai", error, "pip install openvino-genai") from None
        if model.is_random:
            raise PeerError("it takes models with a tokenizer, which random ones have not")
        if model.gguf is None and not (model.folder / _EXPORTED).exists():
            raise PeerError(
                f"it takes GGUF files and folders with {_EXPORTED}, which optimum-cli export openvino --model"
                f" {model.name} FOLDER makes"
            )
        self._openvino, self._genai = openvino, openvino_genai
        self._model, self._settings = model, settings
        self._pipeline: Any = None

    def load(self) -> Loaded:
        path = self._model.llama_file or self._model.folder

        def make() -> Any:
            return self._genai.LLMPipeline(str(path), "CPU", INFERENCE_NUM_THREADS=self._settings.threads)

        self._pipeline, loaded = measured(make, self._openvino.__version__)
        return loaded

    def turn(self, prompt: list[int], tokens: int) -> Turn:
        """Read the prompt and write tokens after the first one, timed by the package itself."""
        config = self._genai.GenerationConfig()
        config.max_new_tokens, config.ignore_eos, config.do_sample = tokens + 1, True, False
        ids, mask = np.array([prompt], np.int64), np.ones((1, len(prompt)), np.int64)
        inputs = self._genai.TokenizedInputs(self._openvino.Tensor(ids), self._openvino.Tensor(mask))
        metrics = self._pipeline.generate(inputs, config).perf_metrics
        first = metrics.get_ttft().mean / 1e3
        decode = 1e3 / metrics.get_tpot().mean if tokens else 0.0
        return Turn(first, len(prompt) / first, decode)

    def peak(self) -> int:
        return peak()
