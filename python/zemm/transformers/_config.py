# SPDX-License-Identifier: Apache-2.0
"""Quantisation configs: of checkpoints, as they are, and for float checkpoints."""

from typing import Any, cast

from transformers.utils.quantization_config import QuantizationConfigMixin

from zemm._arrays.scales import type_among
from zemm._library import check
from zemm.errors import InvalidArgumentsError
from zemm.transformers._formats.format import names_kept
from zemm.words import Activation, ScaleDType


class CheckpointConfig(QuantizationConfigMixin):
    """A checkpoint's quantization_config, entry by entry as it is in config.json."""

    def __init__(self, **entries: Any) -> None:
        self.__dict__.update(entries)


class ZemmConfig(QuantizationConfigMixin):
    """Quantises the linear layers of a float checkpoint while it loads.

        config = zemm.transformers.ZemmConfig(bits=4, group=128)
        model = AutoModelForCausalLM.from_pretrained("a float checkpoint", quantization_config=config)

    bits, group, symmetric, scale_dtype: as in zemm.Linear.from_float(). The last group of a layer may be
    shorter. activation: the type in which the layers
    multiply; None: the type of the model.

    modules_to_not_convert: names of modules that stay as they are: whole, up to a dot, their ends, or regular
    expressions, as Transformers takes them. A warning says which fits none. None: the output embeddings.
    Layers that share their weights with others always stay.

    ValueError: an argument is wrong.
    """

    quant_method = "zemm"

    def __init__(
        self,
        *,
        bits: int = 4,
        group: int | None = 128,
        symmetric: bool = False,
        scale_dtype: ScaleDType = "f16",
        activation: Activation | None = None,
        modules_to_not_convert: list[str] | None = None,
        **others: Any,
    ) -> None:
        if unknown := set(others) - {"quant_method"}:
            raise InvalidArgumentsError(f"ZemmConfig has no setting {min(unknown)!r}")
        if check.integer(bits, "bits") not in (4, 8):
            raise InvalidArgumentsError(f"bits is {bits}, neither 4 nor 8")
        if activation is not None:
            check.choice(activation, Activation, "activation")
        self.quant_method = "zemm"
        self.bits = bits
        self.group = None if group is None else check.integer(group, "group", 1)
        self.symmetric = bool(check.flag(symmetric, "symmetric"))
        self.scale_dtype = cast(ScaleDType, type_among(scale_dtype, ("f32", "f16", "bf16"), "scale_dtype"))
        self.activation = activation
        names_kept({"modules_to_not_convert": modules_to_not_convert}, "ZemmConfig")
        self.modules_to_not_convert = modules_to_not_convert
