# SPDX-License-Identifier: Apache-2.0
"""Decode steps of a model as one compiled graph."""

import functools
import logging
import threading
from collections.abc import Callable
from typing import Any

import torch
import transformers

from zemm.errors import InvalidArgumentsError
from zemm.torch._threads import threads
from zemm.transformers._decode_attention import decode_attention
from zemm.transformers._replay import Counts, Recorded, Replay, cache_of, is_static
from zemm.transformers._step_inputs import StepInputs, has_usual_inputs
from zemm.transformers._step_operator import compiled_step

_log = logging.getLogger("zemm")
_STEP = 256  # tokens to which lengths of caches are rounded, so that calls of similar lengths share a graph
# torch's operators in a step are too small for several threads. That sizes fit is known from tracing.
_OPTIONS = {"cpp.threads": 1, "size_asserts": False, "alignment_asserts": False, "scalar_asserts": False}
# Arguments of generate() for which it needs another cache than a static one, has one, or reorders it.
_EAGER = (
    "assistant_model", "prompt_lookup_num_tokens", "assistant_early_exit", "past_key_values", "cache",
    "cache_implementation", "custom_generate", "penalty_alpha", "dola_layers", "prefill_chunk_size",
)  # fmt: skip


def compile(model: Any, *, max_length: int | None = None) -> Any:
    """Compile the decode steps of a model of Transformers, in place. Returns the model.

        model = zemm.transformers.compile(model)
        model.generate(...)

    generate() then keeps keys and values in a static cache, and each token after the prompt is one graph of
    torch.compile. torch has one thread from the first of them to the end, as its operators are too small for
    more; zemm's layers use all. Greedy search and sampling are compiled. Prompts, beams, and what needs
    another cache, such as assisted generation, run as before. So does a model that torch cannot compile; a
    warning says why.

    The first token with another number of sequences, or with a longer cache, waits for the compiler.

    max_length: tokens that caches have room for, prompt included. Calls up to it share a graph. None: what a
    call asks for, rounded up to a multiple of 256.

    ValueError: the model does not generate, is not on the host, or is compiled already."""
    if not isinstance(model, transformers.PreTrainedModel) or not model.can_generate():
        raise InvalidArgumentsError(
            f"model is a {type(model).__name__}, not a model of Transformers that generates"
        )
    if model.device.type != "cpu":
        raise InvalidArgumentsError(f"model is on the device {model.device}: call model.cpu() first")
    if "generate" in vars(model):
        raise InvalidArgumentsError("model has a generate() of its own: it is compiled already")
    steps = _Steps(model, max_length)
    for name in ("forward", "generate", "prepare_inputs_for_generation"):
        setattr(model, name, _as(getattr(model, name), getattr(steps, name)))
    return model


