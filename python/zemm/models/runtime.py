# SPDX-License-Identifier: Apache-2.0
"""A model in Transformers, by zemm's layers or by torch alone."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

import zemm
import zemm.transformers
from zemm.models.contestant import Agreement, Contestant, Loaded, Settings, Turn
from zemm.models.floats import put_floats
from zemm.models.model import Model
from zemm.models.process_memory import measured, peak

_ROWS = 64  # of logits that are compared at once


class _Clock:
    """Notes when generate() gives it tokens: first the prompt, then each new one."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def put(self, value: Any) -> None:
        self.times.append(time.perf_counter())

    def end(self) -> None:
        """Nothing is left to show."""


def settle(who: Contestant, threads: int) -> None:
    """Settings of the process."""
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(threads)
    if who.kind == "zemm":
        zemm.set_num_threads(threads)


class Runtime:
    """A model on one of the runtimes of Transformers."""

    def __init__(self, who: Contestant, model: Model, settings: Settings) -> None:
        self._who, self._model, self._settings = who, model, settings
        self._net: Any = None

    def load(self) -> Loaded:
        """Load the model. ValueError, NotImplementedError, ImportError: it cannot be."""
        is_zemm = self._who.kind == "zemm"
        if is_zemm:
            zemm.Engine("cpu")  # which does not belong to the model
        net, loaded = measured(self._made, zemm.__version__ if is_zemm else torch.__version__)
        self._net = net.eval()
        # Whatever the checkpoint asks for, all runtimes do the same work.
        self._net.generation_config = transformers.GenerationConfig(do_sample=False, pad_token_id=0)
        return replace(loaded, note=self._note())

    def _made(self) -> Any:
        model, who, settings = self._model, self._who, self._settings
        load = transformers.AutoModelForCausalLM.from_pretrained
        arguments = {**model.source, "dtype": getattr(torch, who.dtype)}
        if who.kind != "zemm":
            if not self._is_put_back():
                return load(**arguments)
            with zemm.transformers.registered():
                return put_floats(load(**arguments))
        if model.is_float:
            config = zemm.transformers.ZemmConfig(
                bits=settings.bits, group=settings.group, activation=who.activation
            )
            return self._compiled(load(**arguments, quantization_config=config))
        with zemm.transformers.registered(activation=who.activation):
            return self._compiled(load(**arguments))

    def _compiled(self, net: Any) -> Any:
        """The model; of a contestant that is compiled, with its decode step, for the lengths of turns."""
        if self._who.is_compiled:
            read, written = self._settings.prompt, self._settings.tokens
            zemm.transformers.compile(net, max_length=read + written + 1)
            ids = torch.zeros((1, read), dtype=torch.long)
            net.generate(ids, attention_mask=torch.ones_like(ids), min_new_tokens=2, max_new_tokens=2)
        return net

    def _is_put_back(self) -> bool:
        """Whether torch gets layers that zemm has dequantised. Transformers itself does so for GGUF only; for
        other formats it needs the packages that made them."""
        return self._who.kind != "zemm" and not self._model.is_float and self._model.gguf is None

    def _note(self) -> str:
        if self._who.kind == "zemm" and self._model.is_float:
            return f"{self._settings.bits} bits in groups of {self._settings.group}"
        return "loaded by zemm, then dequantised" if self._is_put_back() else ""

    def turn(self, prompt: list[int], tokens: int) -> Turn:
        """Read the prompt and write tokens after the first one."""
        clock, ids = _Clock(), torch.tensor([prompt])
        began = time.perf_counter()
        self._net.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens + 1, streamer=clock
        )
        first, last = clock.times[1], clock.times[-1]
        decode = tokens / (last - first) if tokens else 0.0
        return Turn(first - began, len(prompt) / (first - began), decode)

    def peak(self) -> int:
        return peak()

    @torch.no_grad()
    def agreement(self, ids: list[int], reference: Path, is_reference: bool) -> Agreement:
        """How well the model foresees a text. reference: the file of the float model's logits, which that
        model writes."""
        logits = self._net(torch.tensor([ids]), use_cache=False).logits[0].float()
        loss = torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(ids[1:]))
        found = logits.numpy()
        difference = None
        if is_reference:
            np.save(reference, found)
            difference = 0.0
        elif reference.exists():
            expected = np.load(reference, mmap_mode="r")
            pieces = [slice(row, row + _ROWS) for row in range(0, len(found), _ROWS)]
            largest = max(float(np.abs(expected[piece]).max()) for piece in pieces)
            difference = max(float(np.abs(found[at] - expected[at]).max()) for at in pieces) / largest
        return Agreement(float(loss.exp()), difference)
