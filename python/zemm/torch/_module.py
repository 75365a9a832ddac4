# SPDX-License-Identifier: Apache-2.0
"""torch.nn.Linear with quantised weights."""

from collections.abc import Mapping
from typing import Any, overload

import torch
from torch.compiler import is_compiling

from zemm._arrays.torch_tensors import dtype_of, from_array
from zemm._library import check
from zemm._torch_calls import call_known
from zemm.engine import Engine
from zemm.errors import InvalidArgumentsError, ZemmError
from zemm.linear import Linear
from zemm.torch import _torchao
from zemm.torch._calls import NUMBERS, keep_call
from zemm.torch._compressed import IS_PART, Checkpoint, refusal
from zemm.torch._layer_module import PARTS, LayerModule
from zemm.torch._obstacles import obstacle
from zemm.torch._operator import embedding, is_dispatched
from zemm.torch._parts import named
from zemm.torch._stand_in import LayerTensor, StandIn
from zemm.torch._state import faults_of
from zemm.words import Activation

ACTIVATIONS: dict[torch.dtype, Activation] = {
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
}


class QuantLinear(LayerModule, StandIn, torch.nn.Linear):
    """y = x @ weights + bias on the host, with quantised weights. Inference only.

        module = zemm.torch.QuantLinear.from_linear(linear, bits=4, group=128)

    x: CPU tensors [.., in_features] of float32, float16, bfloat16 or float64, which is multiplied as
    `activation` says. y has x's type, also under autocast, unless the layer has a dst_dtype; it is
    row-major. x is not copied if it is contiguous and has the type of `activation`. A gradient or a
    tangent of x is refused; torch.func.vmap works.

    state_dict() has the layer's plain (not packed) arrays as tensors. load_state_dict() packs them
    for this machine. The layer must have the module's in_features and out_features, and the shapes
    that it had when it was saved; its bits, groups, bias and activation may be others than the
    module's.

    The module is a torch.nn.Linear for others, without parameters. `weight` [out_features, in_features] and
    `bias` tell the type, shape and device of what the layer stands for; an operation that reads them gets the
    dequantised values, and one that writes to them is refused. to() and its relatives change the type of
    `weight` and `bias` alone, and refuse other devices. Of an empty module they are on the device meta.

    A program of torch.export has the packed weights. Another process needs only `import zemm.torch`
    to load and run it; a machine that wants another layout packs them again at the first call.
    """

    is_part = False  # whether other processes have the rest of the layer (zemm.torch.parallel)

    @overload
    def __init__(self, layer: Linear, /) -> None: ...
    @overload
    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, *, engine: Engine | None = None
    ) -> None: ...
    def __init__(
        self,
        in_features: Linear | int,
        out_features: int | None = None,
        bias: bool = True,
        *,
        engine: Engine | None = None,
    ) -> None:
        """QuantLinear(layer) has the layer. QuantLinear(in_features, out_features) is empty, for
        load_state_dict() to fill; bits, groups and whether there is a bias come from there. bias: what an
        empty module shows. engine: of the layer to come; None: the default one."""
        torch.nn.Module.__init__(self)
        if out_features is not None:
            self._empty(in_features, out_features, bool(check.flag(bias, "bias")), engine)
            return
        layer = in_features
        if not isinstance(layer, Linear):
            raise InvalidArgumentsError(
                f"layer is a {type(layer).__name__}, not a zemm.Linear; an empty module needs in_features and"
                " out_features"
            )
        if layer.experts is not None:
            raise InvalidArgumentsError(f"{layer!r} has experts: a module takes one matrix")
        self._set(layer)

    @classmethod
    def from_linear(
        cls,
        linear: torch.nn.Linear,
        *,
        bits: int = 8,
        group: int | None = 128,
        symmetric: bool = False,
        activation: Activation | None = None,
        **more: Any,
    ) -> "QuantLinear":
        """Quantise a torch.nn.Linear. activation: by default the type of its weights. more: other
        arguments of zemm.Linear.from_float(). Of a linear on the device meta an empty module is made, as
        by QuantLinear(in_features, out_features). Weights that torchao has quantised (Int4Tensor,
        IntxUnpackedToInt8Tensor) are taken as they are, whatever bits, group and symmetric say; if it
        quantises the activations, too, activation is "int8" by default.

        ValueError: an argument is wrong, or the linear does more than y = x @ weights + bias: it has a
        forward() of its own, hooks or parametrisations."""
        if not isinstance(linear, torch.nn.Linear):
            raise InvalidArgumentsError(f"linear is a {type(linear).__name__}, not a torch.nn.Linear")
        if (problem := obstacle(linear)) is not None:
            raise InvalidArgumentsError(f"linear cannot be replaced: {problem}")
        weight, bias = linear.weight, linear.bias.detach() if linear.bias is not None else None
        multiplied: dict[str, Any] = {"activation": activation}
        if activation is None:
            multiplied["activation"] = ACTIVATIONS.get(weight.dtype, "f32")
        if weight.is_meta:
            n, k = weight.shape
            made = cls(k, n, bias is not None, engine=more.get("engine"))
        elif _torchao.is_torchao(weight):
            more.pop("scale_dtype", None)
            if activation is None:
                multiplied |= _torchao.activation_of(weight)
            given = _torchao.arguments_of(weight)
            made = cls(Linear.from_quantized(**given, bias=bias, **{**multiplied, **more}))
        else:
            options = {"bits": bits, "group": group, "symmetric": symmetric, "transposed": True, **more}
            made = cls(Linear.from_float(weight.detach(), bias, **multiplied, **options))
        made.float_dtype = weight.dtype
        return made

    def _empty(self, in_features: Any, out_features: int, bias: bool, engine: Engine | None) -> None:
        self._clear()
        self._dtype, self._bias_dtype = None, None
        self._number = 0
        self.in_features = check.integer(in_features, "in_features", 1)
        self.out_features = check.integer(out_features, "out_features", 1)
        self._engine = engine if engine is None else check.instance(engine, Engine, "engine")
        self._has_bias = bias

    def _set(self, layer: Linear) -> None:
        super()._set(layer)
        self._engine = layer.engine
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self._dtype = dtype_of(layer.dst_dtype) if layer.dst_dtype is not None else None
        self._number = layer._calls.number if self._own_parts and NUMBERS else 0
        self._dtype_number = NUMBERS.get(self._dtype, -1)
        self._has_bias = layer.bias is not None
        self._bias_dtype = from_array(layer.bias).dtype if layer.bias is not None else None
        if self.float_dtype is None:
            named = {name: dtype for dtype, name in ACTIVATIONS.items()}
            self.float_dtype = named.get(layer.activation, torch.float32)

    @property
    def weight(self) -> torch.Tensor:
        """[out_features, in_features]"""
        return self._weight(self.float_dtype or torch.float32)

    def _weight(self, dtype: torch.dtype) -> torch.Tensor:
        n, k = self.out_features, self.in_features

        def values(parts: list[torch.Tensor]) -> torch.Tensor:
            return embedding(torch.arange(n, device="cpu"), parts, k, dtype)

        return self._stand_in("weight", (n, k), dtype, values)

    @property
    def bias(self) -> torch.Tensor | None:
        """[out_features], or None"""
        stored, dtype = self._bias_dtype, self.float_dtype or torch.float32
        if not self._has_bias:
            return None

        def values(parts: list[torch.Tensor]) -> torch.Tensor:
            return named(parts)["bias"].view(stored).to(dtype)

        return self._stand_in("bias", (self.out_features,), dtype, values)

    def _stand_in(self, name: str, shape: tuple[int, ...], dtype: torch.dtype, values: Any) -> torch.Tensor:
        """The tensor of a name, whose values are computed of the layer's parts. It is kept, as models ask for
        its type at each call."""
        if torch.compiler.is_compiling() and self._config is not None:
            computed: torch.Tensor = values(self._tensors())
            return computed
        kept = self._kept.get((name, dtype))
        if kept is not None and self._has_own_parts():
            return kept
        made = torch.empty(shape, dtype=dtype, device="meta")
        if self._config is not None:
            parts = self._tensors()
            made = self._kept[name, dtype] = LayerTensor(lambda: values(parts), made)
        return made

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """ValueError: x does not fit, is not on the host, or has a gradient. Or the module is empty."""
        if not is_compiling() and self._number:
            y = call_known(
                x,
                self._number,
                PARTS,
                self._own_parts,
                self._buffers,
                self.in_features,
                self.out_features,
                self._dtype_number,
            )
            if y is not None:
                return y
        layer = self.layer
        if layer is not None and not is_dispatched(x) and x.dtype in ACTIVATIONS and self._has_own_parts():
            # Past torch's dispatcher, which takes longer than all else around a small layer.
            y = layer(x)
            keep_call(layer, self._own_parts, x)
            return y
        y = torch.ops.zemm.linear.default(
            x, self._tensors(), self.in_features, self.out_features, self._dtype
        )
        return y

    def _tensors(self) -> list[torch.Tensor]:
        if self._config is None:
            raise InvalidArgumentsError(
                f"this QuantLinear of {self.in_features} to {self.out_features} features is empty: load"
                " weights by load_state_dict() before you call it"
            )
        return super()._tensors()

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        if self.layer is not None:
            for name, array in self.layer.state_dict(prefix).items():
                destination[name] = from_array(array)

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        with torch.no_grad():  # tensors of a checkpoint may require gradients
            found = faults_of(state_dict, prefix, self.in_features, self.out_features)
            if strict:
                missing_keys += found.missing
                unexpected_keys += found.unexpected
            error_msgs += found.errors
            if found.missing or found.errors:
                return  # the module keeps the layer that it has
            try:
                layer = Linear.from_state_dict(state_dict, prefix, engine=self._engine)
            except ZemmError as error:
                error_msgs.append(str(error))
                return
        self._set(layer)

    def _store(self, name: str, checkpoint: Checkpoint) -> None:
        """Put the layer into a checkpoint. ValueError: the module is empty. NotImplementedError: the
        checkpoint cannot hold it."""
        self._tensors()
        assert self.layer is not None
        if self.is_part:
            raise refusal(name, IS_PART)
        checkpoint.add_layer(name, self.layer.weights, self.layer.bias)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_engine": None}

    def extra_repr(self) -> str:
        if self.layer is not None:
            return repr(self.layer)
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self._has_bias}, empty"
        )
