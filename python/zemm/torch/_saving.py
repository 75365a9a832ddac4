# SPDX-License-Identifier: Apache-2.0
"""Transformers' save_pretrained() of a model that has zemm's layers, however they came into it.

It would write the arrays of the layers under names that from_pretrained() does not know. So it is given
the tensors of compressed-tensors in their place (zemm.torch._compressed). All of them are made, and what that
format cannot hold is refused, before anything is written.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import torch

from zemm.errors import InvalidArgumentsError, UnimplementedError
from zemm.torch._compressed import Checkpoint, refusal
from zemm.torch._obstacles import adapters
from zemm.torch._stand_in import StandIn


def save_compressed(layers: type) -> None:
    """Have Transformers, if the program has imported it, save models that have such layers by this module."""
    models = sys.modules.get("transformers.modeling_utils")
    kind = getattr(models, "PreTrainedModel", None)
    if kind is None or hasattr(kind.save_pretrained, "_asks_zemm"):
        return
    save = kind.save_pretrained

    @functools.wraps(save)
    def save_pretrained(self: Any, *args: Any, **kwargs: Any) -> Any:
        # With adapters of peft Transformers saves these alone.
        has_adapters = getattr(self, "_hf_peft_config_loaded", False)
        if has_adapters or not any(isinstance(part, layers) for part in self.modules()):
            return save(self, *args, **kwargs)
        with _compressed(self, kwargs, getattr(models, "revert_weight_conversion", None)) as tensors:
            return save(self, *args, **{**kwargs, "state_dict": tensors})

    save_pretrained._asks_zemm = True  # type: ignore[attr-defined]
    kind.save_pretrained = save_pretrained


@contextmanager
def _compressed(
    model: Any, arguments: dict[str, Any], revert: Callable[..., Any] | None
) -> Iterator[dict[str, torch.Tensor]]:
    """The tensors of a model, whose configs say in this context what they are. arguments: of
    save_pretrained(). revert: gives tensors the names and shapes that files have; None: they have the
    model's."""
    for name in ("state_dict", "distributed_checkpoint"):
        if arguments.get(name):
            raise InvalidArgumentsError(
                f"{name} is given, but a model with zemm's layers is saved by its own tensors: leave it out"
            )
    if adapters(model):
        raise UnimplementedError(
            "save_pretrained() cannot save a model that has adapters of peft: save these by the PeftModel, or"
            " call its unload() before"
        )
    made = _checkpoint_of(model)
    if revert is not None and arguments.get("save_original_format", True):
        found = {id(tensor) for tensor in revert(model, made.packed).values()}
        for name, tensor in made.packed.items():
            if id(tensor) not in found:
                raise refusal(
                    name,
                    "Transformers cuts it or joins it to others in files, which cannot be done with quantised"
                    " tensors: give save_original_format=False",
                )
    with ExitStack() as stack:
        # zemm's quantizer writes nothing, and the config that it has is that of what was loaded.
        stack.enter_context(_changed(model, hf_quantizer=None))
        stack.enter_context(_changed(model.config, quantization_config=made.config()))
        if any(isinstance(end, StandIn) for end in _ends_of(model)):
            made.separate()
            for config in _configs_of(model):
                stack.enter_context(_changed(config, tie_word_embeddings=False))
                if _computes_by_ties(model, config):
                    raise refusal(
                        "the head or the embedding",
                        f"a {type(model).__name__} computes something else if they are not tied: quantise it"
                        " without them, by filter=",
                    )
        yield made.floats | made.packed


def _checkpoint_of(model: torch.nn.Module) -> Checkpoint:
    """NotImplementedError: a layer cannot be stored."""
    made = Checkpoint()
    stored: set[int] = set()  # parts of modules that have stored them
    for name, module in model.named_modules(remove_duplicate=False):
        if id(module) in stored:
            continue
        if (store := getattr(module, "_store", None)) is not None:
            store(name, made)
            stored.update(id(part) for part in module.modules() if part is not module)
            continue
        module._save_to_state_dict(made.floats, f"{name}." if name else "", False)
        weight = module._parameters.get("weight")
        if weight is not None and weight.ndim == 2 and not isinstance(module, torch.nn.Embedding):
            made.ignored.append(name)
    for name, tensor in made.floats.items():
        if type(tensor) is not torch.Tensor:
            raise refusal(name, f"it is a {type(tensor).__name__}, not a plain tensor: keep the checkpoint")
    if not made.packed:
        raise UnimplementedError(
            "save_pretrained() stores embeddings as floats, and the model has nothing else that is quantised:"
            " save it before you quantise it"
        )
    return made


def _ends_of(model: Any) -> Iterator[Any]:
    """The embedding and the head of a model, which may be tied."""
    for get in (model.get_input_embeddings, model.get_output_embeddings):
        with suppress(NotImplementedError):  # it has none
            yield get()


def _configs_of(model: torch.nn.Module) -> Iterator[Any]:
    """The configs of a model and its parts that say that weights are tied."""
    configs = {id(config): config for part in model.modules() if (config := getattr(part, "config", None))}
    return (config for config in configs.values() if getattr(config, "tie_word_embeddings", False))


def _computes_by_ties(model: Any, config: Any) -> bool:
    """Whether a config does not keep that nothing is tied, or the model asks it at each call."""
    forward: Any = inspect.unwrap(type(model).forward)
    is_tied = type(config).from_dict(config.to_dict()).tie_word_embeddings
    return is_tied or "tie_word_embeddings" in forward.__code__.co_names


@contextmanager
def _changed(owner: Any, **values: Any) -> Iterator[None]:
    """A context in which an object has other attributes."""
    before = dict(vars(owner))
    vars(owner).update(values)
    try:
        yield
    finally:
        for name in values:
            del vars(owner)[name]
        vars(owner).update({name: before[name] for name in values if name in before})
