# SPDX-License-Identifier: Apache-2.0
"""The quantizer that Transformers asks while it loads a checkpoint: it puts placeholders where linear layers
are quantised, and zemm's modules in their place once their tensors have come."""

import logging
from functools import partial
from typing import Any

import torch
import transformers
from transformers.quantizers.base import HfQuantizer

from zemm.errors import InvalidArgumentsError, UnimplementedError, missing_package
from zemm.torch import share_cores
from zemm.torch._expert_places import Place
from zemm.torch._obstacles import is_layer, obstacles
from zemm.torch._renaming import QUANTISED, Renaming
from zemm.torch._warm_up import build_kernels
from zemm.transformers._checkpoint import Checkpoint
from zemm.transformers._device_map import on_the_host
from zemm.transformers._expert_places import ExpertsPlaceholder
from zemm.transformers._experts_loading import Experts, placeholder_of, wanted_of
from zemm.transformers._formats import FORMATS, Floats
from zemm.transformers._formats.format import FLOATS, Format, Tensors, Wanted
from zemm.transformers._growing_cache import give_room
from zemm.transformers._modules import activation_of, is_kept_in_f32, module_of, packing
from zemm.transformers._parallel import part_of
from zemm.transformers._placeholder import Placeholder
from zemm.words import Activation

_log = logging.getLogger("zemm")
# Of 5.2 alone. It takes tensors with one address for tied. On the meta device, where placeholders are,
# all have address 0, also a parameter that the checkpoint lacks.
_TIES_BY_POINTER = "_adjust_tied_keys_with_tied_pointers"
IS_VERSION_4 = hasattr(HfQuantizer, "update_expected_keys")


def tied_modules(model: Any) -> set[str]:
    """Modules that share their weights with others, and stay as they are."""
    tied = getattr(model, "all_tied_weights_keys", None)
    if tied is not None:
        keys = {*tied.keys(), *tied.values()}
    else:  # Transformers 4
        is_tied = model.config.get_text_config(decoder=True).tie_word_embeddings
        keys = set(model._tied_weights_keys or ()) if is_tied else set()
    return {key.removesuffix(".weight") for key in keys}


def prepare_to_run(model: Any) -> None:
    """Prepares a model that has its layers for calls, and builds their kernels."""
    model.requires_grad_(False)  # the layers refuse gradients
    model.register_forward_pre_hook(give_room, with_kwargs=True)
    share_cores()
    build_kernels(model)


