# SPDX-License-Identifier: Apache-2.0
"""torchao in Transformers 5: Transformers and torchao load the checkpoint, or quantise a float one, then zemm
packs the weights of one linear layer after the other."""

from typing import Any

import torch
from transformers.quantizers.quantizer_torchao import TorchAoHfQuantizer

from zemm.errors import UnimplementedError
from zemm.torch import QuantLinear
from zemm.torch._obstacles import obstacles
from zemm.torch._torchao import is_torchao, problem_of
from zemm.transformers._device_map import on_the_host
from zemm.transformers._modules import packing
from zemm.transformers._parallel import refuse_several
from zemm.transformers._quantizer import prepare_to_run
from zemm.words import Activation


class TorchAoQuantizer(TorchAoHfQuantizer):
    """activation: of the layers; None: int8 where torchao quantises activations, else the model's type."""

    activation: Activation | None = None

    def update_device_map(self, device_map: Any) -> Any:
        return on_the_host(device_map)

    def _process_model_before_weight_loading(self, model: Any, *args: Any, **kwargs: Any) -> Any:
        refuse_several(model, "a checkpoint of torchao")
        return super()._process_model_before_weight_loading(model, *args, **kwargs)

    def _process_model_after_weight_loading(self, model: Any, **kwargs: Any) -> Any:
        super()._process_model_after_weight_loading(model, **kwargs)
        names = [name for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)]
        problems = obstacles(model, slow=False)
        for name in names:
            linear = model.get_submodule(name)
            # Where zemm has no layer, torchao multiplies.
            if is_torchao(linear.weight) and (id(linear) not in problems or problem_of(linear.weight)):
                model.set_submodule(name, self._packed(name, linear))
        prepare_to_run(model)
        return model

    def _packed(self, name: str, linear: torch.nn.Linear) -> QuantLinear:
        if (problem := problem_of(linear.weight)) is not None:
            raise UnimplementedError(f"zemm has no layer for {name}: {problem}")
        with packing(f"the layer {name}"):
            return QuantLinear.from_linear(linear, activation=self.activation)

    is_trainable = False

    def is_serializable(self, safe_serialization: Any = None) -> bool:
        return False
