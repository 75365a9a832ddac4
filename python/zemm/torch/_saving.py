# SPDX-License-Identifier: Apache-2.0
"""Transformers' save_pretrained() of a model that has zemm's layers, however they came into it.

It would write the arrays of the layers under names that from_pretrained() does not know. So it is given
the tensors of compressed-tensors in their place (zemm.torch._compressed). All of them are made, and what that
format cannot hold or Transformers would not load is refused, before anything is written. So are layers in
other modules of sentence-transformers, which save their arrays themselves.
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
from zemm.torch._renaming import Renaming
from zemm.torch._stand_in import StandIn

_COMPUTES = "Transformers cuts tensors or joins them in files, which cannot be done with quantised ones"
_ORIGINAL = "give save_original_format=False"


def save_compressed(layers: type) -> None:
    """Have Transformers and sentence-transformers, if the program has imported them, save models that have
    such layers by this module."""

    def save(method: Callable[..., Any], model: Any, *args: Any, **kwargs: Any) -> Any:
        # With adapters of peft Transformers saves these alone.
        has_adapters = getattr(model, "_hf_peft_config_loaded", False)
        if has_adapters or not any(isinstance(part, layers) for part in model.modules()):
            return method(model, *args, **kwargs)
        with _compressed(model, kwargs) as tensors:
            return method(model, *args, **{**kwargs, "state_dict": tensors})

    def save_sentences(method: Callable[..., Any], model: Any, *args: Any, **kwargs: Any) -> Any:
        models = [part for part in model.modules() if hasattr(part, "save_pretrained") and part is not model]
        known = {id(part) for owner in models for part in owner.modules()}
        for name, part in model.named_modules():
            if isinstance(part, layers) and id(part) not in known:
                raise refusal(
                    name,
                    "sentence-transformers loads floats there: quantise the model of Transformers alone, as"
                    " by zemm.torch.quantize_(model[0])",
                )
        return method(model, *args, **kwargs)

    _have_called("transformers.modeling_utils", "PreTrainedModel", "save_pretrained", save)
    _have_called("sentence_transformers.base.model", "BaseModel", "save", save_sentences)


def _have_called(module: str, kind: str, name: str, by: Callable[..., Any]) -> None:
    """Have the method of a class called by a function, once, if the class has been imported."""
    cls = getattr(sys.modules.get(module), kind, None)
    if cls is None or hasattr(method := getattr(cls, name), "_asks_zemm"):
        return

    @functools.wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        return by(method, self, *args, **kwargs)

    called._asks_zemm = True  # type: ignore[attr-defined]
    setattr(cls, name, called)


@contextmanager
def _compressed(model: Any, arguments: dict[str, Any]) -> Iterator[dict[str, torch.Tensor]]:
    """The tensors of a model, whose configs say in this context what they are. arguments: of
    save_pretrained()."""
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
    _check_conversions(model, made, arguments.get("save_original_format", True))
    with ExitStack() as stack:
        # zemm's quantizer writes nothing, and the config that it has is that of what was loaded.
        stack.enter_context(_changed(model, hf_quantizer=None))
        stack.enter_context(_changed(model.config, quantization_config=made.config()))
        untied = any(getattr(part, "_is_untied", False) for part in model.modules())
        if untied or any(isinstance(end, StandIn) for end in _ends_of(model)):
            made.separate()
            for config in _configs_of(model):
                stack.enter_context(_changed(config, tie_word_embeddings=False))
                if _computes_by_ties(model, config):
                    raise refusal(
                        "layers that share their weights, as a head and an embedding",
                        f"a {type(model).__name__} computes something else if they are not tied: quantise it"
                        " without them, by filter=",
                    )
        yield made.floats | made.packed


def _check_conversions(model: Any, made: Checkpoint, is_original: bool) -> None:
    """NotImplementedError: Transformers computes with a quantised tensor when it saves or loads it.
    is_original: whether tensors get the names and shapes that files had before."""
    revert = getattr(sys.modules["transformers.modeling_utils"], "revert_weight_conversion", None)
    if revert is None:  # Transformers 4
        return
    try:
        tensors = revert(model, made.packed) if is_original else made.packed
    except Exception as error:  # of what a model's conversions compute
        raise refusal("quantised tensors", f"{_COMPUTES} ({error}): {_ORIGINAL}") from error
    files = {id(tensor): name for name, tensor in tensors.items()}
    for name, tensor in made.packed.items():
        if id(tensor) not in files:
            raise refusal(name, f"{_COMPUTES}: {_ORIGINAL}")
    from transformers.conversion_mapping import get_model_conversion_mapping

    rename, prefix = Renaming(get_model_conversion_mapping(model)), f"{model.base_model_prefix}."
    for name in (f"{layer}.{key}" for layer in made.layers() for key in ("weight_packed", "weight_scale")):
        file = files[id(made.packed[name])]
        if rename.computes(file) or rename(file)[0].removeprefix(prefix) != name.removeprefix(prefix):
            raise refusal(
                name,
                "Transformers loads it under another name, or changes it, which cannot be done with quantised"
                " tensors: quantise the model without this layer, by filter=",
            )


def _checkpoint_of(model: torch.nn.Module) -> Checkpoint:
    """NotImplementedError: a layer cannot be stored."""
    made, ends = Checkpoint(), list(_ends_of(model))
    stored: set[int] = set()  # parts of modules that have stored them
    for name, module in model.named_modules(remove_duplicate=False):
        if id(module) in stored:
            continue
        if (store := getattr(module, "_store", None)) is not None:
            store(name, made)
            made.named += [name for end in ends if module is end]
            stored.update(id(part) for part in module.modules() if part is not module)
            continue
        if _is_replaced(module):
            raise refusal(
                name,
                f"Transformers replaces each {type(module).__name__} when it loads compressed-tensors: keep"
                " the checkpoint",
            )
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


def _is_replaced(module: torch.nn.Module) -> bool:
    """Whether Transformers has a module of another class in place of one of floats, as Llama 4's experts."""
    table = getattr(sys.modules.get("transformers.quantizers.base"), "MODULES_TO_PATCH_FOR_QUANTIZATION", {})
    return "compressed-tensors" in table.get(type(module).__name__, {}).get("quantization_methods", ())


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