class Quantizer(HfQuantizer):
    """Loads a quantised checkpoint. activation: of its layers; None: the type of the model."""

    requires_calibration = True  # it loads what others have quantised
    activation: Activation | None = None

    def __init__(self, quantization_config: Any, **kwargs: Any) -> None:
        super().__init__(quantization_config, **kwargs)
        self._format = self._format_of(quantization_config)
        self._files: Any = None
        self._model: Any = None
        self._is_placed = False
        self._dtypes: dict[str, torch.dtype] = {}
        self._dtype = torch.float32

    def _format_of(self, config: Any) -> Format:
        method = str(getattr(config.quant_method, "value", config.quant_method))
        return FORMATS[method](config.to_dict())

    def validate_environment(self, *args: Any, **kwargs: Any) -> None:
        if IS_VERSION_4:
            try:
                import accelerate  # noqa: F401
            except ImportError as error:
                raise missing_package("a quantised model of Transformers 4", "accelerate", error) from None

    def update_device_map(self, device_map: Any) -> Any:
        return on_the_host(device_map)

    def _process_model_before_weight_loading(
        self, model: Any, checkpoint_files: Any = None, **kwargs: Any
    ) -> Any:
        self._files, self._dtype, self._model = checkpoint_files, model.dtype, model
        if self.pre_quantized and not hasattr(HfQuantizer, "get_new_dtype"):
            self._dtypes = {name: tensor.dtype for name, tensor in model.named_parameters()}
        if hasattr(model, _TIES_BY_POINTER):
            setattr(model, _TIES_BY_POINTER, lambda missing_keys: None)
        return model

    def _convert_model_for_quantization(self, model: Any) -> None:
        """Transformers has lists of modules in place of some experts. With Transformers 5 those that are
        quantised get placeholders before."""
        if IS_VERSION_4:
            super()._convert_model_for_quantization(model)

    def update_weight_conversions(self, weight_conversions: list[Any], model: Any = None) -> list[Any]:
        """Transformers 5, before it loads: the model's own conversions rename the tensors of the files.
        model: given from 5.21 on."""
        model, self._model = model or self._model, None
        experts = Experts(model, self._format, weight_conversions)
        rename = Renaming(experts.renamings)
        checkpoint = Checkpoint.of_files(self._files, rename, model.base_model_prefix)
        self._format.names_in_files = checkpoint.modules()
        experts.put(checkpoint, partial(self._activation, model))
        if self.pre_quantized:
            super()._convert_model_for_quantization(model)
        self._place(model, checkpoint)
        return experts.conversions

    def update_expected_keys(self, model: Any, expected_keys: list[str], loaded_keys: list[str]) -> list[str]:
        """Transformers 4, before it loads."""
        if getattr(model, "_device_mesh", None) is not None:
            raise UnimplementedError(
                "tp_plan needs Transformers 5: Transformers 4 cuts tensors before zemm packs them"
            )
        checkpoint = Checkpoint(dict.fromkeys(loaded_keys), model.base_model_prefix)
        self._place(model, checkpoint)
        return list(model.state_dict())

    def _place(self, model: Any, checkpoint: Checkpoint) -> None:
        """NotImplementedError: no layer would be quantised, and the log would not say why; or one of the
        checkpoint's would not be."""
        kept = tied_modules(model)
        # A layer that is stored quantised is packed, though its model reads its weights at each call.
        problems = obstacles(model, slow=not self.pre_quantized)
        left: dict[str, list[str]] = {}
        modules = model.named_modules()
        self._format.check_kept(name for name, module in modules if not module._modules or module._parameters)
        for name, module in list(model.named_modules()):
            if (
                isinstance(module, torch.nn.Linear)
                and is_layer(module)
                and name not in kept
                and self._is_quantised(model, name, module, checkpoint)
            ):
                problem = problems.get(id(module))
                if problem is None:
                    model.set_submodule(name, self._placeholder(model, name, module, checkpoint))
                else:
                    left.setdefault(problem, []).append(name)
        if not self.pre_quantized:
            for name, module in model.named_modules():
                kind = type(module).__name__
                if "Experts" in kind and _has_experts(module) and not self._format.skips(name):
                    left.setdefault(f"zemm has no layer for the experts of {kind}", []).append(name)
        for problem, names in left.items():
            more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
            _log.warning("not quantised: %s%s: %s", names[0], more, problem)
        _check_all_placed(model, checkpoint)
        if not left and not any(isinstance(module, Placeholder) for module in model.modules()):
            raise UnimplementedError(
                "no layer of the model is quantised: it has no linear layers, or they are tied or excluded"
                " (experts in one tensor, as those of gpt-oss, need Transformers 5)"
            )
        self._is_placed = True

    def _is_quantised(self, model: Any, name: str, module: torch.nn.Linear, checkpoint: Checkpoint) -> bool:
        is_head = module is model.get_output_embeddings()
        if self._format.skips(name) or (is_head and not self._format.takes_heads):
            return False
        if checkpoint.is_known():
            if self._format.is_stored(_place_of(name, module), checkpoint):
                return True
            if f"{name}.weight" in checkpoint:
                return False
        # The checkpoint has nothing of it: heads of tasks need not be there.
        prefix = f"{model.base_model_prefix}." if hasattr(model, model.base_model_prefix) else ""
        return name.startswith(prefix) and not is_head and not self._format.keeps(name)

    def _placeholder(
        self, model: Any, name: str, module: torch.nn.Linear, checkpoint: Checkpoint
    ) -> Placeholder:
        place = _place_of(name, module)
        wanted = wanted_of(self._format, place, checkpoint)
        if place.has_bias:
            wanted["bias"] = Wanted((place.out_features,), FLOATS, is_finite=False)

        def build(tensors: Tensors) -> torch.nn.Module:
            bias = tensors.pop("bias", None)
            with packing(f"the layer {name}"):
                packed = self._format.layer(place, tensors, bias, activation=self._activation(model, name))
            return part_of(model, name, module_of(packed.layer, packed.columns, self._dtype))

        return placeholder_of(module, name, wanted, checkpoint, self._format.reason(place), build)

    def _activation(self, model: Any, name: str) -> Activation:
        return activation_of(model, name, self.activation, self._dtype)

    def param_needs_quantization(self, model: Any, param_name: str, **kwargs: Any) -> bool:
        """Whether Transformers shall not look at the tensor: placeholders check what they get."""
        name, _, _ = param_name.rpartition(".")
        is_ours = isinstance(model.get_submodule(name), Placeholder)
        return is_ours and (self.pre_quantized or IS_VERSION_4)

    def create_quantized_param(
        self, model: Any, param_value: torch.Tensor, param_name: str, *args: Any, **kwargs: Any
    ) -> None:
        """Transformers 4 gives placeholders their tensors by this."""
        name, _, key = param_name.rpartition(".")
        model.get_submodule(name).receive(key, param_value)

    def update_missing_keys(self, model: Any, missing_keys: list[str], prefix: str) -> list[str]:
        """Transformers 4 would make up what placeholders miss."""
        return [key for key in missing_keys if not self.param_needs_quantization(model, key)]

    def _process_model_after_weight_loading(self, model: Any, **kwargs: Any) -> Any:
        if not self._is_placed:
            raise UnimplementedError(
                f"Transformers {transformers.__version__} has not asked zemm which layers are quantised:"
                " zemm works with 4.57 and with 5.0 to 5.24"
            )
        for kind in (ExpertsPlaceholder, Placeholder):  # the first have some of the second
            for name, placeholder in list(model.named_modules()):
                if isinstance(placeholder, kind):
                    model.set_submodule(name, placeholder.finished())
        self._convert(model)
        model.__dict__.pop(_TIES_BY_POINTER, None)
        prepare_to_run(model)
        return model

    def _convert(self, model: Any) -> None:
        """Before 5.21 Transformers leaves the floats of a quantised checkpoint in the file's type, where
        it has renamed them."""
        for name, tensor in model.named_parameters():
            dtype = self._dtypes.get(name, tensor.dtype)
            if tensor.is_floating_point() and not is_kept_in_f32(model, name, dtype):
                tensor.data = tensor.data.to(dtype)

    is_trainable = False
    is_compileable = True

    def is_serializable(self, safe_serialization: Any = None) -> bool:
        return False


