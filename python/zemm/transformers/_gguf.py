# SPDX-License-Identifier: Apache-2.0
"""GGUF files in Transformers 5: linear layers keep their blocks' values, packed by zemm.gguf.

Transformers reads the file's config, says which tensor of the file is which of the model, and has a function
for each architecture that undoes what llama.cpp does to weights. Where that function only moves rows, the
rows of the packed tensor are moved. Experts whose gates and what they are applied to have one type become one
layer. Other tensors are dequantised, as Transformers does.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from gguf import GGUFReader, dequantize
from numpy.typing import NDArray
from transformers.modeling_gguf_pytorch_utils import (
    TENSOR_PROCESSORS,
    TensorProcessor,
    get_gguf_hf_weights_map,
)
from transformers.quantizers.quantizer_gguf import GgufHfQuantizer

import zemm.gguf
from zemm._terminal.bar import steps
from zemm.errors import InvalidArgumentsError
from zemm.gguf.formats import FORMATS
from zemm.linear import Linear
from zemm.torch import QuantEmbedding, QuantLinear
from zemm.torch._expert_places import Packed, names_of, place_of
from zemm.torch._obstacles import obstacles
from zemm.torch._quant_experts import experts_module
from zemm.transformers._device_map import on_the_host
from zemm.transformers._modules import activation_of
from zemm.transformers._parallel import refuse_several
from zemm.transformers._placeholder import standing_for
from zemm.transformers._quantizer import prepare_to_run, tied_modules
from zemm.words import Activation


class GgufQuantizer(GgufHfQuantizer):
    """Loads a GGUF file. The few architectures that Transformers has another way for, it loads by that."""

    activation: Activation | None = None
    _modules: Mapping[str, torch.nn.Module] = MappingProxyType({})

    def update_device_map(self, device_map: Any) -> Any:
        return on_the_host(device_map)

    def get_state_dict(self, checkpoint_file: str, model: Any) -> Any:
        """The tensors that are not packed. The others become modules, which the model gets at the end:
        Transformers asks for the state of the model meanwhile, and theirs would be unpacked."""
        if self.supported or self.quantization_config.dequantize:
            return super().get_state_dict(checkpoint_file, model)
        refuse_several(model, "a GGUF file")
        dtype = self.dtype or torch.float32
        loader = _Loader(checkpoint_file, model, self.activation, dtype)
        tensors, self._modules = loader.load(), loader.modules
        for path in self._modules:
            model.set_submodule(path, standing_for(model.get_submodule(path)))
        return tensors

    def _process_model_after_weight_loading(self, model: Any, **kwargs: Any) -> Any:
        for path, module in self._modules.items():
            model.set_submodule(path, module)
        self._modules = {}
        prepare_to_run(model)
        return super()._process_model_after_weight_loading(model, **kwargs)


class _Top:
    """A model as one module without others in it."""

    def __init__(self, model: Any) -> None:
        self.config, self.state_dict = model.config, model.state_dict

    def named_children(self) -> tuple[()]:
        return ()


def _names(model: Any, processor: TensorProcessor) -> dict[str, str]:
    """The names of the file's tensors in the model. Transformers looks into each module, for files of which
    the model is a part; that takes seconds, and most files need it not."""
    names: dict[str, str] = get_gguf_hf_weights_map(_Top(model), processor)
    if not model.state_dict().keys() <= set(names.values()):
        names = get_gguf_hf_weights_map(model, processor)
    return names


class _Loader:
    """modules: those of the packed tensors, by their places in the model. dtype: of the model."""

    def __init__(self, path: str, model: Any, activation: Activation | None, dtype: torch.dtype) -> None:
        self._path, self._file = path, zemm.gguf.load(path)
        self._model, self._activation, self._dtype = model, activation, dtype
        self._parsed = {"config": model.config.get_text_config().to_dict(), "tensors": {}}
        architecture = self._file.metadata["general.architecture"]
        self._processor = TENSOR_PROCESSORS.get(architecture, TensorProcessor)(config=self._parsed["config"])
        self._names = _names(model, self._processor)
        self._tied = tied_modules(model)
        self._obstacles = obstacles(model)
        self.modules: dict[str, torch.nn.Module] = {}

    def load(self) -> dict[str, torch.Tensor]:
        left = []
        with steps(len(self._file)) as begin:
            taken = self._pack_experts()
            for name in self._file:
                begin(name)
                if name not in taken and not self._is_scale(name) and not self._pack(name):
                    left.append(name)
        # The layers have their biases.
        self._names = {
            name: own for name, own in self._names.items() if own.rpartition(".")[0] not in self.modules
        }
        for name, values in self._dequantised(left):
            if (scale := self._scale(name)) is not None:
                values = values * scale.reshape(-1, *[1] * (values.ndim - 1))
            name, weights = self._processed(name, values)
            if name in self._names:
                self._parsed["tensors"][self._names[name]] = torch.from_numpy(np.array(weights))
        tensors: dict[str, torch.Tensor] = self._parsed["tensors"]
        return tensors

    def _dequantised(self, names: list[str]) -> Iterator[tuple[str, NDArray[Any]]]:
        """[.., N, K], as the package gguf gives them. It also reads types that zemm does not, but takes
        seconds to open a file."""
        known = [name for name in names if self._file[name].type in FORMATS]
        for name in known:
            values = self._file[name].dequantize()
            yield name, values.swapaxes(-1, -2) if values.ndim > 1 else values
        if len(known) < len(names):
            for tensor in GGUFReader(self._path).tensors:
                if tensor.name in names and tensor.name not in known:
                    yield tensor.name, dequantize(tensor.data, tensor.tensor_type)

    def _processed(self, name: str, weights: NDArray[Any]) -> tuple[str, NDArray[Any]]:
        result = self._processor.process(
            weights=weights, name=name, tensor_key_mapping=self._names, parsed_parameters=self._parsed
        )
        return result.name, result.weights

    def _pack(self, name: str) -> bool:
        """Put a tensor into the model as a layer or an embedding. False: it has to be dequantised."""
        path, _, leaf = self._names.get(name, "").rpartition(".")
        module = self._model.get_submodule(path) if leaf == "weight" else None
        tensor = self._file[name]
        is_packed = tensor.type in FORMATS and tensor.group is not None
        if not is_packed or (sizes := self._sizes(path, module)) is None:
            return False
        if tensor.shape != sizes:
            raise InvalidArgumentsError(
                f"tensor {name!r} of the file has shape {tensor.shape}, but {path} of the model needs {sizes}"
            )
        if (rows := self._rows(name, tensor.shape[1])) is None:
            return False
        if not np.array_equal(rows, np.arange(len(rows))):
            tensor = tensor.take(rows)
        bias = self._bias(name, module) if isinstance(module, torch.nn.Linear) else None
        packed = QuantLinear(self._layer(path, tensor, bias, self._scale(name)))
        packed.float_dtype = self._dtype
        is_table = isinstance(module, torch.nn.Embedding)
        self.modules[path] = self._embedding(path, packed) if is_table else packed
        return True

    def _layer(self, path: str, tensor: Any, bias: Any, scale: Any) -> Linear:
        activation = activation_of(self._model, path, self._activation, self._dtype)
        layer: Linear = tensor.linear(bias, scale=scale, activation=activation)
        for part, operand in layer.weights._operands().items():
            if not np.isfinite(np.asarray(operand.parameter.values, np.float32)).all():
                raise InvalidArgumentsError(
                    f"tensor {tensor.name!r} of the file {self._path} has {part} that are not finite"
                )
        return layer

    def _pack_experts(self) -> set[str]:
        """Put experts into the model whose tensors the architecture's function only puts together, as it does
        where it has a pattern for them. The names of these tensors."""
        taken: set[str] = set()
        pattern = getattr(self._processor, "GGUF_MOE_WEIGHTS_PATTERN", None)
        for path, module in self._model.named_modules():
            place = place_of(path, module)
            if place is None or pattern is None or place.is_transposed or place.up.has_bias:
                continue
            wanted = (place.up.name, place.down.name)
            names = [f"{stem}.weight" for stem, own in self._names.items() if own in wanted]
            tensors = {
                found["w"]: self._file[name]
                for name in names
                if (found := pattern.fullmatch(name)) and name in self._file and self._scale(name) is None
            }
            if tensors.keys() != {"gate", "up", "down"} or len(names) != len(tensors):
                continue
            gate, up, down = (tensors[kind] for kind in ("gate", "up", "down"))
            if gate.type != up.type or any(
                t.type not in FORMATS or t.group is None for t in tensors.values()
            ):
                continue
            both = gate.beside(up)
            for tensor, own in ((both, place.up), (down, place.down)):
                if tensor.shape != (sizes := (place.count, own.in_features, own.out_features)):
                    raise InvalidArgumentsError(
                        f"tensor {tensor.name!r} of the file has shape {tensor.shape}, but {own.name} of the"
                        f" model needs {sizes}"
                    )
            packed = [Packed(self._layer(path, tensor, None, None)) for tensor in (both, down)]
            self.modules[path] = experts_module(module, packed[0], packed[1], names_of(self._model, place))
            taken.update(names)
        return taken

    def _sizes(self, path: str, module: torch.nn.Module | None) -> tuple[int, int] | None:
        """K and N of what can be packed. Of tied modules, that is an embedding whose weights are only those
        of heads without biases; a subclass may do more than look rows up."""
        if id(module) in self._obstacles:
            return None
        if isinstance(module, torch.nn.Linear) and path not in self._tied:
            return module.in_features, module.out_features
        if not isinstance(module, torch.nn.Embedding) or type(module) is not torch.nn.Embedding:
            return None
        heads = [self._model.get_submodule(head) for head in self._heads(path)]
        if path in self._tied and not heads:
            return None
        if not all(type(head) is torch.nn.Linear and head.bias is None for head in heads):
            return None
        return module.embedding_dim, module.num_embeddings

    def _heads(self, path: str) -> list[str]:
        """The modules that have their weights from an embedding."""
        tied: dict[str, str] = self._model.all_tied_weights_keys
        return [key.removesuffix(".weight") for key, of in tied.items() if of == f"{path}.weight"]

    def _embedding(self, path: str, packed: QuantLinear) -> QuantEmbedding:
        """The embedding of a packed table, which its heads also multiply by."""
        heads = self._heads(path)
        if not heads:
            made = QuantEmbedding(packed.out_features, packed.in_features, dtype=self._dtype)
            made.table = packed
            return made
        for head in heads:
            self.modules[head] = packed
            del self._model.all_tied_weights_keys[f"{head}.weight"]
        # tie_weights() shall find nothing to tie.
        declared = self._model._tied_weights_keys or {}
        self._model._tied_weights_keys = {
            key: of for key, of in declared.items() if key.removesuffix(".weight") not in heads
        }
        return QuantEmbedding.of(packed, self._dtype)

    def _rows(self, name: str, count: int) -> NDArray[np.int64] | None:
        """The order into which the architecture's function brings the rows; None: it does more."""
        numbers = np.arange(count, dtype=np.float64)
        probe = numbers[:, None] + np.array([0.25, 0.5])
        try:
            found, result = self._processed(name, probe.copy())
        except Exception:
            return None  # it needs the values
        if found != name or np.shape(result) != probe.shape:
            return None
        rows = np.floor(result[:, 0]).astype(np.int64)
        is_order = np.array_equal(np.sort(rows), numbers) and np.array_equal(result, probe[rows])
        return rows if is_order else None

    def _scale(self, name: str) -> NDArray[np.float32] | None:
        """The factor of llama.cpp for products with a tensor."""
        stem, _, leaf = name.rpartition(".")
        own = f"{stem}.scale"
        return self._file[own].dequantize() if leaf == "weight" and self._is_scale(own) else None

    def _is_scale(self, name: str) -> bool:
        """Whether a tensor has the scale of another one or of its activations, as in files of NVFP4: one
        number, or one for each expert. Some architectures have larger tensors of these names."""
        stem, _, leaf = name.rpartition(".")
        weights = f"{stem}.weight"
        if name not in self._file or leaf not in ("scale", "input_scale") or weights not in self._file:
            return False
        return self._file[name].shape in ((1,), self._file[weights].shape[:-2])

    def _bias(self, name: str, module: torch.nn.Linear) -> NDArray[np.float32] | None:
        if module.bias is None:
            return None
        name = f"{name.removesuffix('.weight')}.bias"
        if name not in self._file:
            raise InvalidArgumentsError(f"the file has no tensor {name!r}, which the model needs")
        return np.asarray(self._processed(name, self._file[name].dequantize())[1])