def _as(original: Callable[..., Any], made: Callable[..., Any]) -> Callable[..., Any]:
    """`made` with the name and the signature of `original`, which Transformers looks at."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        return made(*args, **kwargs)

    return call


class _Local(threading.local):
    """Of a thread. call: the last one of a graph. replay: repeats it. inputs: makes the arguments of steps.
    All are made within generate() alone."""

    call: Recorded | None = None
    replay: Replay | None = None
    inputs: StepInputs | None = None
    is_generating = False


class _Steps:
    """forward() and generate() of a compiled model."""

    def __init__(self, model: Any, max_length: int | None) -> None:
        self._model, self._max_length = model, max_length
        self._forward, self._generate = model.forward, model.generate
        self._prepare = model.prepare_inputs_for_generation
        self._has_usual_inputs = has_usual_inputs(type(model))
        self._compiled = torch.compile(self._forward, fullgraph=True, dynamic=False, backend=self._backend)
        self._hooks = _hooks(model)
        self._is_refused = False
        self._local = _Local()

    def generate(self, *args: Any, **kwargs: Any) -> Any:
        local = self._local
        local.is_generating = True
        try:
            return self._generate(*args, **{**kwargs, **self._settings(args, kwargs)})
        finally:
            local.is_generating = False
            local.call = local.replay = local.inputs = None  # they keep the cache alive
            threads.give_back()

    def prepare_inputs_for_generation(self, *args: Any, **kwargs: Any) -> Any:
        local = self._local
        is_step = len(args) == 1 and kwargs.get("next_sequence_length") == 1 and is_static(cache_of(kwargs))
        if not (local.is_generating and self._has_usual_inputs and is_step):
            return self._prepare(*args, **kwargs)
        if local.inputs is not None and (made := local.inputs(args[0], kwargs)) is not None:
            return made
        made = self._prepare(*args, **kwargs)
        local.inputs = StepInputs(args[0], kwargs, made)
        return made

    def _settings(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """What generate() is told besides its arguments."""
        config = kwargs.get("generation_config", args[1] if len(args) > 1 else None)

        def asked(name: str) -> Any:
            found = kwargs.get(name, getattr(config, name, None))
            return found if found is not None else getattr(self._model.generation_config, name, None)

        is_eager = any(asked(name) is not None for name in _EAGER) or (asked("num_beams") or 1) > 1
        if self._is_refused or is_eager or asked("use_cache") is False:
            return {}
        settings: dict[str, Any] = {"cache_implementation": "static"}
        ids = kwargs.get("input_ids", kwargs.get("inputs", args[0] if args else None))
        length, new = self._max_length, asked("max_new_tokens")
        if length is None and isinstance(ids, torch.Tensor) and new is not None:
            length = -(-(ids.shape[-1] + new) // _STEP) * _STEP
        if length is not None and hasattr(self._model.generation_config, "max_cache_len"):
            settings["max_cache_len"] = length
        return settings

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            return self._forward(*args, **kwargs)
        if args or self._is_refused or not _is_step(kwargs):
            threads.give_back()
            return self._forward(*args, **kwargs)
        threads.take()
        try:
            if self._local.replay is not None and (output := self._local.replay(kwargs)) is not None:
                return output
            return self._guarded(kwargs)
        finally:
            if not self._local.is_generating:
                threads.give_back()

    def _guarded(self, inputs: dict[str, Any]) -> Any:
        """A step by the graph that torch finds to fit, or compiles. torch does not notice new hooks."""
        if _hooks(self._model) != self._hooks:
            return self._forward(**inputs)
        local, counts = self._local, Counts(cache_of(inputs))
        local.call = local.replay = None
        try:
            with decode_attention(self._model), counts.hidden():
                output = self._compiled(**inputs)
        except torch._dynamo.exc.TorchDynamoException as error:
            self._is_refused = True
            reason = " ".join(str(error).split("\n")[:2])
            _log.warning("%s runs uncompiled: %s", type(self._model).__name__, reason)
            return self._forward(**inputs)
        if local.is_generating and local.call is not None:
            replay = Replay(local.call, inputs, output, counts)
            local.replay = replay if replay.is_possible else None
        counts.advance()
        return output

    def _backend(self, graph: Any, inputs: Any) -> Callable[..., Any]:
        compiled, args_of = compiled_step(graph, inputs, _OPTIONS)

        def call(*given: Any) -> Any:
            args = args_of(given)
            results = compiled(*args)
            if self._local.is_generating:
                self._local.call = Recorded(compiled, args, results)
            return results

        return call


def _is_step(inputs: dict[str, Any]) -> bool:
    """Whether the arguments of forward() are those of a token after a prompt."""
    ids = inputs.get("input_ids")
    return (
        ids is not None and ids.shape[-1] == 1 and is_static(cache_of(inputs)) and not torch.is_grad_enabled()
    )


def _hooks(model: torch.nn.Module) -> int:
    return sum(len(part._forward_hooks) + len(part._forward_pre_hooks) for part in model.modules())