class FloatQuantizer(Quantizer):
    """Quantises a float checkpoint while it loads, one layer after the other."""

    requires_calibration = False

    def _format_of(self, config: Any) -> Format:
        self.activation = config.activation
        if self.pre_quantized:
            raise InvalidArgumentsError(
                "the checkpoint is quantised already: leave ZemmConfig out and call"
                " zemm.transformers.register()"
            )
        return Floats(config.to_dict())


def _check_all_placed(model: Any, checkpoint: Checkpoint) -> None:
    """NotImplementedError: a module that stays as it is has quantised weights in the checkpoint. Transformers
    would make up others."""
    modules, problems = dict(model.named_modules()), obstacles(model, slow=False)
    for tensors in checkpoint.names():
        for tensor in tensors:
            name, _, key = tensor.rpartition(".")
            found = modules.get(name) or _experts_with(name, modules)
            if key not in QUANTISED or isinstance(found, Placeholder):
                break
            if found is not None:
                kind = type(found).__name__
                problem = problems.get(id(found)) or (
                    f"it is a {kind}, or the quantization_config says that it is not quantised"
                )
                raise UnimplementedError(
                    f"the checkpoint has the tensor {tensor}, but zemm has no layer for {name}: {problem}"
                )


def _experts_with(name: str, modules: dict[str, Any]) -> Any:
    """The module of all experts that a layer of a checkpoint belongs to. None: it belongs to none."""
    key = ""
    while name and name not in modules:
        name, _, key = name.rpartition(".")
    found = modules.get(name) if key else None
    is_of_it = found is not None and (key.isdigit() or key in found._parameters)
    return found if is_of_it and _has_experts(found) else None


def _has_experts(module: Any) -> bool:
    """Whether a module itself has a tensor with a matrix for each expert."""
    return any(tensor is not None and tensor.ndim == 3 for tensor in module._parameters.values())


def _place_of(name: str, module: torch.nn.Linear) -> Place:
    return Place(name, module.in_features, module.out_features, module.bias is not None)
